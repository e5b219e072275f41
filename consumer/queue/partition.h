/* partition.h - the partitions that a consumer serves: all of the fleet's.
 *
 *   fleet: how many there are
 *   partition 0: control, intake, lease, upkeep
 *   partition 1: control, intake, lease, upkeep
 *   ...
 *
 * Each partition has links of its own: in a cluster they may lead to different
 * servers.
 *
 * Free slots are offered to them in turn, to each its share, so that a busy one
 * leaves room for the others. */
#ifndef CONSUMER_PARTITION_H
#define CONSUMER_PARTITION_H

#include "consumer/consumer.h"

/* One of them. Made when the number is known, and freed with all of them; stays
 * where it is. */
struct partition {
    struct partitions *all;
    struct consumer *consumer;
    unsigned int number;
    struct control *control;
    struct intake *intake;
    struct lease *lease;
    struct upkeep *upkeep;
};

struct partitions_events {
    /* All of them are ready; each time that the last one comes back. */
    void (*on_ready)(void *owner);
    /* Redis refuses the login or the library, or must not be trusted with jobs:
     * the consumer cannot serve. */
    void (*on_refused)(void *owner, const struct err *why);
    /* Whether operators want the consumer to drain; with each report. */
    void (*on_drain)(void *owner, bool draining);
};

/* Borrows the consumer; connects. */
struct partitions *partitions_new(struct consumer *consumer, size_t count,
                                  const struct address *address,
                                  struct partitions_events events, void *owner);
/* Once no attempt is left. This and all that follow accept NULL: the consumer
 * may not know yet how many partitions there are. */
void partitions_free(struct partitions *partitions);
bool partitions_are_ready(const struct partitions *partitions);

/* See link_switch(). */
void partitions_switch(struct partitions *partitions,
                       const struct node *master);

/* Offers free slots. To be called when a slot has become free, or a partition
 * that was offered some has used them. */
void partitions_wake(struct partitions *partitions);
/* The mode does not let them take any more: ends reads that wait. */
void partitions_stop(struct partitions *partitions);
/* What the consumer reports of itself has changed: reports it at once. */
void partitions_report(struct partitions *partitions);
/* The consumer leaves: takes it from the fleet's list of workers. Returns how
 * often done will be called. */
size_t partitions_depart(struct partitions *partitions,
                         void (*done)(void *owner), void *owner);
/* No job can arrive any more that would have to be handed back. */
bool partitions_are_over(const struct partitions *partitions);
/* Whether jobs of all of them come, or would if there were any and a slot were
 * free. Else err says what is wrong with the first one. */
bool partitions_serve(const struct partitions *partitions, struct err *err);
/* For a watchdog: since the last call every intake has had an answer of Redis,
 * or has a good reason to have none. */
bool partitions_are_well(struct partitions *partitions);

#endif
