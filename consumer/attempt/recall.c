/* recall.c - what was said in the session before: brought when a job begins,
 * added to when it ends.
 *
 * Both in the session's turn, so that nobody else adds meanwhile; what is added
 * becomes the session's with the record that says what else the job left. */
#include "consumer/attempt/attempt.h"
#include "consumer/blob.h"
#include "consumer/conversation/memory.h"
#include "consumer/log.h"

enum { BLOB_MS = 3600 * 1000 }; /* until the record keeps it */

bool attempt_recalls(const struct attempt *attempt)
{
    const struct job *job = &attempt->job;
    return attempt->known && job->kind == JOB_CONVERSATION &&
           job->session.len > 0 && job->history != HISTORY_OFF &&
           attempt->consumer->settings.history_bytes > 0;
}

enum turn step_claiming(struct attempt *attempt)
{
    static const struct wish wish = { .kind = WISH_CLAIM };
    enum turn turn;
    return attempt_wishes(attempt, &wish, &turn)
               ? attempt_go(attempt, RECALLING)
               : turn;
}

/* No error of the job: the session begins to talk anew, and says so to who
 * looks after it. */
static void forget(struct attempt *attempt, const char *why)
{
    struct session_record *record = &attempt->session.known.record;
    log_line("session.forgot", "{s:s, s:s}", "job", attempt->id, "why", why);
    record->history = (struct view){ 0 };
    record->history_bytes = record->exchanges = 0;
}

static void read_history(struct attempt *attempt, struct view bytes)
{
    struct recollection *recollection = &attempt->recollection;
    struct view blob = attempt->session.known.record.history;
    struct err err;
    if (!memory_recall(&attempt->conversation,
                       arena_copy(&recollection->arena, bytes), blob,
                       &recollection->history, &recollection->arena, &err))
        forget(attempt, err.text);
}

static void on_history(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct attempt *attempt = owner;
    if (reply == NULL || attempt->state != RECALLING) {
        attempt_written(attempt, reply, why);
        return;
    }
    struct view blob = attempt->session.known.record.history;
    struct view bytes = (struct view){ reply->str, reply->len };
    if (reply->type != REDIS_REPLY_STRING)
        forget(attempt, "its blob is gone");
    else if (!blob_is_sound(blob, bytes))
        forget(attempt, "its blob holds other bytes than its name says");
    else
        read_history(attempt, bytes);
    attempt->landed = true;
    attempt_run(attempt);
}

enum turn step_recalling(struct attempt *attempt)
{
    const struct known *known = &attempt->session.known;
    bool none = !known_is_open(known) || known->record.history.len == 0;
    if (attempt->landed || (!attempt->begun && none))
        return attempt_go(attempt, DECIDING);
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    blob_get(&attempt->store, &attempt->consumer->names, known->record.history,
             on_history, attempt);
    return WAIT;
}

/* ------------------------------------------------------------- at the end */

/* Answers, also those that a limit has stopped; what has failed or was
 * cancelled has not been said. */
static bool has_said(const struct attempt *attempt)
{
    int status = attempt->ending.status;
    return attempt_recalls(attempt) &&
           (status == STATE_COMPLETED || status == STATE_INCOMPLETE) &&
           memory_is_due(&attempt->conversation);
}

struct said attempt_say(struct attempt *attempt)
{
    struct recollection *recollection = &attempt->recollection;
    if (!has_said(attempt))
        return (struct said){ 0 };
    CLEANUP(buf_finish) struct buf bytes;
    size_t exchanges =
        memory_write(&bytes, &recollection->history, &attempt->conversation,
                     attempt->consumer->settings.history_bytes);
    blob_name(buf_view(&bytes), recollection->blob);
    blob_put(&attempt->store, &attempt->consumer->names,
             view_of(recollection->blob), buf_view(&bytes), BLOB_MS, NULL,
             NULL);
    return (struct said){ view_of(recollection->blob), bytes.len, exchanges };
}
