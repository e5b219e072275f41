/* upkeep.h - what each consumer does now and then, for all of them.
 *
 *   report    every lease/3: that we live, and what of; brings back whether
 *             operators wish us to drain
 *   promote   every second, or sooner when something is due: jobs that come
 *             later, lanes, deadlines; schedules go off
 *   lapse     every lease/2, and not before Redis has been there for a lease:
 *             jobs whose leases have ended
 *   mend      when promote says that it is our turn, or we had to make a group:
 *             what other hands have destroyed, a walk over all keys
 *
 * None of it needs a leader (schemas/redis/upkeep.h), and not all consumers do
 * it at the same moment. A chore has one command on its way; what is not
 * answered is done again when it is its turn. */
#ifndef CONSUMER_UPKEEP_H
#define CONSUMER_UPKEEP_H

#include "consumer/queue/partition.h"

struct upkeep_events {
    /* Whether operators wish the consumer to drain; with each report. */
    void (*on_wish)(void *owner, bool draining);
    /* The first report was answered: upkeep_has_reported() from here on. */
    void (*on_known)(void *owner);
};

/* Of one partition, through its control; borrows it. */
struct upkeep *upkeep_new(struct partition *partition,
                          struct upkeep_events events, void *owner);
/* Redis is there, for the first time or again. */
void upkeep_wake(struct upkeep *upkeep);
/* Operators' wishes are known: before that nothing is claimed, for the consumer
 * may have to drain. */
bool upkeep_has_reported(const struct upkeep *upkeep);
/* What is reported has changed: it is told at once. */
void upkeep_report(struct upkeep *upkeep);
/* The consumer leaves: the fleet's list loses it, then done is called, also
 * when that has failed. False: Redis is away, done is not called. */
bool upkeep_depart(struct upkeep *upkeep, void (*done)(void *owner),
                   void *owner);
/* Something is not there that was: walks from the beginning, at once. */
void upkeep_mend(struct upkeep *upkeep);
void upkeep_free(struct upkeep *upkeep);

#endif
