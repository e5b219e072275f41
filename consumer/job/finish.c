/* finish.c - an attempt's end: the session saved and the result written, or the
 * job put back into its queue. */
#include "consumer/activity/recall.h"
#include "consumer/blob.h"
#include "consumer/job/attempt.h"
#include "consumer/job/wait.h"
#include "consumer/numbers.h"
#include "consumer/python/record.h"
#include "schemas/service/log.h"

/* A session without a name ends with its job. It is closed before the end is
 * written; should another attempt have to go on all the same, it restores the
 * session from the journal. */
static void leave_session(struct attempt *attempt)
{
    bool used =
        session_is_asked(attempt->session) || attempt->conversation.files_there;
    if (attempt->known && used && attempt->job.session.len == 0)
        session_close(attempt->session);
}

/* ----------------------------------------------------------------- saving */

/* A session with a name is saved when it was used; but for a job that was
 * stopped (cancel, deadline, fault) only if it is open: else it would have to
 * be restored first, which runs the job's cells again. */
static bool has_to_be_saved(const struct attempt *attempt)
{
    const struct conversation *conversation = &attempt->conversation;
    bool used = attempt->known && attempt->job.session.len > 0 &&
                (conversation_cells(conversation) > 0 ||
                 session_is_open(attempt->session));
    bool by_itself = attempt->ending.status == STATE_COMPLETED ||
                     attempt->ending.status == STATE_INCOMPLETE ||
                     attempt->stop == STOP_NONE;
    return used && (by_itself || session_is_open(attempt->session));
}

enum pace enter_saving(void *owner)
{
    struct attempt *attempt = owner;
    bool saves = has_to_be_saved(attempt);
    struct saved_history history = recall_add(attempt);
    /* Nothing to write, or an earlier attempt has written just this. */
    if (!saves &&
        memo_has_history(session_memo(attempt->session), history.blob))
        return machine_go(&attempt->machine, FINISHING);
    struct session_request request = {
        .verb = saves ? SESSION_SAVE : SESSION_REMEMBER,
        .earlier = conversation_earlier_cells(&attempt->conversation),
        .files_there = attempt->conversation.files_there,
        .cells = conversation_cells(&attempt->conversation),
        .saved = history,
    };
    session_request(attempt->session, &request);
    return WAIT;
}

/* A session that could not be saved does not fail the job: the result says so.
 * But while this host's executor is away, another host may still save it. */
enum pace step_saved(void *owner)
{
    struct attempt *attempt = owner;
    const struct err *fault = session_fault(attempt->session);
    if (attempt->stop == STOP_NONE && attempt_is_deserted(attempt, fault))
        return attempt_hand_back(attempt, fault);
    if (fault->kind != ERR_NONE) {
        log_job_line(ATTEMPT_LOG(attempt), "session.unsaved", "{s:s}", "why",
                     fault->text);
        attempt->ending.unsaved = view_of(fault->text);
    }
    return machine_go(&attempt->machine, FINISHING);
}

/* -------------------------------------------------------------- finishing */

static void complete_ending(struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    struct job_outcome *ending = &attempt->ending;
    ending->id = view_of(attempt->origin.id);
    ending->attempts = attempt->origin.number;
    ending->queued_ms = attempt->origin.queued_ms;
    ending->total_ms = attempt->origin.age_ms + attempt_now_ms(attempt) -
                       attempt->origin.started_ms;
    if (attempt->endpoint)
        ending->model = view_of(attempt->endpoint->name);
    if (attempt->known)
        ending->answer =
            decide_answer(&attempt->conversation, &terms, &attempt->answer);
    else
        ending->metadata =
            job_metadata(buf_view(&attempt->origin.body), &attempt->arena);
    ending->unknown = &attempt->job.unknown;
    /* Stopped in the middle of a reply: its beginning is the answer. */
    if (attempt->stop != STOP_NONE && attempt->partial.len > 0)
        ending->answer = buf_view(&attempt->partial);
    if (attempt->known && attempt->conversation.result_count > 0)
        ending->isolation =
            view_of(executor_isolation(attempt->consumer->executor));
}

/* What FINISHING, RELEASING and PARKING wait for. */
static void on_end_written(void *owner, const redisReply *reply,
                           const struct err *why)
{
    if (!reply)
        attempt_written(owner, reply, why);
    else
        attempt_land(owner);
}

static uint64_t longer_of(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/* For jobs that go on from this one, as long as its result. */
static void keep_conversation(struct attempt *attempt, uint64_t ttl_ms)
{
    struct job_outcome *ending = &attempt->ending;
    CLEANUP(buf_finish) struct buf bytes = { 0 };
    struct err why;
    if (!attempt->known || !attempt->conversation.messages ||
        attempt->job.keep_ms == 0)
        return;
    if (!conversation_keep(&attempt->conversation, &bytes, &why)) {
        ending->unkept = arena_copy(&attempt->answer, view_of(why.text));
        return;
    }
    blob_name(buf_view(&bytes), attempt->kept);
    blob_put(&attempt->store, &attempt->consumer->names, view_of(attempt->kept),
             buf_view(&bytes), ttl_ms, NULL, NULL);
    ending->conversation = view_of(attempt->kept);
}

static void send_finish(struct attempt *attempt)
{
    const struct consumer *consumer = attempt->consumer;
    const struct job_outcome *ending = &attempt->ending;
    uint64_t keep_ms = attempt->known ? attempt->job.keep_ms : 0;
    uint64_t ttl_ms = longer_of(consumer->settings.result.ttl_ms, keep_ms);
    uint64_t dead_ttl_ms =
        longer_of(consumer->settings.result.dead_ttl_ms, keep_ms);
    keep_conversation(attempt,
                      ending->status == STATE_FAILED ? dead_ttl_ms : ttl_ms);
    const struct usage usage = spending_total(&attempt->conversation.spending);
    CLEANUP(buf_finish) struct buf event;
    result_write(&attempt->result, &attempt->conversation, ending);
    result_event(&event, &attempt->conversation, ending);
    struct finish finish = {
        .lease = attempt_lease(attempt),
        .state = ending->status,
        .result = buf_view(&attempt->result),
        .event_data = buf_view(&event),
        .error_code = view_of(ending->why.code),
        .result_ttl_ms = ttl_ms,
        .dead_ttl_ms = dead_ttl_ms,
        .tokens = usage_tokens(&usage),
        .cost = usage.cost,
    };
    /* Before the end, behind which the store sends nothing: its answer frees
     * the attempt. */
    attempt_renew_blobs(attempt, ending->status == STATE_FAILED
                                     ? finish.dead_ttl_ms
                                     : finish.result_ttl_ms);
    store_end(&attempt->store, &finish, on_end_written, attempt);
}

enum pace enter_finishing(void *owner)
{
    struct attempt *attempt = owner;
    /* The job may have been stopped between a reply's record and its events. */
    attempt_tell_functions(attempt, attempt->functions_told);
    progress_flush(&attempt->progress);
    leave_session(attempt);
    complete_ending(attempt);
    send_finish(attempt);
    return WAIT;
}

static void count_end(const struct attempt *attempt)
{
    const struct job_outcome *ending = &attempt->ending;
    const char *code = ending->why.code;
    uint64_t ms = attempt_due_ms(attempt, ending->total_ms);
    struct view queue = attempt->origin.facts.queue;
    struct view outcome = view_of(job_state_names[ending->status]);
    metric_add(NUMBER_JOBS_FINISHED, 1,
               LABELS(queue, outcome, view_of(*code ? code : "none")));
    metric_observe(NUMBER_JOB_DURATION, (double)ms / 1000,
                   LABELS(queue, outcome));
}

enum pace step_finished(void *owner)
{
    struct attempt *attempt = owner;
    const struct job_outcome *ending = &attempt->ending;
    count_end(attempt);
    attempt->spans.outcome = job_state_names[ending->status];
    log_job_line(ATTEMPT_LOG(attempt), "job.finished",
                 "{s:s, s:s, s:s, s:I, s:I}", "status",
                 job_state_names[ending->status], "code", ending->why.code,
                 "why", ending->why.text, "turns",
                 (json_int_t)attempt->conversation.turn, "ms",
                 (json_int_t)ending->total_ms);
    return machine_go(&attempt->machine, ENDED);
}

/* ----------------------------------------------------------- handing back */

/* Finishes the command. Another consumer may take the job as soon as Redis has
 * carried it out; the answer only ends this attempt. */
static enum pace hand_back(struct attempt *attempt, struct command *command)
{
    progress_flush(&attempt->progress);
    store_send(&attempt->store, command, on_end_written, attempt);
    command_finish(command);
    return WAIT;
}

enum pace enter_releasing(void *owner)
{
    struct attempt *attempt = owner;
    struct command command;
    attempt_renew_blobs(attempt, attempt->consumer->settings.result.ttl_ms);
    transition_release(&command, &attempt->consumer->names,
                       attempt_lease(attempt), VIEW("released"));
    return hand_back(attempt, &command);
}

static struct view why_released(const struct attempt *attempt)
{
    const struct consumer *consumer = attempt->consumer;
    struct executor_absence absence;
    if (consumer->mode != MODE_SERVING)
        return VIEW("drain");
    return executor_is_away(consumer->executor, &absence) ? VIEW("executor")
                                                          : VIEW("session");
}

enum pace step_released(void *owner)
{
    struct attempt *attempt = owner;
    attempt->spans.outcome = "released";
    log_job_line(ATTEMPT_LOG(attempt), "job.released", "{}");
    metric_add(NUMBER_JOBS_HANDED_BACK, 1, LABELS(why_released(attempt)));
    return machine_go(&attempt->machine, ENDED);
}

/* The executor need not keep a session without a name, in which nothing has run
 * yet, until the job goes on: that may be on another host, or in a week. */
static void leave_unused_session(struct attempt *attempt)
{
    const struct conversation *conversation = &attempt->conversation;
    const struct call *call = conversation_call(conversation);
    session_abandon(attempt->session);
    if (session_is_asked(attempt->session) && attempt->job.session.len == 0 &&
        !conversation->files_there && !(call && call->intended))
        session_close(attempt->session);
}

enum pace enter_parking(void *owner)
{
    struct attempt *attempt = owner;
    leave_unused_session(attempt);
    const struct job_retries *retries = &attempt->retries;
    struct wait wait = { .lease = attempt_lease(attempt),
                         .delay_ms = retries->wait_ms,
                         .errors = retries->tries,
                         .reason = retries->reason };
    struct command command;
    if (attempt->approval.call)
        wait = approval_wait_of(attempt);
    attempt_renew_blobs(attempt, wait.delay_ms +
                                     attempt->consumer->settings.result.ttl_ms);
    transition_wait(&command, &attempt->consumer->names, &wait);
    return hand_back(attempt, &command);
}

enum pace step_parked(void *owner)
{
    struct attempt *attempt = owner;
    attempt->spans.outcome = attempt->approval.call ? "approval" : "waiting";
    log_job_line(ATTEMPT_LOG(attempt), "job.parked", "{s:I}", "wait_ms",
                 (json_int_t)attempt->retries.wait_ms);
    metric_add(NUMBER_JOBS_HANDED_BACK, 1,
               LABELS(attempt->approval.call ? VIEW("approval")
                                             : attempt->retries.reason));
    return machine_go(&attempt->machine, ENDED);
}
