/* lease.h - keeps what we hold.
 *
 * One timer beats every lease/3 for all jobs of a partition, in batches. A
 * beat brings back what became of the job: lost to another consumer (then not
 * one write more), or to be cancelled. The control channel only makes a beat
 * come early, or the report that brings back a drain: a message that nobody
 * heard costs seconds, not the truth. */
#ifndef CONSUMER_LEASE_H
#define CONSUMER_LEASE_H

#include "consumer/queue/partition.h"

struct lease *lease_new(struct partition *partition,
                        const struct address *address);
void lease_open(struct lease *lease);
/* Now, and every lease/3 from here on. */
void lease_beat(struct lease *lease);
void lease_switch(struct lease *lease, const struct node *master);
void lease_free(struct lease *lease);

#endif
