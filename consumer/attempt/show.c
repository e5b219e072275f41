/* show.c - the pictures of a request: brought from their blobs when it is made,
 * for a model that sees. */
#include <stdlib.h>

#include "consumer/attempt/attempt.h"

struct shown {
    struct picture pictures[MAX_SHOWN];
    size_t count, answered;
};

void attempt_drop_pictures(struct attempt *attempt)
{
    if (attempt->shown == NULL)
        return;
    for (size_t i = 0; i < attempt->shown->count; i++)
        buf_finish(&attempt->shown->pictures[i].bytes);
    free(attempt->shown);
    attempt->shown = NULL;
}

bool attempt_sees(const struct attempt *attempt)
{
    const struct model_endpoint *endpoint = attempt->endpoint;
    return endpoint != NULL && endpoint->sees && !attempt->blind &&
           !endpoint_has(endpoint, QUIRK_BLIND);
}

static size_t choose(const struct attempt *attempt,
                     struct picture pictures[MAX_SHOWN])
{
    struct terms terms = attempt_terms(attempt);
    return decide_pictures(&attempt->conversation, &terms, pictures);
}

bool attempt_has_to_show(const struct attempt *attempt)
{
    struct picture pictures[MAX_SHOWN];
    return attempt->shown == NULL && choose(attempt, pictures) > 0;
}

struct beside attempt_beside(const struct attempt *attempt, enum ask_kind kind)
{
    const struct shown *shown = attempt->shown;
    return (struct beside){
        .kind = kind,
        .pictures = shown == NULL ? NULL : shown->pictures,
        .picture_count = shown == NULL ? 0 : shown->count,
    };
}

struct list attempt_shown(const struct attempt *attempt,
                          struct view blobs[MAX_SHOWN])
{
    struct list shown = { .items = blobs };
    for (size_t i = 0; attempt->shown != NULL && i < attempt->shown->count; i++)
        if (attempt->shown->pictures[i].bytes.len > 0)
            blobs[shown.count++] = attempt->shown->pictures[i].blob;
    return shown;
}

/* What producers say of a length is not believed. */
static void take(struct attempt *attempt, const redisReply *reply)
{
    uint64_t left = attempt->consumer->settings.picture_bytes;
    struct shown *shown = attempt->shown;
    for (size_t i = 0; i < shown->answered; i++)
        left -= shown->pictures[i].bytes.len;
    struct buf *bytes = &shown->pictures[shown->answered++].bytes;
    if (reply->type != REDIS_REPLY_STRING || reply->len > left)
        return; /* it is named all the same */
    buf_init(bytes, reply->len);
    buf_append(bytes, reply->str, reply->len);
}

static void on_picture(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct attempt *attempt = owner;
    if (reply == NULL || attempt->state != SHOWING) {
        attempt_written(attempt, reply, why);
        return;
    }
    take(attempt, reply);
    attempt_run(attempt);
}

static void ask_for(struct attempt *attempt, struct view blob)
{
    struct key key =
        names_blob(&attempt->consumer->names, attempt->partition->number, blob);
    struct command command;
    command_init(&command, "GETRANGE");
    command_add(&command, key_view(&key));
    command_add_text(&command, "0");
    command_add_uint(&command, attempt->consumer->settings.picture_bytes);
    store_send(&attempt->store, &command, on_picture, attempt);
    command_finish(&command);
}

enum turn attempt_show(struct attempt *attempt, enum attempt_state then)
{
    attempt->shown_in = then;
    return attempt_go(attempt, SHOWING);
}

enum turn step_showing(struct attempt *attempt)
{
    if (!attempt->begun) {
        attempt->begun = true;
        struct shown *shown = calloc(1, sizeof(*shown));
        if (shown == NULL)
            abort();
        attempt->shown = shown;
        shown->count = choose(attempt, shown->pictures);
        for (size_t i = 0; i < shown->count; i++)
            ask_for(attempt, shown->pictures[i].blob);
    }
    if (attempt->shown->answered < attempt->shown->count)
        return WAIT;
    return attempt_go(attempt, attempt->shown_in);
}
