/* session.h - sessions that outlive their jobs: whose turn it is, and what is
 * known of one. Steps as those of transition.h, fenced by the job's epoch.
 *
 * Of the jobs that name a session to submit only the first is in a work stream
 * or a lane: its end lets the next one in. So a claim waits only for the turn
 * in a second session (a fork's). */
#ifndef SCHEMAS_REDIS_SESSION_H
#define SCHEMAS_REDIS_SESSION_H

#include "schemas/message/session.h"
#include "schemas/redis/transition.h"

struct session_key { /* both valid labels */
    struct view tenant, name;
};
struct session_claim_reply {
    bool mine;
    struct view other;  /* not mine: the job that it waits for ... */
    bool runs;          /* ... and whether somebody is at work on that */
    struct view record; /* schemas/message/session.h; empty: none stands */
};
/* One job at a time, in the order of their submits, until it has ended. */
void transition_session_claim(struct command *command,
                              const struct names *names, struct job_lease lease,
                              struct session_key session, uint64_t ttl_ms);
bool transition_session_claimed(const redisReply *reply,
                                struct session_claim_reply *claim,
                                struct err *err);

/* Replaces what is known of a session, if it is at that generation still; else
 * refused (misplaced). The blobs live as long as the record, which is read and
 * used only while they do. */
struct session_save {
    struct job_lease lease;
    struct session_key session;
    uint64_t generation; /* of the record that it replaces; 0: none stands */
    bool closed;
    uint64_t ttl_ms;
    uint64_t kept_ms;    /* how long replaced files are still there; a day at
                            least */
    struct view record;  /* its generation is one more */
    struct view picture; /* SHA-256; empty: none */
    struct view history; /* what was said in it; the same */
    struct list files;   /* of struct session_file */
};
void transition_session_save(struct command *command, const struct names *names,
                             const struct session_save *save);

#endif
