/* intake.h - takes entries from the work streams, as many as there is room for.
 *
 *   OFF --> LOOKING --> BLOCKING --> LOOKING ...       HEALING: the groups are
 *    ^         +-----------+--> HEALING --> LOOKING    made, at the beginning
 *    +------ link lost, quiet, no free slot            of the streams
 *
 * LOOKING reads one stream after the other, the most urgent first, without
 * waiting; BLOCKING waits on all of them. After every entry the most urgent
 * stream is looked at again. Its connection is its own: a blocked one serves
 * nobody else. */
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
