/* containers.c - /v1/containers: made, listed, read, forgotten. */
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/fleet_links.h"
#include "producer/gateway/openai/container_put.h"
#include "producer/gateway/openai/openai.h"
#include "producer/gateway/responses/response_request.h"
#include "schemas/redis/reply.h"

enum { MOST_LISTED = 1000 };

/* The state of a request. container first, for container_find(). */
struct container_request {
    struct container container;
    void (*found)(struct api_request *request);
    /* Of a list. */
    redisReply *ids;
    size_t at;
    json_t *items; /* by their last use, the latest first */
    /* Of a new one. */
    struct container_put put;
};

static void container_request_free(void *state)
{
    struct container_request *wanted = state;

    if (wanted->ids)
        freeReplyObject(wanted->ids);
    json_decref(wanted->items);
    container_put_finish(&wanted->put);
    free(wanted);
}

static struct container_request *
container_request_new(struct api_request *request)
{
    struct container_request *wanted = calloc(1, sizeof(*wanted));

    if (!wanted)
        abort();
    request->state = wanted;
    request->state_free = container_request_free;
    request->container = &wanted->container;
    return wanted;
}

static json_t *container_json(const struct container *container)
{
    return json_pack("{s:s, s:s, s:I, s:s, s:I, s:s, s:{s:s, s:I}}", "id",
                     container->id, "object", "container", "created_at",
                     (json_int_t)container->created_at, "status", "running",
                     "last_active_at", (json_int_t)container->last_active_at,
                     "name", container->name, "expires_after", "anchor",
                     "last_active_at", "minutes",
                     (json_int_t)container->minutes);
}

/* ------------------------------------------------------------------- making */

static bool read_expiry(const struct body_value *body, json_int_t most,
                        json_int_t *minutes)
{
    static const char *const anchors[] = { "last_active_at", NULL };
    struct body_value after;
    const char *anchor;

    if (!body_object(body, "expires_after", &after))
        return false;
    return !after.json ||
           (body_require(&after, "anchor") && body_require(&after, "minutes") &&
            body_word(&after, "anchor", anchors, &anchor) &&
            body_integer(&after, "minutes", 1, most, minutes));
}

/* Members that change what the container is, and are not possible. */
static bool check_rest(const struct body_value *body)
{
    static const char *const names[] = {
        "name",           "expires_after", "file_ids", "memory_limit",
        "network_policy", "skills",        NULL
    };
    static const char *const refused[] = { "network_policy", "skills" };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        struct body_value member = body_member(body, refused[i]);

        if (json_array_size(member.json) > 0 || json_is_object(member.json))
            return body_refuse(&member, "unsupported_parameter",
                               "is not supported");
    }
    return body_check_names(body, names);
}

/* Ids of uploaded files. */
static bool container_check_files(const struct body_value *body)
{
    struct body_value ids;
    bool good = body_list(body, "file_ids", RESPONSE_MAX_CONTAINER_FILES, &ids);

    for (size_t i = 0; good && i < json_array_size(ids.json); i++) {
        struct body_value id = body_item(&ids, i);

        good = json_is_string(id.json) || body_refuse_type(&id, "a string");
    }
    return good;
}

static void answer_container(struct api_request *request)
{
    const struct container_request *wanted = request->state;

    api_request_json(request, 200, container_json(&wanted->container));
}

static void on_made(struct api_request *request, const redisReply *reply)
{
    struct err err;

    if (reply->type == REDIS_REPLY_INTEGER && reply->integer == 1) {
        answer_container(request);
        return;
    }
    err_set(&err, ERR_RETRY, "redis_unavailable",
            "the container was not kept; try again");
    api_request_refuse(request, &err);
}

/* Behind what writes it, on the same connection: whether it is there. */
static void ask_made(struct api_request *request)
{
    const struct container_request *wanted = request->state;
    struct key record =
        names_container(&request->gateway->names, wanted->container.partition,
                        "container", view_of(wanted->container.id));
    struct command command;

    command_init(&command, "EXISTS");
    command_add(&command, key_view(&record));
    api_request_call(request, wanted->container.partition, &command, on_made);
    command_finish(&command);
}

/* The job that puts files writes the record, too. */
static void make_container(struct api_request *request, const json_t *ids)
{
    struct container_request *wanted = request->state;

    wanted->put.container = &wanted->container;
    wanted->put.done = answer_container;
    if (json_array_size(ids) > 0) {
        container_put_uploaded(request, &wanted->put, ids, "file_ids");
        return;
    }
    container_touch(request->gateway, &wanted->container,
                    request->caller.tenant, VIEW(""));
    ask_made(request);
}

void containers_create(struct api_request *request)
{
    json_int_t most =
        (json_int_t)(request->gateway->settings.container_ttl_ms / 60000);
    struct container_request *wanted;
    struct body_error error = { 0 };
    json_int_t minutes = most;
    struct view name = { "", 0 };
    unsigned int partition;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    wanted = container_request_new(request);
    json_t *json = body_parse(request->body, &error);
    struct body_value body = body_root(json, &error);
    bool good = json && check_rest(&body) && body_require(&body, "name") &&
                body_text(&body, "name", CONTAINER_NAME_BYTES / 4, &name) &&
                read_expiry(&body, most, &minutes) &&
                container_check_files(&body);

    if (good) {
        const json_t *ids = json_object_get(json, "file_ids");

        container_new(&wanted->container, partition, (uint64_t)minutes);
        view_copy(wanted->container.name, sizeof(wanted->container.name), name);
        make_container(request, ids);
    } else {
        openai_refuse_body(request, &error);
    }
    json_decref(json);
}

/* ------------------------------------------------------------------ one */

static void on_container(struct api_request *request)
{
    const struct container_request *wanted = request->state;

    if (wanted->container.found)
        wanted->found(request);
    else
        openai_refuse(request, 404, "not_found", "container_id",
                      "Container with id '%.*s' not found.",
                      VIEW_ARG(view_head(request->params[0], 64)));
}

static void show_container(struct api_request *request)
{
    api_request_json(request, 200, container_json(request->container));
}

void containers_show(struct api_request *request)
{
    struct container_request *wanted = container_request_new(request);

    wanted->found = show_container;
    container_find(request, &wanted->container, request->params[0],
                   on_container);
}

static void answer_deleted(struct api_request *request)
{
    const struct container *container = request->container;

    container_forget(request->gateway, container, request->caller.tenant);
    api_request_json(request, 200,
                     json_pack("{s:s, s:s, s:b}", "id", container->id, "object",
                               "container.deleted", "deleted", 1));
}

/* Variables and files go with the session, once its turn comes. */
static void on_has_session(struct api_request *request, const redisReply *reply)
{
    struct container_request *wanted = request->state;

    wanted->put = (struct container_put){ .container = &wanted->container,
                                          .done = answer_deleted,
                                          .at_once = true };
    if (reply_number(reply) > 0)
        container_put_job(request, &wanted->put,
                          json_pack("{s:s, s:{s:s}}", "kind", "session",
                                    "action", "do", "close"));
    else
        answer_deleted(request);
}

/* When no code has run in it, there is no session. */
static void delete_container(struct api_request *request)
{
    const struct container *container = request->container;
    struct key key =
        names_session(&request->gateway->names, container->partition,
                      view_of(request->caller.tenant), view_of(container->id));
    struct command command;

    command_init(&command, "EXISTS");
    command_add(&command, key_view(&key));
    api_request_call(request, container->partition, &command, on_has_session);
    command_finish(&command);
}

void containers_delete(struct api_request *request)
{
    struct container_request *wanted = container_request_new(request);

    wanted->found = delete_container;
    container_find(request, &wanted->container, request->params[0],
                   on_container);
}

/* --------------------------------------------------------------------- list */

static void answer_containers(struct api_request *request)
{
    const struct container_request *wanted = request->state;
    json_t *sorted = json_array();

    for (size_t i = json_array_size(wanted->items); i > 0; i--)
        json_array_append(sorted, json_array_get(wanted->items, i - 1));
    openai_answer_page(request, sorted);
    json_decref(sorted);
}

static void ask_listed(struct api_request *request);

static void on_listed_record(struct api_request *request,
                             const redisReply *reply)
{
    struct container_request *wanted = request->state;
    struct view name = api_request_query(request, "name");
    struct container *container = &wanted->container;

    if (!container_read(container, reply, request->caller.tenant))
        container_forget(request->gateway, container, request->caller.tenant);
    else if (name.len == 0 || view_is(name, container->name))
        json_array_append_new(wanted->items, container_json(container));
    ask_listed(request);
}

static void ask_listed(struct api_request *request)
{
    struct container_request *wanted = request->state;
    unsigned int partition = wanted->container.partition;
    const redisReply *ids = wanted->ids;
    struct command command;
    struct key key;

    if (wanted->at == ids->elements) {
        answer_containers(request);
        return;
    }
    wanted->container = (struct container){ .partition = partition };
    view_copy(wanted->container.id, sizeof(wanted->container.id),
              reply_view(ids->element[wanted->at++]));
    key = names_container(&request->gateway->names, partition, "container",
                          view_of(wanted->container.id));
    command_init(&command, "HGETALL");
    command_add(&command, key_view(&key));
    api_request_call(request, partition, &command, on_listed_record);
    command_finish(&command);
}

static void on_ids(struct api_request *request, const redisReply *reply)
{
    struct container_request *wanted = request->state;

    (void)reply;
    wanted->ids = fleet_links_keep_reply(request->gateway->links,
                                         wanted->container.partition);
    wanted->items = json_array();
    if (wanted->ids->type == REDIS_REPLY_ARRAY)
        ask_listed(request);
    else
        answer_containers(request);
}

void containers_list(struct api_request *request)
{
    struct container_request *wanted = container_request_new(request);
    struct encoded_label owner = names_encode(view_of(request->caller.tenant));
    struct command command;
    struct key key;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &wanted->container.partition))
        return;
    key = names_container(&request->gateway->names, wanted->container.partition,
                          "containers", view_of(owner.text));
    command_init(&command, "ZRANGE");
    command_add(&command, key_view(&key));
    command_add_text(&command, "0");
    command_add_uint(&command, MOST_LISTED - 1);
    command_add_text(&command, "REV");
    api_request_call(request, wanted->container.partition, &command, on_ids);
    command_finish(&command);
}
