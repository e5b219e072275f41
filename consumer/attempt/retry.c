/* retry.c - what failed for a while is tried again, here or when the queue
 * brings the job back; or not any more. */
#include <stdlib.h>
#include <string.h>

#include "consumer/attempt/attempt.h"
#include "consumer/log.h"

enum { MOST_WAIT_MS = 30 * 1000 };

/* Growing, and not the same for all whom one fault has hit. */
static uint64_t next_wait(const struct attempt *attempt, uint64_t tries)
{
    const struct job_retry *retry = &attempt->job.retry;
    uint64_t wait = retry->backoff_ms ? retry->backoff_ms
                                      : attempt->consumer->settings.backoff_ms;
    for (uint64_t i = 1; i < tries && wait < MOST_WAIT_MS; i++)
        wait *= 2;
    if (wait > MOST_WAIT_MS)
        wait = MOST_WAIT_MS;
    return wait - wait / 4 * (uint64_t)(rand() % 256) / 256;
}

static bool may_try_again(const struct attempt *attempt, const struct err *why,
                          uint64_t tries)
{
    uint64_t wish = attempt->job.retry.max_attempts;
    uint64_t most = wish ? wish : attempt->consumer->settings.max_attempts;
    bool late =
        attempt->deadline_ms != 0 &&
        attempt_now_ms(attempt) + attempt->wait_ms >= attempt->deadline_ms;
    return why->kind == ERR_RETRY && tries < most && !late;
}

bool attempt_is_spent(const struct attempt *attempt, const struct err *why)
{
    return !may_try_again(attempt, why, attempt->tries + 1);
}

/* What was refused was not paid for: the journal says so, before the end. */
static enum turn give_up(struct attempt *attempt, const struct err *why,
                         enum attempt_state resume)
{
    if (resume != ANSWERING)
        return attempt_fail(attempt, why);
    attempt->failure.why = *why;
    attempt->resume = SAVING;
    return attempt_go(attempt, REFUSED);
}

static void log_wait(const struct attempt *attempt, const struct err *why)
{
    log_line("job.retrying", "{s:s, s:s, s:s, s:I}", "job", attempt->id, "code",
             why->code, "why", why->text, "wait_ms",
             (json_int_t)attempt->wait_ms);
}

static void tell_wait(struct attempt *attempt, const struct err *why)
{
    struct event_data data = { .error = result_error_of(why),
                               .wait_ms = attempt->wait_ms };
    progress_event(&attempt->progress, "job.retrying", &data);
}

/* Here, or in the queue when that takes longer. */
static enum turn rest(struct attempt *attempt, const struct err *why,
                      enum attempt_state resume)
{
    bool holds = attempt->wait_ms <= attempt->consumer->settings.hold_ms;
    log_wait(attempt, why);
    attempt->resume = resume;
    if (!holds)
        attempt_drop_work(attempt);
    if (!holds && resume == ANSWERING)
        return attempt_go(attempt, REFUSED);
    tell_wait(attempt, why);
    return attempt_go(attempt, holds ? PAUSING : PARKING);
}

bool attempt_is_deserted(const struct attempt *attempt, const struct err *why)
{
    struct executor_absence absence;
    return strcmp(why->code, "executor_unavailable") == 0 &&
           executor_is_away(attempt->consumer->executor, &absence);
}

enum turn attempt_hand_back(struct attempt *attempt, const struct err *why)
{
    log_line("job.handed_back", "{s:s, s:s}", "job", attempt->id, "why",
             why->text);
    if (attempt->stop < STOP_RELEASE)
        attempt->stop = STOP_RELEASE;
    return AGAIN; /* and attempt_run() acts on it */
}

enum turn attempt_retry(struct attempt *attempt, const struct err *why,
                        uint64_t wait_ms, enum attempt_state resume)
{
    if (attempt_is_deserted(attempt, why))
        return attempt_hand_back(attempt, why);
    uint64_t own = next_wait(attempt, attempt->tries + 1);
    attempt->tries++;
    attempt->wait_reason = wait_ms > own ? VIEW("retry") : VIEW("backoff");
    attempt->wait_ms = wait_ms > own ? wait_ms : own;
    if (!may_try_again(attempt, why, attempt->tries))
        return give_up(attempt, why, resume);
    return rest(attempt, why, resume);
}

enum turn attempt_rest(struct attempt *attempt, const struct err *why,
                       uint64_t wait_ms, struct view reason,
                       enum attempt_state resume)
{
    bool parks = wait_ms > attempt->consumer->settings.hold_ms;
    attempt->wait_reason = reason;
    attempt->wait_ms = wait_ms;
    if (!may_try_again(attempt, why, 0) && !(parks && attempt->is_patient))
        return give_up(attempt, why, resume);
    return rest(attempt, why, resume);
}

enum turn attempt_hold(struct attempt *attempt, const struct err *why,
                       uint64_t wait_ms, enum attempt_state resume)
{
    attempt->wait_ms = wait_ms;
    if (!may_try_again(attempt, why, 0))
        return give_up(attempt, why, resume);
    attempt->resume = resume;
    log_wait(attempt, why);
    tell_wait(attempt, why);
    return attempt_go(attempt, PAUSING);
}
