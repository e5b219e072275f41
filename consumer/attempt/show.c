/* show.c - the pictures of a request: brought from their blobs when it is made,
 * for a model that sees. */
#include <stdlib.h>

#include "consumer/attempt/attempt.h"
#include "consumer/blob.h"

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

static const struct file_ref *file_of_job(const struct attempt *attempt,
                                          struct view blob)
{
    const struct file_ref *files = attempt->job.files.items;
    for (size_t i = 0; i < attempt->job.files.count; i++)
        if (view_equal(files[i].blob, blob))
            return &files[i];
    return NULL;
}

/* A job cannot be answered without what it was given. Of a picture that a cell
 * has drawn the model is told the name, as of one that is gone. */
static bool refuse_false(const struct attempt *attempt, struct view blob,
                         struct err *err)
{
    const struct file_ref *file = file_of_job(attempt, blob);
    return file == NULL ||
           err_set(err, ERR_REJECT, "bad_blob",
                   "the blob of the file \"%.*s\" holds other bytes than its "
                   "name %.*s says",
                   VIEW_ARG(view_head(file->name, 64)), VIEW_ARG(blob));
}

/* What producers say of a length, and of bytes, is not believed. */
static bool take(struct attempt *attempt, const redisReply *reply,
                 struct err *err)
{
    uint64_t left = attempt->consumer->settings.picture_bytes;
    struct shown *shown = attempt->shown;
    for (size_t i = 0; i < shown->answered; i++)
        left -= shown->pictures[i].bytes.len;
    struct picture *picture = &shown->pictures[shown->answered++];
    struct view bytes = { reply->str, reply->len };
    if (reply->type != REDIS_REPLY_STRING || bytes.len > left)
        return true; /* it is named all the same */
    if (!blob_is_sound(picture->blob, bytes))
        return refuse_false(attempt, picture->blob, err);
    buf_init(&picture->bytes, bytes.len);
    return buf_add(&picture->bytes, bytes);
}

static void on_picture(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct attempt *attempt = owner;
    if (reply == NULL || attempt->state != SHOWING) {
        attempt_written(attempt, reply, why);
        return;
    }
    struct err err;
    if (!take(attempt, reply, &err)) {
        attempt->fault = err;
        attempt_stop(attempt, STOP_FAULT);
        return;
    }
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
