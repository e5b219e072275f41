/* frame.h - what consumer, warden and guest say to each other.
 *
 * A frame is a length (4 bytes, big-endian, at most MAX_FRAME_BYTES) and one
 * MessagePack map. Two protocols share the form:
 *
 *   struct frame        consumer <-> warden, over a unix stream socket
 *   struct guest_frame  warden <-> guest, over a socket pair
 *
 * The sequence of each is in schemas/FRAMES.md. */
#ifndef SCHEMAS_MESSAGE_FRAME_H
#define SCHEMAS_MESSAGE_FRAME_H

#include "schemas/message/result.h"

enum { FRAME_HEADER_BYTES = 4 };

/* The length of the frame at the head of bytes: header and body. 0: header not
 * there yet. Fails (bad_message) when the body is empty or beyond max. */
bool frame_length(struct view bytes, size_t max, size_t *total,
                  struct err *err);

/* Appends header and encoded message. As message_encode(): when it fails, out
 * has the length that it had. */
bool frame_encode(const struct schema *schema, const void *message,
                  struct buf *out, struct err *err);

enum frame_type {
    /* consumer to warden */
    FRAME_HELLO,     /* first frame of a connection */
    FRAME_OPEN,      /* session: make it, or find it; limits */
    FRAME_RUN,       /* session, call, cell_ms; a task and what it takes; last:
                        nothing will follow it, so no snapshot is made */
    FRAME_INTERRUPT, /* session: KeyboardInterrupt in the cell that runs */
    FRAME_PUT,       /* session, name, data at offset; last */
    FRAME_GET,       /* session, name */
    FRAME_LIST,      /* session: files of the workspace */
    FRAME_CLOSE,     /* session: end it */
    FRAME_FORGET,    /* session, call: its outcome is journaled, drop it;
                        FAILED: the session has not seen that call */
    FRAME_SESSIONS,  /* all that are open */
    FRAME_ANSWER,    /* session, call, number: of TOOL; data, or error */
    /* warden to consumer */
    FRAME_WELCOME, /* isolation, lacks, libraries, version, counts */
    FRAME_OPENED,  /* session, holder; fresh: nothing has run in it; call: the
                      one that runs in it */
    FRAME_OUTPUT,  /* call, stream, data at offset: some before it may be left
                      out */
    FRAME_DISPLAY, /* call, number, bundle, display_id; clears: so many came
                      before it, more make it void. Displays, updates and
                      clears are numbered together, from 1: some before it may
                      be left out, too */
    FRAME_RESTART, /* call: it runs again from where it began; what it put out
                      so far is void */
    FRAME_TOOL,    /* call, number, name, data: its code calls a tool */
    FRAME_DONE,    /* call, cell outcome, files, picture; number: of displays,
                      updates and clears;
                      fresh: it ran just now; emptied: the workspace was lost */
    FRAME_CHUNK,   /* data at offset; last */
    FRAME_LISTING, /* files; sessions */
    FRAME_OK,      /* put, interrupt, close, forget */
    FRAME_FAILED,  /* error: the request was not carried out */
    FRAME_UPDATE,  /* call, number, bundle, display_id: what has that id is now
                      this, in this cell and in those before it */
    FRAME_CLEAR,   /* call, number: what the cell has put out is gone; wait:
                      when it puts out more */
    /* both ways */
    FRAME_NUMBERS, /* what the executor has counted; the answer: data, text as
                      relay.h has it, or nothing: another consumer gets it */
};
extern const char *const frame_type_names[];

struct workspace_file {
    struct view name; /* relative to the workspace; any bytes but NUL */
    uint64_t bytes;
    int change; /* enum file_change: by the cell, in FRAME_DONE */
};

/* What a run does, and the members of the frame that it takes. */
enum task {
    TASK_CODE,    /* code: a cell; tools: what it may call; env */
    TASK_SAVE,    /* the namespace comes back in DONE as a picture */
    TASK_RESTORE, /* picture: into the namespace; DONE names what is not */
};

struct session_info {
    struct view name;
    struct view state; /* of the session's machine */
    uint64_t cells;    /* run in it so far */
    uint64_t idle_ms;
    uint64_t memory_bytes; /* resident, of all its processes */
    bool snapshot;         /* a killed cell would be rolled back */
};

struct session_limits { /* zero: the warden's default, which also caps it */
    uint64_t memory_bytes;
    uint64_t disk_bytes;
    uint64_t processes;
};

/* The members of all types in one struct; the types name those that they have.
 */
struct frame {
    int type;     /* enum frame_type */
    uint64_t ref; /* chosen by the consumer, given back in every answer */
    struct view session;
    struct view call;
    int task; /* enum task */
    struct view code;
    struct view tools; /* JSON: a list of functions as OpenAI describes them */
    struct list env;   /* of struct pair: environment variables of the cell */
    struct view picture; /* at most MAX_PICTURE_BYTES */
    uint64_t cell_ms;
    struct view profile; /* open: bare or science; empty: the warden's */
    struct session_limits limits;
    uint64_t number; /* RUN: of the cell, from 1, which tracebacks name
                        <cell-N>; 0: the warden counts. TOOL, ANSWER: of the
                        tool call; numbers rise as long as the run lasts.
                        DISPLAY, UPDATE, CLEAR: its own. DONE: how many */
    struct view name;
    struct view data;
    uint64_t offset;
    bool last;
    bool fresh;
    bool emptied;
    struct view holder; /* which session of that name this is: no other one, on
                           any host at any time, has the same */
    struct view stream; /* stdout, stderr */
    struct list bundle; /* of struct pair: MIME type, bytes */
    struct view display_id;
    uint64_t clears;
    bool wait;
    struct cell cell;     /* FRAME_DONE: all but code, out, errout: those
                             came as output */
    struct list files;    /* of struct workspace_file */
    struct list sessions; /* of struct session_info */
    struct result_error error;
    struct view isolation;
    struct list lacks; /* of struct pair: a wall that could be more, and how */
    struct view libraries; /* that code may import, with commas */
    struct view version;
    bool counts; /* welcome: it answers FRAME_NUMBERS. One that does not would
                    close the connection. */
};
extern const struct schema schema_frame;

enum guest_type {
    /* warden to guest */
    GUEST_CELL,     /* nonce, number; a task and what it takes; last */
    GUEST_SNAPSHOT, /* fork and park; the child's channel rides along */
    GUEST_ANSWER, /* nonce, number: of TOOL, INSTALL or CLEAR; data, or error */
    /* guest to warden */
    GUEST_READY,   /* the walls are up, or the snapshot is forked; waiting for
                      a cell. From a snapshot: it is parked; its own pidfd
                      rides along. From the zygote: everything is loaded;
                      data: the libraries that there are, with commas */
    GUEST_DISPLAY, /* nonce, bundle, display_id, clears */
    GUEST_TOOL,    /* nonce, number, name, data: JSON arguments */
    GUEST_INSTALL, /* nonce, number, data: requirements, one a line */
    GUEST_FIGURE,  /* nonce: a figure is open, the first of the cell */
    GUEST_DRAWING, /* nonce: the code has ended, what is open is drawn */
    GUEST_DONE,    /* nonce, status, result, error, missing, picture, at_exit */
    /* warden to zygote; the descriptors of enum fork_fd ride along */
    GUEST_FORK, /* number: the box; limits; awaited: by a session */
    /* zygote to warden */
    GUEST_FORKED, /* number, pid; the pidfd rides along */
    GUEST_EXITED, /* number, pid, wait_status; pid 0: it could not start */
    /* guest to warden */
    GUEST_UPDATE, /* nonce, bundle, display_id */
    GUEST_CLEAR,  /* nonce, number, wait; there is an ANSWER, without data */
};

/* The descriptors that are sent with GUEST_FORK, in this order. For a box: all
 * but the last one, as the working folder is /workspace there. Without a box
 * (--insecure): from FORK_CHANNEL on. */
enum fork_fd {
    FORK_USER_NS,
    FORK_MNT_NS,
    FORK_NET_NS,
    FORK_IPC_NS,
    FORK_UTS_NS,
    FORK_CGROUP_NS,
    FORK_PID_NS,
    FORK_CHANNEL,
    FORK_STDOUT,
    FORK_STDERR,
    FORK_TRACE, /* a pipe to which the session writes where its code is, when
                   it is asked (TRACE_SIGNAL) or dies */
    FORK_DOORS, /* files of cgroups: a process that writes "0" to one joins it
                 */
    FORK_LAST_DOOR = FORK_DOORS + 2,
    FORK_WORKSPACE, /* a folder */
    FORK_FDS,
};

/* The signal that asks a session where its code is. */
enum { TRACE_SIGNAL = 63 };

/* What a guest sends is hostile as soon as code has run: the warden checks it
 * as it checks every message, and trusts nothing in it. */
struct guest_frame {
    int type;        /* enum guest_type */
    uint64_t nonce;  /* of the cell; a frame with another one is dropped: it
                        belongs to an earlier cell */
    uint64_t number; /* of the cell, from 1: its file is <cell-N>; of the box;
                        of a question within the cell, from 1 */
    int task;        /* enum task */
    struct view code;
    struct view tools;
    struct list env; /* of struct pair */
    bool last;       /* the session ends with this cell */
    bool at_exit;    /* its code has registered functions for its end */
    struct view picture;
    struct view name;
    struct view data;
    struct view missing; /* the top-level module that could not be imported */
    struct list bundle;
    struct view display_id;
    uint64_t clears;
    bool wait;
    int status; /* enum cell_status: ok, error, exit, interrupted */
    struct view result;
    struct cell_error error;
    uint64_t pid;
    uint64_t wait_status;
    struct session_limits limits;
    bool awaited;
};
extern const struct schema schema_guest_frame;

#endif
