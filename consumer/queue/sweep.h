/* sweep.h - puts back the entries of streams that a consumer has read and then
 * never started, because it died in between. (Jobs that were started have
 * leases: lapse of upkeep.h puts those back.)
 *
 * Every lease/2 each consumer, at a moment of its own, walks the work streams
 * for entries that were read a lease ago or longer. A walk takes many small
 * steps, and each step goes on where the last one ended: if every step began at
 * the start, the walk might never reach the last entries. */
#ifndef CONSUMER_SWEEP_H
#define CONSUMER_SWEEP_H

#include "consumer/queue/partition.h"

/* Of one partition, through its control; borrows it. */
struct sweep *sweep_new(const struct partition *partition);
/* Redis is there, for the first time or again. The next walk is a lease away,
 * so that other consumers that were cut off can start what they have read. */
void sweep_wake(struct sweep *sweep);
void sweep_free(struct sweep *sweep);

#endif
