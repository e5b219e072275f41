/* followers.h - who follows which job.
 *
 *   Redis ──one subscription for each job──▶ feed ──▶ follower, follower, ...
 *                                             │ an event is encoded once, and
 *                                             │ shared by all who are up to
 * date ▼ a follower that is behind reads the stream itself
 *
 * Each follower gets every event once and in order, and what it cannot get as a
 * gap: the rules are those of producer/client/followed_job.h. The order is: the
 * subscription stands, then the stream is read, then what is published is
 * passed on. Silence of seconds is not believed: the job's facts say whether
 * there is more.
 *
 * Outside of a cluster one connection hears of all jobs; in a cluster each
 * partition has one, at the node that has its slot. While Redis is away
 * followers stay, and go on where they are. */
#ifndef PRODUCER_GATEWAY_FOLLOWERS_H
#define PRODUCER_GATEWAY_FOLLOWERS_H

#include "producer/gateway/gateway.h"
#include "producer/gateway/http/http_bytes.h"
#include "schemas/message/err.h"
#include "schemas/message/view.h"

struct followers;
struct job_follower;

struct job_follower_events {
    /* The next event, as server-sent event: "id" is the number behind which to
     * go on. Borrowed. is_last: no callback comes any more, and the follower is
     * freed; event is NULL when the last one had been given before. */
    void (*on_event)(void *owner, struct http_bytes *event, bool is_last);
    /* In the place of on_event: the event as Redis has it, MessagePack. Empty:
     * as event NULL. May be NULL. */
    void (*on_bytes)(void *owner, struct view event, bool is_last);
    /* Nothing more can come (the job has expired, its stream has bad bytes):
     * freed as well. */
    void (*on_failed)(void *owner, const struct err *why);
    /* False: it has enough for now, and calls job_follower_go_on() when it
     * wants more; then it reads on from where it is. May be NULL: it always
     * may. */
    bool (*may_send)(void *owner);
    /* Every 15 s, the first time within so long, with a comment to be sent; may
     * be NULL. */
    void (*on_beat)(void *owner, struct http_bytes *comment);
};

struct followers *followers_new(struct gateway *gateway);
void followers_free(struct followers *followers); /* accepts NULL */
/* See link_switch(). */
void followers_switch(struct followers *followers, const struct node *master);

/* -------- job_follower.c */

/* after: the number of the last event that it has; 0: none. id: valid. Borrows
 * events. */
struct job_follower *job_follower_new(struct followers *followers,
                                      struct view id, uint64_t after,
                                      const struct job_follower_events *events,
                                      void *owner);
void job_follower_go_on(struct job_follower *follower);
/* Leaves before the last event; also inside of a callback of its own. */
void job_follower_free(struct job_follower *follower); /* accepts NULL */

#endif
