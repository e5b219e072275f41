/* run.c - runs the call of a request as a cell, and reads files that it wrote.
 */
#include "consumer/python/run.h"

#include "consumer/python/state.h"

enum {
    REASON_BYTES = 1000, /* of a cell */
    MAX_LOSSES = 2,
};

/* ---------------------------------------------------------------- history */

void run_begin(struct python_session *session)
{
    session->run.progress =
        session->request.intended ? CALL_INTENDED : CALL_UNSENT;
    session->run.losses = 0;
}

static void worsen(struct cell_run *run, enum session_loss loss)
{
    if (loss > run->loss)
        run->loss = loss;
}

void run_lose_session(struct python_session *session)
{
    struct cell_run *run = &session->run;
    if (run->progress != CALL_UNSENT) {
        run->losses++;
        worsen(run, LOSS_RERUN);
    }
    run->progress = CALL_UNSENT;
}

bool run_is_lost(const struct python_session *session)
{
    return session->request.verb == SESSION_RUN &&
           session->run.losses >= MAX_LOSSES;
}

bool run_is_lost_again(const struct python_session *session)
{
    return session->machine.state == AWAY &&
           session->run.progress != CALL_UNSENT &&
           session->request.verb == SESSION_RUN &&
           session->run.losses + 1 >= MAX_LOSSES;
}

void run_count_rerun(struct python_session *session, const struct cell *cell)
{
    if (cell->state == CELL_LOST)
        worsen(&session->run, LOSS_TOTAL);
    session->run.rerun_killed += cell->state == CELL_ROLLED_BACK;
}

void run_note_reruns(struct python_session *session)
{
    session->run.rerun = session->request.earlier.count;
    if (session->run.rerun > 0)
        worsen(&session->run, LOSS_RERUN);
}

/* Says how the session was lost, and what was done about it. */
static void add_loss(const struct python_session *session, struct buf *reason)
{
    const struct cell_run *run = &session->run;
    if (run->loss == LOSS_TOTAL) {
        buf_printf(reason, "the executor went away and the earlier cells did "
                           "not run a second time: variables and files of the "
                           "session are gone");
        return;
    }
    if (run->rerun > 0)
        buf_printf(reason,
                   "the executor went away; %zu earlier cell%s run again, then "
                   "this one",
                   run->rerun, run->rerun == 1 ? " was" : "s were");
    else /* or the session ended there before the cell reached it */
        buf_printf(reason, "the session was gone");
    if (run->rerun_killed > 0)
        buf_printf(reason, "; %zu of them had to be killed this time",
                   run->rerun_killed);
    if (session->request.earlier.killed > 0)
        buf_printf(reason, "; what killed cells left in files is gone");
    if (run->losses > 0)
        buf_printf(reason, "; this cell may have run before");
}

/* Adds to the cell what happened before it. Of several states the worst counts.
 */
static void add_reason(const struct python_session *session, struct cell *cell,
                       struct buf *reason)
{
    const struct notice *notice = &session->notice;
    enum session_loss loss = session->run.loss;
    if (loss == LOSS_NONE && notice->text.len == 0)
        return;
    if (cell->reason.len > 0)
        buf_printf(reason, "%.*s; ", VIEW_ARG(view_head(cell->reason, 500)));
    buf_add(reason, buf_view(&notice->text));
    if (loss != LOSS_NONE && notice->text.len > 0)
        buf_printf(reason, "; ");
    if (loss != LOSS_NONE)
        add_loss(session, reason);
    if (loss == LOSS_TOTAL || notice->state == CELL_LOST)
        cell->state = CELL_LOST;
    else if (cell->state == CELL_KEPT)
        cell->state = CELL_RESTORED;
    cell->reason = view_head(buf_view(reason), REASON_BYTES);
}

/* ---------------------------------------------------------------- running */

static void run_report(struct python_session *session,
                       const struct frame *frame)
{
    CLEANUP(buf_finish) struct buf reason;
    struct cell cell = frame->cell;
    cell.number = session_cell_number(session, session->request.number);
    bool emptied = frame->emptied || session->run.loss == LOSS_TOTAL;
    buf_init(&reason, MAX_OBSERVATION_BYTES);
    add_reason(session, &cell, &reason);
    if (frame->emptied)
        restore_files(session);
    /* The cell tells it now, so it must not be told again. */
    session->run = (struct cell_run){ .losses = session->run.losses };
    session->claim.notice_told = true;
    notice_finish(&session->notice);
    notice_init(&session->notice);
    session->request.cell->on_cell(session->request.owner, &cell, frame->number,
                                   &frame->files, emptied);
}

static void on_running(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    const struct session_request *request = &session->request;
    if (!frame)
        return;
    if (frame->type == FRAME_OUTPUT) {
        request->cell->on_output(request->owner, frame->stream, frame->offset,
                                 frame->data);
    } else if (frame->type == FRAME_DISPLAY || frame->type == FRAME_UPDATE ||
               frame->type == FRAME_CLEAR) {
        request->cell->on_display(request->owner, frame);
    } else if (frame->type == FRAME_RESTART) {
        session_resume_clock(session);
        request->cell->on_start(request->owner, false);
    } else if (frame->type == FRAME_TOOL) {
        session_hear_tool(session, request->call, frame, false);
    } else {
        if (frame->type == FRAME_DONE)
            run_report(session, frame);
        session_answered(session, frame);
    }
}

enum pace run_enter(void *owner)
{
    struct python_session *session = owner;
    const struct session_request *request = &session->request;
    struct call_name name = session_call_name(session, request->call);
    struct frame frame =
        session_run_frame(session, &name, request->code, request->number);
    frame.last = request->last;
    request->cell->on_start(request->owner,
                            session->run.progress != CALL_UNSENT);
    session->run.progress = CALL_SENT;
    return session_ask(session, &frame, on_running);
}

enum pace run_landed(void *owner)
{
    struct python_session *session = owner;
    if (session->exchange.answer.kind != ERR_NONE)
        return session_fail(session, &session->exchange.answer);
    return session_done(session);
}

enum pace run_give_up(struct python_session *session)
{
    const struct session_request *request = &session->request;
    struct cell cell = {
        .number = session_cell_number(session, request->number),
        .status = CELL_UNKNOWN,
        .state = CELL_LOST,
        .reason = VIEW("the executor went away twice while this cell ran; "
                       "what it did is not known, and variables and files of "
                       "the session are gone"),
    };
    struct list none = { 0 };
    session->run = (struct cell_run){ .losses = session->run.losses };
    request->cell->on_start(request->owner, false);
    request->cell->on_cell(request->owner, &cell, 0, &none, true);
    return session_done(session);
}

/* ---------------------------------------------------------- reading files */

static void on_chunk(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    struct buf *file = &session->file;
    if (!frame || frame->type != FRAME_CHUNK) {
        session_answered(session, frame);
        return;
    }
    if (frame->offset == file->len)
        buf_add(file, frame->data);
    if (!frame->last && buf_ok(file))
        return;
    if (!buf_ok(file))
        err_set(&session->exchange.answer, ERR_REJECT, "too_large",
                "the file is larger than " MAX_FILE_WORDS);
    session_land(session);
}

enum pace run_ask_file(struct python_session *session, struct view name)
{
    struct frame get = { .type = FRAME_GET, .name = name };
    buf_finish(&session->file);
    buf_init(&session->file, MAX_FILE_BYTES);
    return session_ask(session, &get, on_chunk);
}

enum pace run_enter_read(void *owner)
{
    struct python_session *session = owner;
    return run_ask_file(session, session->request.name);
}
