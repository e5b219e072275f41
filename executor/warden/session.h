/* session.h - one session: an interpreter in a box, and what is asked of it.
 *
 *       .--------------------------- CLEARING <---.
 *       v                                         |
 *     IDLE --> RUNNING --> SWEEPING --(outcome)--> PARKING
 *     ^  |        |  `--> STOPPING --'   |          ^  |
 *     |  |        |           |          v          |  v
 *     |  |        `-----------`------> KILLING --(outcome)
 *     |  |                                |
 *     |  |-- SENDING (a file, in pieces)  |
 *     |  `-> LEAVING (its end)            |
 *     `------- OPENING <------------------'
 *   (no interpreter yet, or not any more)
 *
 * From RUNNING, and once from STOPPING, it may come to DRAWING: the code has
 * ended, and its figures have a while more; if that is not enough, it is
 * STOPPING. There is no SWEEPING of a cell that seems to have left nothing
 * behind: what was not seen, and what a fork's own hooks have started, ends in
 * CLEARING. Between SWEEPING and its outcome a cell may be INSTALLING what it
 * lacks, and then go back through KILLING to run again.
 *
 * A session that is closed, or that nobody has asked for long, goes through
 * LEAVING when its code has registered functions for its end. Nobody finds it
 * by its name any more, which is free from when it was closed.
 *
 * Requests are carried out in order, but for those that ask about the session
 * itself: open again, interrupt, forget, close, and a run of a call that it
 * knows. A session outlives the connections that asked for it; its interpreter
 * may die without it: then its snapshot answers, or a new one. */
#ifndef EXECUTOR_WARDEN_SESSION_H
#define EXECUTOR_WARDEN_SESSION_H

#include "executor/warden/call.h"
#include "executor/warden/files.h"
#include "executor/warden/interpreter.h"
#include "executor/warden/tool.h"
#include "schemas/message/machine.h"

struct sessions;

enum session_state {
    SESSION_OPENING,
    SESSION_IDLE,
    SESSION_RUNNING,
    SESSION_STOPPING,   /* interrupted: it has a moment to end by itself */
    SESSION_DRAWING,    /* its time is over, but it has only figures to draw */
    SESSION_KILLING,    /* what runs is ended, the snapshot takes its place */
    SESSION_SWEEPING,   /* the cell is over; what it left behind is ended */
    SESSION_PARKING,    /* a snapshot is made */
    SESSION_CLEARING,   /* all is told; what may still run is ended */
    SESSION_INSTALLING, /* the cell missed a module */
    SESSION_SENDING,
    SESSION_LEAVING, /* what was registered for its end runs */
    SESSION_ENDED,
    SESSION_STATES,
};

/* What callbacks record and steps look at. */
struct session_flags {
    bool late;    /* the state's deadline has passed */
    bool dead;    /* the interpreter ended */
    bool drawing; /* it said that the code is over */
    bool done;    /* it said that the cell is over */
    bool swept;   /* init has ended the strays; clean: all of them */
    bool clean;
    bool alone;     /* nobody was seen who would have to be swept */
    bool parked;    /* there is a snapshot, or it could not be made */
    bool memory;    /* the box takes more than it may */
    bool interrupt; /* somebody asked for it */
    bool deaf;      /* it does not read what it is sent */
    bool closing;   /* it is to end, and has no name any more */
    bool installed; /* packages are, or are not to be had */
};

enum cell_stop {
    STOP_NONE, /* it ended by itself, well or not */
    STOP_LIMIT,
    STOP_ASKED,
    STOP_MEMORY,
};

/* The cell that runs, and what is known of its end. */
struct running_cell {
    struct session_call
        *call; /* NULL: none runs; the interpreter died between two */
    uint64_t number, limit_ms, started_ms;
    enum cell_stop stop;
    uint64_t traced_bytes; /* when it was asked where it is, near its limit */
    size_t traces;         /* how often */
    struct tools tools;
    struct cell cell;
    struct view picture;
    struct arena arena; /* of what cell and picture point to */
    uint64_t shown;     /* displays, updates and clears */
    size_t displays, clears, bundles;
    size_t display_bytes;
    char reason[480];
    char missing[MAX_NAME_BYTES + 1]; /* module that it ended for; or empty */
    struct guest_frame asked;         /* what it runs, to run it again */
    struct arena asked_arena;
    uint64_t installs;       /* that its code asked for */
    uint64_t install_number; /* of the one that goes on */
    bool last;               /* nothing will follow it: no snapshot is made */
    bool again;              /* it is to run again once that is possible */
    bool figures;            /* it has opened some */
    bool drew;               /* it had its time for drawing them */
    unsigned int times;      /* that it was begun */
};

struct session {
    struct session *next; /* in its bucket */
    struct sessions *sessions;
    char name[MAX_NAME_BYTES + 1];
    char holder[MAX_NAME_BYTES + 1]; /* this one, of all of that name */
    struct machine machine;          /* enum session_state */
    struct session_flags flags;
    struct session_limits limits;
    enum profile profile;
    struct loop_alarm *deadline;
    struct loop_alarm *measuring; /* memory, while its code runs */
    struct peer_request *first;   /* what is asked, in order */

    struct box_request box_request;
    struct interpreter *interpreter;
    uint64_t born_bytes;    /* resident, when it was ready */
    bool filled;            /* a cell has ended in it */
    unsigned int backs;     /* how often it went back since the last cell */
    bool hurried;           /* it was interrupted while it was forked */
    uint64_t snapshot_cell; /* the last one that its snapshot has seen */
    /* As the consumer numbers its cells: the last one, the one before it, the
     * last one that the snapshot has seen. */
    uint64_t number, number_before, snapshot_number;
    char unparked[120]; /* why it has no snapshot; empty: it has ended */
    bool warned;        /* the last cell has said that there is none */
    bool opened;        /* OPENED was said */
    bool at_exit; /* as its last cell left it: functions wait for its end */

    /* The interpreter died between two cells: told with the next one. */
    char loss[448];
    enum cell_state loss_state;
    bool emptied;      /* its files are gone as well */
    const char *blame; /* why it is killed, when it has not died by itself */

    struct session_calls calls;
    struct running_cell run;
    struct install *install; /* that goes on */
    uint64_t cells;
    uint64_t idle_since_ms;
    struct file_listing files; /* as the last cell left them */
    bool files_stale;
    bool again;          /* an interpreter of this opening died: the last try */
    uint64_t failed_put; /* ref: its other pieces are ignored */

    int sending; /* file that goes out; -1: none */
    uint64_t sent_bytes, send_bytes;
};

struct session *session_new(struct sessions *sessions, struct view name,
                            enum profile profile,
                            const struct session_limits *limits);
/* Kills what runs, fails what was asked. */
void session_free(struct session *session);

/* What it is at. Borrows its name. */
void session_describe(const struct session *session, struct session_info *info);

/* Lets the machine look at what was recorded. It may free the session. */
void session_run(struct session *session);

/* request.c: takes the request. */
void session_ask(struct session *session, struct peer_request *request);
/* The peer went away: what it asked and was not begun is dropped. */
void session_leave(struct session *session, struct peer *peer);

/* leaving.c: it is to end: who asks for that name means another one. */
bool session_is_closing(const struct session *session);

/* cell.c: if whoever listens to its cell lags, the cell waits. Nothing else
 * happens, so it may come at any time. */
void session_hold(struct session *session);

/* outcome.c: from what was seen to FRAME_DONE. What is set first is the
 * reason; what follows is appended to it. */
void outcome_begin(struct session *session, struct session_call *call,
                   const struct frame *frame, uint64_t limit_ms);
void outcome_display(struct session *session, const struct guest_frame *told);
void outcome_clear(struct session *session, const struct guest_frame *told);
void outcome_done(struct session *session, const struct guest_frame *done);
/* Overrides how it ended. */
void outcome_set(struct session *session, enum cell_status status,
                 enum cell_state state, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds to the reason, and changes nothing else. */
void outcome_note(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The cell is to run again: what it claimed so far is void. */
void outcome_restart(struct session *session);
/* emptied: the workspace was lost. */
void outcome_say(struct session *session, bool emptied);

#endif
