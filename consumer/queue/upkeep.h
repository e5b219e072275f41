/* upkeep.h - what each consumer does now and then, for all of them.
 *
 *   report    every lease/3: what the consumer says of itself; brings back
 *             whether operators want it to drain
 *   promote   every second, or sooner when something is due: moves jobs whose
 *             time has come, lets lanes go on, ends jobs whose deadline has
 *             passed, fires schedules
 *   lapse     every lease/2, and not before Redis has been there for a lease:
 *             puts back the jobs whose leases have ended, because their
 *             consumers died
 *   sweep     the same: puts back the entries of work streams that were read a
 *             lease ago or longer, and never started
 *   mend      when promote chooses this consumer, or it had to make a group:
 *             repairs what others have deleted, by a walk over all keys
 *
 * None of it needs a leader (schemas/redis/upkeep.h), and consumers do it at
 * different moments. Each of these chores has one command on its way at most;
 * one that is not answered is sent again when the chore is due next. */
#ifndef CONSUMER_UPKEEP_H
#define CONSUMER_UPKEEP_H

#include "consumer/queue/partition.h"

struct upkeep_events {
    /* Whether operators want the consumer to drain; with each report. */
    void (*on_drain)(void *owner, bool draining);
    /* The first report was answered: upkeep_has_reported() is true from here
     * on.
     */
    void (*on_known)(void *owner);
};

/* Of one partition, through its control; borrows it. */
struct upkeep *upkeep_new(struct partition *partition,
                          struct upkeep_events events, void *owner);
/* Redis is there, for the first time or again. */
void upkeep_wake(struct upkeep *upkeep);
/* A report was answered, so it is known whether the consumer is to drain.
 * Before that it must claim nothing. */
bool upkeep_has_reported(const struct upkeep *upkeep);
/* What is reported has changed: reports it at once. */
void upkeep_report(struct upkeep *upkeep);
/* The consumer leaves: takes it from the fleet's list of workers, then calls
 * done, also when that has failed. False: Redis is away, done is not called.
 * Nothing is reported after this. */
bool upkeep_depart(struct upkeep *upkeep, void (*done)(void *owner),
                   void *owner);
/* Something that was there is gone: walks over all keys from the beginning, at
 * once. */
void upkeep_mend(struct upkeep *upkeep);
void upkeep_free(struct upkeep *upkeep);

#endif
