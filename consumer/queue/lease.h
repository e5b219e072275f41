/* lease.h - renews the leases of the jobs that run in this consumer.
 *
 * One timer sends beats every lease/3 for all jobs of a partition, in batches;
 * so two beats in a row may be lost before a lease ends. The answer to a beat
 * says whether another consumer has the job (then the attempt writes nothing
 * more), and whether the job is to be cancelled. A message on the control
 * channel only makes the next beat come early, or the next report, whose answer
 * tells of a drain. So when the message is lost, the consumer learns the same
 * some seconds later. */
#ifndef CONSUMER_LEASE_H
#define CONSUMER_LEASE_H

#include "consumer/queue/partition.h"

/* Of one partition, through its control; borrows it. */
struct lease *lease_new(struct partition *partition,
                        const struct address *address);
void lease_open(struct lease *lease);
/* Now, and every lease/3 from here on. */
void lease_beat(struct lease *lease);
void lease_switch(struct lease *lease, const struct node *master);
void lease_free(struct lease *lease);

#endif
