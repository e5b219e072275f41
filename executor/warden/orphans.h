/* orphans.h - waits for children of the warden that no other part knows.
 *
 * A box may fail before it has sent the pidfd of its init; an interpreter may
 * be born while its zygote dies. The warden is their new parent (it is a
 * subreaper), and a zombie in a box keeps the box from ending. The other parts
 * wait at once for the children that they know: so a zombie that is still there
 * at the second look is nobody's. */
#ifndef EXECUTOR_WARDEN_ORPHANS_H
#define EXECUTOR_WARDEN_ORPHANS_H

#include "executor/base/loop.h"

struct orphans;

struct orphans *orphans_new(uv_loop_t *loop);
void orphans_free(struct orphans *orphans);

/* There may be one soon: looks shortly, and then less and less often. */
void orphans_look(struct orphans *orphans);

#endif
