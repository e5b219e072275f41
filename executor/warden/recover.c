/* recover.c - killing what runs, going back to the snapshot, and making one.
 *
 *   the cell is over --> outcome --> PARKING (a new snapshot) --> CLEARING
 *   it has to end ----> KILLING --> outcome --> the snapshot takes over
 *
 * The outcome is told before a snapshot is made: nobody waits for that. What is
 * said of variables and files here is what the model is told, so it must be
 * true when it is said. */
#include <stdio.h>

#include "executor/base/log.h"
#include "executor/warden/memory.h"
#include "executor/warden/numbers.h"
#include "executor/warden/session_steps.h"
#include "executor/warden/sessions.h"

enum { MAX_BACKS = 2 }; /* then it goes on without a snapshot */

/* What the session has added to the memory that it was born with: a snapshot
 * keeps as much alive, once code changes it. */
static uint64_t bytes_to_keep(const struct session *session)
{
    uint64_t now = interpreter_bytes(session->interpreter);
    return now > session->born_bytes ? now - session->born_bytes : 0;
}

static bool snapshot_is_allowed(struct session *session)
{
    uint64_t most = session->sessions->settings->snapshot_bytes;
    if (most > session->limits.memory_bytes / 2)
        most = session->limits.memory_bytes / 2; /* both together: twice that */
    uint64_t bytes = bytes_to_keep(session);
    if (most == 0)
        snprintf(session->snapshot.why_none, sizeof(session->snapshot.why_none),
                 "the operator keeps none (--snapshot 0)");
    if (session->run.last || most == 0 ||
        box_is_folder(interpreter_box(session->interpreter)))
        return false;
    if (bytes <= most)
        return true;
    snprintf(session->snapshot.why_none, sizeof(session->snapshot.why_none),
             "one of %llu MiB is too large", (unsigned long long)bytes >> 20);
    outcome_note(session,
                 "no snapshot is kept of %llu MiB, at most of %llu: if a cell "
                 "has to be killed now, variables are lost",
                 (unsigned long long)bytes >> 20,
                 (unsigned long long)most >> 20);
    session->snapshot.warned = true;
    return false;
}

/* The cell that ran had no snapshot of the state in which it began; there may
 * be one of an earlier state. */
static bool lacks_snapshot(const struct session *session)
{
    return session->filled && session_runs_cell(session) &&
           !box_is_folder(interpreter_box(session->interpreter)) &&
           (!interpreter_has_snapshot(session->interpreter) ||
            session->snapshot.cell != session_cells_before(session));
}

static const char *why_no_snapshot(const struct session *session)
{
    return session->snapshot.why_none[0] ? session->snapshot.why_none
                                         : "it has ended";
}

static void warn(struct session *session)
{
    if (lacks_snapshot(session) && !session->snapshot.warned)
        outcome_note(session,
                     "no snapshot was kept of the cell before this one (%s): "
                     "had this one been killed, variables would have been lost",
                     why_no_snapshot(session));
    session->snapshot.warned = false;
}

/* It leaves variables as they were. */
static bool changes_nothing(const struct running_cell *run)
{
    return run->asked.task == TASK_SAVE;
}

/* After a task that changes nothing the snapshot from before it still holds. */
static bool snapshot_serves(struct session *session)
{
    if (!changes_nothing(&session->run) ||
        !interpreter_has_snapshot(session->interpreter) ||
        session->snapshot.cell != session_cells_before(session))
        return false;
    session_note_snapshot(session, session->cells.count);
    return true;
}

/* The kernel killed processes of the cell, which went on without them: its
 * result may be wrong, and nothing else would say why. */
static void tell_of_kills(struct session *session)
{
    uint64_t kills = memory_kills(interpreter_box(session->interpreter));
    const struct cell *cell = &session->run.cell;
    if (kills > 0)
        outcome_set(session, (enum cell_status)cell->status,
                    (enum cell_state)cell->state,
                    "%llu of its processes %s killed: the session took all "
                    "of the %llu MiB that are its limit",
                    (unsigned long long)kills, kills == 1 ? "was" : "were",
                    (unsigned long long)session->limits.memory_bytes >> 20);
}

/* The runner is woken for the fork; its threads run, too, and are measured. */
static enum pace park(struct session *session)
{
    session->flags.parked = session->flags.memory = session->snapshot.hurried =
        false;
    session_enter(session, SESSION_PARKING);
    session_measure(session);
    interpreter_park(session->interpreter);
    return AGAIN;
}

static enum pace recover_clear(struct session *session)
{
    session->flags.swept = false;
    session_enter(session, SESSION_CLEARING);
    interpreter_freeze(session->interpreter);
    interpreter_sweep(session->interpreter, false);
    return WAIT;
}

enum pace session_settle(struct session *session)
{
    tell_of_kills(session);
    warn(session);
    bool serves = snapshot_serves(session);
    bool snapshot = !serves && snapshot_is_allowed(session);
    outcome_say(session, false);
    session->filled = true;
    session->flags.done = session->flags.swept = false;
    if (snapshot)
        return park(session);
    if (!serves)
        interpreter_drop_snapshot(session->interpreter);
    if (session->flags.alone)
        return recover_clear(session);
    session_enter(session, SESSION_IDLE);
    return AGAIN;
}

/* ---------------------------------------------------------------- parking */

/* Python runs functions that code has registered for a fork, and they may never
 * end: they are interrupted, and if that does not help it is killed. Entering
 * PARKING anew sets a new deadline. */
static enum pace hurry(struct session *session)
{
    if (session->snapshot.hurried)
        return session_kill(session);
    session->snapshot.hurried = true;
    log_line("session.hurried", session->name, "what it does at a fork hangs");
    interpreter_interrupt(session->interpreter);
    session_enter(session, SESSION_PARKING);
    return WAIT;
}

enum pace step_parking(void *owner)
{
    struct session *session = owner;
    if (session_may_go(session))
        return session_end(session);
    if (session->flags.dead || session->flags.memory)
        return session_kill(session);
    if (session->flags.parked)
        return recover_clear(session);
    return session->flags.late ? hurry(session) : WAIT;
}

/* Ends what threads of the session started while it was forked, and what nobody
 * saw when the cell was over. After it nothing in the box runs until the next
 * cell. */
enum pace step_clearing(void *owner)
{
    struct session *session = owner;
    const struct session_flags *seen = &session->flags;
    if (session_may_go(session))
        return session_end(session);
    if (!seen->dead && !seen->swept && !seen->late)
        return WAIT;
    if (seen->dead || !seen->swept || !seen->clean)
        return session_kill(session);
    session_enter(session, SESSION_IDLE);
    return AGAIN;
}

/* ---------------------------------------------------------------- killing */

/* Why we kill it. NULL: it died by itself, or its cell was stopped, which
 * what_happened() tells. */
static const char *blame_of(const struct session *session)
{
    if (session->flags.dead)
        return NULL;
    if (session->machine.state == SESSION_SWEEPING ||
        session->machine.state == SESSION_CLEARING)
        return "processes that it left behind could not be ended";
    if (session->machine.state != SESSION_PARKING)
        return NULL;
    return session->flags.memory
               ? "it took too much memory while a snapshot was made"
               : "a snapshot could not be made in time";
}

/* Everything is stopped before it is killed, so that nothing can react. The
 * sweep spares the snapshot only. */
enum pace session_kill(struct session *session)
{
    session->blame = blame_of(session);
    session->flags.swept = false;
    session_enter(session, SESSION_KILLING);
    interpreter_freeze(session->interpreter);
    interpreter_sweep(session->interpreter, true);
    return WAIT;
}

static const char *what_happened(const struct session *session, char *text,
                                 size_t size)
{
    const struct running_cell *run = &session->run;
    double limit = (double)run->limit_ms / 1000;
    unsigned long long grace_ms = session_grace_ms(session);
    const char *cause = session->blame
                            ? session->blame
                            : interpreter_cause(session->interpreter);
    if (!run->call)
        snprintf(text, size, "between two cells %s", cause);
    else if (session->flags.done && run->stop != STOP_MEMORY)
        snprintf(text, size, "after the cell %s", cause);
    else if (run->stop == STOP_LIMIT)
        snprintf(text, size,
                 "it ran longer than its limit of %.1f s, did not end within "
                 "%llu ms of KeyboardInterrupt and was killed",
                 limit, grace_ms);
    else if (run->stop == STOP_ASKED)
        snprintf(text, size,
                 "it did not end within %llu ms of KeyboardInterrupt and was "
                 "killed",
                 grace_ms);
    else if (run->stop == STOP_MEMORY)
        snprintf(
            text, size,
            "the session took %llu MiB, its limit is %llu MiB, and was killed",
            (unsigned long long)run->cell.peak_bytes >> 20,
            (unsigned long long)session->limits.memory_bytes >> 20);
    else
        snprintf(text, size, "the interpreter died: %s",
                 interpreter_cause(session->interpreter));
    return text;
}

static enum cell_status status_of(const struct session *session)
{
    static const enum cell_status statuses[] = {
        [STOP_NONE] = CELL_CRASHED,
        [STOP_LIMIT] = CELL_TIMEOUT,
        [STOP_ASKED] = CELL_INTERRUPTED,
        [STOP_MEMORY] = CELL_MEMORY,
    };
    const struct running_cell *run = &session->run;
    if (session->flags.done && run->stop != STOP_MEMORY)
        return (enum cell_status)run->cell.status;
    return statuses[run->stop];
}

/* What is there now. back: the box is whole, and nothing of the cell runs in
 * it; else the box has to go, with the files. */
static enum cell_state state_now(const struct session *session, bool back,
                                 char *text, size_t size)
{
    uint64_t seen = session->snapshot.cell;
    uint64_t before = session_cells_before(session);
    if (!back) {
        snprintf(text, size, "variables and files of the session are lost");
        return CELL_LOST;
    }
    if (!session->filled) {
        snprintf(text, size, "the session is as empty as it was");
        return CELL_ROLLED_BACK;
    }
    if (!interpreter_has_snapshot(session->interpreter)) {
        snprintf(text, size, "variables are lost, files are kept%s%s",
                 session->snapshot.why_none[0] ? ": there was no snapshot, "
                                               : "",
                 session->snapshot.why_none);
        return CELL_LOST;
    }
    if (seen == before)
        snprintf(text, size,
                 "variables are as they were %s, files as they "
                 "are now",
                 session_runs_cell(session) ? "before this cell" : "then");
    else
        snprintf(text, size,
                 "variables are as they were after cell %llu, files as they "
                 "are now",
                 (unsigned long long)session->snapshot.number);
    return CELL_ROLLED_BACK;
}

static void count_rollback(const struct session *session)
{
    enum cell_status status =
        session_runs_cell(session) ? status_of(session) : CELL_OK;
    bool stopped =
        status != CELL_OK && status != CELL_ERROR && status != CELL_EXIT;
    metric_add(
        NUMBER_ROLLBACKS, 1,
        LABELS(view_of(stopped ? cell_status_names[status] : "between")));
}

/* With the outcome of this cell, or, when none ran, with that of the next. */
static void recover_tell(struct session *session, bool back)
{
    char what[200], now[192], line[40] = "";
    struct running_cell *run = &session->run;
    enum cell_state state = state_now(session, back, now, sizeof(now));
    what_happened(session, what, sizeof(what));
    if (state == CELL_ROLLED_BACK)
        count_rollback(session);
    if (!session_runs_cell(session)) {
        snprintf(session->loss.text, sizeof(session->loss.text), "%s; %s", what,
                 now);
        session->loss.state = state;
        session->loss.emptied |= !back;
        log_line("session.rolled_back", session->name, "%s",
                 session->loss.text);
        return;
    }
    run->cell.line =
        interpreter_line(session->interpreter, run->number,
                         run->stop == STOP_MEMORY ? 0 : run->traces);
    if (run->cell.line > 0)
        snprintf(line, sizeof(line), " at line %llu",
                 (unsigned long long)run->cell.line);
    outcome_set(session, status_of(session), state, "%s%s; %s", what, line,
                now);
    if (run->figures && !session->flags.done)
        outcome_note(session, "figures that it had not shown are lost");
    outcome_say(session, !back);
}

static enum pace go_back(struct session *session)
{
    bool parked = interpreter_has_snapshot(session->interpreter);
    session->filled = session->filled && parked;
    session->flags = (struct session_flags){
        .closing = session->flags.closing,
        .interrupt = session->flags.interrupt,
    };
    interpreter_go_back(session->interpreter);
    if (!parked) {
        session_enter(session, SESSION_OPENING);
        return AGAIN;
    }
    /* The snapshot that has become the runner needs a snapshot of its own. But
     * one that dies at each fork would go back and be forked for ever. */
    if (++session->snapshot.backs <= MAX_BACKS)
        return park(session);
    session_enter(session, SESSION_IDLE);
    return AGAIN;
}

/* The cell runs again, after an installation: only if the state that it was
 * begun in is there. */
static bool runs_again(const struct session *session, bool back)
{
    return back && session->run.call && session->run.again &&
           (!session->filled || interpreter_has_snapshot(session->interpreter));
}

enum pace step_killing(void *owner)
{
    struct session *session = owner;
    const struct session_flags *seen = &session->flags;
    if (!seen->late && !(seen->dead && seen->swept))
        return WAIT;
    bool back = seen->dead && seen->swept && seen->clean;
    if (!seen->dead)
        log_line("session.stuck", session->name,
                 "its interpreter does not die");
    if (!runs_again(session, back))
        recover_tell(session, back);
    if (back)
        return go_back(session);
    session_drop_interpreter(session);
    session_enter(session, SESSION_IDLE);
    return AGAIN;
}
