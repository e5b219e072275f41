/* quern_operate.h - what the operators of a fleet ask and do: queues, the dead,
 * workers, endpoints, schedules. The quern command is made of these calls.
 *
 * As in quern.h: false and *error when it failed, and what failed with
 * QUERN_RETRY may be done again. Nothing here walks over all jobs: what is
 * counted is counted by Redis, and lists come in pieces. Lists are freed with
 * free(list.items). Names are NUL-terminated copies. Times are ms since 1970,
 * of Redis's clock; 0: never, none. */
#ifndef QUERN_OPERATE_H
#define QUERN_OPERATE_H

#include "producer/client/quern.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    QUERN_NAME = 129
}; /* bytes of a queue's or tenant's name, and its end */

/* --- queues ------------------------------------------------------------- */

struct quern_queue {
    char name[QUERN_NAME];
    bool paused;
    uint64_t waiting; /* may start, or wait for their tenant's turn */
    uint64_t running;
    uint64_t scheduled; /* go on later: back-off, approval, not before */
    uint64_t dead;
    uint64_t tenants;   /* that have more waiting than streams take at once */
    uint64_t oldest_ms; /* how long the first of those that may start waits */
    /* Limits that operators have set; 0: none. */
    uint64_t max_depth, tenant_depth, tenant_running;
    uint64_t tenant_rate, tenant_rate_ms; /* so many jobs in so many ms */
    uint64_t tenant_tokens, tenant_cost;  /* of models, micro-dollars; in */
    uint64_t tenant_budget_ms;            /* ... so many ms; 0: a day */
};
struct quern_queues {
    struct quern_queue *items; /* by name */
    size_t count;
};

/* Every queue that has ever held a job, or with a name that one. */
QUERN_API bool quern_queues(struct quern *quern, const char *name,
                            struct quern_queues *queues,
                            struct quern_error *error);

/* "paused" ("1": jobs are accepted, none starts), "max_depth", "tenant_depth",
 * "tenant_running", "tenant_rate", "tenant_rate_ms", "tenant_tokens",
 * "tenant_cost" (micro-dollars), "tenant_budget_ms"; also of one tenant:
 * "tenant_running:acme". Value "": no more. Errors:
 * bad_field, bad_argument. */
QUERN_API bool quern_queue_set(struct quern *quern, const char *queue,
                               const struct quern_pair *settings, size_t count,
                               struct quern_error *error);

/* Cancels jobs that wait, up to some hundreds in a call: again while *more.
 * dry: only counts those there are. */
QUERN_API bool quern_purge(struct quern *quern, const char *queue, bool dry,
                           uint64_t *jobs, bool *more,
                           struct quern_error *error);

/* --- the dead ----------------------------------------------------------- */

/* A job that failed for good; it is kept for a week. */
struct quern_dead {
    char id[QUERN_NAME]; /* "entry-...": what came in was no job */
    char queue[QUERN_NAME], tenant[QUERN_NAME];
    char error_code[32];
    uint64_t attempts, errors, crashes;
    uint64_t submitted_at, finished_at;
};
struct quern_deads {
    struct quern_dead *items; /* the latest first */
    size_t count;
    uint64_t total; /* of the queue, or of all */
};

/* queue NULL: of all. At most limit of them, behind the first skip. */
QUERN_API bool quern_dead_list(struct quern *quern, const char *queue,
                               uint64_t skip, uint64_t limit,
                               struct quern_deads *deads,
                               struct quern_error *error);

/* Back into its queue: attempts, errors and crashes begin at 0, and it goes on
 * where it failed, without what it has paid for or run already; anew: from the
 * beginning. Errors: unknown_job, not_dead. */
QUERN_API bool quern_requeue(struct quern *quern, const char *id, bool anew,
                             struct quern_error *error);

/* All of it goes, at once. Errors: unknown_job, not_dead. */
QUERN_API bool quern_forget(struct quern *quern, const char *id,
                            struct quern_error *error);

/* The bytes that were submitted as a job, as long as they are kept. Gives
 * memory: free() it. Error: expired. */
QUERN_API bool quern_body(struct quern *quern, const char *id, void **bytes,
                          size_t *size, struct quern_error *error);

/* A job as it ran, as JSON lines: what was submitted, each step, its result
 * when it has ended. They are kept for an hour after the end, a week when it
 * failed. Gives memory: free() it. Errors: expired, bad_message. */
QUERN_API bool quern_record(struct quern *quern, const char *id, char **text,
                            size_t *size, struct quern_error *error);

/* --- jobs that wait for somebody ---------------------------------------- */

enum quern_verdict {
    QUERN_YES = 1,    /* the call is made */
    QUERN_NO,         /* it is not, and the model is told that it may not be */
    QUERN_EDIT,       /* text is run in its place: code, or arguments as JSON */
    QUERN_SKIP,       /* it is not made, the model goes on without */
    QUERN_REGENERATE, /* the reply is thrown away, the model is asked again */
    QUERN_ASK,        /* it is not made, and the model is told text */
    QUERN_ABORT,      /* the job ends */
};

struct quern_decision {
    enum quern_verdict verdict;
    const char *call; /* that job.waiting has named; NULL: whichever it is */
    const char *text; /* QUERN_EDIT, QUERN_ASK: at most 48 KiB; else NULL */
    const char *note; /* told to the model; at most 256 bytes, or NULL */
};

/* Of a job that waits for an approval: it goes on. *late (may be NULL): it did
 * not wait any more, or not with that call. */
QUERN_API bool quern_decide(struct quern *quern, const char *id,
                            const struct quern_decision *decision, bool *late,
                            struct quern_error *error);

/* QUERN_YES, or with approve false QUERN_NO, of whichever call. */
QUERN_API bool quern_approve(struct quern *quern, const char *id, bool approve,
                             const char *note, bool *late,
                             struct quern_error *error);

/* --- workers ------------------------------------------------------------ */

struct quern_worker {
    char name[QUERN_NAME];
    char host[QUERN_NAME], version[32], mode[16];
    char queues[256];
    uint64_t pid, slots, running;
    uint64_t started_at, seen_at;
    bool draining; /* has been asked to leave */
};
struct quern_workers {
    struct quern_worker *items; /* by name */
    size_t count;
    uint64_t now;
};

/* Consumers that have said lately that they live. */
QUERN_API bool quern_workers(struct quern *quern, struct quern_workers *workers,
                             struct quern_error *error);

/* Asks one to take no more jobs and to leave when those that it has are done;
 * with drain false, to go on. Error: unknown_worker. */
QUERN_API bool quern_drain(struct quern *quern, const char *worker, bool drain,
                           struct quern_error *error);

/* --- endpoints ---------------------------------------------------------- */

/* Of a model: what the consumers of the fleet have learned and counted. */
struct quern_endpoint {
    char name[QUERN_NAME]; /* in QUERN_MODELS, at most 64 bytes */
    char id[QUERN_NAME];   /* two of that name differ in it */
    uint64_t calls;        /* requests, */
    uint64_t paid_twice;   /* of them again, with the one before charged, too,
                              maybe */
    uint64_t recovered;    /* replies that were fetched instead */
    uint64_t window;       /* tokens, as it has said; 0: it has not */
    uint64_t wait_ms;      /* it wants to be left alone; 0: it does not */
    char learned[256];     /* what it does not take, a word each */
};
struct quern_endpoints {
    struct quern_endpoint *items; /* by name */
    size_t count;
};

/* Counts are those of about a month, and told as well as may be: a consumer
 * that is killed takes those of its last second with it. */
QUERN_API bool quern_endpoints(struct quern *quern,
                               struct quern_endpoints *endpoints,
                               struct quern_error *error);

/* --- schedules ---------------------------------------------------------- */

struct quern_schedule {
    char name[QUERN_NAME];
    char spec[257]; /* "30 6 * * mon-fri", "every 15m", "@daily" */
    char zone[65];  /* "Europe/Berlin"; "UTC" */
    char last_id[37];
    char refused[256]; /* why there was no job the last time; "": there was */
    uint64_t next_at, last_at, created_at;
};
struct quern_schedules {
    struct quern_schedule *items; /* the next one first */
    size_t count;
    uint64_t now;
};

QUERN_API bool quern_schedules(struct quern *quern,
                               struct quern_schedules *schedules,
                               struct quern_error *error);

/* Adds it, or takes the place of the one of that name. Its job is submitted
 * each time anew, with an id and an idempotency key of its own; its files are
 * kept as long as the schedule. zone NULL: UTC. beside may be NULL. Errors: as
 * quern_submit(). */
QUERN_API bool quern_schedule_set(struct quern *quern, const char *name,
                                  const char *spec, const char *zone,
                                  const struct quern_job *job,
                                  struct quern_error *error);
QUERN_API bool quern_schedule_set_json(struct quern *quern, const char *name,
                                       const char *spec, const char *zone,
                                       const char *job,
                                       const struct quern_beside *beside,
                                       struct quern_error *error);
/* Error: unknown_schedule. */
QUERN_API bool quern_schedule_remove(struct quern *quern, const char *name,
                                     struct quern_error *error);
/* What it submits: MessagePack, without an id. Gives memory: free() it. */
QUERN_API bool quern_schedule_job(struct quern *quern, const char *name,
                                  void **bytes, size_t *size,
                                  struct quern_error *error);

/* When a schedule goes off first after that time; needs no Redis. *next 0:
 * never again. Error: bad_field. */
QUERN_API bool quern_schedule_next(const char *spec, const char *zone,
                                   uint64_t after, uint64_t *next,
                                   struct quern_error *error);

#ifdef __cplusplus
}
#endif

#endif
