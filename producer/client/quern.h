/* quern.h - put jobs into quern, follow them, read what came of them.
 *
 *   struct quern *quern = quern_open(NULL, &error);
 *   struct quern_job job = { .prompt = "How many primes below 1000?" };
 *   quern_submit(quern, &job, &id, NULL, &error);
 *   quern_wait(quern, id.text, 60000, &status, &error);
 *   puts(status.answer);
 *
 * A handle is for one thread at a time; open one per thread. It connects on
 * first use. Once it has been connected, it waits for a Redis that is away and
 * connects again by itself. Every call ends within the handle's timeout
 * (quern_wait and quern_watch_next: within their own). A call that failed with
 * QUERN_RETRY may be made again: nothing is done twice.
 *
 * Functions return false when they fail and then fill *error, which may be
 * NULL. Text is UTF-8 and ends in NUL, times are milliseconds, sizes bytes.
 * Strings passed in are borrowed for the call. Messages come as MessagePack, as
 * schemas/MESSAGES.md describes them; quern_json() turns any of them into JSON.
 */
#ifndef QUERN_H
#define QUERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUERN_API __attribute__((visibility("default")))

struct quern;
struct quern_watch;

enum quern_error_kind {
    QUERN_RETRY = 1, /* the same call may succeed later: Redis is away, the
                        queue is full */
    QUERN_REJECT,    /* the same call will fail again: the input is wrong */
};

/* Why a call failed. Valid only after a call that has failed. */
struct quern_error {
    enum quern_error_kind kind;
    char code[32];  /* a stable word: "Error codes" in schemas/MESSAGES.md */
    char text[320]; /* a sentence for people, without a full stop */
};

/* For quern_open(). Zeroed: the defaults. */
struct quern_options {
    const char *url;    /* NULL: $REDIS_URL, else redis://127.0.0.1:6379 */
    const char *prefix; /* of every key; NULL: "quern:" */
    const char *role;   /* "web" is shown by CLIENT LIST as quern-web; NULL:
                           "client" */
    /* Of the sentinels themselves; NULL: $QUERN_SENTINEL_PASSWORD, or none. */
    const char *sentinel_password;
    uint64_t timeout_ms; /* of a call, reconnecting included; 0: 10 s */
    /* When a write counts as written: "async", "replica:N" or "fsync"
     * ("Durability" in consumer/OPERATING.md); NULL: $QUERN_DURABILITY, else
     * async. A call whose write is not as safe as that within half of its time
     * fails with not_durable. One that was sent and not answered fails with
     * unknown_outcome. Both are QUERN_RETRY, and the job may stand:
     * quern_submit() has filled in its id. Make the same call again with that
     * id in job.id, or with the same idempotency_key. */
    const char *durability;
};

/* Gives a handle, or NULL when an option is wrong (bad_setting). options may be
 * NULL. quern_close() accepts NULL. */
QUERN_API struct quern *quern_open(const struct quern_options *options,
                                   struct quern_error *error);
QUERN_API void quern_close(struct quern *quern);
QUERN_API const char *quern_version(void); /* "0.1.0" */

/* --- submitting --------------------------------------------------------- */

struct quern_id {
    char text[37]; /* UUIDv7 */
};
/* Makes the id of a job of that tenant; NULL: "default". Redis is asked, once
 * for each handle, how many partitions the fleet has. */
QUERN_API bool quern_id_new(struct quern *quern, const char *tenant,
                            struct quern_id *id, struct quern_error *error);

/* A file for the session: bytes in memory, or read from path. At most 64 of
 * them, 32 MiB each. */
struct quern_file {
    const char *name; /* base name; NULL: that of path */
    const char *mime; /* NULL: not said */
    const char *path; /* NULL: data and size */
    const void *data;
    size_t size;
};

/* A name and its value: metadata, environment, settings. */
struct quern_pair {
    const char *key;
    const char *value;
};

enum quern_kind { QUERN_CONVERSATION, QUERN_CODE, QUERN_SESSION };
enum quern_priority { QUERN_NORMAL, QUERN_HIGH, QUERN_LOW };

/* What a job of kind session does with its session. */
enum quern_action {
    QUERN_SHOW,  /* gives its record: the result's "record" */
    QUERN_FILES, /* lists its working directory: the result's "listing" */
    QUERN_GET,   /* gives the files that paths names: the result's "files" */
    QUERN_PUT,   /* writes the job's files into its working directory */
    QUERN_CLOSE, /* ends it; nothing of it is kept */
    QUERN_FORK,  /* makes another session, named by to, that begins as this
                    one is now */
};

/* A job to be submitted. A member that is NULL or 0 is left to the operator's
 * default. A conversation needs a prompt (or messages, in more), code needs
 * cells, and a session job needs a session and an action. An encoded job has at
 * most 256 KiB: larger things go into files. */
struct quern_job {
    const char *id; /* of quern_id_new(), for its tenant; NULL: a new one */
    enum quern_kind kind;
    const char *queue;
    enum quern_priority priority;
    /* 1 to 128 bytes of UTF-8 without control characters (ann@example.org);
     * compared byte for byte. */
    const char *tenant;
    const char *session; /* Python session that outlives the job; a name of the
                            same form */
    const char *prompt;  /* one user message */
    const char *system;  /* the system message before it */
    const char *model;
    const char *const *cells; /* Python, run in order until one fails */
    size_t cell_count;
    enum quern_action action;
    const char *const *paths; /* QUERN_GET: at most 64, as a listing has them */
    size_t path_count;
    const char *to; /* QUERN_FORK */
    const struct quern_file *files;
    size_t file_count;
    uint64_t deadline_ms;  /* from submit to the end, waiting included */
    uint64_t delay_ms;     /* it does not start before so long from now */
    uint64_t max_depth;    /* refused (queue_full) when the queue has so many
                              jobs, ... */
    uint64_t tenant_depth; /* ... or so many of this tenant */
    const char *idempotency_key; /* a second submit of the tenant with this key
                                    gives the first one's job, for a day */
    const char *unique_key; /* while a job of the tenant with this key has not
                               ended, a submit gives that one */
    const struct quern_pair *metadata; /* given back in the result */
    size_t metadata_count;
    const struct quern_pair *env; /* environment variables of its cells */
    size_t env_count;
    /* All other members, as a JSON object of the names in json/job.schema.json:
     * {"mode": "codeact", "limits": {"max_turns": 5}}. An unknown name is
     * refused. A member that is set both here and above has the value above. */
    const char *more;
};

/* Writes the files as blobs, then the job. *id names the job that stands.
 * *existed (may be NULL): that job was there before, by one of its keys or
 * because the caller gave its id. Errors: missing_field, bad_field, too_large,
 * queue_full, redis_unavailable, redis_refused, and those of
 * quern_options.durability. After redis_unavailable the job may stand: submit
 * it again with the id that is in *id; "" there means that nothing was sent. */
QUERN_API bool quern_submit(struct quern *quern, const struct quern_job *job,
                            struct quern_id *id, bool *existed,
                            struct quern_error *error);

enum { QUERN_NOTE = 512 }; /* bytes of a note, and its end */

/* What goes with a job that is written as JSON. A member that is set wins over
 * the same member of the job. */
struct quern_submit_options {
    const struct quern_file *files; /* beside those that the job names */
    size_t file_count;
    const char *queue;
    const enum quern_priority *priority;
    const char *idempotency_key;
    const char *unique_key;
    uint64_t delay_ms;
    /* NULL, or room for QUERN_NOTE bytes: gets a sentence on members that no
     * job has (misspelled, or of a later version), or "". They are submitted
     * and ignored; when the job is refused, they may be the reason. With many
     * jobs each has a note of its own, in struct quern_submit_outcome. */
    char *note;
};

/* The same for a job written as JSON (json/job.schema.json). options may
 * be NULL. */
QUERN_API bool quern_submit_json(struct quern *quern, const char *json,
                                 const struct quern_submit_options *options,
                                 struct quern_id *id, bool *existed,
                                 struct quern_error *error);

/* The same for a MessagePack job, which must have an id; it is sent as it is.
 * The notes of its result name members that no job has. */
QUERN_API bool quern_submit_bytes(struct quern *quern, const void *job,
                                  size_t size, struct quern_id *id,
                                  bool *existed, struct quern_error *error);

/* What became of one of many. */
struct quern_submit_outcome {
    struct quern_id id; /* of the job that stands; after an error: the id to
                           submit it again with, "" when nothing was sent */
    bool existed;
    struct quern_error error; /* kind 0: it stands */
    char note[QUERN_NOTE];    /* "", or as of struct quern_submit_options */
};

/* The same for many jobs, in their order. No job waits for the answer to the
 * one before, which is several times as fast as one by one. submitted: room for
 * count outcomes. A job that is refused does not hold up the others. True when
 * all of them stand; else *error is that of the first one that does not stand,
 * or of which nobody knows. options: for each of them. The handle's timeout is
 * for each answer. */
QUERN_API bool quern_submit_many(struct quern *quern,
                                 const struct quern_job *jobs, size_t count,
                                 struct quern_submit_outcome *submitted,
                                 struct quern_error *error);
QUERN_API bool
quern_submit_many_json(struct quern *quern, const char *const *jobs,
                       size_t count, const struct quern_submit_options *options,
                       struct quern_submit_outcome *submitted,
                       struct quern_error *error);

/* --- asking ------------------------------------------------------------- */

enum quern_state { /* the last four are terminal */
                   QUERN_SCHEDULED,
                   QUERN_QUEUED,
                   QUERN_IN_PROGRESS,
                   QUERN_WAITING,
                   QUERN_COMPLETED,
                   QUERN_INCOMPLETE, /* stopped by a limit, with its best answer
                                      */
                   QUERN_FAILED,
                   QUERN_CANCELLED,
};
QUERN_API const char *quern_state_name(enum quern_state state);
QUERN_API bool quern_state_is_terminal(enum quern_state state);

/* Where a job stands, and its result. quern_status_finish() it. */
struct quern_status {
    enum quern_state state;
    bool expired; /* it ended, but its result is no longer kept */
    uint64_t attempts;
    uint64_t seq;                                   /* of the latest event */
    uint64_t submitted_at, started_at, finished_at; /* since 1970; 0: not yet */
    char error_code[32];                            /* "": none */
    void *result; /* MessagePack; NULL: not yet, or no longer kept */
    size_t result_size;
    /* Once it has ended, NULL before: what the result says, "" for nothing.
     * error_text is a sentence: why it did not complete. */
    char *answer;
    char *error_text;
};
QUERN_API void quern_status_finish(struct quern_status *status);

/* Asks once. Errors: unknown_job (never submitted, or ended more than a week
 * ago). */
QUERN_API bool quern_get(struct quern *quern, const char *id,
                         struct quern_status *status,
                         struct quern_error *error);

/* Waits until the job has ended, then gives what quern_get() gives. Error:
 * timeout (QUERN_RETRY; *status then says where it stands). timeout_ms
 * UINT64_MAX: no limit. */
QUERN_API bool quern_wait(struct quern *quern, const char *id,
                          uint64_t timeout_ms, struct quern_status *status,
                          struct quern_error *error);

/* --- following ---------------------------------------------------------- */

struct quern_event { /* borrowed: valid until the next call on the watch */
    const char *job; /* its id */
    uint64_t seq;    /* 1, 2, 3, ... in each job */
    uint64_t from;   /* of a gap: the first event that is missing; seq is the
                        last one. Else the same as seq */
    uint64_t at;     /* ms since 1970 */
    uint64_t attempt;
    const char *type;  /* "Events" in schemas/MESSAGES.md */
    bool terminal;     /* the last one */
    const void *bytes; /* the whole event, MessagePack */
    size_t size;
};

enum quern_next {
    QUERN_EVENT,   /* *event is filled */
    QUERN_GAP,     /* so it is, of type gap: events from .. seq are missing */
    QUERN_NOTHING, /* none came in time; call again */
    QUERN_END,     /* every job has ended and its last event was given */
    QUERN_BROKEN,  /* event->job is no longer followed, *error says why; when it
                      is NULL, the whole watch has ended */
};

/* Follows jobs: gives every event with a number above after (0: all of them),
 * once and in order, as they come; also of a job that has ended.
 *
 * Events that are no longer kept are told as one gap. A gap that begins with an
 * event that was given means that Redis has lost events (a failover): forget
 * them, the job's events come again from the first. The terminal event always
 * comes, as long as the job is known. A lost connection does not end a watch:
 * quern_watch_trouble() tells what it is waiting for (valid until the next
 * call), or NULL. Errors, as QUERN_BROKEN: unknown_job, redis_refused. A Redis
 * login that may only read events gets neither unknown_job nor a gap at the
 * end: its watch waits. Close the watch before its handle. */
QUERN_API struct quern_watch *quern_watch_open(struct quern *quern,
                                               const char *id, uint64_t after,
                                               struct quern_error *error);
QUERN_API enum quern_next quern_watch_next(struct quern_watch *watch,
                                           struct quern_event *event,
                                           uint64_t timeout_ms,
                                           struct quern_error *error);
QUERN_API const char *quern_watch_trouble(const struct quern_watch *watch);
/* One watch follows any number of jobs, over one connection, whatever server
 * each is on: open it with id NULL, or with the first id. Error: bad_field,
 * also when the job is followed already. Dropping a job that is not followed
 * does nothing. */
QUERN_API bool quern_watch_add(struct quern_watch *watch, const char *id,
                               uint64_t after, struct quern_error *error);
QUERN_API void quern_watch_drop(struct quern_watch *watch, const char *id);
QUERN_API void quern_watch_close(struct quern_watch *watch);

/* --- sessions ----------------------------------------------------------- */

/* What is kept of a session that outlives its jobs: MessagePack, "Session" in
 * schemas/MESSAGES.md. It is written when a job of the session ends, and kept
 * for as long as the operator has set (a week). Use a job of kind QUERN_SESSION
 * to act on the session itself. */
struct quern_record {
    void *bytes;
    size_t size;
};

struct quern_records {
    struct quern_record *items;
    size_t count;
};
QUERN_API void quern_records_finish(struct quern_records *records);

/* The sessions of one tenant, or with NULL of all; those that will be kept
 * longest come first. No session is no error. Error: bad_field. */
QUERN_API bool quern_sessions(struct quern *quern, const char *tenant,
                              struct quern_records *records,
                              struct quern_error *error);
/* tenant: NULL: "default". free() record->bytes. Errors: bad_field,
 * unknown_session (never used, closed, expired). */
QUERN_API bool quern_session(struct quern *quern, const char *tenant,
                             const char *name, struct quern_record *record,
                             struct quern_error *error);

/* --- the rest ----------------------------------------------------------- */

enum quern_cancel_outcome {
    QUERN_CANCELLED_NOW, /* it was waiting */
    QUERN_CANCEL_ASKED,  /* it is running: its consumer has been asked */
    QUERN_CANCEL_LATE,   /* it had ended */
};
QUERN_API bool quern_cancel(struct quern *quern, const char *id,
                            const char *reason, /* may be NULL */
                            enum quern_cancel_outcome *outcome,
                            struct quern_error *error);

/* Gives the bytes of an image or file, by the 64 digits in its "blob", and
 * checks that they are those bytes. It is looked for in the partition of the
 * last call first: so ask right after the result that names it. free() *data.
 * Errors: missing_blob, bad_blob. */
QUERN_API bool quern_blob_get(struct quern *quern, const char *sha256,
                              void **data, size_t *size,
                              struct quern_error *error);
/* Stores bytes for the jobs of that tenant; NULL: "default". At most 32 MiB,
 * kept for a day at least. sha256 gets 65 bytes. */
QUERN_API bool quern_blob_put(struct quern *quern, const char *tenant,
                              const void *data, size_t size, char *sha256,
                              struct quern_error *error);

/* One MessagePack message as JSON text. Gives memory: free() it. */
QUERN_API char *quern_json(const void *bytes, size_t size,
                           struct quern_error *error);

#ifdef __cplusplus
}
#endif

#endif
