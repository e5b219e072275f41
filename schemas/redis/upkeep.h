/* upkeep.h - what every consumer does now and then, for all of them.
 *
 * No step needs a leader: each looks for what is due and moves it; when two
 * consumers call at once, it is moved once. Steps as those of transition.h. */
#ifndef SCHEMAS_REDIS_UPKEEP_H
#define SCHEMAS_REDIS_UPKEEP_H

#include "schemas/redis/transition.h"

/* What is due goes on: scheduled and waiting jobs, lanes whose rate lets the
 * next one through; a deadline that has passed while nobody ran the job ends
 * it. Up to count (512) of each kind and queue; again at once while moved is
 * not zero. */
struct due_schedule { /* a schedule whose time has come: fire it */
    struct view name, spec, zone;
    uint64_t at; /* ms since 1970 */
};
struct promote_reply {
    uint64_t moved;
    bool more;        /* something will be due ... */
    uint64_t wait_ms; /* ... in so long */
    size_t due_count;
    bool mend; /* it is the caller's to walk with mend */
};
enum { PROMOTED_MAX_DUE = 16 };
void transition_promote(struct command *command, const struct names *names,
                        unsigned int partition, uint64_t count);
bool transition_promoted(const redisReply *reply,
                         struct promote_reply *promoted,
                         struct due_schedule due[PROMOTED_MAX_DUE],
                         struct err *err);

/* Submits the schedule's job under that id and sets when it is due next, if it
 * is still the one that was due at that time. The idempotency key is the
 * schedule and the time: nobody fires it twice. */
struct fire {
    struct view name;
    uint64_t at;      /* as promote said */
    uint64_t next_at; /* ms since 1970, of now or later; zero: never again */
    struct view id;   /* a new one, of this partition */
};
enum fire_outcome { FIRE_DONE, FIRE_LATE, FIRE_REFUSED };
void transition_fire(struct command *command, const struct names *names,
                     unsigned int partition, const struct fire *fire);
/* what: the job's id; refused: the sentence, which is kept in the schedule as
 * well: this time was left out. */
bool transition_fired(const redisReply *reply, enum fire_outcome *fired,
                      struct view *what, struct err *err);

/* Jobs whose leases have ended are put back (epoch raised, crash counted,
 * job.lost said). Up to count (512); again at once while more. */
void transition_lapse(struct command *command, const struct names *names,
                      unsigned int partition, uint64_t max_crashes,
                      uint64_t count);
bool transition_lapsed(const redisReply *reply, uint64_t *jobs, bool *more,
                       struct err *err);

/* Entries of a stream that were read and never started are put back; names of
 * consumers long gone are forgotten. Walk with the cursor given back, from "-"
 * until it is "-" again: never from the start each time, which starves the
 * rest. */
struct reclaim {
    struct view stream;
    uint64_t lease_ms; /* idle for so long */
    size_t count;      /* entries looked at in one step, up to 512 */
    struct view cursor;
};
void transition_reclaim(struct command *command, const struct names *names,
                        unsigned int partition, const struct reclaim *reclaim);
bool transition_reclaimed(const redisReply *reply, struct view *cursor,
                          uint64_t *jobs, struct err *err);

/* What other hands have destroyed: every key of the partition is looked at, and
 * jobs that stand nowhere are put back. A walk like reclaim's, from "0" until
 * it is "0" again; of the whole keyspace, so for one consumer at a time: who is
 * told so by promote. That is seldom, or soon after a step has missed a stream
 * or its group. */
void transition_mend(struct command *command, const struct names *names,
                     unsigned int partition, uint64_t count,
                     struct view cursor);
bool transition_mended(const redisReply *reply, struct view *cursor,
                       uint64_t *mended, struct err *err);

/* What the consumer says of itself, for so long, in pairs (host, pid, version,
 * build, slots, running, mode, queues: words, started_at ...). */
struct report_field {
    const char *name;
    struct view value;
};
void transition_report(struct command *command, const struct names *names,
                       unsigned int partition, struct view consumer,
                       uint64_t ttl_ms, const struct report_field *about,
                       size_t count);
/* The consumer leaves: it is listed no more. Answered as a report. */
void transition_depart(struct command *command, const struct names *names,
                       unsigned int partition, struct view consumer);
/* draining: operators wish it to drain. reply->element[1] is an array of those
 * of its queues that are paused. */
bool transition_reported(const redisReply *reply, bool *draining,
                         struct err *err);

#endif
