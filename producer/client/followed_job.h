/* followed_job.h - one job that somebody follows: which events he has been
 * given, and which ones Redis has beyond them. The watch of libquern waits for
 * Redis in followed_job_look(); the gateway, which must not wait, asks by
 * itself and hands the replies in.
 *
 * Every event comes once and in order. Events that will never come are told as
 * a gap:
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

/* The watch makes it for each job, and frees it after the job's last event. */
struct followed_job {
    struct quern_id id;
    char *events;     /* name of its stream and of its channel; owned */
    uint64_t last;    /* seq of the last event that was given; 0: none */
    uint64_t print;   /* hash of that event's bytes; 0: not known */
    redisReply *page; /* read from the stream, or NULL; row is the next one */
    size_t row;
    struct buf made;    /* an event that is in no stream: a gap, or an end */
    struct arena arena; /* of the event that was given */
    char type[64];      /* of that event, for the caller */
    /* For the watch: its stream is to be read now; else not before look_at, by
     * clock_ms(), unless a message comes. */
    bool due;
    uint64_t look_at;
    bool is_confirmed; /* of the watch: the server has said so of SSUBSCRIBE */
    size_t ear;        /* of the watch: the subscriber that hears of it */
    TAILQ_ENTRY(followed_job) link; /* in one of the watch's two lists */
};

enum followed_outcome {
    FOLLOWED_EVENT,  /* *given is filled; it borrows from the job and, when it
                        was published, from the message */
    FOLLOWED_GAP,    /* *given is filled with an event of type gap */
    FOLLOWED_AGAIN,  /* nothing yet: call followed_job_look() again */
    FOLLOWED_QUIET,  /* Redis has nothing newer by now */
    FOLLOWED_END,    /* the last event has been given */
    FOLLOWED_FAILED, /* err says why */
    FOLLOWED_READ,   /* nothing is left of what was read: read on */
    FOLLOWED_RESULT, /* the stream no longer has the last event: it is to be
                        made from the status with its result */
};

/* after: seq of the last event that the caller has; 0: none. */
struct followed_job *followed_job_new(const struct names *names, struct view id,
                                      uint64_t after);
void followed_job_free(struct followed_job *job);

/* Reads the job's status and stream, and gives the next event that they have
 * beyond the last one. May call Redis; never FOLLOWED_READ or _RESULT. */
enum followed_outcome followed_job_look(struct followed_job *job,
                                        struct quern *quern,
                                        struct quern_event *given,
                                        struct err *err);
/* Looks at bytes that were published; *given borrows them. FOLLOWED_EVENT: it
 * is the next event. FOLLOWED_QUIET: it was given before. FOLLOWED_AGAIN:
 * events are missing before it, or it is none: the stream has to be read. */
enum followed_outcome followed_job_hear(struct followed_job *job,
                                        struct view bytes,
                                        struct quern_event *given);

/* ---------------------------------------------------- for who asks by himself
 *
 *   followed_job_row() until FOLLOWED_READ; then read the status
 * (status_ask()), and behind it the page (followed_job_ask_page()), and hand
 * them to followed_job_read(). FOLLOWED_RESULT: read the result as well, into
 * the status, and call followed_job_end(). */

/* The next event of the page that was read. */
enum followed_outcome followed_job_row(struct followed_job *job,
                                       struct quern_event *given,
                                       struct err *err);
/* The event that was given is not looked at any more: frees what it took. */
void followed_job_forget_event(struct followed_job *job);

/* rows: at most so many events. */
void followed_job_ask_page(struct command *command,
                           const struct followed_job *job, unsigned int rows);
/* Takes the page over, which must have been read after the status. status: NULL
 * when this login may not read it. */
enum followed_outcome
followed_job_read(struct followed_job *job, const struct quern_status *status,
                  redisReply *page, struct quern_event *given, struct err *err);
/* Forgets what was read and not given; it can be read again. */
void followed_job_drop_page(struct followed_job *job);
/* Makes the last event from facts and result. FOLLOWED_AGAIN: the job goes on,
 * it was requeued. */
enum followed_outcome followed_job_end(struct followed_job *job,
                                       const struct quern_status *status,
                                       struct quern_event *given,
                                       struct err *err);

/* Of an event's bytes: tells two events of one seq apart. Never 0. */
uint64_t followed_job_print(struct view bytes);
/* What a published event is to this follower, as followed_job_hear(). */
enum followed_outcome followed_job_weigh(const struct followed_job *job,
                                         uint64_t seq, uint64_t print);
/* It was given. */
void followed_job_pass(struct followed_job *job, uint64_t seq, uint64_t print);

#endif
