/* check.h - quern check: whether every job is where its facts say it is.
 *
 * A look reads all keys of a partition twice. The first pass reads the keys
 * that name jobs (streams, lanes, lines, leases, ...) and fills a map from ids
 * to places; the second one reads the jobs and compares each with the map. Jobs
 * move meanwhile, so a look finds faults that are none: a fault counts only
 * when the next looks find it as well. */
#ifndef PRODUCER_CLI_CHECK_H
#define PRODUCER_CLI_CHECK_H

#include "producer/cli/progress.h"
#include "schemas/message/id.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/names.h"

/* Bits of check_place.where: where an id was found. */
enum {
    IN_STREAM = 1 << 0,
    IN_STREAM_TWICE = 1 << 1,
    IN_LANE = 1 << 3, /* once; it may be an element that the job has left */
    IN_LINE = 1 << 4, /* in the line of a session */
    FIRST_IN_LINE = 1 << 5,
    IN_LANE_TWICE = 1 << 17, /* by an old element and the one that counts */
    BODY_IN_LANE = 1 << 18,  /* what was submitted stands in the lane */
    BEHIND = 1 << 19, /* listed as waiting for others of its session only */
    SCHEDULED = 1 << 6,
    LEASED = 1 << 7,
    READY = 1 << 8,
    RUNNING = 1 << 9,
    DUE = 1 << 10, /* its deadline is watched */
    DEAD = 1 << 11,
    UNIQUE = 1 << 12,
    NEEDS_BLOBS = 1 << 13,
    ENDLESS = 1 << 14, /* its body, journal or events do not expire */
    IS_JOB = 1 << 15,  /* its facts are there ... */
    ONGOING = 1 << 16, /* ... and it has not ended */
};

/* All places of one id. */
struct check_place {
    char id[ID_LEN + 1]; /* "": this slot of the map is free */
    uint32_t where;
    uint32_t key;       /* the key that named it last: index of places.keys[] */
    uint32_t mark;      /* hash of its stream entry's id; 0: none */
    uint32_t lane_mark; /* hash of its place in its lane; 0: none */
};

/* The map, filled by a look's first pass and freed at its end: a hash table
 * with open addressing. */
struct places {
    struct check_place *items;
    size_t count, room; /* room: slots, a power of two, at most half full */
    char **keys;
    size_t key_count;
};
void places_finish(struct places *places);
/* The place of that id, made when there is none; valid until the next call. */
struct check_place *places_of(struct places *places, struct view id);
/* The index of the key in places.keys[]; copies it. */
uint32_t places_key(struct places *places, const char *key);
/* A hash. A place of millions of jobs is small with it; two texts may share it,
 * which hides a fault at most. */
uint32_t mark_of(struct view text);

enum { MAX_FAULTS = 1000 }; /* that are kept; more are only counted */

struct faults { /* sentences, each beginning with its key */
    char **items;
    size_t count, more;
};
void faults_finish(struct faults *faults);

struct job_counts { /* of jobs */
    uint64_t waiting, running, later, ended;
};

enum { MAX_PREFETCHED = 2048 };

/* Replies to commands that were sent ahead for a page of keys, in order: one
 * wait for all of them, in place of one for each key. */
struct prefetch {
    struct {
        const char *command, *key; /* borrowed */
        redisReply *reply;
    } items[MAX_PREFETCHED];
    size_t count, at; /* at: the next one that check_ask() takes */
};

/* One run of the verb; on the heap, since it is large. */
struct check {
    struct app *app;
    struct address address;
    struct names names;
    unsigned int partition;
    struct conn *conn; /* to the server that has it */
    struct places places;
    struct faults faults;
    struct progress_bar progress;
    struct prefetch prefetch;
    struct job_counts counts;
    struct err err;
    bool broken; /* err says why we cannot go on */
};

/* Adds a fault of that key. */
__attribute__((format(printf, 3, 4))) void
check_fault(struct check *check, const char *key, const char *format, ...);

/* The reply to a command: the one that was prefetched, when it is next in line,
 * else Redis is asked. cleanup_asked() it. NULL: it failed, and check->broken
 * is set; or the key holds a value of another type, which becomes a fault of
 * the key. */
redisReply *check_ask(struct check *check, int count, const char *const *words);
#define CHECK_ASK(check, ...)                                                  \
    check_ask(check,                                                           \
              (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)), \
              (const char *[]){ __VA_ARGS__ })
void cleanup_asked(redisReply **reply);

/* Sends the command now; check_ask() gives its reply later. More than
 * MAX_PREFETCHED are not sent: check_ask() then asks. Borrows command and key
 * until the page is done. */
void check_prefetch(struct check *check, int count, const char *const *words);
#define CHECK_PREFETCH(check, ...)                                             \
    check_prefetch(                                                            \
        check,                                                                 \
        (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),       \
        (const char *[]){ __VA_ARGS__ })

/* Calls each() for every key of the partition. Before that, page by page, calls
 * prefetch() for the keys of the page, which sends commands by
 * check_prefetch(). rest: the key without its root. */
typedef void check_key(struct check *check, const char *key, const char *rest);
void check_scan(struct check *check, check_key *prefetch, check_key *each);

/* Whether the blobs are there that the key names; names: with blanks between
 * them. kept: something keeps them from expiring. */
void check_blobs(struct check *check, const char *key, struct view names,
                 bool kept);

/* First pass: the keys that name jobs. Second pass: the jobs. Then the names
 * that belong to no job. */
check_key prefetch_places, check_places; /* check_places.c */
check_key prefetch_job, check_job;       /* check_jobs.c */
/* check_jobs.c */
void check_leftovers(struct check *check);

#endif
