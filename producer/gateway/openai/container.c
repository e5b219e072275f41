/* container.c - the record of a container. */
#include "producer/gateway/openai/container.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "schemas/redis/reply.h"
#include "schemas/service/log.h"

static bool container_id_is_valid(struct view id)
{
    if (id.len != CONTAINER_BYTES - 1 || !view_starts(id, "cntr_"))
        return false;
    for (size_t i = 5; i < id.len; i++)
        if (!byte_is_of(id.data[i], "0123456789abcdef"))
            return false;
    return true;
}

void container_new(struct container *container, unsigned int partition,
                   uint64_t minutes)
{
    unsigned char random[16];
    size_t len;

    *container = (struct container){ .partition = partition,
                                     .minutes = minutes,
                                     .created_at = (uint64_t)time(NULL) };
    if (getrandom(random, sizeof(random), 0) != sizeof(random))
        abort();
    len = (size_t)snprintf(container->id, sizeof(container->id), "cntr_");
    for (size_t i = 0; i < sizeof(random); i++)
        len += (size_t)snprintf(container->id + len,
                                sizeof(container->id) - len, "%02x", random[i]);
}

/* ------------------------------------------------------------------ reading */

static void container_take(struct container *container, struct view name,
                           const redisReply *value)
{
    if (view_is(name, "name"))
        view_copy(container->name, sizeof(container->name), reply_view(value));
    else if (view_is(name, "created_at"))
        container->created_at = reply_number(value);
    else if (view_is(name, "last_active_at"))
        container->last_active_at = reply_number(value);
    else if (view_is(name, "minutes"))
        container->minutes = reply_number(value);
}

bool container_read(struct container *container, const redisReply *reply,
                    const char *tenant)
{
    bool mine = false;

    for (size_t i = 0;
         reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2) {
        struct view name = reply_view(reply->element[i]);
        const redisReply *value = reply->element[i + 1];

        if (view_is(name, "tenant"))
            mine = view_is(reply_view(value), tenant);
        container_take(container, name, value);
    }
    return mine;
}

static void on_record(struct api_request *request, const redisReply *reply)
{
    struct container *container = request->container;

    container->found = container_read(container, reply, request->caller.tenant);
    container->done(request);
}

void container_find(struct api_request *request, struct container *container,
                    struct view id, void (*done)(struct api_request *request))
{
    struct command command;
    struct key key;

    *container = (struct container){ .done = done };
    request->container = container;
    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &container->partition))
        return;
    if (!container_id_is_valid(id)) {
        done(request);
        return;
    }
    view_copy(container->id, sizeof(container->id), id);
    key = names_container(&request->gateway->names, container->partition,
                          "container", id);
    command_init(&command, "HGETALL");
    command_add(&command, key_view(&key));
    api_request_call(request, container->partition, &command, on_record);
    command_finish(&command);
}

/* ------------------------------------------------------------------ writing */

static void tell_redis(struct gateway *gateway,
                       const struct container *container,
                       struct command *command)
{
    fleet_links_tell(gateway->links, container->partition, command,
                     "what a container is");
    command_finish(command);
}

static void send_expiry(struct gateway *gateway,
                        const struct container *container,
                        const struct key *key, uint64_t seconds)
{
    struct command command;

    command_init(&command, "EXPIRE");
    command_add(&command, key_view(key));
    command_add_uint(&command, seconds);
    tell_redis(gateway, container, &command);
}

static void touch_record(struct gateway *gateway,
                         const struct container *container, const char *tenant)
{
    struct key key = names_container(&gateway->names, container->partition,
                                     "container", view_of(container->id));
    struct command command;

    command_init(&command, "HSET");
    command_add(&command, key_view(&key));
    command_add_text(&command, "tenant");
    command_add_text(&command, tenant);
    command_add_text(&command, "name");
    command_add_text(&command, container->name);
    command_add_text(&command, "created_at");
    command_add_uint(&command, container->created_at);
    command_add_text(&command, "last_active_at");
    command_add_uint(&command, container->last_active_at);
    command_add_text(&command, "minutes");
    command_add_uint(&command, container->minutes);
    tell_redis(gateway, container, &command);
    send_expiry(gateway, container, &key, container->minutes * 60);
}

static void touch_list(struct gateway *gateway,
                       const struct container *container, const char *tenant)
{
    struct encoded_label owner = names_encode(view_of(tenant));
    struct key key = names_container(&gateway->names, container->partition,
                                     "containers", view_of(owner.text));
    uint64_t ttl = gateway->settings.container_ttl_ms / 1000;
    struct command command;

    command_init(&command, "ZREMRANGEBYSCORE");
    command_add(&command, key_view(&key));
    command_add_text(&command, "-inf");
    command_add_uint(&command, container->last_active_at - ttl);
    tell_redis(gateway, container, &command);
    command_init(&command, "ZADD");
    command_add(&command, key_view(&key));
    command_add_uint(&command, container->last_active_at);
    command_add_text(&command, container->id);
    tell_redis(gateway, container, &command);
    send_expiry(gateway, container, &key, ttl);
}

static void touch_jobs(struct gateway *gateway,
                       const struct container *container, struct view job)
{
    struct key key = names_container(&gateway->names, container->partition,
                                     "container_jobs", view_of(container->id));
    struct command command;

    command_init(&command, "LPUSH");
    command_add(&command, key_view(&key));
    command_add(&command, job);
    tell_redis(gateway, container, &command);
    command_init(&command, "LTRIM");
    command_add(&command, key_view(&key));
    command_add_text(&command, "0");
    command_add_uint(&command, CONTAINER_MOST_JOBS - 1);
    tell_redis(gateway, container, &command);
    send_expiry(gateway, container, &key, container->minutes * 60);
}

void container_touch(struct gateway *gateway, struct container *container,
                     const char *tenant, struct view job)
{
    container->last_active_at = (uint64_t)time(NULL);
    touch_record(gateway, container, tenant);
    touch_list(gateway, container, tenant);
    if (job.len > 0)
        touch_jobs(gateway, container, job);
}

void container_forget(struct gateway *gateway,
                      const struct container *container, const char *tenant)
{
    struct encoded_label owner = names_encode(view_of(tenant));
    struct key list = names_container(&gateway->names, container->partition,
                                      "containers", view_of(owner.text));
    struct key record = names_container(&gateway->names, container->partition,
                                        "container", view_of(container->id));
    struct key jobs = names_container(&gateway->names, container->partition,
                                      "container_jobs", view_of(container->id));
    struct command command;

    command_init(&command, "DEL");
    command_add(&command, key_view(&record));
    command_add(&command, key_view(&jobs));
    tell_redis(gateway, container, &command);
    command_init(&command, "ZREM");
    command_add(&command, key_view(&list));
    command_add_text(&command, container->id);
    tell_redis(gateway, container, &command);
}
