/* cell.c - the states of a session whose cell runs or has just ended. */
#include "executor/warden/log.h"
#include "executor/warden/machine.h"

/* Only while the cell may still go on: later it is a matter of moments, and
 * what is left is bounded. */
void session_slow_down(struct session *session)
{
    if (session->state == SESSION_RUNNING)
        runner_pause(session->runner, peer_lags(session->running.call->peer));
}

static enum turn say_outcome(struct session *session)
{
    const struct cell *cell = &session->running.cell;
    bool lost = session->state == SESSION_KILLING;
    log_line("cell.done", session->name, "cell %llu: %s, %s%s%s",
             (unsigned long long)session->running.number,
             cell_status_names[cell->status], cell_state_names[cell->state],
             cell->reason.len ? ": " : "", session->running.reason);
    outcome_say(session);
    if (lost)
        session_drop_interpreter(session);
    session->seen.done = session->seen.swept = false;
    session_enter(session, SESSION_IDLE);
    return AGAIN;
}

/* What was recorded stays; the box goes now, and the interpreter with it. */
static enum turn kill_all(struct session *session)
{
    runner_kill(session->runner);
    box_release(session->box);
    session->box = NULL;
    session_enter(session, SESSION_KILLING);
    return AGAIN;
}

static enum turn crash(struct session *session)
{
    outcome_set(session, CELL_CRASHED, CELL_LOST,
                "the interpreter died: %s; variables and files of the "
                "session are lost",
                runner_cause(session->runner));
    return kill_all(session);
}

static enum turn over_memory(struct session *session)
{
    outcome_set(session, CELL_MEMORY, CELL_LOST,
                "the session took more than its %llu MiB of memory and was "
                "killed; its variables and files are lost",
                (unsigned long long)session->limits.memory_bytes >> 20);
    return kill_all(session);
}

static enum turn sweep(struct session *session)
{
    session->seen.swept = false;
    session_enter(session, SESSION_SWEEPING);
    runner_freeze(session->runner); /* or it could start what is ended here */
    box_sweep(session->box);
    return WAIT;
}

enum turn step_running(struct session *session)
{
    if (session->seen.closing)
        return session_end(session);
    if (session->seen.dead)
        return crash(session);
    if (session->seen.done)
        return sweep(session);
    if (session->seen.memory)
        return over_memory(session);
    if (!session->seen.late && !session->seen.interrupt) {
        session_slow_down(session);
        return WAIT;
    }
    session->running.timed_out = !session->seen.interrupt;
    runner_interrupt(session->runner);
    session_enter(session, SESSION_STOPPING);
    runner_pause(session->runner, false);
    return AGAIN;
}

/* It obeyed: nothing is lost. */
static enum turn stopped(struct session *session)
{
    struct running *running = &session->running;
    if (running->cell.status == CELL_INTERRUPTED && running->timed_out)
        outcome_set(session, CELL_TIMEOUT, (enum cell_state)running->cell.state,
                    "stopped at its limit of %.1f s; variables are kept",
                    (double)running->limit_ms / 1000);
    return sweep(session);
}

enum turn step_stopping(struct session *session)
{
    const struct running *running = &session->running;
    if (session->seen.closing)
        return session_end(session);
    if (session->seen.dead)
        return crash(session);
    if (session->seen.done)
        return stopped(session);
    if (session->seen.memory)
        return over_memory(session);
    if (!session->seen.late)
        return WAIT;
    if (running->timed_out)
        outcome_set(session, CELL_TIMEOUT, CELL_LOST,
                    "it ran longer than its limit of %.1f s, did not react "
                    "to KeyboardInterrupt and was killed; variables and "
                    "files of the session are lost",
                    (double)running->limit_ms / 1000);
    else
        outcome_set(session, CELL_INTERRUPTED, CELL_LOST,
                    "it did not react to KeyboardInterrupt and was killed; "
                    "variables and files of the session are lost");
    return kill_all(session);
}

enum turn step_killing(struct session *session)
{
    if (!session->seen.dead && !session->seen.late)
        return WAIT;
    if (!session->seen.dead)
        log_line("session.stuck", session->name,
                 "its interpreter does not die");
    return say_outcome(session);
}

enum turn step_sweeping(struct session *session)
{
    if (session->seen.closing)
        return session_end(session);
    if (!session->seen.dead && !session->seen.swept && !session->seen.late)
        return WAIT;
    if (!session->seen.dead && session->seen.swept && session->seen.clean)
        return say_outcome(session);
    outcome_set(session, (enum cell_status)session->running.cell.status,
                CELL_LOST,
                "after the cell %s; variables and files of the session are "
                "lost",
                session->seen.dead
                    ? runner_cause(session->runner)
                    : "processes that it left behind could not be ended");
    return kill_all(session);
}
