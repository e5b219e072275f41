/* sweep.h - puts back the jobs of consumers that died.
 *
 * Every lease/2, and not all consumers at the same moment, the work streams are
 * walked for leases that have ended. A walk takes many small steps and keeps
 * its place between them: starting over each time would starve the rest. */
#ifndef CONSUMER_SWEEP_H
#define CONSUMER_SWEEP_H

#include "consumer/queue/partition.h"

struct sweep *sweep_new(const struct partition *partition);
/* Redis is there, for the first time or again: the next walk is a lease away,
 * so that other consumers that were cut off can beat before. */
void sweep_wake(struct sweep *sweep);
void sweep_free(struct sweep *sweep);

#endif
