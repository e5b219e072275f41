/* recall.c - reads what was said in the session before, and adds to it. */
#include "consumer/activity/recall.h"

#include <stdlib.h>

#include "consumer/blob.h"
#include "consumer/conversation/memory.h"
#include "consumer/python/record.h"
#include "schemas/service/log.h"

/* How long the blob lives until the record is written, which keeps it longer.
 */
enum { BLOB_MS = 3600 * 1000 };

enum { CLAIMING, READING, RESTING, STATES };

struct recall { /* what it brings is attempt->history */
    struct activity activity;
};

static bool recalls(const struct attempt *attempt)
{
    const struct job *job = &attempt->job;
    return attempt->known && job->kind == JOB_CONVERSATION &&
           job->session.len > 0 && job->history != HISTORY_OFF &&
           attempt->consumer->settings.session.history_bytes > 0;
}

bool recall_is_due(const struct attempt *attempt)
{
    return recalls(attempt) && !attempt->history.brought;
}

static enum pace enter_claiming(void *owner)
{
    static const struct session_request claim = { .verb = SESSION_CLAIM };
    return activity_request(owner, &claim);
}

static enum pace step_claimed(void *owner)
{
    struct activity *activity = owner;
    enum pace pace = WAIT;
    return activity_is_granted(activity, &pace)
               ? machine_go(&activity->machine, READING)
               : pace;
}

/* A history that is lost is no error of the job: the session goes on without
 * it, and the log tells operators. */
static void recall_forget(struct attempt *attempt, const char *why)
{
    struct session_record *record = &session_memo(attempt->session)->record;
    log_job_line(ATTEMPT_LOG(attempt), "session.history_lost", "{s:s}", "why",
                 why);
    record->history = (struct view){ 0 };
    record->history_bytes = record->exchanges = 0;
}

static void read_history(struct attempt *attempt, struct view bytes)
{
    struct session_history *history = &attempt->history;
    struct view blob = session_memo(attempt->session)->record.history;
    struct err err;
    if (!memory_recall(&attempt->conversation,
                       arena_copy(&history->arena, bytes), blob,
                       &history->history, &history->arena, &err))
        recall_forget(attempt, err.text);
}

static store_done on_history;

static enum pace recall_finish(struct activity *activity)
{
    activity->attempt->history.brought = true;
    return activity_done(activity);
}

static enum pace enter_reading(void *owner)
{
    struct activity *activity = owner;
    struct attempt *attempt = activity->attempt;
    const struct session_memo *memo = session_memo(attempt->session);
    if (!memo_is_open(memo) || memo->record.history.len == 0)
        return recall_finish(activity);
    blob_get(&attempt->store, &attempt->consumer->names, memo->record.history,
             on_history, attempt);
    return WAIT;
}

static enum pace step_read(void *owner)
{
    return recall_finish(owner);
}

static void recall_free(struct activity *activity)
{
    free(activity);
}

static const struct machine_state states[STATES] = {
    [CLAIMING] = { "claiming", TO(READING) | TO(RESTING),
                   .enter = enter_claiming, .landed = step_claimed,
                   .limit_ms = ACTIVITY_OTHERS_MS },
    [READING] = { "reading", 0, .enter = enter_reading, .landed = step_read,
                  .limit_ms = ACTIVITY_REDIS_MS },
    [RESTING] = { "resting", TO(CLAIMING), .landed = activity_rested },
};
static const struct activity_kind kind = {
    .machine = { "recall", states, STATES, activity_entered, NULL },
    .resting = RESTING,
    .free = recall_free,
};

static void on_history(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct attempt *attempt = owner;
    struct activity *activity = activity_find(attempt, &kind, READING);
    if (!reply || !activity) {
        attempt_written(attempt, reply, why);
        return;
    }
    struct view blob = session_memo(attempt->session)->record.history;
    struct view bytes = (struct view){ reply->str, reply->len };
    if (reply->type != REDIS_REPLY_STRING)
        recall_forget(attempt, "its blob is gone");
    else if (!blob_is_sound(blob, bytes))
        recall_forget(attempt, "its blob holds other bytes than its name says");
    else
        read_history(attempt, bytes);
    activity_land(activity);
}

void recall_start(struct attempt *attempt)
{
    struct recall *recall = calloc(1, sizeof(*recall));
    if (!recall)
        abort();
    activity_init(&recall->activity, &kind, attempt);
}

/* ------------------------------------------------------------- at the end */

/* An answer is said, also one that a limit has cut short. A job that has failed
 * or was cancelled has said nothing. */
static bool has_said(const struct attempt *attempt)
{
    int status = attempt->ending.status;
    return recalls(attempt) &&
           (status == STATE_COMPLETED || status == STATE_INCOMPLETE) &&
           memory_is_due(&attempt->conversation);
}

struct saved_history recall_add(struct attempt *attempt)
{
    struct session_history *history = &attempt->history;
    if (!has_said(attempt))
        return (struct saved_history){ 0 };
    CLEANUP(buf_finish) struct buf bytes;
    size_t exchanges =
        memory_write(&bytes, &history->history, &attempt->conversation,
                     attempt->consumer->settings.session.history_bytes);
    blob_name(buf_view(&bytes), history->blob);
    blob_put(&attempt->store, &attempt->consumer->names, view_of(history->blob),
             buf_view(&bytes), BLOB_MS, NULL, NULL);
    return (struct saved_history){ view_of(history->blob), bytes.len,
                                   exchanges };
}
