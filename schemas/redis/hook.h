/* hook.h - webhooks: what operators set, and what deliverers take and settle.
 * Builders and readers follow the rules of transition.h.
 *
 * When a job ends that asked for it (job.notify), Redis keeps a delivery for
 * each webhook of its tenant. A deliverer takes those that are due, makes the
 * request, and says how it went. What it takes is its for a lease; then another
 * may take it. So a delivery is made once at least. */
#ifndef SCHEMAS_REDIS_HOOK_H
#define SCHEMAS_REDIS_HOOK_H

#include "schemas/redis/transition.h"

enum {
    HOOK_ID_BYTES = 21, /* hook_ and 16 hexadecimal digits */
    HOOK_SECRETS = 4,   /* of one webhook that are valid at once */
    HOOK_URL_BYTES = 2048,
    HOOK_WHY_BYTES = 200,
};

/* hook_ and 16 digits of 0-9 a-f. */
bool hook_id_is_valid(struct view id);

/* Changes what is not NULL; a new webhook needs url and secret. */
struct hook_change {
    const char *url;
    const char *secret;   /* a new one; the older stay valid for keep_ms */
    const char *name;     /* for people */
    const char *events;   /* words: completed failed ...; "": all */
    uint64_t keep_ms;     /* up to a week */
    const char *disabled; /* "1" or "0" */
};
/* unknown_job: the tenant has no such webhook; too_large: it has 16. */
void hook_set(struct command *command, const struct names *names,
              unsigned int partition, struct view tenant, struct view id,
              const struct hook_change *change);

void hook_remove(struct command *command, const struct names *names,
                 unsigned int partition, struct view tenant, struct view id);
/* A delivery that tells of no job, to try the webhook out; job: a fresh id. */
void hook_test(struct command *command, const struct names *names,
               unsigned int partition, struct view tenant, struct view id,
               struct view job);
/* Of remove and test: whether there is such a webhook. */
bool hook_was_there(const redisReply *reply, bool *was, struct err *err);

/* The reply is an array; for each webhook three elements: id, JSON, how many
 * secrets are valid. */
void hook_list(struct command *command, const struct names *names,
               unsigned int partition, struct view tenant);
bool hook_listed(const redisReply *reply, size_t *count, struct err *err);

struct hook_delivery {
    struct view name; /* <job>/<at>/<hook>, for hook_settle() */
    uint64_t taken;   /* which taking of it this is */
    uint64_t tries;   /* attempts that were settled so far */
    struct view job;  /* these two: of name */
    struct view hook;
    struct view state; /* of the job, or "test" */
    uint64_t at;       /* when it ended, ms since 1970 */
    struct view tenant;
    struct view url;
    struct view secrets[HOOK_SECRETS]; /* the newest first */
    size_t secret_count;
};
void hook_take(struct command *command, const struct names *names,
               unsigned int partition, uint64_t lease_ms, uint64_t count);
/* reply->element[...] are for hook_taken_one(). */
bool hook_taken(const redisReply *reply, size_t *count, struct err *err);
bool hook_taken_one(const redisReply *reply, struct hook_delivery *delivery,
                    struct err *err);

enum hook_outcome {
    HOOK_DONE,
    HOOK_AGAIN,    /* after wait_ms */
    HOOK_LATER,    /* the same, and there was no attempt */
    HOOK_GIVEN_UP, /* no further attempt */
    HOOK_GONE,     /* the receiver wants no more: the webhook is disabled */
};
struct hook_settlement {
    struct view name;
    uint64_t taken;
    int outcome; /* enum hook_outcome */
    uint64_t wait_ms;
    uint64_t status; /* of HTTP; 0: none came */
    struct view why; /* UTF-8, up to HOOK_WHY_BYTES; "" when done */
};
void hook_settle(struct command *command, const struct names *names,
                 unsigned int partition,
                 const struct hook_settlement *settlement);

#endif
