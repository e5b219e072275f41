/* intake.h - takes jobs out of the queues, as many as there is room for.
 *
 *   OFF --> TAKING --> BLOCKING --> TAKING ...       HEALING: the groups are
 *    ^        +------------+--> HEALING --> TAKING   made, at the beginning
 *    +------ link lost, quiet, no free slot,         of the streams
 *            the executor is away
 *
 * TAKING asks Redis to start what stands in the streams, many jobs in one step,
 * the oldest of all queues first; when that was all, BLOCKING waits on every
 * stream, and the entries that it brings are named in the next take. A take
 * whose answer was lost is sent again under its ticket: it answers the same
 * jobs. Paused queues and tenants at their limits are Redis's affair: take puts
 * what it may not start back into its lane. The connection is its own: a
 * blocked one serves nobody else. */
#ifndef CONSUMER_INTAKE_H
#define CONSUMER_INTAKE_H

#include "consumer/queue/partition.h"

struct intake_events {
    /* A take or read that was offered so many slots has ended; the jobs that it
     * brought run by now. */
    void (*on_round)(void *owner, size_t offered);
    /* A consumer group was missing and has been made: it may have been deleted.
     */
    void (*on_made)(void *owner);
};

struct intake *intake_new(struct partition *partition,
                          const struct address *address,
                          struct intake_events events, void *owner);
void intake_open(struct intake *intake);
void intake_switch(struct intake *intake, const struct node *master);
void intake_free(struct intake *intake);

/* It would take jobs if it were offered slots. */
bool intake_can_take(const struct intake *intake);
/* Offers so many slots. Returns how many of them are in use until on_round().
 * scarce: other partitions want them too, so it must not wait for long. */
size_t intake_offer(struct intake *intake, size_t slots, bool scarce);
/* The mode does not let it take any more: ends a read that waits. A read that
 * is being sent may arrive after that, and wait. */
void intake_stop(struct intake *intake);
/* No job can arrive any more that it would have to hand back. */
bool intake_is_over(const struct intake *intake);
/* A take or read has ended since this was last asked, or none is due. */
bool intake_is_well(struct intake *intake);

#endif
