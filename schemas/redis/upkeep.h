/* upkeep.h - work that every consumer does from time to time, for all of them.
 *
 * No step needs a leader: each looks for what is due and moves it. When two
 * consumers call at once, the second one finds nothing. Builders and readers
 * follow the rules of transition.h. */
#ifndef SCHEMAS_REDIS_UPKEEP_H
#define SCHEMAS_REDIS_UPKEEP_H

#include "schemas/redis/transition.h"

/* Lets go on what is due: scheduled and waiting jobs, and lanes whose rate lets
 * the next job through. Ends jobs whose deadline has passed while nobody ran
 * them. Looks at up to count (512) of each kind and queue; call again at once
 * while moved is not zero. */
struct due_schedule { /* a schedule whose time has come: the caller fires it */
    struct view name, spec, zone;
    uint64_t at; /* ms since 1970 */
};
struct promote_reply {
    uint64_t moved;
    bool more;        /* something will be due ... */
    uint64_t wait_ms; /* ... in so many ms */
    size_t due_count; /* of due[] */
    bool mend;        /* the caller is to walk with mend */
};
enum { PROMOTED_MAX_DUE = 16 };
void transition_promote(struct command *command, const struct names *names,
                        unsigned int partition, uint64_t count);
bool transition_promoted(const redisReply *reply,
                         struct promote_reply *promoted,
                         struct due_schedule due[PROMOTED_MAX_DUE],
                         struct err *err);

/* Submits the schedule's job under that id, and sets when the schedule is due
 * next, if it is still due at that time. The idempotency key is made of
 * schedule and time, so no time is taken twice. */
struct fire {
    struct view name;
    uint64_t at;      /* as promote answered */
    uint64_t next_at; /* ms since 1970, after at; zero: never again */
    struct view id;   /* a new one, of this partition */
};
enum fire_outcome { FIRE_DONE, FIRE_LATE, FIRE_REFUSED };
void transition_fire(struct command *command, const struct names *names,
                     unsigned int partition, const struct fire *fire);
/* what: the job's id. FIRE_LATE: another consumer was first. FIRE_REFUSED: what
 * is the sentence, which the schedule keeps, too; this time is left out. */
bool transition_fired(const redisReply *reply, enum fire_outcome *fired,
                      struct view *what, struct err *err);

/* Puts back jobs whose leases have ended: raises the epoch, counts a crash,
 * writes job.lost. Up to count (512); call again at once while more. */
void transition_lapse(struct command *command, const struct names *names,
                      unsigned int partition, uint64_t max_crashes,
                      uint64_t count);
bool transition_lapsed(const redisReply *reply, uint64_t *jobs, bool *more,
                       struct err *err);

/* Puts back the jobs of entries that were read and never started, and removes
 * names of consumers that are long gone. Walk with the cursor of the answer,
 * from "-" until it is "-" again. A caller that always began at "-" would look
 * at the same entries again, and never at those behind them. */
struct reclaim {
    struct view stream;
    uint64_t lease_ms; /* only entries that were read so long ago */
    size_t count;      /* entries looked at in one step, up to 512 */
    struct view cursor;
};
void transition_reclaim(struct command *command, const struct names *names,
                        unsigned int partition, const struct reclaim *reclaim);
bool transition_reclaimed(const redisReply *reply, struct view *cursor,
                          uint64_t *jobs, struct err *err);

/* Repairs what somebody else has deleted: looks at every key of the partition,
 * and puts back jobs that stand nowhere. A walk like that of reclaim, from "0"
 * until it is "0" again. It goes over the whole keyspace, so one consumer at a
 * time walks, the one that promote tells: seldom, or soon after a step has
 * missed a stream or its group. */
void transition_mend(struct command *command, const struct names *names,
                     unsigned int partition, uint64_t count,
                     struct view cursor);
bool transition_mended(const redisReply *reply, struct view *cursor,
                       uint64_t *mended, struct err *err);

/* What the consumer says of itself, kept for ttl_ms: pairs of host, pid,
 * version, build, slots, running, mode, queues (words), started_at and others.
 */
struct report_field {
    const char *name;
    struct view value;
};
void transition_report(struct command *command, const struct names *names,
                       unsigned int partition, struct view consumer,
                       uint64_t ttl_ms, const struct report_field *about,
                       size_t count);
/* The consumer leaves and is no longer listed. Answered as a report. */
void transition_depart(struct command *command, const struct names *names,
                       unsigned int partition, struct view consumer);
/* draining: an operator wants it to drain. reply->element[1] is an array of
 * those of its queues that are paused. */
bool transition_reported(const redisReply *reply, bool *draining,
                         struct err *err);

#endif
