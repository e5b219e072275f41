/* operate.h - calls with which operators change things: dead jobs, queues and
 * their settings, consumers, schedules. Builders and readers follow the rules
 * of transition.h. */
#ifndef SCHEMAS_REDIS_OPERATE_H
#define SCHEMAS_REDIS_OPERATE_H

#include "schemas/redis/transition.h"

/* Runs a dead job again, under its id: all its counts are zero, and its result
 * is deleted. Its journal stays, so it goes on behind the last record and pays
 * for nothing twice; a cell that failed is a record, too, and is not run again.
 * anew: from the beginning. late: it is not among the dead, or its body has
 * expired. ticket: a text of up to 64 bytes for this call; a second call with
 * it, after a lost reply, changes nothing, even when the job has failed again.
 *
 * Its events begin anew with a job.queued (requeued), but seq counts on from
 * its job.failed. So a client that saw job.failed is done, and one that follows
 * the job from now on sees a job whose first events have gone. */
void transition_requeue(struct command *command, const struct names *names,
                        struct view id, bool anew, struct view ticket);
bool transition_requeued(const redisReply *reply, bool *late, struct err *err);

/* Deletes one of the dead, also an entry-..., for good. late: it is not among
 * the dead. */
void transition_forget(struct command *command, const struct names *names,
                       unsigned int partition, struct view queue,
                       struct view id);
bool transition_forgotten(const redisReply *reply, bool *late, struct err *err);

/* Removes all that Redis keeps of a job that has ended. late: it has not, or
 * was put back into its queue. A job that is not there counts as removed. */
void transition_remove(struct command *command, const struct names *names,
                       struct view id);
bool transition_removed(const redisReply *reply, bool *late, struct err *err);

/* Cancels what waits in the queue (in streams, lanes, lines, scheduled), up to
 * count (512) in one step; call again while more. dry: only says how many there
 * are. */
void transition_purge(struct command *command, const struct names *names,
                      unsigned int partition, struct view queue, uint64_t count,
                      bool dry);
bool transition_purged(const redisReply *reply, uint64_t *jobs, bool *more,
                       struct err *err);

/* Settings of a queue:
 *
 *   paused           1: no job of the queue starts
 *   max_depth        how many jobs may wait, with those that are scheduled
 *   tenant_depth     how many jobs of a tenant may wait, without those
 *   tenant_running   how many jobs of a tenant run at once
 *   tenant_rate      how many start in tenant_rate_ms: at once, then evenly
 *   tenant_tokens, tenant_cost, tenant_budget_ms
 *                    a tenant's budget, see spend.h
 *
 * "tenant_depth:<tenant>" and so on are of one tenant. An empty value removes
 * the setting. A lower limit holds for starts from then on. A change of paused
 * is published on the channel control: "pause <queue>" or "resume <queue>". */
struct queue_setting {
    struct view name, value;
};
void transition_queue_set(struct command *command, const struct names *names,
                          unsigned int partition, struct view queue,
                          const struct queue_setting *settings, size_t count);

struct queue_stats {
    bool paused;
    uint64_t ready; /* in the streams, not started */
    uint64_t running;
    uint64_t lanes;   /* that wait outside of the streams: in lanes and lines */
    uint64_t tenants; /* that have a lane */
    uint64_t scheduled; /* in states scheduled and waiting */
    uint64_t dead;
    uint64_t budget, endpoint; /* those of scheduled that wait for a tenant's
                                  budget, for a model endpoint */
    uint64_t oldest_ms; /* for how long the oldest job that may start has waited
                           in a stream; 0: there is none */
    uint64_t waits_ms;  /* the same, also while the queue is paused; 0 of an
                           older library */
};
void transition_stats(struct command *command, const struct names *names,
                      unsigned int partition, struct view queue);
bool transition_stated(const redisReply *reply, struct queue_stats *stats,
                       struct err *err);

/* Whether a failure with that code is a fault in what a person asked for: then
 * the job is not kept among the dead. library/ends.lua has the same list. */
bool transition_is_own_fault(struct view error_code);

/* Asks a consumer to drain, or takes that back; "drain <consumer>" is published
 * on control. A drain holds for the name, over restarts, until it is taken
 * back. unknown_job: no consumer of that name has reported lately, and none is
 * to drain. */
void transition_drain(struct command *command, const struct names *names,
                      unsigned int partition, struct view consumer, bool drain);

/* Sets a schedule, in place of the one of that name in the tenant's partition.
 * In each job, the first SCHEDULE_ID of the body is replaced by the job's id.
 */
#define SCHEDULE_ID "00000000-0000-7000-8000-000000000000"
struct schedule {
    struct view name;
    struct view spec; /* see schemas/message/cron.h; Redis does not read it, and
                         promote answers it to the consumer */
    struct view zone; /* see schemas/message/zone.h */
    uint64_t next_at; /* ms since 1970 */
    const struct submit *job; /* without id, idempotency key and not_before */
};
void transition_schedule_set(struct command *command, const struct names *names,
                             unsigned int partition,
                             const struct schedule *schedule);
/* Pauses a schedule, or resumes it; next_at: when it goes off next after that.
 * Read the reply by transition_schedule_removed(): is there such a schedule. */
void transition_schedule_pause(struct command *command,
                               const struct names *names,
                               unsigned int partition, struct view name,
                               bool pause, uint64_t next_at);
/* Submits the schedule's job now, under that id; answered as a submit.
 * unknown_job: the partition has no schedule of that name. */
void transition_schedule_run(struct command *command, const struct names *names,
                             unsigned int partition, struct view name,
                             struct view id);
void transition_schedule_rm(struct command *command, const struct names *names,
                            unsigned int partition, struct view name);
/* Whether there was one. */
bool transition_schedule_removed(const redisReply *reply, bool *was,
                                 struct err *err);

#endif
