/* tool.c - calls of tools by a cell's code: their limits, and the cell's clock.
 *
 * Without limits here, hostile code could flood a consumer with calls; without
 * most_ms(), a call that nobody answers would hold a session for ever. */
#include "executor/warden/tool.h"

#include <stdio.h>
#include <string.h>

#include "executor/base/log.h"
#include "executor/warden/session_steps.h"
#include "executor/warden/sessions.h"

/* -------------------------------------------------------------- the clock */

/* How long the clock may still stand in this cell. */
static uint64_t most_ms(const struct session *session)
{
    const struct tools *tools = &session->run.tools;
    uint64_t most = session->sessions->settings->tool_ms;
    return most > tools->stood_ms ? most - tools->stood_ms : 0;
}

static void stop_clock(struct session *session)
{
    struct tools *tools = &session->run.tools;
    uint64_t now = clock_ms();
    if (tools->stands_ms > 0 || most_ms(session) == 0 || now >= tools->due_ms)
        return;
    tools->stands_ms = now;
    alarm_set(session->deadline, most_ms(session));
}

static bool start_clock(struct session *session)
{
    struct tools *tools = &session->run.tools;
    uint64_t now = clock_ms();
    if (tools->stands_ms == 0)
        return false;
    uint64_t stood = now - tools->stands_ms;
    tools->stood_ms += stood;
    tools->due_ms += stood;
    tools->stands_ms = 0;
    alarm_set(session->deadline, tools->due_ms - now);
    return true;
}

bool tool_goes_on(struct session *session)
{
    bool stood = start_clock(session);
    session->flags.late = !stood;
    return stood;
}

/* ------------------------------------------------------------ open calls */

void tool_begin(struct session *session, bool offered)
{
    uint64_t now = clock_ms();
    session->run.tools = (struct tools){
        .offered = offered,
        .last = session->run.tools.last,
        .left = QUESTION_BURST,
        .counted_ms = now,
        .due_ms = now + session->run.limit_ms,
    };
}

static struct open_call *find_open(struct tools *tools, uint64_t number)
{
    for (size_t i = 0; i < MAX_OPEN_QUESTIONS; i++)
        if (tools->open[i].number == number)
            return &tools->open[i];
    return NULL;
}

static void close_call(struct tools *tools, struct open_call *open)
{
    arena_finish(&open->arena);
    *open = (struct open_call){ 0 };
    tools->waits--;
}

void tool_end(struct session *session)
{
    struct tools *tools = &session->run.tools;
    for (size_t i = 0; i < MAX_OPEN_QUESTIONS; i++)
        if (tools->open[i].number > 0)
            close_call(tools, &tools->open[i]);
}

static void tool_pass_on(struct session *session, const struct open_call *open)
{
    const struct session_call *call = session->run.call;
    peer_answer(call->peer, call->ref,
                (struct frame){
                    .type = FRAME_TOOL,
                    .call = view_of(call->id),
                    .number = open->number,
                    .name = open->name,
                    .data = open->data,
                });
}

void tool_ask_again(struct session *session)
{
    struct tools *tools = &session->run.tools;
    for (size_t i = 0; i < MAX_OPEN_QUESTIONS; i++)
        if (tools->open[i].number > 0)
            tool_pass_on(session, &tools->open[i]);
}

/* ----------------------------------------------------------- being asked */

/* A bucket: QUESTION_BURST calls at once, then QUESTIONS_PER_S. */
static bool is_too_fast(struct tools *tools)
{
    uint64_t now = clock_ms();
    tools->left +=
        (double)((now - tools->counted_ms) * QUESTIONS_PER_S) / 1000.0;
    tools->counted_ms = now;
    if (tools->left > (double)QUESTION_BURST)
        tools->left = QUESTION_BURST;
    if (tools->left < 1)
        return true;
    tools->left--;
    return false;
}

/* False: err says why, and the guest gets it as the answer. */
static bool tool_refuse(struct session *session, struct tools *tools,
                        const struct guest_frame *frame, struct err *err)
{
    if (session->machine.state != SESSION_RUNNING)
        return err_set(err, ERR_REJECT, "cell_ended", "the cell is stopped");
    if (!tools->offered)
        return err_set(err, ERR_REJECT, "unknown_tool",
                       "no tools were offered to this cell");
    if (frame->name.len == 0)
        return err_set(err, ERR_REJECT, "bad_field", "a call has a name");
    if (tools->asked > MAX_CELL_QUESTIONS)
        return err_set(err, ERR_REJECT, "too_many_calls",
                       "more than %d calls in one cell", MAX_CELL_QUESTIONS);
    if (is_too_fast(tools))
        return err_set(err, ERR_RETRY, "too_fast",
                       "after %d calls, at most %d a second", QUESTION_BURST,
                       QUESTIONS_PER_S);
    if (!find_open(tools, 0))
        return err_set(err, ERR_RETRY, "too_many_open",
                       "more than %d calls at once", MAX_OPEN_QUESTIONS);
    return true;
}

/* A guest that asks and does not read the answers is killed: they would pile up
 * here. */
static void tell_guest(struct session *session, struct guest_frame *answer)
{
    struct err err;
    answer->type = GUEST_ANSWER;
    if (interpreter_send(session->interpreter, answer, &err))
        return;
    log_line("session.deaf", session->name, "%s", err.text);
    session->flags.deaf = true;
}

void tool_hold(struct session *session)
{
    session->run.tools.waits++;
    stop_clock(session);
}

void tool_release(struct session *session)
{
    if (--session->run.tools.waits == 0)
        start_clock(session);
}

void tool_ask(struct session *session, const struct guest_frame *frame)
{
    struct tools *tools = &session->run.tools;
    struct err err;
    tools->asked++;
    if (!tool_refuse(session, tools, frame, &err)) {
        struct guest_frame answer = {
            .number = frame->number,
            .error = { .name = view_of(err.code), .value = view_of(err.text) },
        };
        tell_guest(session, &answer);
        return;
    }
    struct open_call *open = find_open(tools, 0);
    *open = (struct open_call){
        .number = ++tools->last,
        .asked_as = frame->number,
    };
    open->name = arena_copy(&open->arena, frame->name);
    open->data = arena_copy(&open->arena, frame->data);
    tools->waits++;
    stop_clock(session);
    tool_pass_on(session, open);
}

/* Only an answer to an open call of the present run goes to the guest: numbers
 * are never used twice, also when a cell runs again. */
void tool_answer(struct session *session, const struct frame *frame)
{
    struct tools *tools = &session->run.tools;
    const struct session_call *call = session->run.call;
    struct open_call *open =
        call && view_is(frame->call, call->id) && frame->number > 0
            ? find_open(tools, frame->number)
            : NULL;
    if (!open || session->machine.state != SESSION_RUNNING)
        return;
    bool failed = frame->error.message.len > 0;
    struct guest_frame answer = {
        .number = open->asked_as,
        .data = failed ? (struct view){ 0 } : frame->data,
        .error = { .name = frame->error.code, .value = frame->error.message },
    };
    if (failed && answer.error.name.len == 0)
        answer.error.name = VIEW("tool_failed");
    close_call(tools, open);
    if (tools->waits == 0)
        start_clock(session);
    tell_guest(session, &answer);
    session_run(session);
}
