/* endpoint.c - quern_endpoints(): what the consumers of the fleet share about
 * model endpoints. They are two keys that belong to no partition: "counts" (a
 * hash) and "waits" (a sorted set of times). */
#include "schemas/redis/endpoint.h"

#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"

static struct quern_endpoint *find_endpoint(struct quern_endpoints *all,
                                            struct view id)
{
    struct quern_endpoint *endpoint;
    struct view name;

    if (!endpoint_id_read(id, &name))
        return NULL;
    for (size_t i = 0; i < all->count; i++)
        if (view_is(id, all->items[i].id))
            return &all->items[i];
    all->items = list_grow(all->items, all->count, sizeof(*all->items));
    endpoint = &all->items[all->count++];
    view_copy(endpoint->id, sizeof(endpoint->id), id);
    view_copy(endpoint->name, sizeof(endpoint->name), name);
    return endpoint;
}

/* Text that is not UTF-8 is passed over: it comes from servers of models. */
static void endpoint_add_note(struct quern_endpoint *endpoint, struct view what,
                              const redisReply *value)
{
    const struct {
        char *text;
        size_t size;
        uint64_t *number;
    } notes[ENDPOINT_NOTES] = {
        [NOTE_HOST] = { .text = endpoint->host, sizeof(endpoint->host) },
        [NOTE_MODEL] = { .text = endpoint->model, sizeof(endpoint->model) },
        [NOTE_ANSWERED_AT] = { .number = &endpoint->answered_at },
        [NOTE_FAILED_AT] = { .number = &endpoint->failed_at },
        [NOTE_ERROR_CODE] = { .text = endpoint->error_code,
                              sizeof(endpoint->error_code) },
        [NOTE_ERROR] = { .text = endpoint->error, sizeof(endpoint->error) },
    };

    for (size_t i = 0; i < ENDPOINT_NOTES; i++)
        if (!view_is(what, endpoint_note_names[i]))
            continue;
        else if (notes[i].number)
            *notes[i].number = reply_number(value);
        else if (view_is_utf8(reply_view(value)))
            view_copy(notes[i].text, notes[i].size, reply_view(value));
}

static void add_count(struct quern_endpoint *endpoint, struct view what,
                      const redisReply *value)
{
    uint64_t *const counts[ENDPOINT_COUNTS] = {
        [COUNT_CALLS] = &endpoint->calls,
        [COUNT_PAID_TWICE] = &endpoint->paid_twice,
        [COUNT_RECOVERED] = &endpoint->recovered,
        [COUNT_FAILURES] = &endpoint->failures,
    };

    endpoint_add_note(endpoint, what, value);
    for (size_t i = 0; i < ENDPOINT_COUNTS; i++)
        if (view_is(what, endpoint_count_names[i]))
            *counts[i] = reply_number(value);
}

static redisReply *endpoint_ask(struct quern *quern, const char *name,
                                const char *what, struct err *err)
{
    struct key key = names_of_fleet(&quern->fleet->names, what);
    bool is_set = strcmp(name, "ZRANGE") == 0;
    struct command command;
    redisReply *reply;

    command_init(&command, name);
    if (strcmp(name, "TIME") != 0)
        command_add(&command, key_view(&key));
    if (is_set) {
        command_add_uint(&command, 0);
        command_add_text(&command, "-1");
        command_add_text(&command, "WITHSCORES");
    }
    reply = handle_call_fleet(quern, &command, err);
    command_finish(&command);
    return reply;
}

static bool read_counts(struct quern *quern, struct quern_endpoints *all,
                        struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *hash = endpoint_ask(quern, "HGETALL", "counts", err);

    for (size_t i = 0; hash && i + 1 < hash->elements; i += 2) {
        struct view id, word;
        struct quern_endpoint *endpoint =
            endpoint_field_read(reply_view(hash->element[i]), &id, &word)
                ? find_endpoint(all, id)
                : NULL;

        if (endpoint)
            add_count(endpoint, word, hash->element[i + 1]);
    }
    return hash;
}

/* Until when each endpoint is to be left alone; what is over is passed over. By
 * the clock of the server that has the key: others may be off. */
static bool read_waits(struct quern *quern, struct quern_endpoints *all,
                       struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *waits = endpoint_ask(quern, "ZRANGE", "waits", err);
    CLEANUP(cleanup_reply)
    redisReply *time = waits ? endpoint_ask(quern, "TIME", "", err) : NULL;
    uint64_t now;

    if (!time || time->type != REDIS_REPLY_ARRAY || time->elements != 2)
        return false;
    now = reply_number(time->element[0]) * 1000 +
          reply_number(time->element[1]) / 1000;
    all->now = now;
    for (size_t i = 0; i + 1 < waits->elements; i += 2) {
        uint64_t until = reply_number(waits->element[i + 1]);
        struct quern_endpoint *endpoint =
            until > now ? find_endpoint(all, reply_view(waits->element[i]))
                        : NULL;

        if (endpoint)
            endpoint->wait_ms = until - now;
    }
    return true;
}

static int by_id(const void *a, const void *b)
{
    const struct quern_endpoint *one = a, *other = b;

    return strcmp(one->id, other->id);
}

bool quern_endpoints(struct quern *quern, struct quern_endpoints *endpoints,
                     struct quern_error *error)
{
    struct err err = { 0 };

    *endpoints = (struct quern_endpoints){ 0 };
    if (!read_counts(quern, endpoints, &err) ||
        !read_waits(quern, endpoints, &err)) {
        free(endpoints->items);
        *endpoints = (struct quern_endpoints){ 0 };
        return handle_fail(error, &err);
    }
    if (endpoints->items)
        qsort(endpoints->items, endpoints->count, sizeof(*endpoints->items),
              by_id);
    return true;
}
