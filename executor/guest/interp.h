/* interp.h - the Python interpreter inside quern-guest.
 *
 *   interp_start    in the zygote, once: Python, and what is loaded ahead
 *   interp_fork     a copy of all that, inside a box
 *   interp_session  in the copy, once
 *   interp_run      for every cell
 *
 * What Python itself must do is in python/quern_guest; the module _quern is
 * its way back: display(), enter(), release(), leave(). */
#ifndef EXECUTOR_GUEST_INTERP_H
#define EXECUTOR_GUEST_INTERP_H

#include <sys/types.h>

#include "schemas/message/frame.h"

/* folder: holds quern_guest; profile: bare or science. */
bool interp_start(const char *folder, const char *profile, struct err *err);

/* As box_fork(): NULL forks without entering a box. */
pid_t interp_fork(const int *namespaces);

bool interp_session(struct err *err);

/* Fills status, result and error of done: its views live until the next
 * call. */
void interp_run(const struct guest_frame *cell, struct guest_frame *done);

#endif
