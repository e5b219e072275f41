/* transition.h - every change of a job's facts, each one atomic step in Redis.
 *
 * The steps are functions of the library quern_v1 (library/, loaded by
 * consumers and by producers that may). KEYS[1] is the partition's root
 * (names.h). Each is fenced: a consumer names the epoch that start gave it, and
 * is refused (STALE) once the job has moved on. Each may be sent again after a
 * lost reply: the second time changes nothing and answers as the first.
 *
 *   submit -> start -> { beat | journal | event } ... -> finish
 *                `-> release (handed back) -> start ...
 *   reclaim: a lease that ended -> start ...     cancel: any time
 *
 * Refusals, as the first word of a Redis error: STALE (epoch), GONE (no such
 * job), QUEUEFULL, TOOBIG, NOBLOB, BADARG, MISPLACED (journal index, session's
 * generation).
 * reply_ok() turns them into err: codes stale, unknown_job, queue_full,
 * too_large, missing_blob, bad_argument, misplaced. queue_full is ERR_RETRY,
 * the rest ERR_REJECT.
 *
 * Builders fill a command (borrowing every view); readers take its reply. */
#ifndef SCHEMAS_REDIS_TRANSITION_H
#define SCHEMAS_REDIS_TRANSITION_H

#include <hiredis/hiredis.h>

#include "schemas/message/session.h"
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
    uint64_t deadline_ms;        /* from now; zero: none */
    uint64_t max_depth; /* waiting and running in the queue; zero: none */
    struct list files;  /* of struct file_ref: their blobs are kept for it */
    struct view body;   /* schemas/message/job.h, any bytes */
};
void transition_submit(struct command *command, const struct names *names,
                       const struct submit *submit);
/* id: of the job that stands, which is an older one when existed. */
bool transition_submitted(const redisReply *reply, struct view *id,
                          bool *existed, struct err *err);

struct claim {
    struct view stream; /* the key, and the entry in it */
    struct view entry;
    struct view consumer;
    uint64_t lease_ms;
    uint64_t max_crashes; /* more than these: failed, before decoding */
};
struct started {
    bool run; /* false: there is nothing to do, the entry is acknowledged */
    struct view reason; /* not run: taken (by another), gone, unknown,
                           duplicate, terminal, crashed, cancelled, deadline */
    struct view id;
    uint64_t epoch;
    uint64_t attempt; /* starts so far, drains not counted */
    uint64_t crashes;
    bool cancel;
    uint64_t now;         /* ms since 1970, the server's clock */
    uint64_t deadline_at; /* ms since 1970; zero: none */
    uint64_t submitted_at;
    struct view body;
    size_t records;            /* of the journal: reply->element[...] */
    const redisReply *journal; /* array of strings */
};
void transition_start(struct command *command, const struct names *names,
                      unsigned int partition, const struct claim *claim);
bool transition_started(const redisReply *reply, struct started *started,
                        struct err *err);

/* One lease each; up to 512 jobs of one partition in one command. */
struct holding {
    struct view id;
    uint64_t epoch;
};
struct beaten {
    bool held; /* false: lost, stop working on it */
    bool cancel;
};
void transition_beat(struct command *command, const struct names *names,
                     unsigned int partition, struct view consumer,
                     const struct holding *holdings, size_t count);
bool transition_beaten(const redisReply *reply, struct beaten *beaten,
                       size_t count, struct err *err);

struct event_text { /* one event to append */
    const char *type;
    struct view data; /* MessagePack map, or empty */
};
/* Appends the record at index (the journal's length before) and the events, in
 * one step. Again with the same record at the same index: no change. */
void transition_journal(struct command *command, const struct names *names,
                        struct holding holding, uint64_t index,
                        struct view record, const struct event_text *events,
                        size_t count);
/* number: of this write among those of the attempt, from 1. Again with the same
 * or a smaller one: no change. */
void transition_event(struct command *command, const struct names *names,
                      struct holding holding, uint64_t number,
                      const struct event_text *events, size_t count);

struct finish {
    struct holding holding;
    int state;              /* enum job_state, a terminal one */
    struct view result;     /* schemas/message/result.h */
    struct view event_data; /* of the terminal event */
    struct view error_code; /* failed: kept in the dead set */
    uint64_t result_ttl_ms; /* zero: a day */
    uint64_t dead_ttl_ms;   /* failed: body and result; zero: a week */
};
void transition_finish(struct command *command, const struct names *names,
                       const struct finish *finish);

/* Back to the queue, the attempt not counted: a drain is not a failure. */
void transition_release(struct command *command, const struct names *names,
                        struct holding holding, struct view reason);

/* Jobs of a stream whose lease ended are put back (epoch raised, crash counted,
 * job.lost said); names of consumers long gone are forgotten. Walk with the
 * cursor given back, from "-" until it is "-" again: never from the start each
 * time, which starves the rest. */
struct reclaim {
    struct view stream;
    uint64_t lease_ms; /* idle for so long, or for the job's own if longer */
    uint64_t max_crashes;
    size_t count; /* entries looked at in one step, up to 512 */
    struct view cursor;
};
void transition_reclaim(struct command *command, const struct names *names,
                        unsigned int partition, const struct reclaim *reclaim);
bool transition_reclaimed(const redisReply *reply, struct view *cursor,
                          uint64_t *jobs, struct err *err);

/* Whose turn it is in a session that outlives jobs: one job at a time, in the
 * order of their submits, until it has ended. */
struct session_key { /* both valid names */
    struct view tenant, name;
};
struct session_turn {
    bool mine;
    struct view other;  /* not mine: the job that it waits for ... */
    bool runs;          /* ... and whether somebody is at work on that */
    struct view record; /* schemas/message/session.h; empty: none stands */
};
void transition_session_claim(struct command *command,
                              const struct names *names, struct holding holding,
                              struct session_key session, uint64_t ttl_ms);
bool transition_session_claimed(const redisReply *reply,
                                struct session_turn *turn, struct err *err);

/* Replaces what is known of a session, if it is at that generation still; else
 * refused (misplaced). The blobs live as long as the record, which is read and
 * used only while they do. */
struct session_save {
    struct holding holding;
    struct session_key session;
    uint64_t generation; /* of the record that it replaces; 0: none stands */
    bool closed;
    uint64_t ttl_ms;
    uint64_t kept_ms;    /* how long replaced files are still there; a day at
                            least */
    struct view record;  /* its generation is one more */
    struct view picture; /* SHA-256; empty: none */
    struct list files;   /* of struct session_file */
};
void transition_session_save(struct command *command, const struct names *names,
                             const struct session_save *save);

enum cancelled { CANCEL_DONE, CANCEL_ASKED, CANCEL_TOO_LATE };
/* Waiting: cancelled now. Running: its consumer is asked. Ended: too late. */
void transition_cancel(struct command *command, const struct names *names,
                       struct view id, struct view reason);
bool transition_cancelled(const redisReply *reply, enum cancelled *outcome,
                          struct err *err);

#endif
