/* intake.h - takes jobs out of the queues, as many as there is room for.
 *
 *   OFF --> TAKING --> BLOCKING --> TAKING ...       HEALING: the groups are
 *    ^        +------------+--> HEALING --> TAKING   made, at the beginning
 *    +------ link lost, quiet, no free slot          of the streams
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

#include "consumer/consumer.h"

struct intake *intake_new(struct consumer *consumer,
                          const struct address *address);
void intake_open(struct intake *intake);
/* A slot is free. Accepts NULL. */
void intake_wake(struct intake *intake);
/* The mode does not let it take any more: a read that waits is ended. */
void intake_stop(struct intake *intake);
/* Every turn of the loop of claiming, for a watchdog: it still turns. */
uint64_t intake_turns(const struct intake *intake);
void intake_free(struct intake *intake);

#endif
