/* job.h - a job: what a producer asks for. The body of quern_v1_submit.
 *
 * kind conversation: the model answers messages (OpenAI chat form) or prompt,
 * and may run code. kind code: cells run in the session, without a model. kind
 * session: something is done with the session itself. */
#ifndef SCHEMAS_MESSAGE_JOB_H
#define SCHEMAS_MESSAGE_JOB_H

#include "schemas/message/field.h"

enum job_kind { JOB_CONVERSATION, JOB_CODE, JOB_SESSION };
enum job_mode { MODE_TOOLS, MODE_CODEACT };
/* Of a session: what was said in it before is shown and added to; it begins
 * anew with this job; it is neither shown nor added to. */
enum job_history { HISTORY_SHOWN, HISTORY_ANEW, HISTORY_OFF };
enum priority { PRIORITY_NORMAL, PRIORITY_HIGH, PRIORITY_LOW };
extern const char *const priority_names[]; /* normal, high, low */

/* A file on its way in or out: the bytes are the blob with that SHA-256. */
struct file_ref {
    struct view name; /* base name; no '/', no NUL, not "." or ".." */
    struct view blob; /* SHA-256, 64 hexadecimal digits; empty: see note */
    uint64_t bytes;
    struct view mime;
    struct view note; /* out: why there is no blob, or what was dropped */
};
extern const struct schema schema_file_ref;

/* Zero means: the operator's default. Beyond the operator's bound: that bound.
 */
struct job_limits {
    uint64_t max_turns;        /* model calls */
    uint64_t deadline_ms;      /* from submit to the end, waiting included */
    uint64_t max_tokens;       /* per model reply */
    uint64_t max_total_tokens; /* read and written by models, of all calls */
    uint64_t max_cost;         /* of all calls, in micro-dollars */
    uint64_t cell_ms;          /* one cell */
    uint64_t memory_bytes;     /* of the session */
};

/* When a person has to be asked before a call, and for how long. */
enum approval_default { APPROVAL_UNSAID, APPROVAL_ABORT, APPROVAL_SKIP };
extern const char *const approval_default_names[];

struct job_retry {
    uint64_t max_attempts; /* errors, not crashes; zero: default */
    uint64_t backoff_ms;   /* first delay, doubled each time; zero: default */
};

enum action_verb {
    ACTION_SHOW,  /* what is known of it */
    ACTION_FILES, /* its workspace */
    ACTION_GET,   /* names: files of it */
    ACTION_PUT,   /* the job's files, into it */
    ACTION_CLOSE, /* it is over: memory, files and record */
    ACTION_FORK,  /* to: another that begins as this one is */
};

struct job_action {
    int verb;          /* enum action_verb; "do" in the message */
    struct list names; /* of struct view: paths in the workspace, any bytes */
    struct view to;
};

struct job {
    struct view id;
    int kind; /* enum job_kind */
    struct view queue;
    int priority; /* enum priority */
    struct view tenant;
    struct view session; /* outlives the job; empty: one of the job's own */
    int history;         /* enum job_history */
    const msgpack_object *messages;
    struct view prompt;
    struct view system;
    int mode; /* enum job_mode */
    struct view model;
    struct list tools;   /* of struct view; empty: every tool of the consumer */
    struct list approve; /* of struct view: tools that a person must approve,
                            beside the operator's */
    uint64_t approval_ms; /* for so long; zero: default */
    int approval_default; /* enum approval_default: what happens then */
    struct list files;    /* of struct file_ref */
    struct list cells;    /* of struct view; kind code */
    struct list env; /* of struct pair: environment variables of its cells */
    struct job_action action; /* kind session */
    struct job_limits limits;
    struct job_retry retry;
    struct view idempotency_key;
    uint64_t not_before;  /* ms since 1970 */
    struct list metadata; /* of struct pair */
    struct view traceparent;
    const msgpack_object *output_schema; /* that the answer has to fit */
    const msgpack_object *parameters;    /* of the model, see sampling.h */

    struct unknown_members unknown; /* what else it has; no member of its own */
};
extern const struct schema schema_job;
extern const struct schema schema_text; /* a list's plain text: struct view */

/* message_decode(), then what no single row can say: a conversation has
 * messages (an array of maps with a role) or a prompt, not both, or files
 * alone; code has cells; kind session has a session, and what its action needs
 * and nothing else; file names are base names, told apart from each other;
 * variables of the environment have names that Python and a shell can use. */
bool job_decode(struct job *job, struct view bytes, struct arena *arena,
                struct err *err);

/* The metadata of a job that may be wrong in all else; none, when they cannot
 * be read. */
struct list job_metadata(struct view bytes, struct arena *arena);

/* The name of a queue, a tool, a consumer, a schedule: 1 to MAX_NAME_BYTES of
 * [A-Za-z0-9._-], not . or .. */
bool name_is_valid(struct view name);
bool name_has_byte(char c);
/* A tenant or a session, as an application calls it (ann@example.org, user:42):
 * 1 to MAX_NAME_BYTES of UTF-8 without control characters (C0, DEL, C1). Two
 * are the same when their bytes are: there is no normalisation. */
bool label_is_valid(struct view label);
/* Why it is none: "<what> is ..., must be ..."; bad_field. */
bool label_check(const char *what, struct view label, struct err *err);
/* A base name of 1 to MAX_FILE_NAME_BYTES bytes, UTF-8, no control bytes. */
bool file_name_is_valid(struct view name);

#endif
