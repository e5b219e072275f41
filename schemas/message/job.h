/* job.h - a job: what a producer asks for. The body of quern_v1_submit.
 *
 * kind conversation: the model answers messages (OpenAI chat form) or prompt,
 * and may run code. kind code: cells run in the session, without a model. kind
 * session: something is done with the session itself.
 *
 * Producers encode a job; the consumer that has claimed it decodes it, and
 * keeps bytes and arena as long as its attempt lasts. MESSAGES.md says what
 * each member means to a producer. */
#ifndef SCHEMAS_MESSAGE_JOB_H
#define SCHEMAS_MESSAGE_JOB_H

#include "schemas/message/field.h"
#include "schemas/message/trace.h"

enum job_kind { JOB_CONVERSATION, JOB_CODE, JOB_SESSION };
enum job_mode { MODE_TOOLS, MODE_CODEACT };
/* Alone among the names of the tools: the job wants none of quern's own. */
#define JOB_NO_TOOLS "none"
/* What a job does with the conversation of its session. SHOWN: the model sees
 * it, and the job adds to it. ANEW: it begins with this job. OFF: neither. */
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

/* Zero: the operator's default. A value beyond the operator's bound is lowered
 * to that bound. */
struct job_limits {
    uint64_t max_turns;         /* model calls */
    uint64_t deadline_ms;       /* from submit to the end, waiting included */
    uint64_t max_tokens;        /* per model reply */
    uint64_t max_total_tokens;  /* read and written by models, of all calls */
    uint64_t max_cost;          /* of all calls, in micro-dollars */
    uint64_t max_output_tokens; /* written by models, of all calls */
    uint64_t max_tool_calls;    /* of quern's own tools, by models */
    uint64_t cell_ms;           /* one cell */
    uint64_t memory_bytes;      /* of the session */
};

/* A function of the caller: a model may call it, but quern does not run it. */
struct job_function {
    struct view name;        /* 1 to MAX_FUNCTION_NAME_BYTES of A-Za-z0-9_- */
    struct view description; /* for the model; may be empty */
    const msgpack_object *parameters; /* JSON Schema of an object, a map; NULL:
                                         it takes no arguments */
    bool strict; /* the endpoint holds the model to the schema, if it can */
};

/* What happens when nobody has given a verdict in time: as the operator has set
 * it; the job fails; the call is not made. */
enum approval_default { APPROVAL_UNSAID, APPROVAL_ABORT, APPROVAL_SKIP };
extern const char *const approval_default_names[];

struct job_retry {
    uint64_t max_attempts; /* errors, not crashes; zero: default */
    uint64_t backoff_ms;   /* first delay, doubled each time; zero: default */
};

enum action_verb {
    ACTION_SHOW,  /* the result has the session's record */
    ACTION_FILES, /* the result lists its workspace */
    ACTION_GET,   /* names: files of the workspace go into the result */
    ACTION_PUT,   /* the job's files go into the workspace */
    ACTION_CLOSE, /* ends the session: variables, files and record */
    ACTION_FORK,  /* to: a new session that begins as this one is */
};

struct job_action {
    int verb;          /* enum action_verb; "do" in the message */
    struct list names; /* of struct view: paths in the workspace, any bytes */
    struct view to;
};

struct job {
    struct view id;      /* UUIDv7 (id.h) */
    int kind;            /* enum job_kind */
    struct view queue;   /* empty: "default" */
    int priority;        /* enum priority */
    struct view tenant;  /* empty: "default" */
    struct view session; /* outlives the job; empty: one of the job's own */
    int history;         /* enum job_history */
    const msgpack_object *messages; /* array of maps with a role; or prompt */
    struct view prompt;             /* one message of the user */
    struct view system;             /* the message in front of it */
    int mode;                       /* enum job_mode */
    struct view model;    /* of the operator's configuration; empty: default */
    struct list tools;    /* of struct view; empty: every tool of the consumer;
                             only JOB_NO_TOOLS: none of them */
    struct list approve;  /* of struct view: tools that a person must approve,
                             beside the operator's */
    uint64_t approval_ms; /* for so long; zero: default */
    int approval_default; /* enum approval_default: what happens then */
    struct list files;    /* of struct file_ref */
    struct list cells;    /* of struct view; kind code */
    struct list env; /* of struct pair: environment variables of its cells */
    struct job_action action; /* kind session */
    struct job_limits limits;
    struct job_retry retry;
    struct view idempotency_key; /* empty: none */
    uint64_t not_before;         /* ms since 1970; zero: at once */
    struct list metadata;        /* of struct pair, given back in the result */
    struct view traceparent;     /* W3C Trace Context (trace.h); empty: none */
    struct view tracestate;      /* beside it; empty: none */
    const msgpack_object *output_schema; /* a map that the answer has to fit;
                                            NULL: none */
    const msgpack_object *parameters;    /* a map, see sampling.h; NULL: none */
    struct list functions;               /* of struct job_function */
    struct view tool_choice; /* auto, none, required, or the name of a function
                                or a tool; empty: auto */
    struct view client;      /* a client's own text; quern does not read it */
    struct view earlier;     /* SHA-256 of the blob with the conversation that
                                it goes on from (conversation.h); empty: none */
    uint64_t keep_ms; /* how long the result and its blobs are kept; zero:
                         as the operator has set it */
    bool notify;      /* its end is told to the webhooks of its tenant */

    /* Not in the message: job_decode() fills it, encoding ignores it. */
    struct unknown_members unknown;
};
extern const struct schema schema_job;
extern const struct schema schema_text; /* a list's plain text: struct view */

/* message_decode(), then what no single row can say: a conversation has
 * messages (an array of maps with a role) or a prompt, not both, or files
 * alone; each call in its messages is answered (of a job that goes on from
 * another: when both are one conversation); functions have names of their
 * own; code has cells; kind session has a session, and what its action needs
 * and nothing else; file names are base names, told apart from each other;
 * variables of the environment have names that Python and a shell can use. */
bool job_decode(struct job *job, struct view bytes, struct arena *arena,
                struct err *err);

/* The metadata of a job that may be wrong in everything else, so that the
 * result of a refused job returns them, too. No items when they cannot be read.
 */
struct list job_metadata(struct view bytes, struct arena *arena);

/* Whether these are chat messages: an array of maps with a role and a content.
 * Each call need not be answered. */
bool messages_check(const msgpack_object *messages, struct err *err);

/* Borrows from the job. */
struct trace job_trace(const struct job *job);
/* The trace id of a job that may be wrong in everything else, so that the log
 * names the trace of a refused job, too; borrowed from bytes. Empty: none. */
struct view job_trace_id(struct view bytes, struct arena *arena);

/* The name of a queue, a tool, a consumer, a schedule: 1 to MAX_NAME_BYTES of
 * [A-Za-z0-9._-], not . or .. */
bool name_is_valid(struct view name);
bool name_has_byte(char c);
/* A tenant or a session, as an application calls it (ann@example.org, user:42):
 * 1 to MAX_NAME_BYTES of UTF-8 without control characters (C0, DEL, C1). Two
 * are the same when their bytes are: there is no normalisation. */
bool label_is_valid(struct view label);
/* The same with an error (bad_field): "<what> is ..., must be ...". */
bool label_check(const char *what, struct view label, struct err *err);
/* A base name of 1 to MAX_FILE_NAME_BYTES bytes, UTF-8, no control bytes. */
bool file_name_is_valid(struct view name);
/* Base names with "/" between them, MAX_FILE_NAME_BYTES in all. */
bool file_path_is_valid(struct view path);
/* What is behind the last "/"; all, where there is none. */
struct view file_base_name(struct view path);

#endif
