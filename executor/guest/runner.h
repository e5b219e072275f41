/* runner.h - a session: one process in its box, running one cell after the
 * other until its channel closes.
 *
 * Its descriptors: 0 is empty, 1 and 2 are the warden's pipes, 3 is the
 * channel; nothing else is open. */
#ifndef EXECUTOR_GUEST_RUNNER_H
#define EXECUTOR_GUEST_RUNNER_H

#include "executor/guest/inbox.h"

/* In the forked process, as GUEST_FORK asks; fds as enum fork_fd has them, -1
 * where there is none. */
_Noreturn void runner_run(const struct guest_frame *fork, bool online,
                          const int fds[FORK_FDS]);

/* False: in a process that a cell has forked. */
bool runner_is_session(void);
/* False: between cells. */
bool runner_runs_cell(void);

/* Sends a bundle (struct pair: media type, bytes) of the cell that runs:
 * GUEST_DISPLAY or GUEST_UPDATE. clears: that came before it. From another
 * process, or between cells, nothing is sent. */
bool runner_display(enum guest_type type, struct view display_id,
                    uint64_t clears, struct list bundle, struct err *err);
/* What the cell has put out is cleared, or, if it is to wait, when more comes.
 * Waits until the warden knows: what is written then comes after it. False: as
 * runner_ask(). */
bool runner_clear(bool wait, struct err *err);
/* The same for what has no more to it: GUEST_FIGURE, GUEST_DRAWING. */
bool runner_tell(enum guest_type type, struct err *err);

/* Asks for something in the middle of a cell (GUEST_TOOL, GUEST_INSTALL) and
 * waits, with Python's lock let go: from any thread, many at once. answer is
 * then inbox_forget()'s. False: err, or a Python exception that a signal
 * raised. */
bool runner_ask(struct guest_frame *question, struct inbox_waiter *answer,
                struct err *err);

#endif
