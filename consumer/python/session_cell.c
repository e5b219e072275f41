/* session_cell.c - a session's cells: run, and run again when it was lost. */
#include <stdio.h>

#include "consumer/python/session_step.h"

enum {
    REASON_BYTES = 1000, /* of a cell */
};

struct call_name session_call_name(const struct session *session,
                                   struct view call)
{
    struct call_name name;
    snprintf(name.text, sizeof(name.text), "%.*s/%.*s",
             VIEW_ARG(session->setup.job), VIEW_ARG(call));
    return name;
}

/* In its session: behind those of the jobs before. */
static uint64_t number_in_session(const struct session *session,
                                  uint64_t number)
{
    const struct session_record *record = &session->memo.record;
    return session_is_named(session) ? record->cells + number : number;
}

/* It does not end well this time: the call has no variables of before. */
static void lose_past(struct session *session, bool emptied)
{
    session->unrestored = true;
    session->past_due = false;
    session->files_due = emptied;
    session->file_at = 0;
}

static void on_replayed(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    const struct past_cell *cells = session->wish.past.cells;
    struct view call = cells[session->past_at].call;
    if (frame->type == FRAME_RESTART) {
        session_restarted(session);
        session->events.on_past(session->owner, call);
    }
    if (frame->type == FRAME_TOOL)
        session_asked(session, call, frame, true);
    if (frame->type == FRAME_DONE && frame->cell.state == CELL_LOST)
        lose_past(session, frame->emptied);
    if (frame->type == FRAME_DONE && frame->cell.state == CELL_ROLLED_BACK)
        session->rerun_killed++;
    if (frame->type == FRAME_DONE || frame->type == FRAME_FAILED)
        session_answered(session, frame);
}

enum pace session_replaying(void *owner)
{
    struct session *session = owner;
    const struct past_cell *cells = session->wish.past.cells;
    if (session->past_at >= session->wish.past.count) {
        session->past_due = false;
        return session_settle(session);
    }
    if (!session->begun) {
        const struct past_cell *cell = &cells[session->past_at];
        struct call_name name = session_call_name(session, cell->call);
        struct frame again = { .type = FRAME_RUN,
                               .call = view_of(name.text),
                               .code = cell->code,
                               .number =
                                   number_in_session(session, cell->number),
                               .tools = session->setup.tools,
                               .env = session->setup.env,
                               .cell_ms = session->setup.cell_ms };
        session->events.on_past(session->owner, cell->call);
        return session_ask(session, &again, on_replayed);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    session->past_at++;
    session->rerun += session->fresh;
    session->restored = session->restored || session->fresh;
    return session_settle(session);
}

/* How the session came to be what it is, as only we know it: behind the cause
 * of what has become of the cell. */
static void say_history(const struct session *session, struct buf *reason)
{
    const struct past *past = &session->wish.past;
    const struct buf *notice = &session->notice.text;
    buf_add(reason, buf_view(notice));
    if (!session->restored && !session->unrestored)
        return;
    if (notice->len > 0)
        buf_printf(reason, "; ");
    if (session->unrestored) {
        buf_printf(reason, "the executor went away and the earlier cells did "
                           "not run a second time: variables and files of the "
                           "session are gone");
        return;
    }
    buf_printf(reason,
               "the executor went away; %zu earlier cell%s run again, then "
               "this one",
               session->rerun, session->rerun == 1 ? " was" : "s were");
    if (session->rerun_killed > 0)
        buf_printf(reason, "; %zu of them had to be killed this time",
                   session->rerun_killed);
    if (past->killed > 0)
        buf_printf(reason, "; what killed cells left in files is gone");
}

/* The worst is the truth: lost, restored, rolled back, kept. */
static void add_history(const struct session *session, struct cell *cell,
                        struct buf *reason)
{
    if (!session->restored && !session->unrestored &&
        session->notice.text.len == 0)
        return;
    if (cell->reason.len > 0)
        buf_printf(reason, "%.*s; ", VIEW_ARG(view_head(cell->reason, 500)));
    say_history(session, reason);
    if (session->unrestored || session->notice.state == CELL_LOST)
        cell->state = CELL_LOST;
    else if (cell->state == CELL_KEPT)
        cell->state = CELL_RESTORED;
    cell->reason = view_head(buf_view(reason), REASON_BYTES);
}

static void report(struct session *session, const struct frame *frame)
{
    CLEANUP(buf_finish) struct buf reason;
    struct cell cell = frame->cell;
    cell.number = number_in_session(session, session->wish.number);
    bool emptied = frame->emptied || session->unrestored;
    buf_init(&reason, MAX_OBSERVATION_BYTES);
    add_history(session, &cell, &reason);
    if (frame->emptied) {
        session->files_due = true;
        session->file_at = 0;
    }
    session->restored = session->unrestored = false;
    session->reported = true;
    notice_finish(&session->notice);
    notice_init(&session->notice);
    session->sent = session->sent_here = false;
    session->rerun = session->rerun_killed = 0;
    session->wish.cell->on_cell(session->wish.owner, &cell, frame->number,
                                &frame->files, emptied);
}

static void on_running(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    if (frame->type == FRAME_OUTPUT) {
        session->wish.cell->on_output(session->wish.owner, frame->stream,
                                      frame->offset, frame->data);
    } else if (frame->type == FRAME_DISPLAY || frame->type == FRAME_UPDATE ||
               frame->type == FRAME_CLEAR) {
        session->wish.cell->on_display(session->wish.owner, frame);
    } else if (frame->type == FRAME_RESTART) {
        session_restarted(session);
        session->wish.cell->on_start(session->wish.owner, false);
    } else if (frame->type == FRAME_TOOL) {
        session_asked(session, session->wish.call, frame, false);
    } else {
        if (frame->type == FRAME_DONE)
            report(session, frame);
        session_answered(session, frame);
    }
}

enum pace session_running(void *owner)
{
    struct session *session = owner;
    struct call_name name = session_call_name(session, session->wish.call);
    struct frame frame = { .type = FRAME_RUN,
                           .call = view_of(name.text),
                           .code = session->wish.code,
                           .number =
                               number_in_session(session, session->wish.number),
                           .tools = session->setup.tools,
                           .env = session->setup.env,
                           .cell_ms = session->setup.cell_ms,
                           .last = session->wish.last };
    if (!session->begun) {
        session->wish.cell->on_start(session->wish.owner, session->sent);
        session->sent = session->sent_here = true;
        return session_ask(session, &frame, on_running);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    return session_done(session);
}

enum pace session_give_up(struct session *session)
{
    struct cell cell = {
        .number = number_in_session(session, session->wish.number),
        .status = CELL_UNKNOWN,
        .state = CELL_LOST,
        .reason = VIEW("the executor went away twice while this cell ran; "
                       "what it did is not known, and variables and files of "
                       "the session are gone"),
    };
    struct list none = { 0 };
    session->wish.cell->on_start(session->wish.owner, false);
    session->wish.cell->on_cell(session->wish.owner, &cell, 0, &none, true);
    return session_done(session);
}
