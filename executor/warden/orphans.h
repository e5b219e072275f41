/* orphans.h - children of ours that nobody knows of, waited for.
 *
 * A box may fail before it has said who its init is, and what made it die; an
 * interpreter is born while its zygote dies. Whoever is known is waited
 * for at once, so a zombie that two looks see is nobody's. */
#ifndef EXECUTOR_WARDEN_ORPHANS_H
#define EXECUTOR_WARDEN_ORPHANS_H

#include "executor/base/loop.h"

struct orphans;

struct orphans *orphans_new(uv_loop_t *loop);
void orphans_free(struct orphans *orphans);

/* There may be one soon: looks at once and then less and less often. */
void orphans_look(struct orphans *orphans);

#endif
