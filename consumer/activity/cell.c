/* cell.c - runs the code of one call, and writes down what comes of it.
 *
 *   PREPARING --> INTENDING --> RUNNING --> COLLECTING --> RECORDING --> over
 *     ^ |  |                     ^   ^                         ^
 *     | |  |     (sent before)   |   |                         |
 *     | |  '---------------------'   |                         |
 *     | |  '--(not carried out)------|-------------------------'
 *     v v                            v
 *     RESTING, after a failure that may pass
 *
 * INTENDING and RECORDING write the journal: tool_intent, tool_result. The code
 * is sent to the executor only when the intent is durable. So an attempt that
 * finds an intent without a result knows that the code may have run, and asks
 * the executor by the call's id, which the executor runs once.
 *
 * PREPARING opens the session before the intent is written: while that fails
 * the journal says rightly that nothing was run. */
#include <stdlib.h>

#include "consumer/activity/tool_calls.h"
#include "consumer/conversation/observation.h"
#include "consumer/output/output.h"
#include "consumer/python/record.h"
#include "schemas/message/limits.h"

enum { EVENT_CODE_BYTES = 32 << 10 }; /* of the code, in tool.started */

enum {
    PREPARING,
    INTENDING,
    RUNNING,
    COLLECTING,
    RECORDING,
    RESTING,
    STATES,
};

struct cell_activity {
    struct activity activity;
    const struct call *call; /* of the conversation, until its next reply */
    struct buf code;
    uint64_t item;     /* its number, once it has one */
    bool sent_before;  /* an attempt before this one wrote the intent, and may
                          have sent the call */
    uint64_t asked_ms; /* when it was sent, by the loop's clock */
    struct output output;
    struct tool_uses uses; /* tools that its code calls, and that go on */
    struct buf record;     /* of its result, encoded */
    /* The call of the model, which has run within it; and the run. Of kind code
     * there is no call. */
    struct work_span tool, run;
};

static struct record record_of(const struct cell_activity *cell, int kind)
{
    const struct attempt *attempt = cell->activity.attempt;
    const struct call *call = cell->call;
    return (struct record){
        .kind = kind,
        .attempt = attempt->origin.number,
        .span = view_of(attempt->spans.digits),
        .turn = attempt->conversation.turn,
        .call = view_of(call->id),
        .call_id = view_head(view_of(call->call_id), MAX_NAME_BYTES),
        .tool = view_head(view_of(call->tool), MAX_NAME_BYTES),
    };
}

/* What has come of the call, as a span. failure: a code; empty: all is well. */
static void tell_call(struct cell_activity *cell, struct view result,
                      struct view failure)
{
    const struct tool_told told = {
        .name = VIEW(TOOL_PYTHON),
        .call = view_of(cell->call->call_id),
        .arguments = buf_view(&cell->code),
        .result = result,
        .failure = failure,
    };
    spans_tool(cell->activity.attempt, &cell->tool, &told);
}

static void tell_run(struct cell_activity *cell, const struct err *why)
{
    const struct cell *ended = cell->output.ended ? &cell->output.cell : NULL;
    spans_cell(cell->activity.attempt, &cell->run, ended, ended ? NULL : why);
}

/* The number of the call's item, which begins now if it has not yet. */
static uint64_t item_of(struct cell_activity *cell)
{
    if (cell->item == 0)
        cell->item = attempt_call_item(cell->activity.attempt, cell->call);
    return cell->item;
}

/* ------------------------------------------------------ calls not carried out
 */

/* Writes a result instead of running the code: the model is told why, so that
 * it can do better. */
static enum pace cell_refuse(struct cell_activity *cell, enum ruling ruling,
                             const struct err *why)
{
    CLEANUP(buf_finish) struct buf text;
    struct record record = record_of(cell, RECORD_TOOL_RESULT);
    struct err err;
    buf_init(&text, MAX_RECORD_BYTES);
    decide_refusal(cell->call, ruling, why, &text);
    tell_call(cell, buf_view(&text), VIEW("refused"));
    record.observation = buf_view(&text);
    record.failed = true;
    record.brake = ruling == RULING_FORBID ? BRAKED_FORBID : BRAKED_NOT;
    record.item = cell->call->item > 0 ? 0 : item_of(cell);
    output_begin(&cell->output, view_of(cell->call->id), item_of(cell),
                 (struct earlier_output){ 0 });
    if (!journal_encode(&record, &cell->record, &err))
        return activity_fail(&cell->activity, &err);
    return machine_go(&cell->activity.machine, RECORDING);
}

/* -------------------------------------------------------------- preparing */

/* No cell follows in this session: the job brings its own cells, this is the
 * last one, and the session ends with the job. */
static bool is_last(const struct cell_activity *cell)
{
    const struct conversation *conversation =
        &cell->activity.attempt->conversation;
    const struct job *job = conversation->job;
    return job->kind == JOB_CODE && job->session.len == 0 &&
           cell->call == &conversation->calls[conversation->call_count - 1];
}

static struct session_request request_for(const struct cell_activity *cell,
                                          enum session_verb verb)
{
    struct attempt *attempt = cell->activity.attempt;
    return (struct session_request){
        .verb = verb,
        .call = view_of(cell->call->id),
        .code = buf_view(&cell->code),
        .number = conversation_cells(&attempt->conversation) + 1,
        .last = is_last(cell),
        .earlier = conversation_earlier_cells(&attempt->conversation),
        .files_there = attempt->conversation.files_there,
    };
}

static enum pace enter_preparing(void *owner)
{
    struct cell_activity *cell = owner;
    struct attempt *attempt = cell->activity.attempt;
    struct terms terms = attempt_terms(attempt);
    struct err err;
    buf_finish(&cell->code);
    enum ruling ruling = decide_code(&attempt->conversation, &terms, cell->call,
                                     &cell->code, &err);
    if (ruling != RULING_RUN)
        return cell_refuse(cell, ruling, &err);
    cell->sent_before = cell->call->intended;
    if (cell->sent_before)
        return machine_go(&cell->activity.machine, RUNNING);
    struct session_request request = request_for(cell, SESSION_PREPARE);
    return activity_request(&cell->activity, &request);
}

static enum pace step_prepared(void *owner)
{
    struct activity *activity = owner;
    enum pace pace = WAIT;
    return activity_is_granted(activity, &pace)
               ? machine_go(&activity->machine, INTENDING)
               : pace;
}

/* -------------------------------------------------------------- intending */

static void on_journaled(void *owner, const redisReply *reply)
{
    (void)reply;
    activity_land(owner);
}

/* The event tool.started. */
static struct event_data started_of(struct cell_activity *cell)
{
    struct event_data data =
        attempt_call_event(cell->activity.attempt, view_of(cell->call->id),
                           view_of(cell->call->tool));
    data.code = view_head(buf_view(&cell->code), EVENT_CODE_BYTES);
    data.item = item_of(cell);
    return data;
}

static enum pace enter_intending(void *owner)
{
    struct cell_activity *cell = owner;
    struct attempt *attempt = cell->activity.attempt;
    struct record record = record_of(cell, RECORD_TOOL_INTENT);
    struct event_data data = started_of(cell);
    struct buf bytes;
    struct journal_entry entry = { &bytes, NULL, "tool.started", &data };
    struct err err;
    record.item = data.item;
    if (attempt->job.kind != JOB_CODE)
        record.arguments = call_arguments(cell->call);
    if (!journal_encode(&record, &bytes, &err))
        return activity_fail(&cell->activity, &err);
    journal_write(&attempt->journal, &entry, on_journaled, cell);
    return WAIT;
}

static enum pace step_intended(void *owner)
{
    struct cell_activity *cell = owner;
    return machine_go(&cell->activity.machine, RUNNING);
}

/* ---------------------------------------------------------------- running */

/* The output comes again from its first byte on. To followers a second
 * tool.started says that what they were told of the call before is void. */
static void tell_again(struct cell_activity *cell)
{
    struct event_data data = started_of(cell);
    progress_event(&cell->activity.attempt->progress, "tool.started", &data);
}

static void on_start(void *owner, bool again)
{
    struct cell_activity *cell = owner;
    if (!again && output_any(&cell->output))
        tell_again(cell);
    output_start(&cell->output, again);
    if (!again) /* code that runs anew makes its tool calls anew */
        code_calls_rerun(&cell->uses, cell->output.call);
}

static void on_output(void *owner, struct view stream, uint64_t offset,
                      struct view bytes)
{
    struct cell_activity *cell = owner;
    output_stream(&cell->output, stream, offset, bytes);
}

static void on_display(void *owner, const struct frame *frame)
{
    struct cell_activity *cell = owner;
    if (frame->type == FRAME_CLEAR)
        output_clear(&cell->output, frame);
    else if (frame->type == FRAME_UPDATE)
        output_update(&cell->output, frame);
    else
        output_display(&cell->output, frame);
}

static void on_tool(void *owner, const struct frame *frame)
{
    struct cell_activity *cell = owner;
    code_calls_ask(&cell->uses, view_of(cell->call->id), frame);
}

static void on_cell(void *owner, const struct cell *ended, uint64_t displays,
                    const struct list *files, bool emptied)
{
    struct cell_activity *cell = owner;
    output_cell(&cell->output, ended, displays, files, emptied);
    tool_uses_drop(&cell->uses);
    tell_run(cell, NULL);
}

static void begin_output(struct cell_activity *cell)
{
    const struct attempt *attempt = cell->activity.attempt;
    const struct conversation *conversation = &attempt->conversation;
    struct earlier_output earlier = {
        .records = conversation->results,
        .count = conversation->result_count,
        .given = &attempt->job.files,
        .saved = &session_memo(attempt->session)->record.files,
    };
    output_begin(&cell->output, view_of(cell->call->id), item_of(cell),
                 earlier);
}

static enum pace enter_running(void *owner)
{
    static const struct cell_events events = { on_start, on_output, on_display,
                                               on_tool, on_cell };
    struct cell_activity *cell = owner;
    struct attempt *attempt = cell->activity.attempt;
    begin_output(cell);
    struct session_request request = request_for(cell, SESSION_RUN);
    /* This attempt may have sent it, too, before it rested. */
    request.intended = cell->sent_before || attempt->retries.tries > 0;
    if (request.intended)
        tell_again(cell);
    request.cell = &events;
    request.owner = cell;
    cell->asked_ms = attempt_now_ms(attempt);
    spans_prepare(attempt, &cell->run,
                  cell->tool.span.id != 0 ? cell->tool.span.id
                                          : spans_parent(attempt));
    spans_start(&cell->run);
    cell->uses.parent = cell->run.span.id;
    return activity_request(&cell->activity, &request);
}

static enum pace step_ran(void *owner)
{
    struct cell_activity *cell = owner;
    struct activity *activity = &cell->activity;
    enum pace pace = WAIT;
    tell_run(cell, session_fault(activity->attempt->session));
    return activity_is_granted(activity, &pace)
               ? machine_go(&activity->machine, COLLECTING)
               : pace;
}

/* ------------------------------------------------------------- collecting */

static enum pace compose_result(struct cell_activity *cell)
{
    struct attempt *attempt = cell->activity.attempt;
    const struct conversation *conversation = &attempt->conversation;
    struct terms terms = attempt_terms(attempt);
    struct record record = record_of(cell, RECORD_TOOL_RESULT);
    CLEANUP(buf_finish) struct buf text;
    struct err err;
    output_record(&cell->output, buf_view(&cell->code), &record);
    record.ms = attempt_now_ms(attempt) - cell->asked_ms;
    observation_write(&text, &record);
    tell_call(cell, buf_view(&text),
              record.cell.status == CELL_OK
                  ? VIEW("")
                  : view_of(cell_status_names[record.cell.status]));
    if (attempt->job.kind != JOB_CODE)
        record.observation = buf_view(&text);
    if (decide_hint(conversation, conversation->result_count, &terms,
                    record.cell.code, &record))
        record.brake = BRAKED_HINT;
    if (!journal_encode(&record, &cell->record, &err))
        return activity_fail(&cell->activity, &err);
    return machine_go(&cell->activity.machine, RECORDING);
}

/* Reads the files that the cell wrote, one after the other: the state is
 * entered anew for each. */
static enum pace enter_collecting(void *owner)
{
    struct cell_activity *cell = owner;
    struct session_request request = { .verb = SESSION_READ,
                                       .name = output_wanted(&cell->output) };
    return request.name.len == 0 ? compose_result(cell)
                                 : activity_request(&cell->activity, &request);
}

static enum pace step_collected(void *owner)
{
    struct cell_activity *cell = owner;
    const struct python_session *session = cell->activity.attempt->session;
    output_file(&cell->output, session_file_bytes(session),
                session_fault(session));
    return machine_go(&cell->activity.machine, COLLECTING);
}

/* -------------------------------------------------------------- recording */

static enum pace enter_recording(void *owner)
{
    struct cell_activity *cell = owner;
    struct attempt *attempt = cell->activity.attempt;
    const struct cell *ended = &cell->output.cell;
    bool ran = cell->output.ended;
    struct event_data data = attempt_call_event(
        attempt, view_of(cell->call->id), view_of(cell->call->tool));
    data.status = view_of(ran ? cell_status_names[ended->status] : "refused");
    data.state = view_of(ran ? cell_state_names[ended->state] : "kept");
    data.ms = ran ? attempt_now_ms(attempt) - cell->asked_ms : 0;
    data.item = item_of(cell);
    struct journal_entry entry = { &cell->record, NULL, "tool.completed",
                                   &data };
    journal_write(&attempt->journal, &entry, on_journaled, cell);
    return WAIT;
}

static enum pace step_recorded(void *owner)
{
    struct cell_activity *cell = owner;
    struct attempt *attempt = cell->activity.attempt;
    /* The executor keeps outcome and output of a call until here: now no
     * attempt will ask for them again. */
    if (cell->output.ended)
        session_forget(attempt->session, cell->output.call);
    attempt->retries.tries = 0;
    return activity_done(&cell->activity);
}

/* ---------------------------------------------------------------- machine */

/* When the job is handed back, the cell runs on: the next attempt asks for it
 * by its id. Otherwise nobody wants its outcome. */
static bool cell_stop(struct activity *activity, enum stop_reason stop)
{
    if (activity->machine.state == RUNNING && stop != STOP_RELEASE)
        session_interrupt(activity->attempt->session);
    return true;
}

static void cell_free(struct activity *activity)
{
    struct cell_activity *cell = (struct cell_activity *)activity;
    const struct err *why = spans_given_up(activity->attempt);
    tool_uses_drop(&cell->uses);
    tell_run(cell, why);
    tell_call(cell, VIEW(""), view_of(why->code));
    journal_forget(&activity->attempt->journal, cell);
    /* Else the session would tell this activity what comes of the cell. */
    session_abandon(activity->attempt->session);
    output_finish(&cell->output);
    buf_finish(&cell->code);
    buf_finish(&cell->record);
    free(cell);
}

static const struct machine_state states[STATES] = {
    [PREPARING] = { "preparing",
                    TO(INTENDING) | TO(RUNNING) | TO(RECORDING) | TO(RESTING),
                    .enter = enter_preparing, .landed = step_prepared,
                    .limit_ms = ACTIVITY_OTHERS_MS },
    [INTENDING] = { "intending", TO(RUNNING), .enter = enter_intending,
                    .landed = step_intended, .limit_ms = ACTIVITY_REDIS_MS },
    [RUNNING] = { "running", TO(COLLECTING) | TO(RESTING),
                  .enter = enter_running, .landed = step_ran,
                  .limit_ms = ACTIVITY_OTHERS_MS },
    [COLLECTING] = { "collecting", TO(COLLECTING) | TO(RECORDING),
                     .enter = enter_collecting, .landed = step_collected,
                     .limit_ms = ACTIVITY_OTHERS_MS },
    [RECORDING] = { "recording", 0, .enter = enter_recording,
                    .landed = step_recorded, .limit_ms = ACTIVITY_REDIS_MS },
    [RESTING] = { "resting", TO(PREPARING) | TO(RUNNING),
                  .landed = activity_rested },
};
static const struct activity_kind kind = {
    .machine = { "a cell", states, STATES, activity_entered, NULL },
    .resting = RESTING,
    .stop = cell_stop,
    .free = cell_free,
};

void cell_start(struct attempt *attempt)
{
    struct consumer *consumer = attempt->consumer;
    struct cell_activity *cell = calloc(1, sizeof(*cell));
    if (!cell)
        abort();
    const struct output_setup setup = {
        .progress = &attempt->progress,
        .names = &consumer->names,
        .memory_left = &consumer->stream_memory_left,
        .void_bytes = &attempt->void_bytes,
        .blob_ttl_ms =
            attempt_blob_ms(attempt, consumer->settings.result.ttl_ms),
        .stored = attempt_written,
        .owner = attempt,
    };
    output_init(&cell->output, &setup);
    cell->call = conversation_call(&attempt->conversation);
    code_calls_init(&cell->uses, &cell->activity);
    activity_init(&cell->activity, &kind, attempt);
    if (attempt->job.kind != JOB_CONVERSATION)
        return;
    spans_prepare(attempt, &cell->tool, spans_parent(attempt));
    spans_start(&cell->tool);
}
