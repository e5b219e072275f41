/* session_cell.c - a session's cells: run, and run again when it was lost. */
#include <stdio.h>

#include "consumer/session/session_step.h"

struct call_name session_call_name(const struct session *session,
                                   struct view call)
{
    struct call_name name;
    snprintf(name.text, sizeof(name.text), "%.*s/%.*s",
             VIEW_ARG(session->setup.job), VIEW_ARG(call));
    return name;
}

static void on_replayed(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    if (frame->type == FRAME_DONE && frame->cell.state == CELL_LOST) {
        /* It does not end well this time: the call has an empty session. */
        session->unrestored = true;
        session->past_due = false;
        session->files_due = true;
        session->file_at = 0;
    }
    if (frame->type == FRAME_DONE || frame->type == FRAME_FAILED)
        session_answered(session, frame);
}

enum turn session_replaying(struct session *session)
{
    const struct past_cell *cells = session->wish.past.items;
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
                               .cell_ms = session->setup.cell_ms };
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

/* The cell's state, as far as only we know it. */
static void report(struct session *session, const struct frame *frame)
{
    struct cell cell = frame->cell;
    char reason[160];
    if (session->unrestored && cell.state == CELL_KEPT) {
        cell.state = CELL_LOST;
        cell.reason = VIEW("the executor went away and the earlier cells did "
                           "not run a second time: variables and files of "
                           "the session are gone");
    } else if (session->restored && cell.state == CELL_KEPT) {
        snprintf(reason, sizeof(reason),
                 "the executor went away; %zu earlier cell%s run again, then "
                 "this one",
                 session->rerun, session->rerun == 1 ? " was" : "s were");
        cell.state = CELL_RESTORED;
        cell.reason = view_of(reason);
    }
    if (cell.state == CELL_LOST && !session->unrestored)
        session->files_due = true;
    session->restored = session->unrestored = false;
    session->sent = session->sent_here = false;
    session->rerun = 0;
    session->events.on_cell(session->owner, &cell, &frame->files);
}

static void on_running(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    if (frame->type == FRAME_OUTPUT) {
        session->events.on_output(session->owner, frame->stream, frame->data);
    } else if (frame->type == FRAME_DISPLAY) {
        session->events.on_display(session->owner, &frame->bundle);
    } else {
        if (frame->type == FRAME_DONE)
            report(session, frame);
        session_answered(session, frame);
    }
}

enum turn session_running(struct session *session)
{
    struct call_name name = session_call_name(session, session->wish.call);
    struct frame frame = { .type = FRAME_RUN,
                           .call = view_of(name.text),
                           .code = session->wish.code,
                           .cell_ms = session->setup.cell_ms };
    if (!session->begun) {
        session->events.on_start(session->owner, session->sent);
        session->sent = session->sent_here = true;
        return session_ask(session, &frame, on_running);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    return session_done(session);
}

enum turn session_give_up(struct session *session)
{
    struct cell cell = {
        .status = CELL_UNKNOWN,
        .state = CELL_LOST,
        .reason = VIEW("the executor went away twice while this cell ran; "
                       "what it did is not known, and variables and files of "
                       "the session are gone"),
    };
    struct list none = { 0 };
    session->events.on_start(session->owner, false);
    session->events.on_cell(session->owner, &cell, &none);
    return session_done(session);
}
