/* load.c - an attempt's beginning: reads the job and its journal, checks that
 * the job may be done here, and makes the session object.
 *
 * All is there with the reply to the take, but for: the conversation that the
 * job goes on from, which is needed first; the sizes of the job's files; and
 * for a job that was begun before, the last events of that, which may tell of
 * items that the journal does not know. LOADING waits for nothing else. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/activity/activity.h"
#include "consumer/activity/tool_calls.h"
#include "consumer/blob.h"
#include "consumer/conversation/ask.h"
#include "consumer/conversation/tools.h"
#include "consumer/job/attempt.h"
#include "consumer/job/wait.h"
#include "consumer/numbers.h"
#include "schemas/redis/blob.h"
#include "schemas/service/log.h"

/* Of which one is about the item with the highest number: behind the event with
 * which an item begins there may be some of each other call of the reply. */
enum { LAST_EVENTS = 3 * MAX_MESSAGE_CALLS };

static struct buf buf_copy(struct view bytes)
{
    struct buf copy;
    buf_init(&copy, bytes.len + 1);
    buf_add(&copy, bytes);
    return copy;
}

static void keep_journal(struct origin *origin, const struct take_reply *start)
{
    origin->records = calloc(start->records + 1, sizeof(struct buf));
    if (!origin->records)
        abort();
    for (size_t i = 0; i < start->records; i++) {
        const redisReply *record = start->journal->element[i];
        origin->records[i] =
            buf_copy((struct view){ record->str, record->len });
    }
    origin->record_count = start->records;
}

/* Once the conversation has them: it borrows nothing of them. */
static void drop_records(struct origin *origin)
{
    for (size_t i = 0; i < origin->record_count; i++)
        buf_finish(&origin->records[i]);
    free(origin->records);
    origin->records = NULL;
    origin->record_count = 0;
}

void origin_finish(struct origin *origin)
{
    drop_records(origin);
    buf_finish(&origin->body);
    buf_finish(&origin->earlier);
}

void job_tools_finish(struct job_tools *tools)
{
    json_decref(tools->array);
    toolset_drop(tools->toolset);
    buf_finish(&tools->functions);
    buf_finish(&tools->code);
}

/* 0 when it is not known, or when the clock of Redis was set back meanwhile. */
static uint64_t since(uint64_t now, uint64_t then)
{
    return then != 0 && now > then ? now - then : 0;
}

/* Copies the texts into the arena. */
static struct facts facts_of(const struct take_reply *start,
                             struct arena *arena)
{
    uint64_t deadline_at = start->deadline_at;
    return (struct facts){
        .queue = arena_copy(arena, start->queue),
        .priority = arena_copy(arena, start->priority),
        .tenant = arena_copy(arena, start->tenant),
        .session = arena_copy(arena, start->session),
        .deadline_ms = deadline_at > start->submitted_at
                           ? deadline_at - start->submitted_at
                           : 0,
        .now = start->now,
    };
}

/* Redis tells times by its own clock, which is not that of this host. Only
 * differences between two of its times are used, and added to the loop's. */
static void keep_origin(struct attempt *attempt, const struct take_reply *start)
{
    struct origin *origin = &attempt->origin;
    uint64_t left = attempt->consumer->settings.limits.deadline_ms;
    snprintf(origin->id, sizeof(origin->id), "%.*s", VIEW_ARG(start->id));
    origin->epoch = start->epoch;
    origin->number = start->attempt;
    origin->started_ms = attempt_now_ms(attempt);
    origin->queued_ms = since(start->now, start->submitted_at);
    origin->age_ms = origin->queued_ms;
    if (start->deadline_at != 0)
        left = since(start->deadline_at, start->now);
    origin->deadline_ms = origin->started_ms + left;
    origin->has_no_deadline = start->deadline_at == 0;
    origin->facts = facts_of(start, &attempt->arena);
    origin->body = buf_copy(start->body);
    struct view trace = job_trace_id(buf_view(&origin->body), &attempt->arena);
    snprintf(origin->trace, sizeof(origin->trace), "%.*s", VIEW_ARG(trace));
    keep_journal(origin, start);
}

/* A stop may wait for records (has_stopped() of attempt.c) whose writers do not
 * run the attempt when they are durable: there are none, or they are gone. */
static void on_journal_idle(void *owner)
{
    struct attempt *attempt = owner;
    if (attempt->stop != STOP_NONE)
        attempt_run(attempt);
}

static void begin_writing(struct attempt *attempt)
{
    struct consumer *consumer = attempt->consumer;
    const struct progress_setup progress = {
        .store = &attempt->store,
        .names = &consumer->names,
        .lease = attempt_lease(attempt),
        .delta_ms = consumer->settings.result.delta_ms,
        .done = attempt_written,
        .owner = attempt,
    };
    const struct journal_setup journal = {
        .store = &attempt->store,
        .names = &consumer->names,
        .lease = attempt_lease(attempt),
        .progress = &attempt->progress,
        .conversation = &attempt->conversation,
        .on_refused = attempt_written,
        .on_idle = on_journal_idle,
        .owner = attempt,
    };
    progress_init(&attempt->progress, consumer->loop, &progress);
    journal_init(&attempt->journal, &journal);
}

void attempt_begin(struct attempt *attempt, const struct take_reply *start)
{
    struct consumer *consumer = attempt->consumer;
    keep_origin(attempt, start);
    attempt->retries.tries = start->errors;
    attempt->tools.toolset = toolset_hold(consumer->toolset);
    spans_begin(attempt);
    begin_writing(attempt);
    log_job_line(ATTEMPT_LOG(attempt), "job.started", "{s:I, s:I, s:I, s:I}",
                 "attempt", (json_int_t)attempt->origin.number, "epoch",
                 (json_int_t)attempt->origin.epoch, "records",
                 (json_int_t)start->records, "queued_ms",
                 (json_int_t)attempt->origin.queued_ms);
    metric_add(NUMBER_JOBS_STARTED, 1, LABELS(attempt->origin.facts.queue));
    if (start->cancel)
        attempt->stop = STOP_CANCEL; /* the first step ends it */
    else if (consumer->mode != MODE_SERVING)
        attempt->stop = STOP_RELEASE; /* it began to drain while the take was on
                                         its way */
}

/* ------------------------------------------------------------------ facts */

static bool facts_check_names(const struct facts *facts, const struct job *job,
                              struct err *err)
{
    const struct {
        const char *name, *code;
        struct view said, given;
    } rows[] = {
        { "tenant", "tenant_mismatch", names_or_default(job->tenant),
          facts->tenant },
        { "queue", "queue_mismatch", names_or_default(job->queue),
          facts->queue },
        { "priority", "priority_mismatch",
          view_of(priority_names[job->priority]), facts->priority },
        { "session", "session_mismatch", job->session, facts->session },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (!view_equal(rows[i].said, rows[i].given))
            return err_set(err, ERR_REJECT, rows[i].code,
                           "the job says %s \"%.*s\", it was submitted with "
                           "\"%.*s\"",
                           rows[i].name, VIEW_ARG(rows[i].said),
                           VIEW_ARG(rows[i].given));
    return true;
}

/* Redis counts, orders and limits a job by its facts; the consumer runs it by
 * its body. A producer that submits with "pairs all" gives the facts itself,
 * and Redis does not read the body. So an attempt compares both before it
 * touches a session, a model or the executor.
 *
 * Errors: tenant_mismatch, queue_mismatch, priority_mismatch, session_mismatch,
 * deadline_mismatch; not_before_mismatch when it was started too early. */
static bool facts_match(const struct facts *facts, const struct job *job,
                        struct err *err)
{
    if (!facts_check_names(facts, job, err))
        return false;
    if (job->limits.deadline_ms != facts->deadline_ms)
        return err_set(err, ERR_REJECT, "deadline_mismatch",
                       "the job says limits.deadline_ms %" PRIu64
                       ", it was submitted with %" PRIu64,
                       job->limits.deadline_ms, facts->deadline_ms);
    /* The take does not tell this fact, but when the job was started. */
    return job->not_before <= facts->now ||
           err_set(err, ERR_REJECT, "not_before_mismatch",
                   "the job says not_before %" PRIu64
                   ", it was submitted to start by %" PRIu64,
                   job->not_before, facts->now);
}

/* ---------------------------------------------------------------- loading */

static void open_session(struct attempt *attempt);

/* Each tool that the job names and that is not there may still come, from an
 * MCP server that is away. */
static bool is_only_away(const struct attempt *attempt)
{
    const struct list *names = &attempt->job.tools;
    const struct view *name = names->items;
    for (size_t i = 0; i < names->count; i++)
        if (!view_is(name[i], TOOL_PYTHON) &&
            !catalog_find(&attempt->tools.toolset->catalog, name[i]) &&
            !mcp_expects(attempt->consumer->mcp, name[i]))
            return false;
    return true;
}

/* Nothing is left to ask and to run. */
static bool is_at_its_end(const struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    return attempt->job.kind != JOB_SESSION &&
           decide_next(&attempt->conversation, &terms) == NEXT_END;
}

/* A session with a name is left to be saved. */
static bool has_session_to_save(const struct attempt *attempt)
{
    return attempt->job.session.len > 0 &&
           conversation_cells(&attempt->conversation) > 0;
}

/* The job cannot be done without an executor; a conversation that does not name
 * the Python tool can. */
static bool wants_python(const struct attempt *attempt)
{
    const struct job *job = &attempt->job;
    const struct view *name = job->tools.items;
    for (size_t i = 0; i < job->tools.count; i++)
        if (view_is(name[i], TOOL_PYTHON))
            return true;
    if (job->kind == JOB_CODE)
        return conversation_next(&attempt->conversation) == NEXT_CALL;
    return job->kind == JOB_CONVERSATION && job->mode == MODE_CODEACT;
}

/* Where the settings say that there is no executor, models are not offered
 * Python. */
static void withhold_python(struct attempt *attempt)
{
    if (!executor_is_off(attempt->consumer->executor))
        return;
    json_t *others = tools_without_python(attempt->tools.array);
    json_decref(attempt->tools.array);
    attempt->tools.array = others;
}

/* Called when the journal has been read, which may show that nothing is left to
 * do. When the executor was lost while the take was on its way, the job goes to
 * another host, unless it needs none. Where the settings say that there is no
 * executor, a model that could do nothing without Python is not asked at all;
 * but a job at its end completes, and its result says that the session was not
 * saved. */
static bool check_executor(struct attempt *attempt, struct err *err)
{
    const struct executor *executor = attempt->consumer->executor;
    bool off = executor_is_off(executor), at_end = is_at_its_end(attempt);
    if (executor_is_ready(executor) ||
        (at_end && (off || !has_session_to_save(attempt))))
        return true;
    if (!off && attempt->stop == STOP_NONE)
        attempt->stop = STOP_RELEASE;
    return !off || !wants_python(attempt) ||
           err_set(err, ERR_REJECT, "executor_unavailable",
                   "the job has Python run, and the consumer that took it has "
                   "no executor (QUERN_EXECUTOR is " EXECUTOR_NONE ")");
}

/* Behind quern's own tools. The list may be that of all jobs, so it is copied.
 */
static bool add_functions(struct attempt *attempt, struct err *err)
{
    const struct job *job = &attempt->job;
    if (job->functions.count > 0) {
        json_t *all = json_copy(attempt->tools.array);
        json_decref(attempt->tools.array);
        tools_add_functions(all, job);
        attempt->tools.array = all;
    }
    return tools_check_job(&attempt->tools.toolset->catalog,
                           attempt->tools.array, job, err);
}

/* In CodeAct mode the model itself calls no tools: the code that it writes
 * does, so the tools become stubs in the instructions. */
static bool choose_tools(struct attempt *attempt, struct err *err)
{
    const struct toolset *toolset = attempt->tools.toolset;
    const struct list *names = &attempt->job.tools;
    attempt->tools.array = names->count == 0
                               ? json_incref(toolset->offered)
                               : tools_offer(&toolset->catalog, names, err);
    if (!attempt->tools.array && is_only_away(attempt))
        return err_set(err, ERR_RETRY, "tool_unavailable",
                       "a server of tools that the job names has not answered "
                       "yet");
    if (!attempt->tools.array)
        return false;
    withhold_python(attempt);
    buf_init(&attempt->tools.functions, MAX_TOOLS_BYTES);
    if (attempt->job.mode == MODE_CODEACT) {
        catalog_stubs(attempt_catalog(attempt), names,
                      &attempt->tools.functions);
        json_decref(attempt->tools.array);
        attempt->tools.array = NULL;
    }
    return attempt->job.kind != JOB_CONVERSATION || add_functions(attempt, err);
}

static bool load_read_job(struct attempt *attempt, struct err *err)
{
    struct job *job = &attempt->job;
    if (!decide_job(job, view_of(attempt->origin.id),
                    buf_view(&attempt->origin.body), &attempt->arena, err) ||
        !facts_match(&attempt->origin.facts, job, err))
        return false;
    decide_upload(job, &attempt->consumer->prompts, &attempt->arena);
    return true;
}

/* Sets attempt->known once job and conversation are valid: an error after that
 * gives a result with all that they have, one before it only the job's
 * metadata. earlier: the conversation that the job goes on from; may be empty.
 */
static bool load_conversation(struct attempt *attempt, struct view earlier,
                              struct err *err)
{
    const struct job *job = &attempt->job;
    if (!conversation_init(&attempt->conversation, job, earlier, err))
        return false;
    attempt->known = true;
    if (!choose_tools(attempt, err) || !approval_wait_check(attempt, err))
        return false;
    if (job->kind != JOB_CONVERSATION)
        return true;
    attempt->endpoint =
        endpoints_take(&attempt->consumer->endpoints, job->model, err);
    if (!attempt->endpoint)
        return false;
    struct terms terms = attempt_terms(attempt);
    return decide_may_ask(&attempt->conversation, &terms, err);
}

static bool read_journal(struct attempt *attempt, struct err *err)
{
    struct origin *origin = &attempt->origin;
    for (size_t i = 0; i < origin->record_count; i++)
        if (!conversation_apply(&attempt->conversation,
                                buf_view(&origin->records[i]), err))
            return false;
    attempt->journal.count = attempt->conversation.records;
    spans_journal(attempt);
    /* Those of the journal may have been told: their events say it. */
    attempt->functions_told = attempt->conversation.items;
    drop_records(origin);
    return true;
}

/* Answers come in the order of the questions, so files_checked is also the
 * index of the file that this one is about. */
static void on_size(void *owner, const redisReply *reply, const struct err *why)
{
    struct attempt *attempt = owner;
    if (!reply) {
        attempt_written(attempt, reply, why);
        return;
    }
    const struct file_ref *files = attempt->job.files.items;
    const struct file_ref *file = &files[attempt->files_checked++];
    struct err err = { 0 };
    if (reply->type != REDIS_REPLY_INTEGER ||
        (reply->integer == 0 && !blob_is_empty(file->blob)))
        err_set(&err, ERR_REJECT, "missing_blob",
                "files[%zu]: there is no blob %.*s of \"%.*s\": it must be "
                "written before the job",
                attempt->files_checked - 1, VIEW_ARG(file->blob),
                VIEW_ARG(view_head(file->name, 64)));
    else if (reply->integer > MAX_FILE_BYTES)
        err_set(&err, ERR_REJECT, "too_large",
                "files[%zu]: \"%.*s\" has %lld bytes, a file may have %d "
                "(" MAX_FILE_WORDS ")",
                attempt->files_checked - 1, VIEW_ARG(view_head(file->name, 64)),
                reply->integer, MAX_FILE_BYTES);
    if (err.kind != ERR_NONE && attempt->machine.state < SAVING) {
        attempt->fault = err;
        attempt_stop(attempt, STOP_FAULT);
        return;
    }
    attempt_run(attempt);
}

static void check_files(struct attempt *attempt)
{
    const struct file_ref *files = attempt->job.files.items;
    for (size_t i = 0; i < attempt->job.files.count; i++) {
        struct command command;
        blob_ask_size(&command, &attempt->consumer->names,
                      attempt->partition->number, files[i].blob);
        store_send(&attempt->store, &command, on_size, attempt);
        command_finish(&command);
    }
}

/* An earlier attempt may have told of items and died before its journal knew of
 * them: their numbers are in use. Or its journal has calls of functions that it
 * has not told of. */
static void on_events(void *owner, const redisReply *reply,
                      const struct err *why)
{
    struct attempt *attempt = owner;
    if (!reply) {
        attempt_written(attempt, reply, why);
        return;
    }
    struct view bytes;
    for (size_t i = 0; (bytes = transition_latest_event(reply, i)).len > 0;
         i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct event event;
        if (event_decode(&event, bytes, &arena, NULL) &&
            event.data.item > attempt->items)
            attempt->items = event.data.item;
    }
    attempt->items_known = true;
    attempt->functions_told = attempt->items;
    attempt_tell_functions(attempt, attempt->items);
    attempt_run(attempt);
}

static void look_at_events(struct attempt *attempt)
{
    struct command command;
    transition_latest(&command, &attempt->consumer->names,
                      view_of(attempt->origin.id), 0, LAST_EVENTS);
    store_send(&attempt->store, &command, on_events, attempt);
    command_finish(&command);
}

/* Only a tool whose server is away is worth a wait. The job waits in its queue,
 * not here, because this attempt keeps the toolset that it began with: hence a
 * wait that is longer than the longest that a job may hold its slot. */
static enum pace cannot_load(struct attempt *attempt, const struct err *why)
{
    uint64_t wait_ms = attempt->consumer->settings.retry.hold_ms + 1;
    if (strcmp(why->code, "tool_unavailable") != 0)
        return attempt_fail(attempt, why);
    enum delay delay = wait_retry(attempt, why, wait_ms);
    if (delay == DELAY_ELSEWHERE)
        return AGAIN; /* the attempt stops */
    if (delay == DELAY_NONE)
        return attempt_fail(attempt, why);
    wait_tell(attempt, why);
    return machine_go(&attempt->machine, PARKING);
}

/* The conversation that the job goes on from has come, or there is none. */
static enum pace load_rest(struct attempt *attempt)
{
    struct origin *origin = &attempt->origin;
    bool was_not_begun = origin->record_count == 0;
    struct err err;
    if (!load_conversation(attempt, buf_view(&origin->earlier), &err) ||
        !read_journal(attempt, &err))
        return cannot_load(attempt, &err);
    buf_finish(&origin->earlier);
    open_session(attempt); /* only the object: nothing is asked for yet */
    if (!check_executor(attempt, &err))
        return attempt_fail(attempt, &err);
    if (attempt->stop != STOP_NONE)
        return AGAIN; /* heed_stop() comes first */
    /* An earlier attempt has found and used them, and they may have expired. */
    if (attempt->conversation.files_there)
        attempt->files_checked = attempt->job.files.count;
    else
        check_files(attempt);
    attempt->items_known = attempt->origin.number == 1 && was_not_begun;
    if (!attempt->items_known)
        look_at_events(attempt);
    return AGAIN;
}

static void on_earlier(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct attempt *attempt = owner;
    struct view name = attempt->job.earlier;
    if (!reply || attempt->machine.state != LOADING) {
        attempt_written(attempt, reply, why);
        return;
    }
    struct view bytes = { reply->str, reply->len };
    if (reply->type == REDIS_REPLY_STRING && blob_is_sound(name, bytes)) {
        attempt->origin.earlier = buf_copy(bytes);
        attempt_run(attempt);
        return;
    }
    err_set(&attempt->fault, ERR_REJECT, "missing_blob",
            "earlier: there is no blob %.*s, or it has other bytes than its "
            "name says",
            VIEW_ARG(name));
    attempt_stop(attempt, STOP_FAULT);
}

uint64_t attempt_due_ms(const struct attempt *attempt, uint64_t since_submit)
{
    const struct origin *origin = &attempt->origin;
    uint64_t submitted_at = origin->facts.now - origin->queued_ms;
    uint64_t delay_ms = since(attempt->job.not_before, submitted_at);
    return since_submit > delay_ms ? since_submit - delay_ms : 0;
}

/* A job that was handed back before its first record counts once more. */
static void count_wait(const struct attempt *attempt)
{
    const struct origin *origin = &attempt->origin;
    uint64_t wait_ms = attempt_due_ms(attempt, origin->queued_ms);
    if (origin->number == 1 && origin->record_count == 0)
        metric_observe(NUMBER_JOB_WAIT, (double)wait_ms / 1000,
                       LABELS(origin->facts.queue));
}

enum pace step_loading(void *owner)
{
    struct attempt *attempt = owner;
    struct err err;
    if (!load_read_job(attempt, &err))
        return cannot_load(attempt, &err);
    count_wait(attempt);
    if (attempt->job.earlier.len == 0)
        return load_rest(attempt);
    blob_get(&attempt->store, &attempt->consumer->names, attempt->job.earlier,
             on_earlier, attempt);
    return WAIT;
}

enum pace step_loaded(void *owner)
{
    struct attempt *attempt = owner;
    if (!attempt->known)
        return attempt->origin.earlier.len > 0 ? load_rest(attempt) : WAIT;
    return attempt->files_checked < attempt->job.files.count ||
                   !attempt->items_known
               ? WAIT
               : machine_go(&attempt->machine, WORKING);
}

/* ---------------------------------------------------------------- session */

/* An earlier cell, which runs again to restore the session, calls a tool. */
static void on_session_tool(void *owner, struct view call,
                            const struct frame *frame)
{
    code_calls_repeat(owner, call, frame);
}

static void on_session_rerun(void *owner, struct view call)
{
    struct attempt *attempt = owner;
    conversation_rerun(&attempt->conversation, call);
}

/* The job that goes first in the session may need this slot; while others are
 * free it can have one of those. */
static void on_session_stuck(void *owner)
{
    struct attempt *attempt = owner;
    const struct consumer *consumer = attempt->consumer;
    if (consumer->running >= consumer->settings.slots)
        attempt_stop(attempt, STOP_RELEASE);
}

static void on_session_done(void *owner)
{
    struct attempt *attempt = owner;
    struct activity *activity = attempt->activity;
    if (!activity) /* SAVING has asked */
        attempt_land(attempt);
    else if (activity->kind->on_session)
        activity->kind->on_session(activity);
    else
        activity_land(activity);
}

static struct session_setup session_setup_of(struct attempt *attempt)
{
    struct consumer *consumer = attempt->consumer;
    const struct consumer_settings *settings = &consumer->settings;
    const struct job_limits *limits = &attempt->job.limits;
    return (struct session_setup){
        .loop = consumer->loop,
        .executor = consumer->executor,
        .store = &attempt->store,
        .names = &consumer->names,
        .job = view_of(attempt->origin.id),
        .limits = { .memory_bytes = terms_least(
                        limits->memory_bytes, settings->limits.memory_bytes) },
        .files = attempt->job.files,
        .away_ms = settings->retry.away_ms,
        .cell_ms = terms_least(limits->cell_ms, settings->limits.cell_ms),
        .tools = buf_view(&attempt->tools.code),
        .env = attempt->job.env,
        .key = { names_or_default(attempt->job.tenant), attempt->job.session },
        .lease = attempt_lease(attempt),
        .saves = settings->session.save,
        .ttl_ms = settings->session.ttl_ms,
        .kept_ms = settings->result.ttl_ms,
        .files_bytes = settings->session.bytes,
    };
}

static void open_session(struct attempt *attempt)
{
    static const struct session_events events = {
        .on_tool = on_session_tool,
        .on_rerun = on_session_rerun,
        .on_stuck = on_session_stuck,
        .on_done = on_session_done,
    };
    char name[80];
    buf_init(&attempt->tools.code, MAX_TOOLS_BYTES);
    catalog_describe(attempt_catalog(attempt), &attempt->job.tools,
                     &attempt->tools.code);
    struct session_setup setup = session_setup_of(attempt);
    session_name(name, &attempt->job);
    attempt->session = session_new(&setup, name, events, attempt);
}
