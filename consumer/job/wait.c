/* wait.c - what a job waits for, how long, and where: for what cannot be done
 * just now, and for a person. */
#include "consumer/job/wait.h"

#include <stdlib.h>

#include "consumer/conversation/approval.h"
#include "consumer/conversation/tools.h"
#include "schemas/service/log.h"

enum { MOST_WAIT_MS = 30 * 1000 }; /* of our own; others may ask for more */

/* ------------------------------------------ for what cannot be done just now
 */

/* Doubled with each try. Up to a quarter of it is left out at random, so that
 * the jobs that one failure has hit do not come back all at once. */
static uint64_t next_wait(const struct attempt *attempt, uint64_t tries)
{
    const struct job_retry *retry = &attempt->job.retry;
    uint64_t wait = retry->backoff_ms
                        ? retry->backoff_ms
                        : attempt->consumer->settings.retry.backoff_ms;
    for (uint64_t i = 1; i < tries && wait < MOST_WAIT_MS; i++)
        wait *= 2;
    if (wait > MOST_WAIT_MS)
        wait = MOST_WAIT_MS;
    return wait - wait / 4 * (uint64_t)(rand() % 256) / 256;
}

/* tries: how many there were, with the one that has just failed. Nothing is
 * tried that the deadline would cut off before it begins. */
static bool may_try_again(const struct attempt *attempt, const struct err *why,
                          uint64_t tries)
{
    uint64_t wish = attempt->job.retry.max_attempts;
    uint64_t most =
        wish ? wish : attempt->consumer->settings.retry.max_attempts;
    uint64_t deadline_ms = attempt->origin.deadline_ms;
    bool late =
        deadline_ms != 0 &&
        attempt_now_ms(attempt) + attempt->retries.wait_ms >= deadline_ms;
    return why->kind == ERR_RETRY && tries < most && !late;
}

bool wait_is_spent(const struct attempt *attempt, const struct err *why)
{
    return !may_try_again(attempt, why, attempt->retries.tries + 1);
}

static void log_wait(const struct attempt *attempt, const struct err *why)
{
    log_job_line(ATTEMPT_LOG(attempt), "job.retrying", "{s:s, s:s, s:I}",
                 "code", why->code, "why", why->text, "wait_ms",
                 (json_int_t)attempt->retries.wait_ms);
}

void wait_tell(struct attempt *attempt, const struct err *why)
{
    struct event_data data = { .error = result_error_of(why),
                               .wait_ms = attempt->retries.wait_ms };
    progress_event(&attempt->progress, "job.retrying", &data);
}

static bool is_long(const struct attempt *attempt)
{
    return attempt->retries.wait_ms > attempt->consumer->settings.retry.hold_ms;
}

enum delay wait_retry(struct attempt *attempt, const struct err *why,
                      uint64_t least_ms)
{
    struct job_retries *retries = &attempt->retries;
    if (attempt_is_deserted(attempt, why)) {
        attempt_hand_back(attempt, why);
        return DELAY_ELSEWHERE;
    }
    uint64_t own = next_wait(attempt, retries->tries + 1);
    retries->tries++;
    retries->reason = least_ms > own ? VIEW("retry") : VIEW("backoff");
    retries->wait_ms = least_ms > own ? least_ms : own;
    if (!may_try_again(attempt, why, retries->tries))
        return DELAY_NONE;
    log_wait(attempt, why);
    return is_long(attempt) ? DELAY_IN_QUEUE : DELAY_HERE;
}

enum delay wait_rest(struct attempt *attempt, const struct err *why,
                     uint64_t wait_ms, struct view reason)
{
    struct job_retries *retries = &attempt->retries;
    retries->reason = reason;
    retries->wait_ms = wait_ms;
    bool parks = is_long(attempt);
    /* Without a deadline of its own the job may wait in its queue for ever: the
     * deadline of the settings counts from the next start on. */
    if (!may_try_again(attempt, why, 0) &&
        !(parks && attempt->origin.has_no_deadline))
        return DELAY_NONE;
    log_wait(attempt, why);
    return parks ? DELAY_IN_QUEUE : DELAY_HERE;
}

enum delay wait_hold(struct attempt *attempt, const struct err *why,
                     uint64_t wait_ms)
{
    attempt->retries.wait_ms = wait_ms;
    if (!may_try_again(attempt, why, 0))
        return DELAY_NONE;
    log_wait(attempt, why);
    return DELAY_HERE;
}

/* ------------------------------------------------------------ for a person */

/* Returns false. The tool may still come, from a server that is away. */
static bool approval_wait_refuse(const struct attempt *attempt, size_t i,
                                 struct view name, struct err *err)
{
    bool away = mcp_expects(attempt->consumer->mcp, name);
    return err_set(err, away ? ERR_RETRY : ERR_REJECT,
                   away ? "tool_unavailable" : "unknown_tool",
                   "approve[%zu]: there is no tool \"%.*s\"%s", i,
                   VIEW_ARG(view_head(name, 64)), away ? " yet" : "");
}

bool approval_wait_check(const struct attempt *attempt, struct err *err)
{
    const struct view *names = attempt->job.approve.items;
    for (size_t i = 0; i < attempt->job.approve.count; i++)
        if (!view_is(names[i], TOOL_PYTHON) &&
            !catalog_find(&attempt->tools.toolset->catalog, names[i]))
            return approval_wait_refuse(attempt, i, names[i], err);
    return true;
}

/* The event shows the person exactly what would be run: all of it, as quern has
 * understood it, and not as the model wrote it. */
static void write_question(struct attempt *attempt, const struct terms *terms,
                           const struct call *call, const struct err *why)
{
    CLEANUP(buf_finish) struct buf text = { 0 };
    struct event_data data =
        attempt_call_event(attempt, view_of(call->id), view_of(call->tool));
    data.reason = VIEW("approval");
    if (why->kind != ERR_NONE)
        data.error = result_error_of(why);
    decide_preview(&attempt->conversation, terms, call, &text);
    *(decide_is_tool(call) ? &data.text : &data.code) = buf_view(&text);
    buf_finish(&attempt->approval.data);
    event_data_encode(&data, &attempt->approval.data);
}

bool approval_wait_is_due(struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    struct err why;
    const struct call *call =
        decide_approval(&attempt->conversation, &terms, &why);
    if (!call)
        return false;
    log_job_line(ATTEMPT_LOG(attempt), "approval.asked", "{s:s, s:s}", "call",
                 call->id, "tool", call->tool);
    write_question(attempt, &terms, call, &why);
    attempt->approval.call = call;
    attempt->retries.wait_ms = approval_rule_ms(&terms, &attempt->job);
    return true;
}

struct wait approval_wait_of(const struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    return (struct wait){
        .lease = attempt_lease(attempt),
        .delay_ms = attempt->retries.wait_ms,
        .reason = VIEW("approval"),
        .event_data = buf_view(&attempt->approval.data),
        .call = view_of(attempt->approval.call->id),
        .fallback = approval_rule_default(&terms, &attempt->job),
    };
}
