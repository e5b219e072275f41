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
    /* A read has ended that had been offered so many slots; what came of it
     * runs by now. */
    void (*on_turn)(void *owner, size_t offered);
    /* A consumer group was not there and has been made: who has deleted it? */
    void (*on_made)(void *owner);
};

struct intake *intake_new(struct partition *partition,
                          const struct address *address,
                          struct intake_events events, void *owner);
void intake_open(struct intake *intake);
void intake_switch(struct intake *intake, const struct node *master);
void intake_free(struct intake *intake);

/* It could read, had it room for what comes. */
bool intake_is_hungry(const struct intake *intake);
/* Room for so many. Answers how many of them are taken up until on_turn().
 * scarce: others want them too, so it must not wait for long. */
size_t intake_offer(struct intake *intake, size_t slots, bool scarce);
/* The mode does not let it take any more: a read that waits is ended. A read
 * that is sent just now may come in behind that, and wait. */
void intake_stop(struct intake *intake);
/* Redis gives it nothing any more that it would have to hand back. */
bool intake_is_over(const struct intake *intake);
/* The loop of claiming has turned since this was last asked, or need not. */
bool intake_is_well(struct intake *intake);

#endif
