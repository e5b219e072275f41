/* quern.h - put jobs into quern, follow them, read what came of them.
 *
 *   struct quern *quern = quern_open(NULL, &error);
 *   struct quern_job job = { .prompt = "How many primes below 1000?" };
 *   quern_submit(quern, &job, &id, NULL, &error);
 *   quern_wait(quern, id.text, 60000, &status, &error);
 *   puts(status.answer);
 *
 * A handle is for one thread at a time; open one per thread. It connects on
 * first use, and once it has been connected, again by itself when Redis has
 * been away. Every call ends within the handle's timeout (quern_wait and
 * quern_watch_next: their own), and may be made again when it failed with
 * QUERN_RETRY: nothing is done twice.
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
    QUERN_RETRY = 1, /* the world: the same call may succeed later */
    QUERN_REJECT,    /* the input: the same call will fail again */
};

struct quern_error {
    enum quern_error_kind kind;
    char code[32];  /* a stable word: "Error codes" in schemas/MESSAGES.md */
    char text[320]; /* a sentence for people, without a full stop */
};

struct quern_options {
    const char *url;    /* NULL: $REDIS_URL, else redis://127.0.0.1:6379 */
    const char *prefix; /* of every key; NULL: "quern:" */
    const char *role; /* shown by CLIENT LIST; after "quern-"; NULL: "client" */
    /* Of the sentinels themselves; NULL: $QUERN_SENTINEL_PASSWORD, or none. */
    const char *sentinel_password;
    uint64_t timeout_ms; /* of a call, reconnecting included; 0: 10 s */
    /* When a write counts: "async", "replica:N", "fsync" ("Durability" in
     * consumer/OPERATING.md); NULL: $QUERN_DURABILITY, else async. A call whose
     * write is not as safe as that within half of its time fails with
     * not_durable, one that was sent and not answered with unknown_outcome
     * (both QUERN_RETRY): the job may stand. quern_submit() has filled in its
     * id: the same call with it in job.id, or with the same idempotency_key,
     * makes sure. */
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
/* For a job of that tenant; NULL: "default". Redis is asked, once, how the jobs
 * of the fleet are divided. */
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

struct quern_pair {
    const char *key;
    const char *value;
};

enum quern_kind { QUERN_CONVERSATION, QUERN_CODE, QUERN_SESSION };
enum quern_priority { QUERN_NORMAL, QUERN_HIGH, QUERN_LOW };

/* What a job of kind session does with its session. */
enum quern_action {
    QUERN_SHOW,  /* the result's record: what is known of it */
    QUERN_FILES, /* the result's listing: its working directory */
    QUERN_GET,   /* the result's files: those that paths names */
    QUERN_PUT,   /* the job's files, into it */
    QUERN_CLOSE, /* it is over, and nothing of it is kept */
    QUERN_FORK,  /* to: another that begins as this one is */
};

/* NULL, 0: the operator's default. A conversation has prompt (or messages, in
 * more), code has cells, kind session a session and an action. Encoded it is at
 * most 256 KiB; larger things are files. */
struct quern_job {
    const char *id; /* of quern_id_new(), for its tenant; NULL: a new one */
    enum quern_kind kind;
    const char *queue;
    enum quern_priority priority;
    /* 1 to 128 bytes of UTF-8 without control characters (ann@example.org);
     * compared byte for byte. */
    const char *tenant;
    const char *session; /* Python session that outlives the job; the same */
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
    uint64_t delay_ms;     /* not before so long from now */
    uint64_t max_depth;    /* queue_full when so many jobs are in the queue; */
    uint64_t tenant_depth; /* ... or so many of the tenant's */
    const char *idempotency_key; /* of the tenant: the same job for a day */
    const char *unique_key; /* of the tenant: one that has not ended stands */
    const struct quern_pair *metadata; /* given back in the result */
    size_t metadata_count;
    const struct quern_pair *env; /* environment variables of its cells */
    size_t env_count;
    /* Its other members, a JSON object of the names that json/job.schema.json
     * has: {"mode": "codeact", "limits": {"max_turns": 5}}. Another name is
     * refused. What is said both here and above stands as it is above. */
    const char *more;
};

/* Writes the files as blobs, then the job. *id names the job that stands;
 * *existed (may be NULL) tells that it was there before, by one of its keys or
 * because the caller gave its id. Errors: missing_field, bad_field,
 * too_large, queue_full, redis_unavailable, redis_refused. After
 * redis_unavailable the job may stand: submit again with the id in *id (none is
 * there when Redis was not reached at all). */
QUERN_API bool quern_submit(struct quern *quern, const struct quern_job *job,
                            struct quern_id *id, bool *existed,
                            struct quern_error *error);

enum { QUERN_NOTE = 512 }; /* bytes of a note, and its end */

/* What goes with a job that is written as JSON, and stands instead of what the
 * job says. Zero or NULL: the job's own. */
struct quern_submit_options {
    const struct quern_file *files; /* come to those that it names */
    size_t file_count;
    const char *queue;
    const enum quern_priority *priority;
    const char *idempotency_key;
    const char *unique_key;
    uint64_t delay_ms;
    /* NULL, or room for QUERN_NOTE bytes: a sentence on members of the job that
     * nobody knows (a misspelled one, or one of a later quern). They go along,
     * and are ignored; of a job that is refused they may be why. Of many jobs
     * each has its own, in struct quern_submit_outcome. */
    char *note;
};

/* The same for a job written as JSON (json/job.schema.json). options may
 * be NULL. */
QUERN_API bool quern_submit_json(struct quern *quern, const char *json,
                                 const struct quern_submit_options *options,
                                 struct quern_id *id, bool *existed,
                                 struct quern_error *error);

/* The same for a MessagePack job that has its id; sent as it is. Members that
 * nobody knows are named by the notes of its result. */
QUERN_API bool quern_submit_bytes(struct quern *quern, const void *job,
                                  size_t size, struct quern_id *id,
                                  bool *existed, struct quern_error *error);

/* What became of one of many. */
struct quern_submit_outcome {
    struct quern_id id; /* of the job that stands; else to try again with it,
                           "": it was refused before it had one */
    bool existed;
    struct quern_error error; /* kind 0: it stands */
    char note[QUERN_NOTE];    /* "", or as of struct quern_submit_options */
};

/* The same for many jobs, in their order, none of which waits for the answer to
 * the one before: several times as fast as one by one. submitted: room for
 * count of them. A job that is refused does not hold up the others; true when
 * all of them stand, else *error is that of the first that does not, or may
 * not. options: of each of them. The handle's timeout is for each answer. */
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

struct quern_status {
    enum quern_state state;
    bool expired; /* it ended, but its result is no longer kept */
    uint64_t attempts;
    uint64_t seq;                                   /* of the latest event */
    uint64_t submitted_at, started_at, finished_at; /* since 1970; 0: not yet */
    char error_code[32];
    void *result; /* MessagePack; NULL: none (yet, any more) */
    size_t result_size;
    /* Once it has ended, NULL before: what the result says, "" for nothing.
     * error_text is a sentence: why it did not complete. */
    char *answer;
    char *error_text;
};
QUERN_API void quern_status_finish(struct quern_status *status);

/* Errors: unknown_job (never there, or ended more than a week ago). */
QUERN_API bool quern_get(struct quern *quern, const char *id,
                         struct quern_status *status,
                         struct quern_error *error);

/* Until the job has ended: then as quern_get(). Error: timeout, QUERN_RETRY.
 * timeout_ms UINT64_MAX: for ever. */
QUERN_API bool quern_wait(struct quern *quern, const char *id,
                          uint64_t timeout_ms, struct quern_status *status,
                          struct quern_error *error);

/* --- following ---------------------------------------------------------- */

struct quern_event { /* borrowed: valid until the next call on the watch */
    const char *job; /* its id */
    uint64_t seq;    /* 1, 2, 3, ... in each job */
    uint64_t from;   /* QUERN_GAP: the first that is missing; seq: the last */
    uint64_t at;
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
    QUERN_BROKEN,  /* *error says why event->job is no longer followed; where
                      that is NULL: nor is any other, ever again */
};

/* Every event after the one numbered after (0: all of them), once each and in
 * order, live when they come; also of a job that has ended. Events that are no
 * longer kept are told as one gap. One that begins with an event that was given
 * says that Redis has lost some (a failover): forget them, the job's events
 * come again from the first. The terminal one always comes, as long as the job
 * is known. Losing Redis does not end a watch: quern_watch_trouble() tells what
 * it is waiting for, NULL when nothing is wrong. Errors: unknown_job,
 * redis_refused. A user who may read events only is never told the first, nor
 * of a gap at the end: it waits. Close the watch before its handle. */
QUERN_API struct quern_watch *quern_watch_open(struct quern *quern,
                                               const char *id, uint64_t after,
                                               struct quern_error *error);
QUERN_API enum quern_next quern_watch_next(struct quern_watch *watch,
                                           struct quern_event *event,
                                           uint64_t timeout_ms,
                                           struct quern_error *error);
QUERN_API const char *quern_watch_trouble(const struct quern_watch *watch);
/* Any number of jobs are followed by one watch, over one connection, whatever
 * server each is on: open it with id NULL, or that of the first. Errors:
 * bad_field (also when it is followed already). Drop: one that is not followed
 * is none's loss. */
QUERN_API bool quern_watch_add(struct quern_watch *watch, const char *id,
                               uint64_t after, struct quern_error *error);
QUERN_API void quern_watch_drop(struct quern_watch *watch, const char *id);
QUERN_API void quern_watch_close(struct quern_watch *watch);

/* --- sessions ----------------------------------------------------------- */

/* What is kept of a session that outlives its jobs, for as long as the operator
 * has set it (a week): MessagePack, "Session" in schemas/MESSAGES.md. It
 * is written when a job of the session ends. What touches the session itself is
 * a job of kind QUERN_SESSION. */
struct quern_record {
    void *bytes;
    size_t size;
};

struct quern_records {
    struct quern_record *items;
    size_t count;
};
QUERN_API void quern_records_finish(struct quern_records *records);

/* Of one tenant, or with NULL of all; those that will be kept longest first.
 * None is no error. Errors: bad_field. */
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

/* The bytes of an image or file, by the 64 digits in its "blob"; checked to be
 * those bytes. It is looked for where the last call went, then elsewhere. Gives
 * memory: free() it. Errors: missing_blob, bad_blob. */
QUERN_API bool quern_blob_get(struct quern *quern, const char *sha256,
                              void **data, size_t *size,
                              struct quern_error *error);
/* For the jobs of that tenant; NULL: "default". Kept for a day at least; sha256
 * takes 65 bytes. At most 32 MiB. */
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
