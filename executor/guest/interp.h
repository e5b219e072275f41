/* interp.h - the Python interpreter inside quern-guest.
 *
 *   interp_start    in the zygote, once: Python, and what is loaded ahead
 *   interp_fork     a fork of all that, inside a box
 *   interp_session  in the fork, once
 *   interp_warm_up  before the first cell, and after a split
 *   interp_run      for every cell
 *   interp_split    between cells: a fork, to be a snapshot
 *   interp_wake     in that fork, before it does anything else
 *
 * What Python itself must do is in python/quern_guest; the module _quern is
 * its way back: display(), drawing(), enter(), release(), leave(). */
#ifndef EXECUTOR_GUEST_INTERP_H
#define EXECUTOR_GUEST_INTERP_H

#include <sys/types.h>

#include "schemas/message/frame.h"

/* Descriptor of a session to which it writes the line it is at, when
 * TRACE_SIGNAL asks for it or a signal ends it. Out of the way of what cells
 * open. */
enum { TRACE_FD = 60 };

/* folder: holds quern_guest; profile: bare or science. */
bool interp_start(const char *folder, const char *profile, struct err *err);

/* As box_fork(): NULL forks without entering a box. */
pid_t interp_fork(const int *namespaces);

bool interp_session(struct err *err);

/* As orphan_fork(). The fork may not touch Python until interp_wake(), so that
 * one which is never needed copies no memory. Then it goes on as what it was
 * forked from, down to the state of its random numbers. */
pid_t interp_split(void);
void interp_wake(void);

/* Runs what every cell runs, so that the next one need not wait for copies of
 * pages. */
void interp_warm_up(void);

/* Runs a cell, a save or a restore, and fills status, result, error, missing,
 * picture and at_exit of done. Its views live until the next call, or until
 * interp_warm_up(). */
void interp_run(const struct guest_frame *cell, struct guest_frame *done);

/* In the zygote: the libraries that sessions may import, with commas. Gives the
 * length, 0 when they do not fit. */
size_t interp_libraries(char *names, size_t size);

#endif
