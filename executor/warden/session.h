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

/* What callbacks record and steps look at. A cell begins with all of them
 * false, and so does what follows a kill; but closing, and an interrupt that no
 * cell has had yet, are kept. */
struct session_flags {
    bool late;    /* the deadline of the state has passed */
    bool dead;    /* the interpreter has ended */
    bool drawing; /* GUEST_DRAWING: the code is over, figures are drawn */
    bool done;    /* GUEST_DONE: the cell is over */
    bool swept;   /* init has ended the stray processes; clean: all of them */
    bool clean;
    bool alone;     /* nobody was seen in the box who would have to be swept */
    bool parked;    /* there is a snapshot, or it could not be made */
    bool memory;    /* the box takes more than it may */
    bool interrupt; /* a consumer asked for it */
    bool deaf;      /* the guest does not read what it is sent */
    bool closing;   /* the session is to end, and has no name any more */
    bool installed; /* the packages are there, or are not to be had */
};

/* Who ended the cell. */
enum cell_stop {
    STOP_NONE,   /* it ended by itself, well or not */
    STOP_LIMIT,  /* its time is over */
    STOP_ASKED,  /* FRAME_INTERRUPT */
    STOP_MEMORY, /* the box takes more than it may */
};

/* The cell that runs, and what is known of its end. outcome_begin() sets all of
 * it anew; outcome_say() ends it. */
struct running_cell {
    struct session_call *call; /* in calls; NULL: no cell runs */
    uint64_t number;           /* as the consumer counts, else as we do */
    uint64_t limit_ms, started_ms;
    enum cell_stop stop;
    unsigned int times; /* that it was begun: more than once after installs */
    bool last;          /* nothing will follow it: no snapshot is made */
    bool again;         /* it is to run again once that is possible */

    struct guest_frame asked; /* what it runs, to run it again */
    struct arena asked_arena; /* of what asked points to */
    struct tools tools;       /* calls of its code to the world outside */
    uint64_t installs;        /* that its code has asked for */
    uint64_t install_number;  /* the guest's, of the one that goes on */
    char missing[MAX_NAME_BYTES + 1]; /* module that it ended for; or empty */

    /* The outcome, as far as it is known. */
    struct cell cell;
    struct view picture;
    struct arena arena; /* of what cell and picture point to */
    char reason[480];
    uint64_t traced_bytes; /* the box had, when the code was last asked which
                              line it is at, near the limit of memory */
    size_t traces;         /* how often it was asked */

    /* What it has put out. The guest may be hostile: each count has a limit. */
    uint64_t shown;       /* displays, updates and clears, numbered together */
    size_t displays;      /* new ones, since the last clear */
    size_t clears;        /* in all */
    size_t bundles;       /* displays and updates, in all */
    size_t display_bytes; /* of all parts, also of those that were dropped */
    bool figures;         /* it has opened some */
    bool drew;            /* it has had its time for drawing them */
};

/* The snapshot that a killed cell is rolled back to: what is known of it. The
 * snapshot itself is the interpreter's. */
struct session_snapshot {
    uint64_t cell;      /* of cells.count, the last one that it has seen */
    uint64_t number;    /* the same cell, as the consumer numbers it */
    char why_none[120]; /* why the last was not made; empty: it was made, and if
                           there is none now, it has ended */
    bool warned;        /* the cell that ran has said that there is none */
    bool hurried; /* the one being made was interrupted: next is killing */
    unsigned int backs; /* times that it took over since the last cell */
};

/* What was lost between two cells: no call was there to be told. The next one
 * is. */
struct loss_notice {
    char text[448]; /* a sentence; empty: nothing was lost */
    enum cell_state state;
    bool emptied; /* the files, too; until a cell has said so */
};

struct cell_counts {
    uint64_t count;        /* begun so far, saves and restores included */
    uint64_t last, before; /* numbers of the last two that ran code */
};

/* The workspace, as it was when nothing ran in it. */
struct session_files {
    struct file_listing seen; /* the changes of a cell are told against it */
    bool stale;               /* something changed since: list it again */
    uint64_t failed_put;      /* ref of a file that failed: its other pieces are
                                 ignored; 0: none */
};

/* A file on its way to a consumer, in SESSION_SENDING. */
struct session_sending {
    int fd; /* -1: none */
    uint64_t sent, bytes;
};

/* Made by sessions.c at FRAME_OPEN, freed when its machine has ended. */
struct session {
    struct session *next; /* in its bucket */
    struct sessions *sessions;
    char name[MAX_NAME_BYTES + 1];
    char holder[MAX_NAME_BYTES + 1]; /* tells it from others of that name */
    enum profile profile;
    struct session_limits limits;

    struct machine machine; /* enum session_state */
    struct session_flags flags;
    struct loop_alarm *deadline;  /* of the state */
    struct loop_alarm *measuring; /* of memory, while code runs; when idle, it
                                     waits for a tick of the files' clock */
    uint64_t idle_since_ms;       /* when the state was entered */

    struct peer_request *first; /* what is asked, in order; owned */
    struct session_calls calls; /* that were made, with their outcomes */
    bool opened;                /* FRAME_OPENED was sent once */
    bool was_ready;             /* its interpreter stood ready */
    uint64_t made_ms;

    struct interpreter *interpreter; /* NULL: none yet, or none any more */
    struct box_request box_request;  /* while one has to be born for us */
    uint64_t born_bytes; /* resident, when it was ready: not the cells' */
    bool filled;         /* a cell has ended in it: there are variables */
    bool at_exit;        /* functions wait for its end, said its last cell */
    bool retried;        /* one died while it was opened: the last try */
    const char
        *blame; /* why we kill it; NULL: it died, or its cell is stopped */

    struct cell_counts cells;
    struct running_cell run;
    struct install *install; /* that goes on, for the cell; NULL: none */
    struct session_snapshot snapshot;
    struct loss_notice loss;
    struct session_files files;
    struct session_sending sending;
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
