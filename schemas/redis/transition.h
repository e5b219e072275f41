/* transition.h - every change of a job's facts, each one atomic step in Redis.
 *
 * The steps are functions of the library quern_v1 (library/, loaded by
 * consumers and by producers that may). KEYS[1] is the partition's root
 * (names.h). Each is fenced: a consumer names the epoch that take gave it (up
 * to 53 bits: the server's time, in ms, or more), and is refused (STALE) once
 * the job has moved on. Each may be sent again after a
 * lost reply: the second time changes nothing and answers as the first.
 *
 *   submit -> take -> { beat | journal | event } ... -> finish
 *               |`-> release (handed back) -> take ...
 *               `--> wait -> (promote | approve) -> take ...
 *   lapse: a lease that ended -> take ...     cancel: any time
 *
 * The rest of them: session.h (whose turn it is), upkeep.h (what every consumer
 * does now and then), operate.h (what operators do).
 *
 * Refusals, as the first word of a Redis error: STALE (epoch), GONE (no such
 * job), QUEUEFULL, TOOBIG, NOBLOB, BADARG, MISPLACED (journal index, session's
 * generation). reply_ok() turns them into err: codes stale, unknown_job,
 * queue_full, too_large, missing_blob, bad_argument, misplaced. queue_full is
 * ERR_RETRY, the rest ERR_REJECT.
 *
 * Builders fill a command (borrowing every view); readers take its reply. */
#ifndef SCHEMAS_REDIS_TRANSITION_H
#define SCHEMAS_REDIS_TRANSITION_H

#include <hiredis/hiredis.h>

#include "schemas/message/journal.h"
#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

extern const char transition_library[];     /* the Lua source */
extern const unsigned int transition_build; /* raised with every change */

/* FUNCTION LOAD REPLACE, unless the server has this build or a later one: send
 * build first; when its reply is smaller or an error, send load. */
void transition_build_command(struct command *command);
void transition_load_command(struct command *command);

struct submit {
    struct view id;
    struct view queue; /* empty: default */
    int priority;
    struct view tenant; /* empty: default */
    struct view session;
    struct view idempotency_key; /* empty: none */
    uint64_t idempotency_ttl_ms; /* zero: a day */
    struct view unique_key; /* a job that has not ended and has it stands */
    uint64_t deadline_ms;   /* from now; zero: none */
    uint64_t delay_ms;      /* not before so long from now */
    uint64_t not_before;    /* nor before that, ms since 1970 */
    uint64_t max_depth;     /* of the queue; zero: as operators have set it */
    uint64_t tenant_depth;  /* of the tenant in the queue; likewise */
    struct list files;      /* of struct file_ref: their blobs are kept */
    struct view body;       /* schemas/message/job.h, any bytes */
}; /* All that the body says of itself: Redis does not read it. */
void transition_submit(struct command *command, const struct names *names,
                       const struct submit *submit);
/* id: of the job that stands, which is an older one when existed. */
bool transition_submitted(const redisReply *reply, struct view *id,
                          bool *existed, struct err *err);

/* Up to 512 jobs of one partition in one step, which is less work for Redis.
 * Each is answered in reply->element[...] as submit would have been: one that
 * is refused holds up no other. Of none: whether the server has this step, and
 * lets us call it. */
void transition_submit_many(struct command *command, const struct names *names,
                            unsigned int partition,
                            const struct submit *submits, size_t count);
bool transition_submitted_many(const redisReply *reply, size_t count,
                               struct err *err);

struct stream_entry {
    struct view stream; /* the key, and the entry in it */
    struct view entry;
};
/* Up to count jobs: first those whose entries a blocking read has brought, then
 * more of the queues, the oldest first: a job of normal priority counts as
 * younger by 60 s, one of low priority by 600 s. Fewer than count, even none,
 * is no proof that there are no more: a blocking read tells. */
struct take {
    struct view consumer;
    uint64_t lease_ms;
    uint64_t max_crashes; /* more than these: failed, before decoding */
    uint64_t count;       /* 1 to 512: free slots */
    uint64_t ticket; /* of this take, not zero: again with the same one answers
                        the same jobs, while its lease lasts */
    const struct stream_entry *entries;
    size_t entry_count;
    const struct view *queues;
    size_t queue_count;
};
struct take_reply {
    bool run;           /* false: there is nothing to do */
    struct view reason; /* not run: taken (by another), gone, unknown,
                           duplicate, terminal, crashed, cancelled, deadline,
                           paused (queue), limit (of the tenant) */
    struct view id;
    uint64_t epoch;
    uint64_t attempt; /* starts so far, those that were handed back not */
    uint64_t errors;  /* in a row, when it last waited because of one */
    uint64_t crashes;
    bool cancel;
    uint64_t now;         /* ms since 1970, the server's clock */
    uint64_t deadline_at; /* ms since 1970; zero: none */
    uint64_t submitted_at;
    struct view body;
    size_t records;            /* of the journal: reply->element[...] */
    const redisReply *journal; /* array of strings */
    struct view approval; /* of the last wait for one: a word of verdict_names,
                             or empty */
    struct view approval_note;
    struct view queue; /* these four: what submit was told, or has read */
    struct view priority;
    struct view tenant;
    struct view session; /* empty: none */
};
void transition_take(struct command *command, const struct names *names,
                     unsigned int partition, const struct take *take);
/* How many answers: first one for each claim, then one for each job more. They
 * are reply->element[...], for transition_take_reply(). */
bool transition_taken(const redisReply *reply, size_t *count, struct err *err);
bool transition_take_reply(const redisReply *reply, struct take_reply *start,
                           struct err *err);

/* One lease each; up to 512 jobs of one partition in one command. */
struct job_lease {
    struct view id;
    uint64_t epoch;
};
struct beat_reply {
    bool held; /* false: lost, stop working on it */
    bool cancel;
};
void transition_beat(struct command *command, const struct names *names,
                     unsigned int partition, struct view consumer,
                     const struct job_lease *leases, size_t count);
bool transition_beaten(const redisReply *reply, struct beat_reply *beat,
                       size_t count, struct err *err);

struct event_text { /* one event to append */
    const char *type;
    struct view data; /* MessagePack map, or empty */
};
/* Appends the record at index (the journal's length before) and the events, in
 * one step. Again with the same record at the same index: no change. */
void transition_journal(struct command *command, const struct names *names,
                        struct job_lease lease, uint64_t index,
                        struct view record, const struct event_text *events,
                        size_t count);
/* number: of this write among those of the attempt, from 1. Again with the same
 * or a smaller one: no change. */
void transition_event(struct command *command, const struct names *names,
                      struct job_lease lease, uint64_t number,
                      const struct event_text *events, size_t count);

struct finish {
    struct job_lease lease;
    int state;              /* enum job_state, a terminal one */
    struct view result;     /* schemas/message/result.h */
    struct view event_data; /* of the terminal event */
    struct view error_code; /* failed: kept in the dead set */
    uint64_t result_ttl_ms; /* zero: a day */
    uint64_t dead_ttl_ms;   /* failed: body and result; zero: a week */
    uint64_t tokens;        /* that models have read and written, and */
    uint64_t cost;          /* micro-dollars: for the index of ended jobs */
};
/* 1 to 512 jobs of one partition in one step. Each has its own answer in
 * reply->element[...]: one that is refused holds up no other. */
void transition_finish_many(struct command *command, const struct names *names,
                            unsigned int partition,
                            const struct finish *finishes, size_t count);
bool transition_finished_many(const redisReply *reply, size_t count,
                              struct err *err);

/* Back to the queue, the attempt not counted: a drain is not a failure. */
void transition_release(struct command *command, const struct names *names,
                        struct job_lease lease, struct view reason);

/* Out of the consumer's hands for a while; no slot is held. */
struct wait {
    struct job_lease lease;
    uint64_t delay_ms; /* zero: until approve, for a week at most */
    uint64_t errors;   /* in a row, the one that it waits for included; zero: it
                          waits for something else, the attempt is not counted */
    struct view reason;     /* retry, backoff, approval; budget, endpoint: the
                               attempt is not counted either */
    struct view event_data; /* of job.waiting; empty: reason and until. until is
                               added when there is a call */
    struct view call;       /* that approve is about: a verdict becomes a record
                               of the journal. Empty: started has it */
    struct view fallback;   /* when there is none in time: abort, skip; empty:
                               abort */
};
void transition_wait(struct command *command, const struct names *names,
                     const struct wait *wait);

/* Of a job that waits for approval: it goes on and is told. */
struct approval {
    struct view id;
    int verdict;      /* enum verdict */
    struct view note; /* at most 256 bytes */
    struct view call; /* it is meant for; empty: whichever it waits for */
    struct view text; /* edit: what is run instead; ask: what the model is told;
                         else empty. At most MAX_VERDICT_BYTES */
};
void transition_approve(struct command *command, const struct names *names,
                        const struct approval *approval);
/* late: it has ended, does not wait for one, not for that one, or was told
 * otherwise. The same again is not late while the job goes on. */
bool transition_approved(const redisReply *reply, bool *late, struct err *err);

enum cancel_outcome { CANCEL_DONE, CANCEL_ASKED, CANCEL_TOO_LATE };
/* Waiting: cancelled now. Running: its consumer is asked. Ended: too late. */
void transition_cancel(struct command *command, const struct names *names,
                       struct view id, struct view reason);
bool transition_cancelled(const redisReply *reply, enum cancel_outcome *outcome,
                          struct err *err);

#endif
