/* followers_state.h - what the files of followers share: feeds and followers.
 *
 * A follower is in the list of its feed, and in one of these states:
 *
 *   WAITING --subscribed--> DUE --> READING --nothing newer--> LIVE
 *                            ^ ^        |  '--has enough--> FULL <--'
 *                            | '-- Redis is away: PAUSED <--'    |
 *                            '--- a number is missing, silence, go on
 */
#ifndef PRODUCER_GATEWAY_FOLLOWERS_STATE_H
#define PRODUCER_GATEWAY_FOLLOWERS_STATE_H

#include <sys/queue.h>

#include "producer/client/followed_job.h"
#include "producer/gateway/followers.h"
#include "schemas/redis/link.h"

enum {
    FOLLOWERS_RECENT = 16, /* events of a feed that stay encoded */
    FOLLOWERS_READS = 16,  /* followers that read at the same time: bounds the
                              memory of their pages */
    FOLLOWERS_PAGE = 32,   /* events in one page */
    FOLLOWERS_BEAT_MS = 15000,
};

enum job_follower_state {
    FOLLOWER_WAITING, /* for the subscription */
    FOLLOWER_DUE,     /* to read: in the list due */
    FOLLOWER_READING,
    FOLLOWER_PAUSED, /* Redis is away: until again_at */
    FOLLOWER_FULL,   /* until job_follower_go_on() */
    FOLLOWER_LIVE,
};

struct job_follower {
    struct job_feed *feed;
    struct followed_job *job;
    const struct job_follower_events *events;
    void *owner;
    enum job_follower_state state;
    bool is_stale;      /* something was published since it began to read */
    bool is_over;       /* it gets no callback any more */
    unsigned int calls; /* on their way */
    struct quern_status status; /* while it reads */
    bool knows_status;
    struct err fault;  /* why it does not */
    uint64_t again_at; /* PAUSED */
    uint64_t beat_at;  /* when it gets a comment again */
    TAILQ_ENTRY(job_follower) of_feed, of_due;
};
TAILQ_HEAD(job_follower_list, job_follower);

struct recent_event {
    uint64_t id, print;
    struct http_bytes *bytes; /* NULL: none */
};

struct job_feed {
    struct followers *all;
    struct id id;
    unsigned int partition;
    bool is_subscribed;
    bool is_looking;  /* the facts are being read */
    uint64_t look_at; /* after so long a silence they are read */
    struct job_follower_list list;
    struct recent_event recent[FOLLOWERS_RECENT];
    TAILQ_ENTRY(job_feed) of_all;
};

/* A connection that hears of jobs. */
struct job_ear {
    struct followers *all;
    struct link *link;
    unsigned int partition;
};

struct followers {
    struct gateway *gateway;
    void *feeds; /* search tree, by id */
    TAILQ_HEAD(, job_feed) list;
    size_t feed_count;
    struct job_follower_list due;
    unsigned int reading; /* followers */
    size_t urgent;        /* those that are PAUSED, or over and not freed yet */
    struct job_feed
        *next_feed; /* where the next tick begins; NULL: the first */
    struct job_ear ears[NAMES_MAX_PARTITIONS];
    size_t holds; /* by feeds, looks, links that libuv still has, and itself */
    struct alarm *tick;
    struct alarm *soon;  /* lets those that are due read */
    uint64_t beat_phase; /* of the next follower, ms */
    struct http_bytes *comment;
    bool freeing;
};

/* -------- followers.c */

uint64_t followers_now(const struct followers *followers); /* ms, the loop's */

/* The feed of a job, made when there is none. */
struct job_feed *followers_feed(struct followers *followers, struct view id);
/* After a follower has left: frees a feed that has none. */
void followers_release(struct job_feed *feed);

/* -------- job_follower.c */

/* To read the stream as soon as it may; of one that reads, or has enough, to
 * read on afterwards. */
void job_follower_wake(struct job_follower *follower);
/* Lets those that are due read, as many as may. */
void job_followers_read(struct followers *followers);
/* What was published: to the followers of the feed. */
void job_feed_hear(struct job_feed *feed, struct view bytes);
/* Frees those of its followers that have left, and with the last one the feed.
 */
void job_feed_sweep(struct job_feed *feed);

#endif
