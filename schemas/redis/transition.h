/* transition.h - every change of a job's facts, each one atomic step in Redis.
 *
 * The steps are functions of the library quern_v1 (library/), which consumers
 * and the quern command load. KEYS[1] is the partition's root (names.h).
 *
 * A consumer passes the epoch that take gave it (up to 53 bits: the server's
 * time in ms, or more). When another consumer has started the job since, or the
 * job has ended, Redis refuses the call (STALE). So a consumer that was away
 * for longer than its lease can do no harm.
 *
 * After a lost reply a call may be sent again: the second time it changes
 * nothing and gives the same answer.
 *
 *   submit -> take -> { beat | journal | event } ... -> finish
 *               |`-> release (handed back) -> take ...
 *               `--> wait -> (promote | approve) -> take ...
 *   lapse: a lease that ended -> take ...     cancel: any time
 *
 * Further steps: spend.h (a tenant's budget), session.h (the turn of a
 * session), upkeep.h (work that every consumer does from time to time),
 * operate.h (what operators change), listing.h (what operators look at), file.h
 * (files that were uploaded), hook.h (webhooks).
 *
 * Refusals, as the first word of a Redis error: STALE (epoch), GONE (no such
 * job), QUEUEFULL, TOOBIG, NOBLOB, BADARG, MISPLACED (journal index, session's
 * generation). reply_ok() turns them into err: codes stale, unknown_job,
 * queue_full, too_large, missing_blob, bad_argument, misplaced. queue_full is
 * ERR_RETRY, the rest ERR_REJECT.
 *
 * A builder fills a command, which the caller finishes; it borrows every view.
 * A reader reads the reply; its views borrow from the reply. Readers return
 * false when the reply is a refusal or an error, or has a form that this build
 * does not know (step.h), and then fill err. */
#ifndef SCHEMAS_REDIS_TRANSITION_H
#define SCHEMAS_REDIS_TRANSITION_H

#include <hiredis/hiredis.h>

#include "schemas/message/journal.h"
#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

extern const char transition_library[];     /* the Lua source */
extern const unsigned int transition_build; /* raised with every change */

/* Loads the library, but only over an older one: send build first; when its
 * reply is smaller than transition_build, or an error, send load. */
void transition_build_command(struct command *command);
void transition_load_command(struct command *command);

struct submit {
    struct view id;
    struct view queue;           /* empty: default */
    int priority;                /* enum priority */
    struct view tenant;          /* empty: default */
    struct view session;         /* empty: none */
    struct view idempotency_key; /* empty: none */
    uint64_t idempotency_ttl_ms; /* zero: a day */
    struct view unique_key; /* when a job with this key has not ended, there is
                               no new one; empty: none */
    uint64_t deadline_ms;   /* from now; zero: none */
    uint64_t delay_ms;      /* starts so long from now, at the earliest */
    uint64_t not_before;    /* and not before that, ms since 1970; zero: at
                               once */
    uint64_t max_depth;     /* of the queue; zero: as operators have set it */
    uint64_t tenant_depth;  /* of the tenant in the queue; likewise */
    struct list files;      /* of struct file_ref: their blobs are kept, */
    struct view earlier;    /* ... and this one; empty: none */
    bool notify;            /* its end is told to the tenant's webhooks */
    struct view asked;      /* kept beside a new job for quern-gateway; empty:
                               nothing */
    uint64_t asked_ttl_ms;  /* for so long; zero: a week */
    struct view body;       /* schemas/message/job.h, any bytes */
}; /* The members must be all that the body says of itself: "pairs all" is sent,
      so Redis does not read the body. */
void transition_submit(struct command *command, const struct names *names,
                       const struct submit *submit);
/* id: of the new job; or of the one that was submitted before (existed). */
bool transition_submitted(const redisReply *reply, struct view *id,
                          bool *existed, struct err *err);

/* Up to 512 jobs of one partition in one step, which is less work for Redis.
 * reply->element[...] has for each what submit answers; a refusal of one does
 * not stop the others. With count 0 it changes nothing, and tells whether the
 * server has this function and the login may call it. */
void transition_submit_many(struct command *command, const struct names *names,
                            unsigned int partition,
                            const struct submit *submits, size_t count);
bool transition_submitted_many(const redisReply *reply, size_t count,
                               struct err *err);

/* A request came once more, for the count-th time: takes over the job of a try
 * that is not answered. The reply is its id; "": there is none. sha256: of the
 * request. */
void transition_repeat_take(struct command *command, const struct names *names,
                            unsigned int partition, struct view sha256,
                            unsigned int count);

struct stream_entry {
    struct view stream; /* its key */
    struct view entry;  /* the entry's id */
};
/* Starts up to count jobs: first those whose entries a blocking read has
 * brought, then more of the queues, the oldest first. A job of normal priority
 * counts as younger by 60 s, one of low priority by 600 s. When fewer than
 * count come, or none, there may still be more: only a blocking read says. */
struct take {
    struct view consumer;
    uint64_t lease_ms;
    uint64_t max_crashes; /* a job that has lost more consumers fails here,
                             before anybody decodes it */
    uint64_t count;       /* 1 to 512: free slots */
    uint64_t ticket; /* a number of this take; a second call with it, after a
                        lost reply, answers the same jobs as long as a lease
                        lasts. Zero: none */
    const struct stream_entry *entries;
    size_t entry_count;
    const struct view *queues;
    size_t queue_count;
};
struct take_reply {
    bool run;           /* false: reason says why not; of the rest only id is
                           set, where the job is known */
    struct view reason; /* not run: taken (by another), gone, unknown,
                           duplicate, terminal, crashed, cancelled, deadline,
                           paused (queue), limit (of the tenant) */
    struct view id;
    uint64_t epoch;
    uint64_t attempt; /* starts so far, without those that were handed back */
    uint64_t errors;  /* in a row, when it last waited because of one */
    uint64_t crashes;
    bool cancel;
    uint64_t now;         /* ms since 1970, the server's clock */
    uint64_t deadline_at; /* ms since 1970; zero: none */
    uint64_t submitted_at;
    struct view body;
    size_t records;            /* of the journal: reply->element[...] */
    const redisReply *journal; /* array of strings */
    struct view approval;      /* the last verdict: a word of verdict_names, or
                                  empty */
    struct view approval_note;
    struct view queue; /* these four: as Redis has them from submit; the
                          consumer compares them with the body */
    struct view priority;
    struct view tenant;
    struct view session; /* empty: none */
};
void transition_take(struct command *command, const struct names *names,
                     unsigned int partition, const struct take *take);
/* How many answers there are: first one for each entry, then one for each
 * further job. They are reply->element[...], for transition_take_reply(). */
bool transition_taken(const redisReply *reply, size_t *count, struct err *err);
bool transition_take_reply(const redisReply *reply, struct take_reply *start,
                           struct err *err);

/* Renews the leases of up to 512 jobs of one partition. */
struct job_lease {
    struct view id;
    uint64_t epoch;
};
struct beat_reply {
    bool held; /* false: another consumer has the job, or it has ended: stop */
    bool cancel; /* somebody wants it cancelled */
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
/* Appends the record at index, which must be the journal's length, and the
 * events, in one step. A second call with the same record at the same index
 * changes nothing. */
void transition_journal(struct command *command, const struct names *names,
                        struct job_lease lease, uint64_t index,
                        struct view record, const struct event_text *events,
                        size_t count);
/* number: of this write among those of the attempt, from 1. A call with a
 * number that was written, or a smaller one, changes nothing. */
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
    uint64_t dead_ttl_ms;   /* failed: of body, journal and result; zero: a
                               week */
    uint64_t tokens;        /* what models have read and written; with cost for
                               the index of ended jobs and the figures */
    uint64_t cost;          /* micro-dollars */
};
/* Ends 1 to 512 jobs of one partition in one step. Each has its own answer in
 * reply->element[...]; a refusal of one does not stop the others. */
void transition_finish_many(struct command *command, const struct names *names,
                            unsigned int partition,
                            const struct finish *finishes, size_t count);
bool transition_finished_many(const redisReply *reply, size_t count,
                              struct err *err);

/* Hands the job back to its queue. The attempt does not count, because a drain
 * is no failure. */
void transition_release(struct command *command, const struct names *names,
                        struct job_lease lease, struct view reason);

/* The job leaves its consumer for a time; meanwhile it has no slot. */
struct wait {
    struct job_lease lease;
    uint64_t delay_ms;  /* zero: until approve, for a week at most */
    uint64_t errors;    /* failures in a row, with the one because of which it
                           waits; zero: it waits for something else, and the
                           attempt does not count */
    struct view reason; /* retry, backoff, approval; budget, endpoint: the
                           attempt does not count either */
    struct view event_data; /* of job.waiting; empty: reason and until. until is
                               added when there is a call */
    struct view call;     /* the call that needs approval: the verdict becomes a
                             record of the journal. Empty: take returns the
                             verdict */
    struct view fallback; /* what happens without a verdict in time: abort,
                             skip; empty: abort */
};
void transition_wait(struct command *command, const struct names *names,
                     const struct wait *wait);

/* A verdict for a job that waits for approval. It goes back to its queue. */
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
/* late: the job has ended, does not wait for a verdict, waits for another call,
 * or has got another verdict. The same verdict again is not late as long as the
 * job has not ended. */
bool transition_approved(const redisReply *reply, bool *late, struct err *err);

/* The latest events of a job, at most count, the newest first; and the bytes of
 * one of them, empty: there are not so many. before: only those with a lower
 * seq; 0: all. */
void transition_latest(struct command *command, const struct names *names,
                       struct view id, uint64_t before, unsigned int count);
struct view transition_latest_event(const redisReply *reply, size_t index);

enum cancel_outcome { CANCEL_DONE, CANCEL_ASKED, CANCEL_TOO_LATE };
/* A job that waits is cancelled now. The consumer of one that runs is told. A
 * job that has ended: too late. */
void transition_cancel(struct command *command, const struct names *names,
                       struct view id, struct view reason);
bool transition_cancelled(const redisReply *reply, enum cancel_outcome *outcome,
                          struct err *err);

#endif
