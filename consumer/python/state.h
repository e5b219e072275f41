/* state.h - the machine of a session: its states, and what moves it on. It runs
 * in session.c.
 *
 *   IDLE --> AWAY --> OPENING --> what is due, in this order --> IDLE
 *            |  ^      |    ^
 *            v  |      |    '--> DROPPING   it is not the record's session
 *         CLAIMING     '-------> CHECKING   what is missing in it
 *
 *   what is due:
 *     FETCHING_FILE <-> PUTTING_FILE               files
 *     FETCHING_VARIABLES --> RESTORING_VARIABLES   variables of the record
 *     NAMING_HOLDER                                the record says who holds it
 *     RERUNNING                                    earlier cells
 *   and then what was requested:
 *     RUNNING                                      SESSION_RUN
 *     SAVING_VARIABLES --> LISTING_FILES --> SAVING_FILES <-> WRITING_RECORD
 *                                                  SESSION_SAVE
 *   from an open session at once:
 *     READING_FILE                                 SESSION_READ
 *   without an executor:
 *     CLAIMING                                     SESSION_CLAIM
 *     CLAIMING --> WRITING_HISTORY                 SESSION_REMEMBER
 *
 *   any --> IDLE (done, fault)   any --> AWAY (the connection breaks)
 *
 * CLAIMING, DROPPING, the variables, NAMING_HOLDER and SESSION_SAVE are of a
 * session with a name only.
 *
 * The order matters. NAMING_HOLDER comes when all that the record has was put
 * in, and before any cell runs: a session that is left half made in between is
 * not the one that the record names, so it is never used.
 *
 * Each state has one open exchange: a request to the executor or to Redis. When
 * the answer has come, the state lands, and goes on itself or by
 * session_next(), which knows the order above.
 *
 * Private: only session, open, record and run include this header, because each
 * has its part of struct python_session, and its states. All others use
 * session.h. */
#ifndef CONSUMER_PYTHON_STATE_H
#define CONSUMER_PYTHON_STATE_H

#include "consumer/python/notice.h"
#include "consumer/python/open.h"
#include "consumer/python/record.h"
#include "consumer/python/run.h"
#include "consumer/python/session.h"
#include "schemas/message/limits.h"
#include "schemas/message/machine.h"
#include "schemas/service/alarm.h"

enum python_state {
    IDLE,
    AWAY,
    CLAIMING,
    WRITING_HISTORY,
    OPENING,
    DROPPING,
    CHECKING,
    FETCHING_FILE,
    PUTTING_FILE,
    FETCHING_VARIABLES,
    RESTORING_VARIABLES,
    NAMING_HOLDER,
    RERUNNING,
    RUNNING,
    READING_FILE,
    SAVING_VARIABLES,
    LISTING_FILES,
    SAVING_FILES,
    WRITING_RECORD,
    SESSION_STATES,
};

/* Limits of the executor for putting back variables, and for saving them. */
enum { RESTORE_MS = 60000, SAVE_MS = 20000 };

/* What the state has asked for. Reset when another state is entered, but for
 * sent and answered: an answer of Redis cannot be called off, so one that
 * belongs to an earlier state is recognised by its number. */
struct session_exchange {
    uint64_t ref;      /* of the request to the executor; 0: none */
    struct err answer; /* why it was refused; kind ERR_NONE: it was not */
    bool fresh;        /* by the answer the session, or cell, is new there */
    size_t tools_open; /* tool calls that are not answered yet */
    size_t sent, answered; /* requests to Redis, of all states so far */
};

struct python_session {
    struct session_setup setup;
    struct session_events events;
    void *owner;
    char name[80];
    struct machine machine; /* enum python_state */
    struct alarm *alarm;    /* the state's limit; waits in CLAIMING, too */
    struct executor_watch watch;
    struct session_request request;
    struct err fault; /* of the last request; ERR_NONE: carried out */
    bool over;        /* the request has ended: on_done is to be called */
    struct buf file;  /* the file that was read last from the workspace */
    struct session_exchange exchange;
    struct session_opening opening;
    struct session_restore restore;
    struct cell_run run;
    struct session_claim claim;
    struct session_saving saving;
    struct session_memo memo; /* of a session with a name */
    struct notice notice;     /* for the next cell */
};

/* Runs the machine; calls on_done when the request is over: then the session
 * may be gone. */
void session_run(struct python_session *session);
/* Goes to a state that the table allows. Returns AGAIN. */
enum pace session_enter(struct python_session *session, enum python_state next);
/* Ends the request: it was carried out, or it failed. on_done comes when the
 * machine has stopped. */
enum pace session_done(struct python_session *session);
enum pace session_fail(struct python_session *session, const struct err *why);
/* Goes to the next state that the request needs, from an open session. */
enum pace session_next(struct python_session *session);

/* The answer to the state's exchange has come. Runs the machine: the session
 * may be gone afterwards. */
void session_land(struct python_session *session);
/* Sends the state's request to the executor. Sets frame->session. */
enum pace session_ask(struct python_session *session, struct frame *frame,
                      executor_answer *answer);
/* The answer that has nothing but fresh and an error in it: lands. */
executor_answer session_answered;

/* Asks Redis for a blob. Callbacks of Redis begin with session_heard(). False:
 * the state that asked is over, and the answer means nothing any more. */
enum pace session_fetch_blob(struct python_session *session, struct view blob,
                             store_done *done);
bool session_heard(struct python_session *session, enum python_state state);

/* Tells the owner that the code of that call calls a tool. The cell's clock
 * stops until the answer. rerun: the call is an earlier cell. */
void session_hear_tool(struct python_session *session, struct view call,
                       const struct frame *frame, bool rerun);
/* All tools are answered, or their calls void: the state's limit begins anew.
 */
void session_resume_clock(struct python_session *session);

/* Whether the session has a name, so that it outlives jobs. */
bool session_is_named(const struct python_session *session);

/* The name of a call at the executor, JOB/CALL: unique among all jobs of the
 * session. */
struct call_name {
    char text[MAX_NAME_BYTES + 1];
};
struct call_name session_call_name(const struct python_session *session,
                                   struct view call);
/* The number of a cell in its session, behind those of earlier jobs. number: in
 * its job, from 1. */
uint64_t session_cell_number(const struct python_session *session,
                             uint64_t number);
/* The frame that runs a cell. Borrows name and code. */
struct frame session_run_frame(const struct python_session *session,
                               const struct call_name *name, struct view code,
                               uint64_t number);

#endif
