/* operate.h - what operators do. Steps as those of transition.h. */
#ifndef SCHEMAS_REDIS_OPERATE_H
#define SCHEMAS_REDIS_OPERATE_H

#include "schemas/redis/transition.h"

/* A failed job of the dead runs again, under its id: what is counted is zero,
 * its result is gone. Its journal stays, so it goes on behind its last record
 * and pays nothing twice; a cell that failed is such a record. anew: from the
 * beginning. late: it is not among the dead, or its body has expired. ticket:
 * of this wish, up to 64 bytes; the same again, after a lost reply, changes
 * nothing even when the job has failed once more.
 *
 * Its events begin again with a job.queued (requeued), counted on from its
 * job.failed: who saw that has seen the end of what he followed, and who
 * follows it from now on sees it as a job whose first events have gone. */
void transition_requeue(struct command *command, const struct names *names,
                        struct view id, bool anew, struct view ticket);
bool transition_requeued(const redisReply *reply, bool *late, struct err *err);

/* One of the dead, also an entry-..., goes for good. late: it is not there. */
void transition_forget(struct command *command, const struct names *names,
                       unsigned int partition, struct view queue,
                       struct view id);
bool transition_forgotten(const redisReply *reply, bool *late, struct err *err);

/* What waits in the queue (streams, lanes, lines, scheduled) is cancelled, up
 * to count (512) in one step; again while more. dry: only how many there are.
 */
void transition_purge(struct command *command, const struct names *names,
                      unsigned int partition, struct view queue, uint64_t count,
                      bool dry);
bool transition_purged(const redisReply *reply, uint64_t *jobs, bool *more,
                       struct err *err);

/* paused: 1. max_depth: jobs that wait, those that come later included;
 * tenant_depth: jobs of a tenant that wait, without those. tenant_running:
 * jobs of a tenant at once. tenant_rate: starts in tenant_rate_ms, so many at
 * once, then evenly. Of one tenant alone: "tenant_depth:<tenant>" and so on. An
 * empty value removes the setting. A lower limit holds for starts from then on.
 * Control is told "pause <queue>" or "resume <queue>". */
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
    uint64_t lanes;     /* waiting outside of them: in lanes and lines */
    uint64_t tenants;   /* that have a lane */
    uint64_t scheduled; /* later, or waiting: retry, backoff, approval */
    uint64_t dead;
    uint64_t budget, endpoint; /* scheduled because of a tenant's budget; of a
                                  model endpoint that is left alone */
    uint64_t oldest_ms; /* the first that may start could have for so long;
                           0: none may */
};
void transition_stats(struct command *command, const struct names *names,
                      unsigned int partition, struct view queue);
bool transition_stated(const redisReply *reply, struct queue_stats *stats,
                       struct err *err);

/* A failure with that code is of what a person asked for: the job is not kept
 * among the dead. */
bool transition_is_own_fault(struct view error_code);

/* A consumer is asked to drain, or no longer; control is told "drain
 * <consumer>". It holds for the name, over restarts, until it is taken back.
 * Unknown: no consumer of that name has reported lately, or is to drain. */
void transition_drain(struct command *command, const struct names *names,
                      unsigned int partition, struct view consumer, bool drain);

/* Replaces the one of that name, in the tenant's partition. The first
 * SCHEDULE_ID in its body gives way to the id of each job. */
#define SCHEDULE_ID "00000000-0000-7000-8000-000000000000"
struct schedule {
    struct view name;
    struct view spec; /* as promote gives it back: for the consumer to read */
    struct view zone;
    uint64_t next_at;         /* ms since 1970 */
    const struct submit *job; /* without id, idempotency key and not_before */
};
void transition_schedule_set(struct command *command, const struct names *names,
                             unsigned int partition,
                             const struct schedule *schedule);
/* next_at: when it goes off first, of one that goes on. Answered as
 * transition_schedule_rm(): whether there was one. */
void transition_schedule_pause(struct command *command,
                               const struct names *names,
                               unsigned int partition, struct view name,
                               bool pause, uint64_t next_at);
/* Submits its job now, under that id: answered as a submit. Unknown: there is
 * none of that name here. */
void transition_schedule_run(struct command *command, const struct names *names,
                             unsigned int partition, struct view name,
                             struct view id);
void transition_schedule_rm(struct command *command, const struct names *names,
                            unsigned int partition, struct view name);
/* Whether there was one. */
bool transition_schedule_removed(const redisReply *reply, bool *was,
                                 struct err *err);

#endif
