/* session.h - one session: an interpreter in a box, and what is asked of it.
 *
 *            .----------------------------.
 *            v                            |
 *   IDLE --> RUNNING --> SWEEPING --> (outcome) --> IDLE
 *    |  ^       |  `--> STOPPING --'  |      ^
 *    |  |       |           |         v      |
 *    |  |       `-----------`---> KILLING ---'
 *    |  `-- OPENING (no interpreter yet, or not any more)
 *    |  `-- SENDING (a file, in pieces)
 *    `----> ENDED
 *
 * Requests are carried out in order, but for those that ask about the session
 * itself: open again, interrupt, forget, close, and a run of a call that it
 * knows. A session outlives the connections that asked for it; its interpreter
 * may die without it: the next request gets a new one. */
#ifndef EXECUTOR_WARDEN_SESSION_H
#define EXECUTOR_WARDEN_SESSION_H

#include "executor/warden/call.h"
#include "executor/warden/files.h"
#include "executor/warden/runner.h"

struct sessions;

enum session_state {
    SESSION_OPENING,
    SESSION_IDLE,
    SESSION_RUNNING,
    SESSION_STOPPING, /* interrupted: it has a moment to end by itself */
    SESSION_KILLING,
    SESSION_SWEEPING, /* the cell is over; what it left behind is ended */
    SESSION_SENDING,
    SESSION_ENDED,
    SESSION_STATES,
};

/* What callbacks record and steps look at. */
struct session_seen {
    bool late;  /* the state's deadline has passed */
    bool ready; /* the interpreter waits for its first cell */
    bool dead;  /* it ended */
    bool done;  /* it said that the cell is over */
    bool swept; /* init has ended the strays; clean: all of them */
    bool clean;
    bool memory;    /* the box takes more than it may */
    bool interrupt; /* somebody asked for it */
    bool closing;   /* somebody asked to end the session */
};

/* The cell that runs, and what is known of its end. */
struct running {
    struct call *call;
    uint64_t number, limit_ms, started_ms;
    struct cell cell;
    struct arena arena; /* of what cell points to */
    size_t display_bytes;
    bool timed_out; /* interrupted for its deadline */
    char reason[320];
};

struct session {
    struct session *next;
    struct sessions *sessions;
    char name[MAX_NAME_BYTES + 1];
    enum session_state state;
    struct session_seen seen;
    struct session_limits limits;
    struct alarm *deadline;
    struct alarm *measuring; /* memory, while a cell runs */
    struct request *first;   /* what is asked, in order */

    struct box_wish wish;
    struct box *box;
    struct runner *runner;
    char loss[160]; /* the interpreter died between cells: why */
    bool opened;    /* OPENED was said */

    struct calls calls;
    struct running running;
    uint64_t cells;
    struct listing files; /* as the last cell left them */
    bool files_stale;
    bool again;          /* an interpreter of this opening died: the last try */
    uint64_t failed_put; /* ref: its other pieces are ignored */

    int sending; /* file that goes out; -1: none */
    uint64_t sent_bytes, send_bytes;
};

struct session *session_new(struct sessions *sessions, struct view name,
                            const struct session_limits *limits);
/* Kills what runs, fails what was asked. */
void session_free(struct session *session);

/* Takes the request. */
void session_ask(struct session *session, struct request *request);
/* The peer went away: what it asked and was not begun is dropped. */
void session_leave(struct session *session, struct peer *peer);
/* Lets the machine look at what was recorded. It may free the session. */
void session_run(struct session *session);

/* outcome.c: from what was seen to FRAME_DONE. */
void outcome_begin(struct session *session, struct call *call,
                   uint64_t limit_ms);
void outcome_display(struct session *session, const struct list *bundle);
void outcome_done(struct session *session, const struct guest_frame *done);
/* Overrides how it ended. */
void outcome_set(struct session *session, enum cell_status status,
                 enum cell_state state, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void outcome_say(struct session *session);

#endif
