/* visit.h - something done as a box's user.
 *
 * Files of a box belong to its user, and so does what /proc shows of its
 * processes. The warden has no right to them, but owns the pool (users.h) in
 * which the box is. So a short-lived process enters the box's user namespace,
 * becomes the box's user without any capability, does the work and ends; it
 * shares the warden's memory and descriptors, and the warden waits for it. It
 * is in no other namespace of the box: code there cannot see it. */
#ifndef EXECUTOR_WARDEN_VISIT_H
#define EXECUTOR_WARDEN_VISIT_H

#include "executor/warden/boxes.h"

/* act: short, and never waiting for the box. What it allocates and opens is the
 * warden's. Where the box has the warden's own user, act is simply called.
 * False: it was not done. */
bool visit(const struct box *box, void (*act)(void *context), void *context);

#endif
