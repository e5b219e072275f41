/* intake.h - takes jobs out of the queues, as many as there is room for. Each
 * partition has one.
 *
 *   OFF --> TAKING --> BLOCKING --> TAKING ...       HEALING: the consumer
 *    ^        +------------+--> HEALING --> TAKING   groups are made, which
 *    +------ link lost, quiet, no free slot,         begin at the first entry
 *            the executor is away                    of the streams
 *
 * TAKING asks Redis to start jobs that wait in the streams, many in one step,
 * the oldest of all queues first. When no more wait, BLOCKING waits for entries
 * on every stream; the next take names the entries that came. When the answer
 * to a take is lost, intake sends the take again with the same ticket, and the
 * answer then has the same jobs. The function take in Redis knows which queues
 * are paused and which tenants are at their limits: it puts jobs that may not
 * start back into their lanes. Intake has a connection of its own, because a
 * blocked connection serves nobody else. */
#ifndef CONSUMER_INTAKE_H
#define CONSUMER_INTAKE_H

#include "consumer/queue/partition.h"

struct intake_events {
    /* A take or read that was offered so many slots has ended; the jobs that it
     * brought run by now. intake_offer() may be called from inside. */
    void (*on_round)(void *owner, size_t offered);
    /* A consumer group was missing and has been made: somebody may have deleted
     * it, with what it knew of entries that were read. */
    void (*on_made)(void *owner);
};

struct intake *intake_new(struct partition *partition,
                          const struct address *address,
                          struct intake_events events, void *owner);
void intake_open(struct intake *intake);
void intake_switch(struct intake *intake, const struct node *master);
void intake_free(struct intake *intake);

/* It is idle, and would take jobs if it were offered slots. */
bool intake_can_take(const struct intake *intake);
/* Offers so many slots, when intake_can_take(). Returns how many of them it
 * keeps until on_round(). scarce: other partitions want them too, so it must
 * not wait for long. */
size_t intake_offer(struct intake *intake, size_t slots, bool scarce);
/* The consumer's mode does not let it take any more: ends a read that waits. A
 * read that is just being sent may come to Redis later than that, and wait; so
 * this is called again until intake_is_over(). */
void intake_stop(struct intake *intake);
/* No job can arrive any more that it would have to hand back. */
bool intake_is_over(const struct intake *intake);
/* Whether jobs come, or would if there were any. Else err says why not. */
bool intake_serves(const struct intake *intake, struct err *err);
/* For a watchdog: a take or read has ended since this was last asked, or none
 * is due; and Redis has refused nothing. */
bool intake_is_well(struct intake *intake);

#endif
