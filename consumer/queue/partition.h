/* partition.h - the partitions that a consumer serves: all of the fleet's.
 *
 *   fleet: how many there are
 *   partition 0: control, intake, lease, sweep, upkeep   each has its own
 * links: partition 1: control, intake, lease, sweep, upkeep   in a cluster they
 * may be
 *   ...                                                  on different servers
 *
 * Free slots are offered to them in turn, to each its share, so that a busy one
 * leaves room for the others. */
#ifndef CONSUMER_PARTITION_H
#define CONSUMER_PARTITION_H

#include "consumer/consumer.h"

struct partition {
    struct partitions *all;
    struct consumer *consumer;
    unsigned int number;
    struct control *control;
    struct intake *intake;
    struct lease *lease;
    struct sweep *sweep;
    struct upkeep *upkeep;
};

struct partitions_events {
    void (*on_ready)(void *owner); /* all of them, each time */
    void (*on_refused)(void *owner, const struct err *why);
    /* Whether operators want the consumer to drain; with each report. */
    void (*on_drain)(void *owner, bool draining);
};

struct partitions *partitions_new(struct consumer *consumer, size_t count,
                                  const struct address *address,
                                  struct partitions_events events, void *owner);
/* The rest accepts NULL: of a consumer that does not know them yet. */
void partitions_free(struct partitions *partitions);
bool partitions_are_ready(const struct partitions *partitions);

/* See link_switch(). */
void partitions_switch(struct partitions *partitions,
                       const struct node *master);

/* A slot is free, or a partition that was offered some has used them. */
void partitions_wake(struct partitions *partitions);
/* The mode does not let them take any more: reads that wait are ended. */
void partitions_stop(struct partitions *partitions);
/* What the consumer says of itself has changed: it is told at once. */
void partitions_report(struct partitions *partitions);
/* The consumer leaves: it is listed no more. Answers how often done will be
 * called. */
size_t partitions_depart(struct partitions *partitions,
                         void (*done)(void *owner), void *owner);
/* Redis gives them nothing any more that they would have to hand back. */
bool partitions_are_over(const struct partitions *partitions);
/* For a watchdog: since the last time, every loop of claiming has turned, or
 * has a good reason not to. */
bool partitions_are_well(struct partitions *partitions);

#endif
