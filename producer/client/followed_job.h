/* followed_job.h - one job that is followed: what was given of it, and what
 * Redis has beyond that.
 *
 * Every event comes once and in order. What will never come is told as a gap:
 *
 *   given 1 .. 7   stream 12 .. 20    gap 8 - 11, then 12
 *   given 1 .. 7   stream gone        gap 8 - 19, then the end, made from what
 *                                     else is known of the job
 *   given 1 .. 7   another 7, or 5    gap 1 - 7, then 1: Redis has lost some (a
 *                  is the last one    failover) and gives their numbers again
 */
#ifndef PRODUCER_CLIENT_FOLLOWED_JOB_H
#define PRODUCER_CLIENT_FOLLOWED_JOB_H

#include <sys/queue.h>

#include "producer/client/handle.h"
#include "schemas/message/event.h"

struct followed_job {
    struct quern_id id;
    struct key events; /* stream and channel */
    uint64_t last;     /* seq of the last event that was given */
    uint64_t print;    /* of its bytes; 0: not known */
    redisReply *page;  /* of the stream; row is the next one */
    size_t row;
    struct buf made;    /* a gap, or an end, that is in no stream */
    struct arena arena; /* of the event that was given */
    char type[64];
    bool due;         /* to be looked for in the stream; else ... */
    uint64_t look_at; /* ... not before, unless there is news */
    TAILQ_ENTRY(followed_job) link;
};

enum followed_outcome {
    FOLLOWED_EVENT, /* *given is filled; it borrows from the job */
    FOLLOWED_GAP,   /* the same */
    FOLLOWED_AGAIN, /* there may be more */
    FOLLOWED_QUIET, /* there is no more by now */
    FOLLOWED_END,   /* nor will there be */
    FOLLOWED_FAILED,
};

/* after: what was given elsewhere. */
struct followed_job *followed_job_new(const struct names *names, struct view id,
                                      uint64_t after);
void followed_job_free(struct followed_job *job);

/* The next of what the stream has. */
enum followed_outcome followed_job_look(struct followed_job *job,
                                        struct quern *quern,
                                        struct quern_event *given,
                                        struct err *err);
/* Bytes that were published, which *given borrows: FOLLOWED_EVENT, or
 * FOLLOWED_QUIET when it was given before, or FOLLOWED_AGAIN when the stream
 * has to say. */
enum followed_outcome followed_job_hear(struct followed_job *job,
                                        struct view bytes,
                                        struct quern_event *given);

#endif
