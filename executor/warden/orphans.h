/* orphans.h - waits for children of the warden that no other part knows.
 *
 * A box may fail before it has named its init; an interpreter may be born while
 * its zygote dies. The other parts wait at once for the children that they
 * know, so a zombie that is there at two looks belongs to nobody. */
#ifndef EXECUTOR_WARDEN_ORPHANS_H
#define EXECUTOR_WARDEN_ORPHANS_H

#include "executor/base/loop.h"

struct orphans;

struct orphans *orphans_new(uv_loop_t *loop);
void orphans_free(struct orphans *orphans);

/* There may be one soon: looks at once and then less and less often. */
void orphans_look(struct orphans *orphans);

#endif
