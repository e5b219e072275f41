/* session_steps.h - what the parts of a session's machine share.
 *
 *   session.c  the table, what happens is recorded, idle and opening
 *   serve.c    requests in order; sending
 *   cell.c     running, stopping, drawing, sweeping
 *   recover.c  killing, parking
 *   leaving.c  closing, leaving
 *   installing.c  packages that a cell lacks
 *   workspace.c  its files
 *   outcome.c  what became of a cell */
#ifndef EXECUTOR_WARDEN_SESSION_STEPS_H
#define EXECUTOR_WARDEN_SESSION_STEPS_H

#include "executor/warden/session.h"

enum {
    /* From KeyboardInterrupt to SIGKILL: subprocess.run() waits for 250 ms for
     * its child, and all is to be over half a second after a cell's limit. */
    GRACE_MS = 300,
    /* For the figures of a cell whose time is over but whose code has ended;
     * and then in place of the grace, as one line is drawn in one piece. */
    DRAW_MS = 2000,
    DRAWN_MS = 1000,
    MEASURE_MS = 50, /* between two looks at the memory */
    SEND_MS = 60000, /* for one piece of a file */
    LEAVE_MS = 5000, /* for what was registered for the session's end */
};

/* -------- session.c */

/* The only way from state to state: machine_go() checks it, on_entered() sets
 * the deadline. */
void session_enter(struct session *session, enum session_state next);
enum pace session_end(struct session *session);
/* A cell runs, or has ended and its outcome has not been told yet. */
bool session_runs_cell(const struct session *session);
/* How many cells there were, without the one that runs. */
uint64_t session_cells_before(const struct session *session);
/* The snapshot has seen so many cells. */
void session_note_snapshot(struct session *session, uint64_t cells);
/* From KeyboardInterrupt to SIGKILL. */
uint64_t session_grace_ms(const struct session *session);
/* Takes the first request out and frees it; or fails it. */
void session_pop(struct session *session);
void session_fail_first(struct session *session, const struct err *err);
/* Everything inside is gone with it. */
void session_drop_interpreter(struct session *session);
/* Watches memory from now on, while its code runs. */
void session_measure(struct session *session);

/* -------- serve.c */

/* Carries out the first request. */
enum pace session_serve(struct session *session);
/* Starts the cell; or again, after going back to what was before it. */
enum pace session_begin_cell(struct session *session);
machine_step step_sending;

/* -------- cell.c */

/* Makes the cell wait while its consumer lags, and go on when it does not. It
 * may call back with frames that waited. */
void session_slow_down(struct session *session);
machine_step step_running, step_stopping, step_drawing, step_sweeping;

/* -------- recover.c */

/* Ends what runs, or has died; then KILLING goes back to the snapshot. */
enum pace session_kill(struct session *session);
/* The cell is over and nothing is left of it: its outcome, then a snapshot. */
enum pace session_settle(struct session *session);
machine_step step_killing, step_parking, step_clearing;

/* -------- leaving.c */

/* Ends the session in good order: functions that its code has registered run
 * first. */
enum pace session_close(struct session *session);
/* It is closing, and nothing is left to run first. */
bool session_may_go(const struct session *session);
/* All requests fail: it is to end. */
void session_refuse_all(struct session *session);
machine_step step_leaving;

/* -------- installing.c */

/* The cell has ended for want of that module; empty: of none. */
void installing_missed(struct session *session, struct view module);
/* Its code asks for packages, and waits; the answer comes later, or at once if
 * it is refused. */
void installing_asked(struct session *session, const struct guest_frame *frame);
/* The missing module is to be installed, and the cell to run again. */
bool installing_is_due(const struct session *session);
enum pace session_install(struct session *session);
machine_step step_installing;

/* -------- workspace.c, as files.h says, of this session */

/* A listing of what cannot be reached is empty. */
void session_list(const struct session *session, struct file_listing *listing);
bool session_put(const struct session *session, const struct frame *frame,
                 struct err *err);
bool session_open_file(const struct session *session, struct view name, int *fd,
                       uint64_t *bytes, struct err *err);

#endif
