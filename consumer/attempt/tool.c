/* tool.c - an attempt's side towards the executor: run a call, observe it. */
#include <string.h>

#include "consumer/attempt/attempt.h"
#include "consumer/conversation/observation.h"
#include "schemas/message/limits.h"

enum { EVENT_CODE_BYTES = 32 << 10 };

static struct record record_of(const struct attempt *attempt,
                               const struct call *call, int kind)
{
    return (struct record){
        .kind = kind,
        .attempt = attempt->number,
        .turn = attempt->conversation.turn,
        .call = view_of(call->id),
        .call_id = view_head(view_of(call->call_id), MAX_NAME_BYTES),
        .tool = view_head(view_of(call->tool), MAX_NAME_BYTES),
    };
}

/* ------------------------------------------------------ calls not carried out
 */

/* The model is told why, so that it can do better. */
static enum turn observe(struct attempt *attempt, const struct call *call,
                         struct view text, int brake)
{
    struct record record = record_of(attempt, call, RECORD_TOOL_RESULT);
    record.observation = text;
    record.failed = true;
    record.brake = brake;
    output_begin(&attempt->output, view_of(call->id),
                 (struct output_past){ 0 });
    return attempt_compose(attempt, &record) ? attempt_go(attempt, OBSERVED)
                                             : AGAIN;
}

static enum turn refuse(struct attempt *attempt, const struct call *call,
                        enum ruling ruling, const struct err *why)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, MAX_RECORD_BYTES);
    decide_refusal(call, ruling, why, &text);
    return observe(attempt, call, buf_view(&text),
                   ruling == RULING_FORBID ? BRAKED_FORBID : BRAKED_NOT);
}

/* ---------------------------------------------------------------- running */

/* Of a job that brings its own cells, and a session that ends with it. */
static bool is_last(const struct attempt *attempt, const struct call *call)
{
    const struct conversation *conversation = &attempt->conversation;
    const struct job *job = conversation->job;
    return job->kind == JOB_CODE && job->session.len == 0 &&
           call == &conversation->calls[conversation->call_count - 1];
}

static struct wish wish_for(struct attempt *attempt, enum wish_kind kind)
{
    const struct call *call = conversation_call(&attempt->conversation);
    return (struct wish){
        .kind = kind,
        .call = view_of(call->id),
        .code = buf_view(&attempt->code),
        .number = conversation_cells(&attempt->conversation) + 1,
        .last = is_last(attempt, call),
        .past = conversation_past(&attempt->conversation),
        .files_there = attempt->conversation.files_there,
    };
}

enum turn step_preparing(struct attempt *attempt)
{
    const struct call *call = conversation_call(&attempt->conversation);
    struct wish wish = { 0 };
    struct err err;
    enum turn turn;
    if (!attempt->begun) {
        struct terms terms = attempt_terms(attempt);
        buf_finish(&attempt->code);
        enum ruling ruling = decide_code(&attempt->conversation, &terms, call,
                                         &attempt->code, &err);
        if (ruling != RULING_RUN)
            return refuse(attempt, call, ruling, &err);
        attempt->sent_before = call->intended;
        if (call->intended)
            return attempt_go(attempt, RUNNING);
        wish = wish_for(attempt, WISH_READY);
    }
    return attempt_wishes(attempt, &wish, &turn) ? attempt_go(attempt, CALLING)
                                                 : turn;
}

struct event_data attempt_started(const struct attempt *attempt)
{
    const struct call *call = conversation_call(&attempt->conversation);
    return (struct event_data){
        .turn = attempt->conversation.turn,
        .call = view_of(call->id),
        .tool = view_head(view_of(call->tool), MAX_NAME_BYTES),
        .code = view_head(buf_view(&attempt->code), EVENT_CODE_BYTES),
    };
}

enum turn step_calling(struct attempt *attempt)
{
    if (attempt->landed)
        return attempt_go(attempt, RUNNING);
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    const struct call *call = conversation_call(&attempt->conversation);
    struct record record = record_of(attempt, call, RECORD_TOOL_INTENT);
    if (attempt->job.kind != JOB_CODE)
        record.arguments = call_arguments(call);
    if (!attempt_compose(attempt, &record))
        return AGAIN;
    struct event_data data = attempt_started(attempt);
    attempt_journal(attempt, "tool.started", &data);
    return WAIT;
}

static void begin_output(struct attempt *attempt)
{
    const struct conversation *conversation = &attempt->conversation;
    struct output_past past = {
        .records = conversation->results,
        .count = conversation->result_count,
        .given = &attempt->job.files,
        .saved = &attempt->session.known.record.files,
    };
    output_begin(&attempt->output, view_of(conversation_call(conversation)->id),
                 past);
}

enum turn step_running(struct attempt *attempt)
{
    struct wish wish = { 0 };
    enum turn turn;
    if (!attempt->begun) {
        begin_output(attempt);
        wish = wish_for(attempt, WISH_RUN);
        wish.intended = attempt->sent_before || attempt->tries > 0;
        attempt->asked_ms = attempt_now_ms(attempt);
    }
    return attempt_wishes(attempt, &wish, &turn)
               ? attempt_go(attempt, COLLECTING)
               : turn;
}

/* ------------------------------------------------------------- observing */

static void compose_result(struct attempt *attempt)
{
    const struct call *call = conversation_call(&attempt->conversation);
    struct record record = record_of(attempt, call, RECORD_TOOL_RESULT);
    output_record(&attempt->output, buf_view(&attempt->code), &record);
    record.ms = attempt_now_ms(attempt) - attempt->asked_ms;
    CLEANUP(buf_finish) struct buf text;
    observation_write(&text, &record);
    if (attempt->job.kind != JOB_CODE)
        record.observation = buf_view(&text);
    const struct conversation *conversation = &attempt->conversation;
    struct terms terms = attempt_terms(attempt);
    if (decide_hint(conversation, conversation->result_count, &terms,
                    record.cell.code, &record))
        record.brake = BRAKED_HINT;
    attempt_compose(attempt, &record);
}

/* The files that the cell wrote, one after the other. */
enum turn step_collecting(struct attempt *attempt)
{
    struct output *output = &attempt->output;
    if (attempt->begun && !attempt->landed)
        return WAIT;
    if (attempt->begun) {
        output_file(output, buf_view(&attempt->session.file),
                    &attempt->session.fault);
        attempt->begun = attempt->landed = false;
    }
    struct wish wish = { .kind = WISH_GET, .name = output_wanted(output) };
    if (wish.name.len == 0) {
        compose_result(attempt);
        return attempt_go(attempt, OBSERVED);
    }
    attempt->begun = true;
    session_want(&attempt->session, &wish);
    return attempt->landed ? AGAIN : WAIT;
}

enum turn step_observed(struct attempt *attempt)
{
    if (attempt->landed) {
        if (attempt->output.ended)
            session_forget(&attempt->session, attempt->output.call);
        output_finish(&attempt->output);
        attempt_renew_blobs(attempt, attempt->consumer->settings.result_ttl_ms);
        attempt->tries = 0;
        return attempt_go(attempt, DECIDING);
    }
    if (attempt->begun)
        return WAIT;
    attempt->begun = true;
    const struct call *call = conversation_call(&attempt->conversation);
    const struct cell *cell = &attempt->output.cell;
    bool ran = attempt->output.ended;
    struct event_data data = {
        .turn = attempt->conversation.turn,
        .call = view_of(call->id),
        .tool = view_head(view_of(call->tool), MAX_NAME_BYTES),
        .status = view_of(ran ? cell_status_names[cell->status] : "refused"),
        .state = view_of(ran ? cell_state_names[cell->state] : "kept"),
        .ms = ran ? attempt_now_ms(attempt) - attempt->asked_ms : 0,
    };
    attempt_journal(attempt, "tool.completed", &data);
    return WAIT;
}
