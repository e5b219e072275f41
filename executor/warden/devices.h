/* devices.h - device files for boxes, made before the warden is an ordinary
 * user.
 *
 * A box cannot make a device file, and one of the host that is bound into it
 * could be locked there for the host and for all other boxes. So as long as the
 * executor may, it makes a set for each user id of the pool, in a /dev of its
 * own, which only it and what it starts can see; quern-box takes those of its
 * box's user. */
#ifndef EXECUTOR_WARDEN_DEVICES_H
#define EXECUTOR_WARDEN_DEVICES_H

#include "executor/warden/users.h"

/* Whether it worked is seen in the first box. */
void devices_make(const struct users *users);

#endif
