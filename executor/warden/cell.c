/* cell.c - the states of a session whose cell runs or has just ended.
 *
 * A cell is stopped in three steps, each with its deadline: it is asked to end
 * (KeyboardInterrupt); if it has only figures left to draw it gets time for
 * that; then it is killed. Code that catches KeyboardInterrupt gains 300 ms. */
#include "executor/box/walls.h"
#include "executor/warden/session_steps.h"

/* A consumer that does not read slows down the cell, which then waits in
 * write(). Only while the cell may go on: a cell that is being stopped must be
 * able to end, and what it can still send is bounded. */
void session_slow_down(struct session *session)
{
    if (session->machine.state == SESSION_RUNNING)
        interpreter_pause(session->interpreter,
                          peer_lags(session->run.call->peer));
}

/* It must not step the machine: its caller is in the middle of a send. */
void session_hold(struct session *session)
{
    if (session->machine.state == SESSION_RUNNING &&
        peer_lags(session->run.call->peer))
        interpreter_pause(session->interpreter, true);
}

/* The code is over. Everything is stopped, and what it left running is ended,
 * before its outcome is told: so nothing changes its files afterwards. Most
 * cells leave nothing behind; then nobody has to wait for init's answer, and a
 * sweep in CLEARING makes sure. */
static enum pace sweep(struct session *session)
{
    session_enter(session, SESSION_SWEEPING);
    /* Or it could start new processes while the old ones are ended. */
    interpreter_freeze(session->interpreter);
    bool alone = interpreter_is_alone(session->interpreter);
    session->flags.swept = session->flags.clean = session->flags.alone = alone;
    if (alone)
        return AGAIN;
    interpreter_sweep(session->interpreter, false);
    return WAIT;
}

/* It is asked for its line before the interrupt changes that. Of memory there
 * is none left to run a handler of KeyboardInterrupt: it is killed after
 * TRACE_MS. Its output is read again, or it could not end. */
static enum pace session_stop_cell(struct session *session, enum cell_stop stop)
{
    session->run.stop = stop;
    session->run.drew |= session->flags.drawing;
    interpreter_trace(session->interpreter);
    if (stop != STOP_MEMORY)
        interpreter_interrupt(session->interpreter);
    session_enter(session, SESSION_STOPPING);
    interpreter_pause(session->interpreter, false);
    return AGAIN;
}

/* Its time is over, but its code has ended: the figures that it has to show are
 * worth some more time. */
static enum pace draw(struct session *session, enum cell_stop stop)
{
    session->run.stop = stop;
    session->run.drew = true;
    session_enter(session, SESSION_DRAWING);
    interpreter_pause(session->interpreter, false);
    return AGAIN;
}

/* A dead interpreter and an outcome that has come go before reasons to stop it:
 * a cell that ended in time is not reported as stopped. */
enum pace step_running(void *owner)
{
    struct session *session = owner;
    if (session->flags.closing)
        return session_end(session);
    if (session->flags.dead && session->flags.memory)
        session->run.stop = STOP_MEMORY;
    if (session->flags.dead)
        return session_kill(session);
    if (session->flags.done)
        return sweep(session);
    if (session->flags.memory)
        return session_stop_cell(session, STOP_MEMORY);
    if (session->flags.interrupt)
        return session_stop_cell(session, STOP_ASKED);
    if (session->flags.deaf) {
        outcome_set(session, CELL_CRASHED, CELL_KEPT,
                    "it did not read the answers to its calls");
        return session_kill(session);
    }
    if (session->flags.late && !tool_goes_on(session) &&
        wall_wanted("deadline"))
        return session->flags.drawing ? draw(session, STOP_LIMIT)
                                      : session_stop_cell(session, STOP_LIMIT);
    session_slow_down(session);
    return WAIT;
}

/* It obeyed: nothing is lost. */
static enum pace stopped(struct session *session)
{
    const struct running_cell *run = &session->run;
    if (run->cell.status == CELL_INTERRUPTED && run->stop == STOP_LIMIT)
        outcome_set(session, CELL_TIMEOUT, CELL_KEPT,
                    "stopped at its limit of %.1f s; variables are kept",
                    (double)run->limit_ms / 1000);
    return sweep(session);
}

enum pace step_stopping(void *owner)
{
    struct session *session = owner;
    bool memory = session->run.stop == STOP_MEMORY;
    if (session->flags.closing)
        return session_end(session);
    if (session->flags.dead)
        return session_kill(session);
    if (session->flags.done && !memory)
        return stopped(session);
    if (session->flags.memory && !memory) {
        session->run.stop = STOP_MEMORY;
        return session_kill(session);
    }
    if (session->flags.drawing && !session->run.drew && !memory)
        return draw(session, session->run.stop);
    return session->flags.late ? session_kill(session) : WAIT;
}

enum pace step_drawing(void *owner)
{
    struct session *session = owner;
    if (session->flags.closing)
        return session_end(session);
    if (session->flags.dead)
        return session_kill(session);
    if (session->flags.done)
        return stopped(session);
    if (session->flags.memory)
        return session_stop_cell(session, STOP_MEMORY);
    return session->flags.late ? session_stop_cell(session, session->run.stop)
                               : WAIT;
}

/* A sweep that did not come to an end in time, or found what it could not end,
 * costs the interpreter: where something runs unwatched, no cell may run. */
enum pace step_sweeping(void *owner)
{
    struct session *session = owner;
    if (session->flags.closing)
        return session_end(session);
    if (!session->flags.dead && !session->flags.swept && !session->flags.late)
        return WAIT;
    if (!session->flags.dead && session->flags.swept && session->flags.clean)
        return installing_is_due(session) ? session_install(session)
                                          : session_settle(session);
    return session_kill(session);
}
