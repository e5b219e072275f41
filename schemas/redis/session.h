/* session.h - sessions that outlive their jobs: which job has the turn, and the
 * session's record. Builders and readers follow the rules of transition.h;
 * Redis refuses a caller with an old epoch.
 *
 * Of the jobs that were submitted with the name of a session only the first one
 * is in a work stream or a lane; its end lets the next one in. So a claim has
 * to wait only for the turn in a second session, that of a fork. */
#ifndef SCHEMAS_REDIS_SESSION_H
#define SCHEMAS_REDIS_SESSION_H

#include "schemas/message/session.h"
#include "schemas/redis/transition.h"

struct session_key { /* both valid labels */
    struct view tenant, name;
};
struct session_claim_reply {
    bool mine;
    struct view other;  /* not mine: the job that has the turn ... */
    bool runs;          /* ... and whether a consumer runs it */
    struct view record; /* schemas/message/session.h; empty: none stands */
};
/* Gives the turn to one job at a time, in the order of their submits, until
 * that job has ended. The session lives for ttl_ms at least. */
void transition_session_claim(struct command *command,
                              const struct names *names, struct job_lease lease,
                              struct session_key session, uint64_t ttl_ms);
bool transition_session_claimed(const redisReply *reply,
                                struct session_claim_reply *claim,
                                struct err *err);

/* Replaces the record of a session if it still has that generation; else it is
 * refused (misplaced). The blobs live as long as the record. */
struct session_save {
    struct job_lease lease;
    struct session_key session;
    uint64_t generation; /* of the record that it replaces; 0: none stands */
    bool closed;
    uint64_t ttl_ms;
    uint64_t kept_ms;    /* how long files that the new record does not name are
                            kept; a day at least */
    struct view record;  /* says generation + 1 */
    struct view picture; /* SHA-256 of the variables; empty: none */
    struct view history; /* SHA-256 of the conversation; empty: none */
    struct list files;   /* of struct session_file */
};
void transition_session_save(struct command *command, const struct names *names,
                             const struct session_save *save);

#endif
