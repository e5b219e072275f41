/* result.h - the outcome of a job: written once, by the finish transition.
 *
 * The consumer that ends the job makes it. When no consumer ends the job, the
 * Redis library makes a small one (redis/library/ends.lua). MESSAGES.md says
 * what each member means to a client. */
#ifndef SCHEMAS_MESSAGE_RESULT_H
#define SCHEMAS_MESSAGE_RESULT_H

#include "schemas/message/item.h"
#include "schemas/message/job.h"
#include "schemas/message/session.h"

/* job_state_is_terminal() relies on the order: the terminal ones come last. */
enum job_state {
    STATE_SCHEDULED,
    STATE_QUEUED,
    STATE_IN_PROGRESS,
    STATE_WAITING,
    STATE_COMPLETED,
    STATE_INCOMPLETE, /* stopped by a limit, with its best answer */
    STATE_FAILED,
    STATE_CANCELLED,
    JOB_STATES, /* how many there are */
};
extern const char *const job_state_names[];
bool job_state_is_terminal(int state);
/* The state of that name; -1: there is none. */
int job_state_of(struct view name);

struct image_ref {
    struct view name; /* figure-1.png */
    struct view mime;
    struct view blob; /* SHA-256 */
    uint64_t bytes;
    uint64_t width, height; /* pixels */
    uint64_t from_cell;     /* index into cells */
    bool active;            /* as of a display's part */
};
extern const struct schema schema_image_ref;

/* Something that a cell displayed, as text and in richer forms. */
struct display {
    struct view text;  /* its text/plain, head and tail when long */
    struct list parts; /* of struct display_part: the rest */
    struct view id;    /* by which its code updates it; empty: it cannot */
};
extern const struct schema schema_display;

struct display_part {
    struct view name; /* figure-1.png, display-2.html: unique in the job */
    struct view mime;
    struct view blob; /* SHA-256 */
    uint64_t bytes;
    uint64_t width, height; /* of a PNG, JPEG or GIF, pixels */
    bool
        active; /* shown in a page, it may run scripts or load from elsewhere */
};
extern const struct schema schema_display_part;

enum file_change { FILE_SAME, FILE_NEW, FILE_CHANGED, FILE_DELETED };
extern const char *const file_change_names[];

/* A file of the workspace that a cell wrote, changed or deleted. */
struct cell_file {
    struct view name; /* a base name, as in the result's files */
    struct view path; /* in the workspace, any bytes; empty: as name */
    struct view blob; /* SHA-256; empty: see note */
    uint64_t bytes;
    struct view mime;
    int change; /* enum file_change */
    struct view note;
};
extern const struct schema schema_cell_file;

/* An exception inside a cell: data for the model, not an error of the job. */
struct cell_error {
    struct view name;      /* ZeroDivisionError */
    struct view value;     /* division by zero */
    struct view traceback; /* with the lines of the cell */
};

enum cell_status {
    CELL_OK,
    CELL_ERROR,       /* an exception */
    CELL_EXIT,        /* sys.exit(): ends the cell, not the session */
    CELL_TIMEOUT,     /* its deadline; see state */
    CELL_MEMORY,      /* the session's memory limit killed it */
    CELL_CRASHED,     /* the interpreter died: signal, os._exit, ... */
    CELL_INTERRUPTED, /* cancelled */
    CELL_UNKNOWN,     /* the executor went away and it was not run again */
};
extern const char *const cell_status_names[];

struct cell {
    struct view code;
    uint64_t number;    /* in its session, from 1: its file is <cell-N> */
    int status;         /* enum cell_status */
    int state;          /* enum cell_state */
    struct view reason; /* why the state is not kept; a sentence */
    struct view out;    /* "stdout", fit to be read: head and tail when long,
                           of a line that was drawn over its last state */
    struct view errout; /* "stderr" */
    uint64_t out_bytes; /* all that was written, shown or not */
    uint64_t errout_bytes;
    struct view out_blob; /* SHA-256 of the bytes themselves, where out differs
                             from them */
    struct view errout_blob;
    struct view result; /* text of the last expression's value */
    struct cell_error error;
    struct list displays; /* of struct display */
    struct list updates;  /* of struct display: displays of earlier cells of the
                             job that have their id are now these */
    struct list files;    /* of struct cell_file */
    struct view notes;    /* what was dropped, a line each */
    uint64_t line;        /* of the code, where it was killed; 0: not known */
    uint64_t peak_bytes;  /* memory of the session, the most that was seen */
    uint64_t ms;
};
extern const struct schema schema_cell;
extern const struct schema schema_cell_error;

/* The usage of one model, or of one of its replies; name: of its endpoint in
 * the operator's settings. The other members as in struct usage. */
struct model_usage {
    struct view name;
    uint64_t input_tokens;
    uint64_t output_tokens;
    uint64_t cached_tokens;
    uint64_t cache_write_tokens;
    uint64_t uncounted_tokens;
    uint64_t cost;
    uint64_t model_calls;
};
extern const struct schema schema_model_usage;

struct usage {
    uint64_t input_tokens;
    uint64_t output_tokens;
    uint64_t cached_tokens;      /* of the input, read from a cache */
    uint64_t cache_write_tokens; /* of the input, written to it */
    uint64_t uncounted_tokens;   /* estimated: of replies without a count, of
                                    requests whose outcome is not known */
    uint64_t cost; /* micro-dollars, of uncounted tokens as well */
    uint64_t model_calls;
    uint64_t repeated_calls; /* sent again because the outcome was unknown */
    struct list models;      /* of struct model_usage */
};
extern const struct schema schema_usage;

struct timings {     /* milliseconds */
    uint64_t queued; /* from submit to the start of the last attempt */
    uint64_t model;  /* waiting for models */
    uint64_t tools;  /* running tools and cells */
    uint64_t total;  /* from submit to end */
};

struct result_error {
    struct view kind; /* retry, reject */
    struct view code; /* "Error codes" in schemas/MESSAGES.md */
    struct view message;
    bool retryable;
};
extern const struct schema schema_result_error;

/* A call of a function of the job, for the caller to run. */
struct result_call {
    struct view call_id; /* as the messages have it */
    struct view name;
    struct view arguments; /* JSON, or what the model wrote in its place */
};

/* A part of what the model has said and done, that is valid: see item.h. */
struct result_item {
    uint64_t number;
    int kind;         /* enum item_kind */
    struct view text; /* of a message that differs from the answer; what was
                         searched for */
    struct view call; /* function: its call_id; code, search: as events have
                         it */
    uint64_t cell;    /* code: the number of its cell among cells, from 1; 0: it
                         was not run */
};
extern const struct schema schema_result_item;

struct result {
    struct view id;
    int status;                     /* enum job_state, a terminal one */
    struct view answer;             /* Markdown; empty: there is none */
    const msgpack_object *output;   /* the value that output_schema asked for;
                                       NULL: none */
    const msgpack_object *messages; /* the conversation, in OpenAI's chat form;
                                       NULL: none */
    struct list calls;              /* of struct result_call */
    struct list images;             /* of struct image_ref */
    struct list files;              /* of struct file_ref */
    struct list cells;              /* of struct cell */
    struct usage usage;
    uint64_t attempts;
    struct timings timings;
    struct result_error error; /* failed, incomplete: why */
    struct view model;
    struct view session;
    struct view isolation;    /* walls in force, or "insecure" */
    struct view notes;        /* what was cut to fit, a sentence each */
    struct list metadata;     /* the job's own, given back */
    struct list items;        /* of struct result_item, by number */
    struct view conversation; /* SHA-256 of the blob with all messages
                                 (conversation.h); empty: it was not kept */
    /* Kind session: of action files, and of show and fork. */
    struct list listing; /* of struct session_file */
    struct session_record record;
};
extern const struct schema schema_result;

#endif
