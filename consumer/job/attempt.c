/* attempt.c - the machine of one consumer's work on one job. */
#include "consumer/job/attempt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/activity/model_turn.h"
#include "consumer/activity/recall.h"
#include "consumer/blob.h"
#include "consumer/job/wait.h"
#include "schemas/message/limits.h"
#include "schemas/service/log.h"

enum {
    /* Then the job ends without its session saved, and the result says so. */
    SAVE_MS = 60 * 1000,
    /* Longer than other waits for Redis: all of the job's work is done, and the
     * lease is renewed meanwhile. */
    FINISH_MS = 60 * 60 * 1000,
    BLOB_RENEWALS = 24,             /* at most, in the time that blobs live */
    FUNCTION_TEXT_BYTES = 48 << 10, /* of the arguments, in function.called */
};

static machine_step step_working;
static void on_entered(void *owner), heed_stop(void *owner);

/* Where a stop may lead from a state in which the end is not decided yet. */
#define STOPS (TO(SAVING) | TO(RELEASING) | TO(ENDED))

static const struct machine_state states[ATTEMPT_STATES] = {
    [LOADING] = { "loading", TO(WORKING) | TO(PARKING) | STOPS,
                  .enter = step_loading, .step = step_loaded,
                  .limit_ms = ACTIVITY_REDIS_MS },
    [WORKING] = { "working", TO(PARKING) | STOPS, .step = step_working },
    [SAVING] = { "saving", TO(FINISHING) | TO(RELEASING) | TO(ENDED),
                 .enter = enter_saving, .landed = step_saved,
                 .limit_ms = SAVE_MS },
    [FINISHING] = { "finishing", TO(ENDED), .enter = enter_finishing,
                    .landed = step_finished, .limit_ms = FINISH_MS },
    [RELEASING] = { "releasing", TO(ENDED), .enter = enter_releasing,
                    .landed = step_released, .limit_ms = ACTIVITY_REDIS_MS },
    [PARKING] = { "parking", TO(ENDED), .enter = enter_parking,
                  .landed = step_parked, .limit_ms = ACTIVITY_REDIS_MS },
    [ENDED] = { .name = "ended" },
};
static const struct machine_kind kind = { "an attempt", states, ATTEMPT_STATES,
                                          on_entered, heed_stop };

/* Of its activity, while there is one. */
static const char *attempt_state_name(const struct attempt *attempt)
{
    return machine_state_name(attempt->activity ? &attempt->activity->machine
                                                : &attempt->machine);
}

/* libuv reads the clock once an iteration; a long callback makes that old. */
uint64_t attempt_now_ms(const struct attempt *attempt)
{
    uv_update_time(attempt->consumer->loop);
    return uv_now(attempt->consumer->loop);
}

struct job_lease attempt_lease(const struct attempt *attempt)
{
    return (struct job_lease){ view_of(attempt->origin.id),
                               attempt->origin.epoch };
}

/* ----------------------------------------------------------------- terms */

const struct catalog *attempt_catalog(const struct attempt *attempt)
{
    const struct toolset *toolset = attempt->tools.toolset;
    return attempt->job.mode == MODE_CODEACT ? &toolset->codeact
                                             : &toolset->catalog;
}

bool attempt_sees(const struct attempt *attempt)
{
    const struct model_endpoint *endpoint = attempt->endpoint;
    return endpoint && endpoint->sees && !attempt->blind &&
           !endpoint_has(endpoint, QUIRK_BLIND);
}

struct event_data attempt_call_event(const struct attempt *attempt,
                                     struct view id, struct view tool)
{
    return (struct event_data){
        .turn = attempt->conversation.turn,
        .call = id,
        .tool = view_head(tool, MAX_NAME_BYTES),
    };
}

uint64_t attempt_new_item(struct attempt *attempt)
{
    if (attempt->items < attempt->conversation.items)
        attempt->items = attempt->conversation.items;
    return ++attempt->items;
}

uint64_t attempt_call_item(struct attempt *attempt, const struct call *call)
{
    if (call->item > 0 || !call_is_item(call))
        return call->item;
    return attempt_new_item(attempt);
}

void attempt_tell_functions(struct attempt *attempt, uint64_t told)
{
    const struct conversation *conversation = &attempt->conversation;
    for (size_t i = 0; i < conversation->call_count; i++) {
        const struct call *call = &conversation->calls[i];
        if (!call->is_callers || call->item <= told)
            continue;
        struct event_data data = attempt_call_event(
            attempt, view_of(call->call_id), view_of(call->tool));
        data.item = call->item;
        data.text = view_head(call->arguments, FUNCTION_TEXT_BYTES);
        progress_event(&attempt->progress, "function.called", &data);
        attempt->functions_told = call->item;
    }
}

struct terms attempt_terms(const struct attempt *attempt)
{
    const struct consumer *consumer = attempt->consumer;
    const struct job_tools *tools = &attempt->tools;
    return (struct terms){
        .prompts = &consumer->prompts,
        .catalog = attempt_catalog(attempt),
        .tools = tools->array,
        .functions = buf_view(&tools->functions),
        .libraries = view_of(executor_libraries(consumer->executor)),
        .endpoint = attempt->endpoint,
        .hands_over = attempt->job.functions.count > 0,
        .choice = attempt->job.tool_choice,
        .max_tool_calls = attempt->job.limits.max_tool_calls,
        .max_output_tokens = attempt->job.limits.max_output_tokens,
        .max_turns = consumer->settings.limits.max_turns,
        .max_tokens = consumer->settings.limits.max_tokens,
        .max_total_tokens = consumer->settings.limits.max_total_tokens,
        .max_cost = consumer->settings.limits.max_cost,
        .repeats = consumer->settings.limits.repeats,
        .output_repairs = consumer->settings.limits.output_repairs,
        .approves_code = tools->toolset->approves_code,
        .approval_ms = consumer->settings.approval.ms,
        .approval_default = consumer->settings.approval.otherwise,
        .pictures =
            attempt_sees(attempt) ? consumer->settings.limits.images : 0,
        .picture_bytes = consumer->settings.limits.image_bytes,
        .blob_url = consumer->settings.result.blob_url,
    };
}

/* ------------------------------------------------------------- deadlines */

/* The state's own limit, or the deadline where that comes first. Once the end
 * is decided the deadline has no say: it would only cut the result short. */
static void set_alarm(struct attempt *attempt)
{
    uint64_t limit_ms = machine_limit_ms(&attempt->machine);
    uint64_t deadline_ms = attempt->origin.deadline_ms;
    uint64_t now = attempt_now_ms(attempt);
    if (deadline_ms != 0 && attempt->machine.state < SAVING) {
        uint64_t left_ms = deadline_ms > now ? deadline_ms - now : 0;
        limit_ms = limit_ms == 0 || left_ms < limit_ms ? left_ms : limit_ms;
    } else if (limit_ms == 0) {
        alarm_stop(attempt->alarm);
        return;
    }
    alarm_set(attempt->alarm, limit_ms);
}

static void on_entered(void *owner)
{
    struct attempt *attempt = owner;
    /* RELEASING and PARKING, too: the next attempt reads the journal itself. */
    if (attempt->machine.state >= SAVING) {
        journal_seal(&attempt->journal);
        spans_turn_end(attempt);
    }
    set_alarm(attempt);
}

void attempt_overdue(struct attempt *attempt, const char *state,
                     uint64_t limit_ms, bool redis)
{
    log_job_line(ATTEMPT_LOG(attempt), "job.overdue", "{s:s}", "state", state);
    if (session_waits(attempt->session)) {
        /* Another job has the session: no fault of this one, and it gives up
         * its slot. */
        attempt_stop(attempt, STOP_RELEASE);
        return;
    }
    err_set(&attempt->fault, ERR_RETRY, "internal",
            "\"%s\" took more than %llu ms", state,
            (unsigned long long)limit_ms);
    /* If Redis does not answer, no failure can be written either. The lease
     * ends, and another consumer goes on from the journal. */
    attempt_stop(attempt, redis ? STOP_LOST : STOP_FAULT);
}

static void on_alarm(void *owner)
{
    struct attempt *attempt = owner;
    uint64_t deadline_ms = attempt->origin.deadline_ms;
    uint64_t limit_ms = machine_limit_ms(&attempt->machine);
    if (attempt->machine.state < SAVING && deadline_ms != 0 &&
        attempt_now_ms(attempt) >= deadline_ms) {
        attempt_stop(attempt, STOP_DEADLINE);
    } else if (attempt->machine.state == SAVING) {
        /* As if the session had answered that it could not be saved. */
        struct err why;
        err_set(&why, ERR_RETRY, "session_failed", "it took more than %llu ms",
                (unsigned long long)limit_ms);
        session_fail_request(attempt->session, &why);
        attempt_land(attempt);
    } else if (limit_ms == 0) {
        set_alarm(attempt); /* the timer was early for the deadline */
    } else {
        attempt_overdue(attempt, machine_state_name(&attempt->machine),
                        limit_ms, true);
    }
}

/* ----------------------------------------------------------------- stops */

/* These end a job whose conversation is sound: its result counts. */
static bool is_from_outside(enum stop_reason stop)
{
    return stop == STOP_CANCEL || stop == STOP_DEADLINE;
}

static enum pace end_as(struct attempt *attempt, int status,
                        const struct err *why)
{
    attempt->ending.status = status;
    attempt->ending.why = !why ? (struct err){ 0 } : *why;
    return machine_go(&attempt->machine, SAVING);
}

static void drop_activity(struct attempt *attempt)
{
    struct activity *activity = attempt->activity;
    attempt->activity = NULL;
    activity_free(activity);
}

/* False: something must be written first. The result of a job that was
 * cancelled or late must tell of all that the journal has, so it waits until no
 * record is on its way (on_journal_idle() of load.c runs the attempt then). An
 * activity may have to write that its request came to nothing. */
static bool has_stopped(struct attempt *attempt)
{
    struct activity *activity = attempt->activity;
    if (is_from_outside(attempt->stop) && journal_is_busy(&attempt->journal))
        return false;
    bool goes_on = activity && activity->end == ACTIVITY_GOES_ON;
    if (goes_on && activity->kind->stop &&
        !activity->kind->stop(activity, attempt->stop))
        return false;
    drop_activity(attempt);
    session_abandon(attempt->session);
    return true;
}

static void end_by_stop(struct attempt *attempt)
{
    static const struct err too_late = { ERR_REJECT, "deadline_exceeded",
                                         "the job's deadline has passed" };
    if (attempt->stop == STOP_RELEASE)
        machine_go(&attempt->machine, RELEASING);
    else if (attempt->stop == STOP_CANCEL)
        end_as(attempt, STATE_CANCELLED, NULL);
    else if (attempt->stop == STOP_DEADLINE)
        end_as(attempt, STATE_FAILED, &too_late);
    else
        end_as(attempt, STATE_FAILED, &attempt->fault);
}

/* Before each step of the machine: what attempt->stop asks for. It may ask
 * again and again until the activity has written what it must. */
static void heed_stop(void *owner)
{
    struct attempt *attempt = owner;
    enum attempt_state state = attempt->machine.state;
    if (attempt->stop == STOP_NONE || state == ENDED)
        return;
    if (attempt->stop == STOP_LOST) {
        /* Redis would refuse the writes that wait. The session at the executor
         * is for the next attempt, so nothing is interrupted or closed. */
        drop_activity(attempt);
        session_abandon(attempt->session);
        store_drop(&attempt->store);
        machine_go(&attempt->machine, ENDED);
        return;
    }
    /* An end that is decided stands, except that a drain need not wait for the
     * session to be saved: the next attempt comes to the same end. */
    bool is_ending = state >= FINISHING ||
                     (state == SAVING && attempt->stop != STOP_RELEASE);
    if (!is_ending && has_stopped(attempt))
        end_by_stop(attempt);
}

void attempt_stop(struct attempt *attempt, enum stop_reason stop)
{
    if (stop <= attempt->stop)
        return;
    attempt->stop = stop;
    attempt_run(attempt);
}

/* The job has a newer epoch, or is gone. That is no error of the job, so it
 * must not end with this one. */
static bool is_lost(const struct err *why)
{
    return strcmp(why->code, "stale") == 0 ||
           strcmp(why->code, "unknown_job") == 0;
}

static void log_refused(const struct attempt *attempt, const struct err *why)
{
    log_job_line(ATTEMPT_LOG(attempt), "job.refused", "{s:s, s:s}", "code",
                 why->code, "why", why->text);
}

enum pace attempt_fail(struct attempt *attempt, const struct err *why)
{
    enum stop_reason stop = is_lost(why) ? STOP_LOST : STOP_FAULT;
    if (stop == STOP_LOST)
        log_refused(attempt, why);
    attempt->fault = *why;
    /* The job was not stopped from outside, so what was streamed of a reply is
     * no answer. */
    buf_finish(&attempt->partial);
    if (attempt->stop < stop)
        attempt->stop = stop;
    return AGAIN; /* heed_stop() comes first */
}

bool attempt_is_deserted(const struct attempt *attempt, const struct err *why)
{
    struct executor_absence absence;
    return strcmp(why->code, "executor_unavailable") == 0 &&
           executor_is_away(attempt->consumer->executor, &absence);
}

enum pace attempt_hand_back(struct attempt *attempt, const struct err *why)
{
    log_job_line(ATTEMPT_LOG(attempt), "job.handed_back", "{s:s}", "why",
                 why->text);
    if (attempt->stop < STOP_RELEASE)
        attempt->stop = STOP_RELEASE;
    return AGAIN; /* heed_stop() comes first */
}

/* --------------------------------------------------------------- working */

enum pace attempt_complete(struct attempt *attempt)
{
    return end_as(attempt, STATE_COMPLETED, NULL);
}

static enum pace end_decided(struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    struct err why;
    int status = decide_end(&attempt->conversation, &terms, &why);
    return end_as(attempt, status, &why);
}

/* The next step, from conversation and terms alone. What was said in the
 * session before is part of the conversation, so it is brought first. */
static enum pace decide(struct attempt *attempt)
{
    const struct conversation *conversation = &attempt->conversation;
    struct terms terms = attempt_terms(attempt);
    attempt_renew_blobs(attempt, attempt->consumer->settings.result.ttl_ms);
    if (recall_is_due(attempt)) {
        recall_start(attempt);
        return AGAIN;
    }
    enum next_action next = decide_next(conversation, &terms);
    if (approval_wait_is_due(attempt))
        return machine_go(&attempt->machine, PARKING);
    if (attempt->job.kind == JOB_SESSION)
        session_act_start(attempt);
    else if (next == NEXT_END)
        return end_decided(attempt);
    else if (next != NEXT_CALL)
        model_turn_start(attempt);
    else if (decide_is_tool(conversation_call(conversation)))
        tool_calls_start(attempt);
    else
        cell_start(attempt);
    return AGAIN;
}

static enum pace step_working(void *owner)
{
    struct attempt *attempt = owner;
    enum stop_reason stop = attempt->stop;
    if (!attempt->activity)
        return stop == STOP_NONE ? decide(attempt) : WAIT;
    machine_run(&attempt->activity->machine);
    /* A step may have failed the attempt: heed_stop() comes before the next. */
    if (attempt->activity->end == ACTIVITY_GOES_ON)
        return attempt->stop == stop ? WAIT : AGAIN;
    bool parks = attempt->activity->end == ACTIVITY_PARKS;
    if (attempt->stop != STOP_NONE)
        return AGAIN;
    drop_activity(attempt);
    return parks ? machine_go(&attempt->machine, PARKING) : AGAIN;
}

/* --------------------------------------------------------------- writing */

void attempt_written(void *owner, const redisReply *reply,
                     const struct err *why)
{
    struct attempt *attempt = owner;
    if (reply)
        return;
    /* Once the end is being written, there is no other way to end: the lease
     * runs out, and another consumer tries. */
    bool lost = is_lost(why) || attempt->machine.state >= SAVING;
    log_refused(attempt, why);
    attempt->fault = *why;
    attempt_stop(attempt, lost ? STOP_LOST : STOP_FAULT);
}

/* How long blobs may stay without renewal. */
static uint64_t renewal_ms(const struct attempt *attempt)
{
    return attempt->consumer->settings.result.ttl_ms / BLOB_RENEWALS;
}

/* Twice the time between renewals: Redis may be away when the job ends. */
uint64_t attempt_blob_ms(const struct attempt *attempt, uint64_t ttl_ms)
{
    return ttl_ms + 2 * renewal_ms(attempt);
}

/* Not at every step: it would be a command for each blob each time. */
void attempt_renew_blobs(struct attempt *attempt, uint64_t ttl_ms)
{
    const struct conversation *conversation = &attempt->conversation;
    const struct origin *origin = &attempt->origin;
    uint64_t now = attempt_now_ms(attempt);
    /* Blobs of earlier attempts are as old as the job at most. */
    uint64_t since = attempt->renewed_ms > 0
                         ? now - attempt->renewed_ms
                         : now - origin->started_ms + origin->age_ms;
    uint64_t usual = attempt->consumer->settings.result.ttl_ms;
    uint64_t longer = ttl_ms > usual ? ttl_ms - usual : 0;
    if (since + longer < renewal_ms(attempt))
        return;
    attempt->renewed_ms = now;
    blobs_renew(&attempt->store, &attempt->consumer->names,
                conversation->results, conversation->result_count,
                attempt_blob_ms(attempt, ttl_ms));
}

/* ------------------------------------------------------ beginning and end */

/* Takes a free place in consumer->slots, which must have one. Runs the attempt,
 * so it may be over when this returns. */
static void on_started(const struct partition *partition,
                       const struct take_reply *start)
{
    struct consumer *consumer = partition->consumer;
    struct attempt *attempt = calloc(1, sizeof(*attempt));
    if (!attempt)
        abort();
    while (consumer->slots[attempt->slot])
        attempt->slot++;
    assert(attempt->slot < consumer->settings.slots);
    consumer->slots[attempt->slot] = attempt;
    consumer->running++;
    attempt->consumer = consumer;
    attempt->partition = partition;
    attempt->serial = ++consumer->serials;
    attempt->alarm = alarm_new(consumer->loop, on_alarm, attempt);
    store_init(&attempt->store, partition->control);
    machine_init(&attempt->machine, &kind, attempt, LOADING);
    attempt_begin(attempt, start);
    set_alarm(attempt);
    attempt_run(attempt);
}

static void attempt_free(struct attempt *attempt)
{
    drop_activity(attempt);
    session_free(attempt->session);
    arena_finish(&attempt->history.arena);
    journal_finish(&attempt->journal);
    progress_finish(&attempt->progress);
    store_finish(&attempt->store);
    conversation_finish(&attempt->conversation);
    arena_finish(&attempt->arena);
    alarm_free(attempt->alarm);
    endpoint_free(attempt->endpoint);
    origin_finish(&attempt->origin);
    job_tools_finish(&attempt->tools);
    buf_finish(&attempt->partial);
    buf_finish(&attempt->result);
    buf_finish(&attempt->approval.data);
    arena_finish(&attempt->answer);
    free(attempt);
}

static void attempt_end(struct attempt *attempt)
{
    struct consumer *consumer = attempt->consumer;
    consumer->slots[attempt->slot] = NULL;
    consumer->running--;
    spans_end(attempt);
    attempt_free(attempt);
    consumer->on_ended(consumer);
}

void attempt_land(struct attempt *attempt)
{
    attempt->machine.landed = true;
    attempt_run(attempt);
}

/* Only the outermost call frees the attempt: those inside would take it away
 * from the machine that is still on the stack. */
void attempt_run(struct attempt *attempt)
{
    bool inside = attempt->machine.running;
    machine_run(&attempt->machine);
    if (!inside && attempt->machine.state == ENDED)
        attempt_end(attempt);
}

/* ------------------------------------------ what the queue calls (jobs.h) */

/* An attempt that has ended still has its slot while its machine is on the
 * stack: nothing is asked of it any more. */
static bool attempts_find(const struct partition *partition, size_t slot,
                          struct slot_job *job)
{
    const struct attempt *attempt = partition->consumer->slots[slot];
    if (!attempt || attempt->partition != partition ||
        attempt->machine.state == ENDED)
        return false;
    *job = (struct slot_job){
        .id = attempt->origin.id,
        .log = *ATTEMPT_LOG(attempt),
        .epoch = attempt->origin.epoch,
        .serial = attempt->serial,
        .ends = attempt->machine.state >= FINISHING,
    };
    return true;
}

static void attempts_stop(struct consumer *consumer, size_t slot,
                          enum stop_reason why)
{
    if (consumer->slots[slot])
        attempt_stop(consumer->slots[slot], why);
}

static void on_lost(struct consumer *consumer, size_t slot)
{
    attempts_stop(consumer, slot, STOP_LOST);
}

static void on_cancel(struct consumer *consumer, size_t slot)
{
    attempts_stop(consumer, slot, STOP_CANCEL);
}

static void on_release(struct consumer *consumer, size_t slot)
{
    attempts_stop(consumer, slot, STOP_RELEASE);
}

static void print(const struct consumer *consumer, size_t slot)
{
    const struct attempt *attempt = consumer->slots[slot];
    if (!attempt)
        return;
    log_job_line(ATTEMPT_LOG(attempt), "state.attempt", "{s:s, s:I, s:I, s:I}",
                 "state", attempt_state_name(attempt), "attempt",
                 (json_int_t)attempt->origin.number, "turn",
                 (json_int_t)attempt->conversation.turn, "records",
                 (json_int_t)attempt->conversation.records);
}

/* Running one attempt may end it, so each slot is looked at again. */
static void on_waits_read(struct consumer *consumer)
{
    for (size_t i = 0; i < consumer->settings.slots; i++) {
        struct attempt *attempt = consumer->slots[i];
        if (attempt && model_turn_is_held(attempt))
            attempt_run(attempt);
    }
}

const struct jobs attempts = {
    .on_started = on_started,
    .find = attempts_find,
    .on_lost = on_lost,
    .on_cancel = on_cancel,
    .on_release = on_release,
    .print = print,
    .on_waits_read = on_waits_read,
};
