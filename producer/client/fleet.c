/* fleet.c - what the calls of quern_operate.h share. */
#include "producer/client/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/message/job.h"
#include "schemas/message/limits.h"

redisReply *fleet_read(struct quern *quern, unsigned int partition,
                       const char *name, const struct key *key,
                       const char *const *more, struct err *err)
{
    struct command command;
    redisReply *reply;

    command_init(&command, name);
    if (key)
        command_add(&command, key_view(key));
    for (; *more; more++)
        command_add_text(&command, *more);
    reply = handle_call(quern, partition, &command, err);
    command_finish(&command);
    return reply;
}

bool fleet_now(struct quern *quern, uint64_t *now, struct err *err)
{
    CLEANUP(cleanup_reply)
    redisReply *reply =
        fleet_read(quern, 0, "TIME", NULL, (const char *const[]){ NULL }, err);

    if (!reply || reply->type != REDIS_REPLY_ARRAY || reply->elements != 2)
        return false;
    *now = reply_number(reply->element[0]) * 1000 +
           reply_number(reply->element[1]) / 1000;
    return true;
}

bool quern_clock(struct quern *quern, uint64_t *now, struct quern_error *error)
{
    struct err err = { 0 };

    return fleet_now(quern, now, &err) || handle_fail(error, &err);
}

bool check_name(const char *what, struct view name, struct err *err)
{
    return name_is_valid(name) ||
           err_set(err, ERR_REJECT, "bad_field",
                   "%s: \"%.*s\" is not a name: 1 to %d of A-Z a-z 0-9 . _ -",
                   what, VIEW_ARG(view_head(name, 64)), MAX_NAME_BYTES);
}

struct view reply_view(const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING && reply->type != REDIS_REPLY_STATUS)
        return (struct view){ 0 };
    return (struct view){ reply->str, reply->len };
}

static const redisReply *fleet_field_of(const redisReply *hash,
                                        const char *name)
{
    for (size_t i = 0;
         hash->type == REDIS_REPLY_ARRAY && i + 1 < hash->elements; i += 2)
        if (view_is(reply_view(hash->element[i]), name))
            return hash->element[i + 1];
    return NULL;
}

struct view reply_field(const redisReply *hash, const char *name)
{
    const redisReply *field = fleet_field_of(hash, name);

    return field ? reply_view(field) : (struct view){ 0 };
}

uint64_t reply_field_number(const redisReply *hash, const char *name)
{
    const redisReply *field = fleet_field_of(hash, name);

    return field ? reply_number(field) : 0;
}

void view_copy(char *text, size_t size, struct view view)
{
    snprintf(text, size, "%.*s", VIEW_ARG(view_head(view, size - 1)));
}

void *list_grow(void *items, size_t count, size_t size)
{
    /* There is always room up to the next power of two: so a list that holds a
     * power of two is full. */
    if ((count & (count - 1)) == 0)
        items = realloc(items, (count ? 2 * count : 1) * size);
    if (!items)
        abort();
    memset((char *)items + count * size, 0, size);
    return items;
}
