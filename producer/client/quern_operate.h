/* quern_operate.h - calls for the operators of a fleet: queues, dead jobs,
 * workers, endpoints, schedules. The quern command uses these calls.
 *
 * As in quern.h, a function that fails returns false and fills *error, and the
 * caller may repeat a call that failed with QUERN_RETRY.
 *
 * Cost: Redis keeps the counts that are shown, so most calls read some keys
 * only. Three calls walk over jobs: quern_tidy(), quern_tenants() (jobs that
 * have not ended) and a quern_list() that is sorted by anything but place.
 *
 * Ownership: the caller frees a list with free(list.items), unless its comment
 * says otherwise; after a failure the list is empty. Names are NUL-terminated
 * copies. Times are ms since 1970 by Redis's clock; 0: never, or none. */
#ifndef QUERN_OPERATE_H
#define QUERN_OPERATE_H

#include "producer/client/quern.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    QUERN_NAME = 129
}; /* bytes of a name of a queue, tenant or worker, with its NUL */

/* Redis's clock, ms since 1970. */
QUERN_API bool quern_clock(struct quern *quern, uint64_t *now,
                           struct quern_error *error);

/* --- queues ------------------------------------------------------------- */

/* A queue: its counts in all partitions together. */
struct quern_queue {
    char name[QUERN_NAME];
    bool paused;
    uint64_t waiting;   /* jobs in state queued */
    uint64_t may_start; /* of these, jobs that start as soon as a consumer has
                           room. The others wait for their turn, a limit, a
                           session or the end of a pause */
    uint64_t running;
    uint64_t scheduled;        /* continue later: back-off, approval, delay */
    uint64_t held_by_budget;   /* of the scheduled: their tenant's budget is
                                  spent */
    uint64_t held_by_endpoint; /* of the scheduled: consumers leave their
                                  model's endpoint alone */
    uint64_t dead;
    uint64_t tenants; /* tenants with jobs in lanes */
    uint64_t
        oldest_ms; /* how long the first of may_start has been able to start */
    /* Limits that operators have set; 0: none. */
    uint64_t max_depth, tenant_depth, tenant_running;
    uint64_t tenant_rate, tenant_rate_ms; /* starts in so many ms */
    uint64_t tenant_tokens, tenant_cost;  /* tokens and micro-dollars of models,
                                             ... */
    uint64_t tenant_budget_ms;            /* ... in so many ms; 0: a day */
    uint64_t waits_ms; /* as oldest_ms, also while the queue is paused */
};
struct quern_queues {
    struct quern_queue *items; /* by name */
    size_t count;
};

/* Lists every queue that has ever held a job. With a name: gives only that
 * queue, also when nobody has ever named it. */
QUERN_API bool quern_queues(struct quern *quern, const char *name,
                            struct quern_queues *queues,
                            struct quern_error *error);

/* Writes settings of a queue, in every partition: when the call fails, some
 * partitions may have them already, so repeat it. Names: "paused" ("1": jobs
 * are accepted, none starts), "max_depth", "tenant_depth", "tenant_running",
 * "tenant_rate", "tenant_rate_ms", "tenant_tokens", "tenant_cost"
 * (micro-dollars), "tenant_budget_ms"; also of one tenant:
 * "tenant_running:acme". The value "" removes a setting. Errors: bad_field,
 * bad_argument. */
QUERN_API bool quern_queue_set(struct quern *quern, const char *queue,
                               const struct quern_pair *settings, size_t count,
                               struct quern_error *error);

/* Asks whether anybody has ever named the queue: it has held a job, has
 * settings or is served. "default" is always known. */
QUERN_API bool quern_queue_is_known(struct quern *quern, const char *queue,
                                    bool *known, struct quern_error *error);

/* A setting of one tenant alone. */
struct quern_tenant_limit {
    char tenant[QUERN_NAME];
    char setting[32]; /* "tenant_running" */
    uint64_t value;
};
struct quern_tenant_limits {
    struct quern_tenant_limit *items; /* by tenant */
    size_t count;
};
/* Lists the limits that single tenants of the queue have for themselves. */
QUERN_API bool quern_tenant_limits(struct quern *quern, const char *queue,
                                   struct quern_tenant_limits *limits,
                                   struct quern_error *error);

/* A tenant in one queue, when it has a job or a limit of its own there, or has
 * used tokens today. */
struct quern_tenant {
    char name[QUERN_NAME], queue[QUERN_NAME];
    uint64_t waiting, running;
    uint64_t scheduled;    /* jobs that continue later */
    uint64_t tokens, cost; /* spent of its budget in this period; without one,
                              by the jobs that ended today (UTC) */
    bool budget;           /* it has one */
    /* Its own limits, or those of each tenant; 0: none. */
    uint64_t tenant_depth, tenant_running, tenant_rate, tenant_rate_ms;
    uint64_t tenant_tokens, tenant_cost, tenant_budget_ms;
};
struct quern_tenants {
    struct quern_tenant *items; /* by name, then by queue */
    size_t count;
};
/* Lists the tenants of a queue; queue NULL: of all queues. Redis has no list of
 * tenants, so this reads all jobs that have not ended. */
QUERN_API bool quern_tenants(struct quern *quern, const char *queue,
                             struct quern_tenants *tenants,
                             struct quern_error *error);

/* Cancels waiting jobs, some hundreds in a call, so that Redis serves others in
 * between: call it again while *more is true. *jobs: how many this call has
 * cancelled. dry: only counts the waiting jobs. */
QUERN_API bool quern_purge(struct quern *quern, const char *queue, bool dry,
                           uint64_t *jobs, bool *more,
                           struct quern_error *error);

/* Removes what is kept of jobs that ended more than older_ms ago: facts,
 * result, events. state ("failed") and queue choose among them; NULL: any. dry:
 * only counts them. Looks at every key, some hundreds in a step, so that Redis
 * serves others in between. Error: bad_field. */
QUERN_API bool quern_tidy(struct quern *quern, uint64_t older_ms,
                          const char *state, const char *queue, bool dry,
                          uint64_t *jobs, struct quern_error *error);

/* What a queue did in a minute. Waits are from the submit to the first start,
 * runs from there to the end; bucket n counts those of up to
 * quern_bucket_ms(n). */
enum { QUERN_BUCKETS = 13 };
struct quern_minute {
    uint64_t at; /* when the minute begins */
    uint64_t started, completed, incomplete, failed, cancelled;
    uint64_t tokens, cost; /* of what has ended; micro-dollars */
    uint64_t waits[QUERN_BUCKETS], runs[QUERN_BUCKETS];
};
struct quern_minutes {
    struct quern_minute *items; /* those in which something happened */
    size_t count;
};
/* Redis keeps the counts of a minute for a week. since: ms since 1970; earlier
 * minutes are left out. */
QUERN_API bool quern_figures(struct quern *quern, const char *queue,
                             uint64_t since, struct quern_minutes *minutes,
                             struct quern_error *error);
/* The bound of a bucket in ms; UINT64_MAX: the last bucket has none. */
QUERN_API uint64_t quern_bucket_ms(size_t bucket);

/* --- jobs --------------------------------------------------------------- */

enum quern_sort {
    QUERN_BY_PLACE,   /* what runs, what waits, what comes later; then what has
                         ended, the latest first */
    QUERN_BY_AGE,     /* the oldest submit first */
    QUERN_BY_RUNTIME, /* the longest first: since, or of, the first start */
    QUERN_BY_TOKENS,  /* the most first, of jobs that have ended */
    QUERN_BY_COST,
};

/* Which jobs; NULL, 0: any. */
struct quern_filter {
    const char
        *states; /* "queued in_progress"; "ended": the four last states */
    const char *queue, *tenant, *session;
    const char *worker;     /* that runs it, or ran it last */
    const char *error_code; /* that it has ended with */
    const char *reason;     /* it waits for: approval, budget, endpoint, ... */
    const char *model;      /* that the job names */
    const char *metadata;   /* "key=value", one of its metadata */
    uint64_t since, until;  /* it ended in that time; when it has not ended: it
                               was submitted then */
    enum quern_sort sort;   /* by anything but place, every job is read */
    uint64_t skip, limit;   /* at most limit, behind the first skip */
};

/* A job of a list. "" and 0: it has none. */
struct quern_listed_job {
    char id[37];
    enum quern_state state;
    char queue[QUERN_NAME], tenant[QUERN_NAME], session[QUERN_NAME];
    char worker[QUERN_NAME];
    char reason[32], call[QUERN_NAME], error_code[32], priority[8];
    uint64_t submitted_at, started_at, finished_at;
    uint64_t attempts, tokens, cost;
    uint64_t due_at; /* when its lease ends, or when it goes on by itself */
};
struct quern_listing {
    struct quern_listed_job *items;
    size_t count;
    uint64_t now;
};

/* Lists jobs. Jobs move while the call walks over their places, so it may leave
 * out a job that changes its state meanwhile. An index finds the latest 100,000
 * or so ended jobs of each partition. Error: bad_field. */
QUERN_API bool quern_list(struct quern *quern,
                          const struct quern_filter *filter,
                          struct quern_listing *listing,
                          struct quern_error *error);

/* One fact of a job, by its name in schemas/KEYS.md. */
struct quern_fact {
    char name[32];
    char text[512];
    bool number; /* the text is a whole number */
};
/* Where a job is, and why. The caller frees items with free(). */
struct quern_explanation {
    struct quern_fact *items;
    size_t count;
    char why[1024]; /* why it is where it is: a sentence or more */
};
/* Explains why a job is where it is. Error: unknown_job. */
QUERN_API bool quern_explain(struct quern *quern, const char *id,
                             struct quern_explanation *explanation,
                             struct quern_error *error);

/* --- the dead ----------------------------------------------------------- */

/* A job that failed for good. Redis keeps it for a week. */
struct quern_dead_job {
    char id[QUERN_NAME]; /* "entry-...": what came in was no job */
    char queue[QUERN_NAME], tenant[QUERN_NAME];
    char error_code[32];
    uint64_t attempts, errors, crashes;
    uint64_t submitted_at, finished_at;
};
struct quern_dead_jobs {
    struct quern_dead_job *items; /* the latest first */
    size_t count;
    uint64_t total; /* dead jobs of the queue, or of all queues */
};

/* Lists dead jobs of a queue (NULL: of all queues): at most limit, after the
 * first skip. */
QUERN_API bool quern_dead_list(struct quern *quern, const char *queue,
                               uint64_t skip, uint64_t limit,
                               struct quern_dead_jobs *deads,
                               struct quern_error *error);

/* Puts a dead job back into its queue. Its counts of attempts, errors and
 * crashes begin at 0. It continues where it failed, and repeats nothing that it
 * has paid for or run; anew: it begins again from the start. Errors:
 * unknown_job, not_dead. */
QUERN_API bool quern_requeue(struct quern *quern, const char *id, bool anew,
                             struct quern_error *error);

/* Removes everything that Redis keeps of a dead job. This cannot be undone.
 * Errors: unknown_job, not_dead. */
QUERN_API bool quern_forget(struct quern *quern, const char *id,
                            struct quern_error *error);

/* Gives the bytes that were submitted as a job. free() *bytes. Error: expired
 * (Redis no longer has them). */
QUERN_API bool quern_body(struct quern *quern, const char *id, void **bytes,
                          size_t *size, struct quern_error *error);

/* Gives a job as it ran, as JSON lines for `quern replay`: what was submitted,
 * each record of its journal, its result when it has ended. Redis keeps these
 * for an hour after the end, for a week when the job failed. free() *text.
 * Errors: expired, bad_message. */
QUERN_API bool quern_record(struct quern *quern, const char *id, char **text,
                            size_t *size, struct quern_error *error);

/* --- jobs that wait for somebody ---------------------------------------- */

enum quern_verdict {
    QUERN_VERDICT_APPROVE = 1, /* the call is made */
    QUERN_VERDICT_REJECT, /* it is not, and the model is told that it may not be
                           */
    QUERN_VERDICT_EDIT, /* text is run in its place: code, or arguments as JSON
                         */
    QUERN_VERDICT_SKIP, /* it is not made, the model goes on without */
    QUERN_VERDICT_REGENERATE, /* the reply is thrown away, the model is asked
                                 again */
    QUERN_VERDICT_ASK,        /* it is not made, and the model is told text */
    QUERN_VERDICT_ABORT,      /* the job ends */
};

/* What a person decides about a call. */
struct quern_decision {
    enum quern_verdict verdict;
    const char *call; /* the call of the event job.waiting; NULL: any call. Name
                         it, else the verdict may be for a call that the person
                         has not seen */
    const char *text; /* QUERN_VERDICT_EDIT, QUERN_VERDICT_ASK: at most 48 KiB;
                         else NULL */
    const char *note; /* told to the model; at most 256 bytes, or NULL */
};

/* Gives a verdict to a job that waits for an approval; the job continues. *late
 * (may be NULL) is true when the job did not wait any more, or waited for
 * another call: then the verdict changes nothing. */
QUERN_API bool quern_decide(struct quern *quern, const char *id,
                            const struct quern_decision *decision, bool *late,
                            struct quern_error *error);

/* quern_decide() with QUERN_VERDICT_APPROVE, or with approve false
 * QUERN_VERDICT_REJECT, for whichever call the job waits with. */
QUERN_API bool quern_approve(struct quern *quern, const char *id, bool approve,
                             const char *note, bool *late,
                             struct quern_error *error);

/* --- workers ------------------------------------------------------------ */

/* A consumer, by its latest report. */
struct quern_worker {
    char name[QUERN_NAME];
    char host[QUERN_NAME], version[32], mode[16];
    char queues[256];
    uint64_t pid, slots, running;
    uint64_t started_at, seen_at; /* 0: it is to drain, and is not there */
    bool draining;                /* operators have asked it to leave */
    /* The socket of its quern-executor; "none": it is set up without one. */
    char executor[128];
    char executor_away[24];    /* "": it is there; "refused", "absent", ... */
    char executor_reason[160]; /* the same as a sentence */
    uint64_t executor_away_since;
    uint64_t clock; /* of its host, when it reported; ms since 1970 */
    uint64_t drain_ms, grace_ms; /* grace: until it is killed; 0: not known */
    char *settings; /* that a fleet should agree about: lines "name=value";
                       NULL: it has not said */
    char *jobs;     /* ids of those that run, a space between; NULL: none */
    char *models; /* the names of models that a job may have here, a JSON array;
                     NULL: it has not said */
    bool silent;  /* it has reported within a day, does so no more, and has not
                     left; listed only when it is to drain */
};
struct quern_workers {
    struct quern_worker *items; /* by name */
    size_t count;
    uint64_t now;
    size_t silent; /* consumers, listed or not */
};

/* Lists consumers that have reported lately, and names that shall drain, even
 * when no consumer of that name runs. Free the list with quern_workers_free().
 */
QUERN_API bool quern_workers(struct quern *quern, struct quern_workers *workers,
                             struct quern_error *error);

QUERN_API void quern_workers_free(struct quern_workers *workers);

/* Asks a consumer to take no more jobs, and to exit when its jobs have ended.
 * This applies to the name, also after a restart, until a call with drain
 * false. Error: unknown_worker. */
QUERN_API bool quern_drain(struct quern *quern, const char *worker, bool drain,
                           struct quern_error *error);

/* --- endpoints ---------------------------------------------------------- */

/* A server of models: what the consumers of the fleet have counted of it, and
 * until when they leave it alone. */
struct quern_endpoint {
    char name[QUERN_NAME]; /* in QUERN_MODELS, at most 64 bytes */
    char id[QUERN_NAME];   /* two of that name differ in it */
    uint64_t calls;        /* requests */
    uint64_t paid_twice;   /* of these, requests that were made again though the
                              one before may have been charged */
    uint64_t recovered; /* replies that were fetched instead of asking again */
    uint64_t failures;  /* requests without a reply */
    char host[256];     /* of its URL, with the port where that says one */
    char model[256];    /* what it calls the model */
    uint64_t answered_at, failed_at; /* the last time; 0: never */
    char error_code[32];             /* of the last failure */
    char error[256];                 /* the same as a sentence */
    uint64_t wait_ms; /* for so long it is left alone; 0: it is not */
};
struct quern_endpoints {
    struct quern_endpoint *items; /* by name */
    size_t count;
    uint64_t now;
};

/* Lists the endpoints, with the counts of about a month. These are not exact: a
 * killed consumer loses the counts of its last second. */
QUERN_API bool quern_endpoints(struct quern *quern,
                               struct quern_endpoints *endpoints,
                               struct quern_error *error);

/* --- schedules ---------------------------------------------------------- */

/* A rule that submits a job at certain times. */
struct quern_schedule {
    char name[QUERN_NAME];
    char spec[257]; /* "30 6 * * mon-fri", "every 15m", "@daily" */
    char zone[65];  /* "Europe/Berlin"; "UTC" */
    char last_id[37];
    char refused[256]; /* why the last job was refused; "": it was not */
    uint64_t next_at, last_at, created_at;
    bool paused; /* it submits nothing until it is resumed */
};
struct quern_schedules {
    struct quern_schedule *items; /* the next one first */
    size_t count;
    uint64_t now;
};

/* Lists all schedules. */
QUERN_API bool quern_schedules(struct quern *quern,
                               struct quern_schedules *schedules,
                               struct quern_error *error);

/* Adds a schedule, or replaces the one of that name. Its job, in JSON as for
 * quern_submit_json(), is submitted each time as a new job with an id and an
 * idempotency key of its own. Its files are kept as long as the schedule. zone
 * NULL: UTC. options may be NULL. Errors: as quern_submit(). */
QUERN_API bool quern_schedule_set(struct quern *quern, const char *name,
                                  const char *spec, const char *zone,
                                  const char *job,
                                  const struct quern_submit_options *options,
                                  struct quern_error *error);
/* Removes a schedule; jobs that it has submitted stay. Error:
 * unknown_schedule. */
QUERN_API bool quern_schedule_remove(struct quern *quern, const char *name,
                                     struct quern_error *error);
/* Pauses a schedule. With pause false it continues with its next time; it does
 * not make up for times that have passed. Error: unknown_schedule. */
QUERN_API bool quern_schedule_pause(struct quern *quern, const char *name,
                                    bool pause, struct quern_error *error);
/* Submits the schedule's job now, once, also when the schedule is paused, and
 * does not change its next time. *id (may be NULL): the job's. Errors:
 * unknown_schedule, and those of quern_submit(). */
QUERN_API bool quern_schedule_run(struct quern *quern, const char *name,
                                  struct quern_id *id,
                                  struct quern_error *error);
/* Gives the job that the schedule submits, as MessagePack. free() *bytes.
 * Error: unknown_schedule. */
QUERN_API bool quern_schedule_job(struct quern *quern, const char *name,
                                  void **bytes, size_t *size,
                                  struct quern_error *error);

/* Computes when a schedule is due first after that time (ms since 1970). It
 * needs no Redis, so you can check a spec before you add it. *next 0: never
 * again. Error: bad_field. */
QUERN_API bool quern_schedule_next(const char *spec, const char *zone,
                                   uint64_t after, uint64_t *next,
                                   struct quern_error *error);

/* --- webhooks ----------------------------------------------------------- */

enum {
    QUERN_HOOK_ID = 22,     /* bytes of a webhook's id, with its NUL */
    QUERN_HOOK_SECRET = 51, /* likewise of a secret */
};

/* Where a tenant is told of the ends of jobs that have notify: quern-deliverer
 * sends a request to that URL, signed as Standard Webhooks has it. */
struct quern_hook {
    char id[QUERN_HOOK_ID];
    char url[2049];
    char name[QUERN_NAME]; /* for people; "": none */
    char events[65];       /* states, a space between; "": every end */
    bool disabled;
    char reason[201]; /* why it is disabled */
    uint64_t secrets; /* how many are valid: more than one after a rotation */
    uint64_t created_at;
    uint64_t last_at;     /* the last attempt; 0: there was none */
    uint64_t last_status; /* of HTTP; 0: there was no answer */
    char last_why[201];   /* why the last attempt failed; "": it did not */
    uint64_t failures;    /* attempts that have failed in a row */
};
struct quern_hooks {
    struct quern_hook *items; /* the oldest first */
    size_t count;
};

/* Lists the webhooks of a tenant; NULL: of "default". */
QUERN_API bool quern_hooks(struct quern *quern, const char *tenant,
                           struct quern_hooks *hooks,
                           struct quern_error *error);

/* The same for logins that may not read secrets: secrets is 0. */
QUERN_API bool quern_hooks_public(struct quern *quern, const char *tenant,
                                  struct quern_hooks *hooks,
                                  struct quern_error *error);

struct quern_new_hook {
    const char *url;
    const char *name, *events; /* as in quern_hook; may be NULL */
};
/* What a new webhook is given. No other call gives the secret, which its
 * receiver needs to check signatures. */
struct quern_hook_key {
    char id[QUERN_HOOK_ID];
    char secret[QUERN_HOOK_SECRET];
};
/* Adds a webhook. Errors: bad_field, bad_argument (events), too_large (a tenant
 * has at most 16). */
QUERN_API bool quern_hook_add(struct quern *quern, const char *tenant,
                              const struct quern_new_hook *hook,
                              struct quern_hook_key *key,
                              struct quern_error *error);
/* Gives the webhook a new secret. The older ones are valid for keep_ms more, up
 * to a week: until then, requests have a signature by each. Errors: bad_field,
 * unknown_hook. */
QUERN_API bool quern_hook_rotate(struct quern *quern, const char *tenant,
                                 const char *id, uint64_t keep_ms,
                                 char secret[QUERN_HOOK_SECRET],
                                 struct quern_error *error);
/* Lets a disabled webhook be told again. Errors: bad_field, unknown_hook. */
QUERN_API bool quern_hook_enable(struct quern *quern, const char *tenant,
                                 const char *id, struct quern_error *error);
/* Sends it a request of the type "quern.test", also when it is disabled. It is
 * on its way when the call returns. Errors: bad_field, unknown_hook. */
QUERN_API bool quern_hook_test(struct quern *quern, const char *tenant,
                               const char *id, struct quern_error *error);
/* How long the oldest end of a job has waited that no quern-deliverer has taken
 * yet; 0: there is none. */
QUERN_API bool quern_hooks_waiting(struct quern *quern, uint64_t *oldest_ms,
                                   struct quern_error *error);
/* Removes it, and its secrets. Errors: bad_field, unknown_hook. */
QUERN_API bool quern_hook_remove(struct quern *quern, const char *tenant,
                                 const char *id, struct quern_error *error);

/* --- keys of quern-gateway ---------------------------------------------- */

enum {
    QUERN_KEY = 40,    /* bytes of a key, with its NUL */
    QUERN_KEY_ID = 21, /* likewise of its id */
    QUERN_KEY_SCOPES = 33,
    QUERN_KEY_MOST_RATE = 1000000,
    QUERN_KEY_MOST_JOBS = 1000,
};
#define QUERN_KEY_MOST_COST UINT64_C(1000000000000) /* micro-dollars */
#define QUERN_KEY_MOST_GRACE (UINT64_C(90) * 24 * 3600 * 1000) /* ms */

/* What a key allows. Nobody has the key itself but who was given it. */
struct quern_key {
    char id[QUERN_KEY_ID];
    char tenant[QUERN_NAME];
    char name[QUERN_NAME];         /* for people; "": none */
    char scopes[QUERN_KEY_SCOPES]; /* "submit read": words with spaces */
    uint64_t created_at;           /* ms since 1970 */
    uint64_t expires_at;           /* 0: never */
    uint64_t rate;                 /* requests a minute; 0: any number */
    uint64_t jobs; /* of its jobs, that have not ended; 0: any number */
    uint64_t cost; /* of its jobs, micro-dollars a day (UTC); 0: any sum */
    uint64_t last_used_at; /* 0: never; exact to about a minute */
};
struct quern_keys {
    struct quern_key *items; /* the oldest first; free() it */
    size_t count;
};

/* Lists the keys of a tenant; NULL: of all. */
QUERN_API bool quern_keys(struct quern *quern, const char *tenant,
                          struct quern_keys *keys, struct quern_error *error);

struct quern_new_key {
    const char *tenant; /* NULL: "default" */
    const char *name;   /* may be NULL */
    const char *scopes; /* with spaces or commas */
    uint64_t life_ms;   /* 0: it does not expire */
    uint64_t rate;      /* as in quern_key, up to QUERN_KEY_MOST_RATE, ... */
    uint64_t jobs, cost;
};
/* Makes a key; no other call gives it. Errors: bad_field, bad_argument (a scope
 * that there is not), too_large (rate, jobs, cost). */
QUERN_API bool quern_key_add(struct quern *quern,
                             const struct quern_new_key *wanted,
                             struct quern_key *key, char secret[QUERN_KEY],
                             struct quern_error *error);
/* Gives the key of that id. Error: unknown_key. */
QUERN_API bool quern_key_show(struct quern *quern, const char *id,
                              struct quern_key *key, struct quern_error *error);
/* Makes another key of the same terms, which has used nothing yet. The old one
 * ends after grace_ms, up to QUERN_KEY_MOST_GRACE. A call that failed may leave
 * a key that nobody has, and an end of the old one: quern_keys() lists both.
 * Errors: unknown_key, too_large, already_rotated (the old key was replaced
 * before, or a call to do so began within the last minute). */
QUERN_API bool quern_key_rotate(struct quern *quern, const char *id,
                                uint64_t grace_ms, struct quern_key *key,
                                char secret[QUERN_KEY],
                                struct quern_error *error);
/* Gateways are told at once; one that does not hear of it knows it after its
 * --key-cache-time. Error: unknown_key. */
QUERN_API bool quern_key_remove(struct quern *quern, const char *id,
                                struct quern_error *error);

#ifdef __cplusplus
}
#endif

#endif
