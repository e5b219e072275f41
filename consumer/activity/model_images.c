/* model_images.c - the images of a request: read from their blobs when the
 * request is made, for a model that sees. */
#include <stdlib.h>

#include "consumer/activity/model_turn.h"
#include "consumer/blob.h"
#include "schemas/redis/blob.h"

/* From SHOWING until the request is composed. */
struct request_images {
    struct request_image images[MAX_SHOWN];
    size_t count;
    size_t answered; /* the first so many have their bytes, or there are none */
};

void images_drop(struct model_turn *turn)
{
    if (!turn->shown)
        return;
    for (size_t i = 0; i < turn->shown->count; i++)
        buf_finish(&turn->shown->images[i].bytes);
    free(turn->shown);
    turn->shown = NULL;
}

static size_t images_pick(const struct model_turn *turn,
                          struct request_image images[MAX_SHOWN])
{
    const struct attempt *attempt = turn->activity.attempt;
    struct terms terms = attempt_terms(attempt);
    return decide_images(&attempt->conversation, &terms, images);
}

bool images_are_due(const struct model_turn *turn)
{
    struct request_image images[MAX_SHOWN];
    return !turn->shown && images_pick(turn, images) > 0;
}

struct request_context images_context(const struct model_turn *turn,
                                      enum ask_kind kind)
{
    const struct request_images *shown = turn->shown;
    return (struct request_context){
        .kind = kind,
        .images = !shown ? NULL : shown->images,
        .image_count = !shown ? 0 : shown->count,
    };
}

struct list images_blobs(const struct model_turn *turn,
                         struct view blobs[MAX_SHOWN])
{
    struct list shown = { .items = blobs };
    for (size_t i = 0; turn->shown && i < turn->shown->count; i++)
        if (turn->shown->images[i].bytes.len > 0)
            blobs[shown.count++] = turn->shown->images[i].blob;
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

/* The blob holds other bytes than its name says. If it is a file of the job,
 * the job fails: it cannot be answered without what it was given. A picture
 * that a cell has drawn is left out like one that has expired: the model is
 * told its name.
 */
static bool refuse_false(const struct attempt *attempt, struct view blob,
                         struct err *err)
{
    const struct file_ref *file = file_of_job(attempt, blob);
    return !file ||
           err_set(err, ERR_REJECT, "bad_blob",
                   "the blob of the file \"%.*s\" holds other bytes than its "
                   "name %.*s says",
                   VIEW_ARG(view_head(file->name, 64)), VIEW_ARG(blob));
}

/* Any producer may write blobs: so neither a length that it gave nor that the
 * bytes fit the name is believed. */
static bool images_take(struct model_turn *turn, const redisReply *reply,
                        struct err *err)
{
    const struct attempt *attempt = turn->activity.attempt;
    uint64_t left = attempt->consumer->settings.limits.image_bytes;
    struct request_images *shown = turn->shown;
    for (size_t i = 0; i < shown->answered; i++)
        left -= shown->images[i].bytes.len;
    struct request_image *image = &shown->images[shown->answered++];
    struct view bytes = { reply->str, reply->len };
    if (reply->type != REDIS_REPLY_STRING || bytes.len > left)
        return true; /* without bytes: the request only names it */
    if (!blob_is_sound(image->blob, bytes))
        return refuse_false(attempt, image->blob, err);
    buf_init(&image->bytes, bytes.len);
    return buf_add(&image->bytes, bytes);
}

/* Answers come in the order of the questions. One that finds the turn in
 * another state is of a turn that was stopped. */
static void on_image(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct attempt *attempt = owner;
    struct model_turn *turn = model_turn_of(attempt->activity);
    if (!reply || !turn || turn->activity.machine.state != TURN_SHOWING) {
        attempt_written(attempt, reply, why);
        return;
    }
    struct err err;
    if (!images_take(turn, reply, &err)) {
        attempt->fault = err;
        attempt_stop(attempt, STOP_FAULT);
        return;
    }
    attempt_run(attempt);
}

static void ask_for(struct attempt *attempt, struct view blob)
{
    struct command command;
    blob_ask_head(&command, &attempt->consumer->names,
                  attempt->partition->number, blob,
                  attempt->consumer->settings.limits.image_bytes);
    store_send(&attempt->store, &command, on_image, attempt);
    command_finish(&command);
}

enum pace images_show(struct model_turn *turn, enum model_turn_state then)
{
    turn->shown_then = then;
    return turn_go(turn, TURN_SHOWING);
}

enum pace enter_showing(void *owner)
{
    struct model_turn *turn = owner;
    struct request_images *shown = calloc(1, sizeof(*shown));
    if (!shown)
        abort();
    turn->shown = shown;
    shown->count = images_pick(turn, shown->images);
    for (size_t i = 0; i < shown->count; i++)
        ask_for(turn->activity.attempt, shown->images[i].blob);
    return AGAIN;
}

enum pace step_showing(void *owner)
{
    struct model_turn *turn = owner;
    return turn->shown->answered < turn->shown->count
               ? WAIT
               : turn_go(turn, turn->shown_then);
}
