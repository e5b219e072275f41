/* runner.h - a session: one process in its box, running one cell after the
 * other until its channel closes.
 *
 * Its descriptors: 0 is /dev/null, 1 and 2 are the warden's pipes, 3 is the
 * channel, TRACE_FD the pipe for tracebacks; nothing else is open. */
#ifndef EXECUTOR_GUEST_RUNNER_H
#define EXECUTOR_GUEST_RUNNER_H

#include "executor/guest/inbox.h"

/* In the forked process: puts up its walls and serves, as GUEST_FORK asks.
 * Takes fds, in the order of enum fork_fd, -1 where there is none. */
_Noreturn void runner_run(const struct guest_frame *fork, bool online,
                          const int fds[FORK_FDS]);

/* False: this is a process that a cell has forked. */
bool runner_is_session(void);
/* False: it is between two cells. */
bool runner_runs_cell(void);

/* Sends a bundle (struct pair: media type, bytes) of the cell that runs:
 * GUEST_DISPLAY or GUEST_UPDATE. clears: that came before it. From another
 * process, or between cells, nothing is sent. */
bool runner_display(enum guest_type type, struct view display_id,
                    uint64_t clears, struct list bundle, struct err *err);
/* Clears what the cell has put out; if wait, only when more comes. Returns when
 * the warden has answered: what is written from then on comes after the clear.
 * False: as runner_ask(). */
bool runner_clear(bool wait, struct err *err);
/* Sends a frame that has only a type: GUEST_FIGURE, GUEST_DRAWING. */
bool runner_tell(enum guest_type type, struct err *err);

/* Asks for something in the middle of a cell (GUEST_TOOL, GUEST_INSTALL) and
 * waits, without Python's lock: from any thread, many at once. True: the caller
 * reads answer and calls inbox_forget(). False: err; or, if err->kind is
 * ERR_NONE, a signal has raised a Python exception. */
bool runner_ask(struct guest_frame *question, struct inbox_waiter *answer,
                struct err *err);

#endif
