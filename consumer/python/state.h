/* state.h - the machine of a session: its states, and what moves it on.
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
 * CLAIMING, DROPPING, the variables, NAMING_HOLDER and all that is saved are of
 * a session with a name only.
 *
 * Each state has one open exchange: a request to the executor or to Redis. When
 * the answer has come, the state lands, and goes on itself or by
 * session_next(), which knows the order above.
 *
 * For the files of this folder only. */
#ifndef CONSUMER_PYTHON_STATE_H
#define CONSUMER_PYTHON_STATE_H

#include "consumer/alarm.h"
#include "consumer/python/notice.h"
#include "consumer/python/open.h"
#include "consumer/python/record.h"
#include "consumer/python/restore.h"
#include "consumer/python/run.h"
#include "consumer/python/save.h"
#include "consumer/python/session.h"
#include "schemas/message/limits.h"
#include "schemas/message/machine.h"

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

enum { RESTORE_MS = 60000, SAVE_MS = 20000 };

/* What the state has asked for. */
struct session_exchange {
    uint64_t ref;          /* of the request to the executor; 0: none */
    struct err answer;     /* the executor or Redis has refused it */
    bool fresh;            /* the executor's answer: it is new there */
    size_t tools_open;     /* calls of tools that are not answered yet */
    size_t sent, answered; /* requests to Redis, of all states so far */
};

struct python_session {
    struct session_setup setup;
    struct session_events events;
    void *owner;
    char name[80];
    struct machine machine; /* enum python_state */
    struct alarm *alarm;    /* the state's limit */
    struct executor_watch watch;
    struct session_request request;
    struct err fault; /* of the last request; ERR_NONE: carried out */
    bool over;        /* the request is: on_done is to be called */
    struct buf file;  /* the last one read from the workspace */
    struct session_exchange exchange;
    struct session_opening opening;
    struct session_restore restore;
    struct cell_run run;
    struct session_claim claim;
    struct session_saving saving;
    struct session_memo memo;
    struct notice notice; /* for the next cell */
};

void session_init_machine(struct python_session *session);

/* Runs the machine; calls on_done when the request is over: then the session
 * may be gone. */
void session_run(struct python_session *session);
/* Always AGAIN. */
enum pace session_enter(struct python_session *session, enum python_state next);
/* The request is carried out; it failed. */
enum pace session_done(struct python_session *session);
enum pace session_fail(struct python_session *session, const struct err *why);
/* An open session goes where the request needs it to go. */
enum pace session_next(struct python_session *session);

/* What the state has asked for has come. */
void session_land(struct python_session *session);
/* Sends the state's request to the executor. */
enum pace session_ask(struct python_session *session, struct frame *frame,
                      executor_answer *answer);
/* The plain answer to it: lands. */
executor_answer session_answered;

/* Asks Redis for a blob. done begins with session_heard(): false, the state
 * that asked is over. */
enum pace session_fetch_blob(struct python_session *session, struct view blob,
                             store_done *done);
bool session_heard(struct python_session *session, enum python_state state);

/* The code of that call calls a tool; its clock stops meanwhile. rerun: it is
 * an earlier cell. */
void session_hear_tool(struct python_session *session, struct view call,
                       const struct frame *frame, bool rerun);
/* All tools are answered, or their calls void: the state's limit counts. */
void session_resume_clock(struct python_session *session);

/* The session has a name, so it outlives jobs. */
bool session_is_named(const struct python_session *session);

/* What the executor calls a call: unique among all jobs of the session. */
struct call_name {
    char text[MAX_NAME_BYTES + 1];
};
struct call_name session_call_name(const struct python_session *session,
                                   struct view call);
/* Of a cell in its session, after those of the jobs before. */
uint64_t session_cell_number(const struct python_session *session,
                             uint64_t number);
/* RUN, without its code. name is borrowed. */
struct frame session_run_frame(const struct python_session *session,
                               const struct call_name *name, struct view code,
                               uint64_t number);

#endif
