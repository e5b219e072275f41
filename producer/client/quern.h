/* quern.h - submit jobs to quern, follow them, read their results.
 *
 *   struct quern *quern = quern_open(NULL, &error);
 *   struct quern_job job = { .prompt = "How many primes below 1000?" };
 *   quern_submit(quern, &job, &id, NULL, &error);
 *   quern_wait(quern, id.text, 60000, &status, &error);
 *   puts(status.answer);
 *
 * Threads: one thread may use a handle at a time, so open a handle for each
 * thread.
 *
 * Connections: a handle connects on its first call. After that it reconnects by
 * itself, and waits while Redis is away. Every call ends within the handle's
 * timeout (quern_wait() and quern_watch_next(): within their own).
 *
 * Errors: a function that fails returns false (or NULL) and fills *error, which
 * may be NULL. You may repeat a call that failed with QUERN_RETRY: nothing is
 * done twice.
 *
 * Ownership: the library borrows what you pass in until the call returns. Where
 * a function gives memory, its comment says how to free it.
 *
 * Units: times are milliseconds, sizes are bytes, text is UTF-8 that ends in
 * NUL. Messages are MessagePack, as schemas/MESSAGES.md describes them;
 * quern_json() turns any of them into JSON. */
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
    const char *role;   /* shown in CLIENT LIST: "web" as quern-web; NULL:
                           "client" */
    /* The password of the sentinels; NULL: $QUERN_SENTINEL_PASSWORD, or none.
     */
    const char *sentinel_password;
    uint64_t timeout_ms; /* of a call, reconnecting included; 0: 10 s */
    /* When a write counts as written: "async", "replica:N" or "fsync"
     * ("Durability" in consumer/OPERATING.md); NULL: $QUERN_DURABILITY, else
     * async. A call whose write is not that safe within half of its time fails
     * with not_durable. A call that was sent but not answered fails with
     * unknown_outcome. Both are QUERN_RETRY, and Redis may have the job:
     * quern_submit() has filled in its id. Repeat the call with that id in
     * job.id, or with the same idempotency_key. */
    const char *durability;
    /* Of rediss: URLs; files in PEM, read at each new connection. NULL:
     * $QUERN_REDIS_TLS_CA and so on. */
    const char *tls_ca; /* that signs Redis's certificate; else what this
                           machine trusts */
    const char *tls_certificate, *tls_key; /* shown to a Redis that asks */
    const char *tls_server_name; /* in Redis's certificate; else the host */
};

/* Gives a handle, or NULL when an option is wrong (bad_setting). It does not
 * connect yet. options may be NULL: all defaults. Free the handle with
 * quern_close(), which accepts NULL. */
QUERN_API struct quern *quern_open(const struct quern_options *options,
                                   struct quern_error *error);
QUERN_API void quern_close(struct quern *quern);
QUERN_API const char *quern_version(void); /* "0.1.0" */

/* --- submitting --------------------------------------------------------- */

struct quern_id {
    char text[37]; /* UUIDv7 */
};
/* Makes an id for a job of that tenant; NULL: "default". The id names the
 * tenant's partition, so the first call of a handle asks Redis how many
 * partitions the fleet has. */
QUERN_API bool quern_id_new(struct quern *quern, const char *tenant,
                            struct quern_id *id, struct quern_error *error);

/* A file for the session: bytes in memory, or a file that the library reads
 * from path. A job has at most 64 files of 64 MiB each. */
struct quern_file {
    const char *name; /* base name; NULL: the base name of path */
    const char *mime; /* media type; NULL: none */
    const char *path; /* NULL: take data and size */
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
    QUERN_SHOW,  /* gives its record, as "record" of the result */
    QUERN_FILES, /* lists its working directory, as "listing" of the result */
    QUERN_GET, /* gives the files that paths names, as "files" of the result */
    QUERN_PUT, /* writes the job's files into its working directory */
    QUERN_CLOSE, /* ends the session and removes what is kept of it */
    QUERN_FORK,  /* makes the session "to" as a copy of this one */
};

/* A job to submit. For a member that is NULL or 0 the operator's default holds.
 * A conversation needs a prompt (or messages, in more), code needs cells, and a
 * session job needs a session and an action. An encoded job has at most 256
 * KiB: put larger things into files. */
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
    uint64_t delay_ms;     /* the job starts at the earliest after this time */
    uint64_t max_depth;    /* refuse the job (queue_full) when so many jobs wait
                              in the queue, ... */
    uint64_t tenant_depth; /* ... or so many of this tenant; 0: no such limit */
    const char *idempotency_key; /* for a day a second submit of the tenant with
                                    this key gives the first job */
    const char *unique_key;      /* until a job of the tenant with this key has
                                    ended, a submit with it gives that job */
    const struct quern_pair *metadata; /* the result returns it */
    size_t metadata_count;
    const struct quern_pair *env; /* environment variables of its cells */
    size_t env_count;
    /* All other members, as a JSON object of the names in json/job.schema.json:
     * {"mode": "codeact", "limits": {"max_turns": 5}}. An unknown name is
     * refused. A member that is set both here and above has the value above. */
    const char *more;
};

/* Writes the files as blobs, then submits the job. *id: the job's id. *existed
 * (may be NULL): the job was submitted before, with the same id or one of its
 * keys; *id then names that job. Errors: missing_field, bad_field, too_large,
 * queue_full, redis_unavailable, redis_refused, and those of
 * quern_options.durability. After redis_unavailable Redis may have the job:
 * submit it again with the id in *id; "" there means that nothing was sent. */
QUERN_API bool quern_submit(struct quern *quern, const struct quern_job *job,
                            struct quern_id *id, bool *existed,
                            struct quern_error *error);

enum { QUERN_NOTE = 512 }; /* bytes of a note, and its end */

/* Additions to a job in JSON. A member that is set here wins over the same
 * member of the job. */
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

/* Does the same as quern_submit() for a job in JSON (json/job.schema.json).
 * options may be NULL. */
QUERN_API bool quern_submit_json(struct quern *quern, const char *json,
                                 const struct quern_submit_options *options,
                                 struct quern_id *id, bool *existed,
                                 struct quern_error *error);

/* Does the same for a job in MessagePack, which must have an id. The library
 * sends it unchanged. The notes of the result name unknown members. */
QUERN_API bool quern_submit_bytes(struct quern *quern, const void *job,
                                  size_t size, struct quern_id *id,
                                  bool *existed, struct quern_error *error);

/* The outcome of one of many submits. */
struct quern_submit_outcome {
    struct quern_id id; /* the job's; after an error: submit it again with this
                           id; "" when nothing was sent */
    bool existed;
    struct quern_error error; /* kind 0: Redis has the job */
    char note[QUERN_NOTE];    /* "", or as of struct quern_submit_options */
};

/* Do the same for many jobs, in their order. The library sends a job before the
 * answer for the one before has come, which is several times as fast as single
 * submits. A refused job does not hold up the others. submitted: room for count
 * outcomes. options: for each job. The handle's timeout holds for each answer.
 *
 * They return true when Redis has all jobs. Else *error is the error of the
 * first job that Redis does not have, or perhaps does not have. */
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

/* The state of a job, and its result. Free it with quern_status_finish(). */
struct quern_status {
    enum quern_state state;
    bool expired; /* it ended, but its result is no longer kept */
    uint64_t attempts;
    uint64_t seq;                                   /* of the latest event */
    uint64_t submitted_at, started_at, finished_at; /* since 1970; 0: not yet */
    char error_code[32];                            /* "": none */
    void *result; /* MessagePack; NULL: not yet, or no longer kept */
    size_t result_size;
    /* NULL until the job has ended; then from the result, "" when it has none.
     * error_text is a sentence that says why the job did not complete. */
    char *answer;
    char *error_text;
};
QUERN_API void quern_status_finish(struct quern_status *status);

/* Gives the job's state now, without waiting. Errors: unknown_job (never
 * submitted, or its result expired more than a week ago). */
QUERN_API bool quern_get(struct quern *quern, const char *id,
                         struct quern_status *status,
                         struct quern_error *error);

/* Waits until the job has ended, then does the same as quern_get(). timeout_ms:
 * UINT64_MAX for no limit. Errors: timeout (QUERN_RETRY; *status then has the
 * job's state), and those of quern_get(). */
QUERN_API bool quern_wait(struct quern *quern, const char *id,
                          uint64_t timeout_ms, struct quern_status *status,
                          struct quern_error *error);

/* --- following ---------------------------------------------------------- */

struct quern_event { /* all of it is valid until the next call on the watch */
    const char *job; /* its id */
    uint64_t seq;    /* 1, 2, 3, ... in each job */
    uint64_t from;   /* of a gap: the first missing event, while seq is the last
                        missing one. Else the same as seq */
    uint64_t at;     /* ms since 1970 */
    uint64_t attempt;
    const char *type;  /* "Events" in schemas/MESSAGES.md */
    bool terminal;     /* it is the job's last event */
    const void *bytes; /* the whole event, MessagePack */
    size_t size;
};

enum quern_next {
    QUERN_EVENT,   /* *event is filled */
    QUERN_GAP,     /* *event is filled, of type gap: events from .. seq are
                      missing */
    QUERN_NOTHING, /* no event came in time; call again */
    QUERN_END,     /* every job has ended, and you have its last event */
    QUERN_BROKEN,  /* the watch no longer follows event->job, *error says why;
                      when event->job is NULL, the whole watch has ended */
};

/* A watch follows jobs, also jobs that have ended. It gives every event with a
 * number above after (0: all events), once and in order, as they come.
 *
 * When Redis no longer keeps some events, the watch gives one gap in their
 * place. A gap that begins at an event which you already have means that Redis
 * has lost events in a failover: forget the job's events, they come again from
 * the first. The terminal event always comes, as long as Redis knows the job.
 *
 * A lost connection does not end a watch. quern_watch_trouble() says what the
 * watch waits for, or gives NULL (valid until the next call).
 *
 * Errors, as QUERN_BROKEN: unknown_job, redis_refused. A Redis login that may
 * only read events gets neither unknown_job nor a gap at the end: its watch
 * waits. Close the watch before its handle. */
QUERN_API struct quern_watch *quern_watch_open(struct quern *quern,
                                               const char *id, uint64_t after,
                                               struct quern_error *error);
QUERN_API enum quern_next quern_watch_next(struct quern_watch *watch,
                                           struct quern_event *event,
                                           uint64_t timeout_ms,
                                           struct quern_error *error);
QUERN_API const char *quern_watch_trouble(const struct quern_watch *watch);
/* Add a job to a watch, and drop one. A watch follows any number of jobs over
 * one connection, whatever server each is on: open it with id NULL, or with the
 * first id. Error: bad_field, also when the watch follows the job already. To
 * drop a job that it does not follow does nothing. */
QUERN_API bool quern_watch_add(struct quern_watch *watch, const char *id,
                               uint64_t after, struct quern_error *error);
QUERN_API void quern_watch_drop(struct quern_watch *watch, const char *id);
QUERN_API void quern_watch_close(struct quern_watch *watch);

/* --- sessions ----------------------------------------------------------- */

/* The record of a session that outlives its jobs: MessagePack, "Session" in
 * schemas/MESSAGES.md. A consumer writes it when a job of the session ends, and
 * Redis keeps it as long as the operator has set (a week). To act on the
 * session itself, submit a job of kind QUERN_SESSION. */
struct quern_record {
    void *bytes;
    size_t size;
};

struct quern_records {
    struct quern_record *items;
    size_t count;
};
QUERN_API void quern_records_finish(struct quern_records *records);

/* Lists the sessions of one tenant (NULL: of all), the latest first. An empty
 * list is no error. Free it with quern_records_finish(). Error: bad_field. */
QUERN_API bool quern_sessions(struct quern *quern, const char *tenant,
                              struct quern_records *records,
                              struct quern_error *error);
/* Gives one session's record. tenant NULL: "default". free() record->bytes.
 * Errors: bad_field, unknown_session (never used, closed, or expired). */
QUERN_API bool quern_session(struct quern *quern, const char *tenant,
                             const char *name, struct quern_record *record,
                             struct quern_error *error);

/* --- the rest ----------------------------------------------------------- */

enum quern_cancel_outcome {
    QUERN_CANCELLED_NOW, /* the job was waiting, and is cancelled now */
    QUERN_CANCEL_ASKED,  /* the job is running: its consumer will stop it */
    QUERN_CANCEL_LATE,   /* the job had ended before */
};
/* Cancels a job. reason: at most 256 bytes. Error: unknown_job. */
QUERN_API bool quern_cancel(struct quern *quern, const char *id,
                            const char *reason, /* may be NULL */
                            enum quern_cancel_outcome *outcome,
                            struct quern_error *error);

/* Gives the bytes of an image or file. sha256: the 64 digits of its "blob",
 * which the library compares with the bytes. It looks first in the partition of
 * the handle's last call, so call this right after you have read the result
 * that names the blob. free() *data. Errors: missing_blob, bad_blob. */
QUERN_API bool quern_blob_get(struct quern *quern, const char *sha256,
                              void **data, size_t *size,
                              struct quern_error *error);
/* Stores bytes for the jobs of that tenant; NULL: "default". At most 64 MiB;
 * Redis keeps them for a day at least. sha256: room for 65 bytes. */
QUERN_API bool quern_blob_put(struct quern *quern, const char *tenant,
                              const void *data, size_t size, char *sha256,
                              struct quern_error *error);

/* Turns one MessagePack message into JSON text. free() it. NULL: the bytes are
 * no such message. */
QUERN_API char *quern_json(const void *bytes, size_t size,
                           struct quern_error *error);

#ifdef __cplusplus
}
#endif

#endif
