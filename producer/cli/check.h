/* check.h - whether every job is where it should be.
 *
 * A look reads all keys of a partition twice: first what names jobs (streams,
 * lanes, lines, leases, ...), which fills a map from ids to places, then the
 * jobs themselves, which are held against it. Jobs move meanwhile: what a look
 * finds counts only when the next ones find it as well. */
#ifndef PRODUCER_CLI_CHECK_H
#define PRODUCER_CLI_CHECK_H

#include "producer/cli/progress.h"
#include "schemas/message/id.h"
#include "schemas/redis/conn.h"
#include "schemas/redis/names.h"

/* Where an id was found. */
enum {
    IN_STREAM = 1 << 0,
    IN_STREAM_TWICE = 1 << 1,
    IN_LANE = 1 << 3, /* perhaps where it stood before, ... */
    IN_LINE = 1 << 4, /* of a session ... */
    FIRST_IN_LINE = 1 << 5,
    IN_LANE_TWICE = 1 << 17, /* ... and perhaps where it stands now */
    BODY_IN_LANE = 1 << 18,
    BEHIND = 1 << 19, /* listed as waiting for others of its session only */
    SCHEDULED = 1 << 6,
    LEASED = 1 << 7,
    READY = 1 << 8,
    RUNNING = 1 << 9,
    DUE = 1 << 10, /* deadlines */
    DEAD = 1 << 11,
    UNIQUE = 1 << 12,
    NEEDS_BLOBS = 1 << 13,
    ENDLESS = 1 << 14, /* a key of its own that does not expire */
    IS_JOB = 1 << 15,  /* its facts are there ... */
    ONGOING = 1 << 16, /* ... and it has not ended */
};

struct check_place {
    char id[ID_LEN + 1]; /* "": free */
    uint32_t where;
    uint32_t key;  /* of the latest that named it: places.keys[] */
    uint32_t mark; /* of its entry */
    uint32_t lane_mark;
};

struct places {
    struct check_place *items; /* hashed by id */
    size_t count, room;        /* room: a power of two */
    char **keys;
    size_t key_count;
};
void places_finish(struct places *places);
/* The one of that id, made when there is none. */
struct check_place *places_of(struct places *places, struct view id);
uint32_t places_key(struct places *places, const char *key);
uint32_t mark_of(struct view text);

enum { MAX_FAULTS = 1000 }; /* are told; the rest is counted */

struct faults { /* sentences, each beginning with its key */
    char **items;
    size_t count, more;
};
void faults_finish(struct faults *faults);

struct job_counts { /* of jobs */
    uint64_t waiting, running, later, ended;
};

enum { MAX_PREFETCHED = 2048 };

/* Answers to what will be asked of a page of keys, in that order: one wait for
 * all of them. */
struct prefetch {
    struct {
        const char *command, *key; /* borrowed */
        redisReply *reply;
    } items[MAX_PREFETCHED];
    size_t count, at;
};

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

__attribute__((format(printf, 3, 4))) void
check_fault(struct check *check, const char *key, const char *format, ...);

/* One command, now; NULL when it failed or Redis refused it: then broken, but
 * for a key that holds something else, which is a fault of that key. */
redisReply *check_ask(struct check *check, int count, const char *const *words);
#define CHECK_ASK(check, ...)                                                  \
    check_ask(check,                                                           \
              (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)), \
              (const char *[]){ __VA_ARGS__ })
void cleanup_asked(redisReply **reply);

/* The same, to be answered when check_ask() is called for it. */
void check_prefetch(struct check *check, int count, const char *const *words);
#define CHECK_PREFETCH(check, ...)                                             \
    check_prefetch(                                                            \
        check,                                                                 \
        (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),       \
        (const char *[]){ __VA_ARGS__ })

/* Every key of the partition, to the function; before, page by page, to ahead,
 * which calls check_prefetch(). rest: behind the root. */
typedef void check_key(struct check *check, const char *key, const char *rest);
void check_scan(struct check *check, check_key *prefetch, check_key *each);

/* Of key: names of blobs, with blanks between them, that must be there.
 * kept: something keeps them from expiring. */
void check_blobs(struct check *check, const char *key, struct view names,
                 bool kept);

/* First what names jobs, then the jobs, then what names no job. */
check_key prefetch_places, check_places; /* check_places.c */
check_key prefetch_job, check_job;       /* check_jobs.c */
/* check_jobs.c */
void check_leftovers(struct check *check);

#endif
