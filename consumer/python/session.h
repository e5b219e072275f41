/* session.h - one Python session as an attempt sees it: wishes that are
 * carried out, whatever becomes of the executor meanwhile.
 *
 *   IDLE --> AWAY --> OPENING -----> FETCHING <-> PUTTING --> REPLAYING
 *    ^       ^|          |  `CHECKING-'   `---------+------------'|
 *    |  CLAIMING         +---> RUNNING, GETTING <---+-------------+
 *    |        +--- any, when the link breaks          |
 *    +------------------- done, or fault -------------+
 *
 *   a session that outlives jobs:
 *     AWAY --> CLAIMING         until it is the job's turn; what Redis knows
 *     OPENING --> DROPPING      what is here is not what was saved last: anew
 *     FETCHING --> PICTURING --> RESTORING --> HOLDING      its names; whose it
 *                                                           is now
 *     SAVING --> LISTING --> COLLECTING ... <-> WRITING     WISH_SAVE
 *     CLAIMING --> NOTING       nothing ran: what was said  WISH_NOTE
 *
 * When the link comes back the session is opened again. Is it still there, the
 * call is asked for by its id: what it put out comes again, it does not run
 * again. Is it fresh (the executor died), it is given the job's files, the
 * earlier cells run again unseen (not those that had to be killed), then the
 * call: its cell says so. A call that loses its session twice is given up as
 * unknown.
 *
 * A session that is not fresh may have been left half restored, by an attempt
 * that died over it. So it is checked: has it seen the last of the earlier
 * cells? If not, what is missing follows: a cell that it has seen does not run
 * again, and the first one tells whether the files were there.
 *
 * What is under the name of a session that outlives jobs is that session only
 * when the record in Redis names it as the holder. HOLDING comes after all that
 * the record has was put into a fresh one, and before anything runs there: so
 * one that was left half made is never taken for the session. */
#ifndef CONSUMER_SESSION_H
#define CONSUMER_SESSION_H

#include "consumer/alarm.h"
#include "consumer/conversation/conversation.h"
#include "consumer/python/executor.h"
#include "consumer/python/memo.h"
#include "consumer/python/notice.h"
#include "consumer/python/report.h"
#include "consumer/queue/store.h"
#include "schemas/message/machine.h"
#include "schemas/redis/session.h"

enum session_state {
    SESSION_IDLE,
    SESSION_AWAY,
    SESSION_CLAIMING,
    SESSION_NOTING,
    SESSION_OPENING,
    SESSION_DROPPING,
    SESSION_CHECKING,
    SESSION_FETCHING,
    SESSION_PUTTING,
    SESSION_PICTURING,
    SESSION_RESTORING,
    SESSION_HOLDING,
    SESSION_REPLAYING,
    SESSION_RUNNING,
    SESSION_GETTING,
    SESSION_SAVING,
    SESSION_LISTING,
    SESSION_COLLECTING,
    SESSION_WRITING,
    SESSION_STATES,
};

/* Of the cell that runs. */
struct cell_events {
    /* The call's output starts: everything from its first byte. again: it is
     * the same run, whose first part was seen before; else what came is void.
     */
    void (*on_start)(void *owner, bool again);
    /* offset: where in the stream they stand, when that is told; else 0. */
    void (*on_output)(void *owner, struct view stream, uint64_t offset,
                      struct view bytes);
    /* A display, an update or a clear: borrowed. */
    void (*on_display)(void *owner, const struct frame *frame);
    /* Its code asks for a tool (borrowed), until session_answer(). */
    void (*on_tool)(void *owner, const struct frame *frame);
    /* It has ended: borrowed. displays: as many as it had; files: of struct
     * workspace_file; emptied: those that cells had written were lost. */
    void (*on_cell)(void *owner, const struct cell *cell, uint64_t displays,
                    const struct list *files, bool emptied);
};

struct session_events {
    /* The code of an earlier call, which runs again, asks for a tool
     * (borrowed), until session_answer(). */
    void (*on_tool)(void *owner, struct view call, const struct frame *frame);
    /* The code of an earlier cell begins: its calls come from the first on. */
    void (*on_past)(void *owner, struct view call);
    /* It has waited for a while for a job that nobody is at work on, and that
     * may want the place that its own has. */
    void (*on_stuck)(void *owner);
    /* The wish is fulfilled, or session->fault says why not. */
    void (*on_done)(void *owner);
};

struct session_setup {
    uv_loop_t *loop;
    struct executor *executor;
    struct store *store; /* where the blobs of files are read */
    const struct names *names;
    struct view job; /* jobs share sessions: it makes calls unique there */
    struct session_limits limits;
    struct list files; /* of struct file_ref: the job's */
    uint64_t away_ms, cell_ms;
    struct view tools; /* JSON: what code may call */
    struct list env;   /* of struct pair: environment of the job's cells */

    /* Of a session that outlives jobs; key.name is empty: the job's own. */
    struct session_key key;
    struct holding holding;
    bool saves;           /* contents too, not only who holds it */
    uint64_t ttl_ms;      /* of what is saved, from the last save on */
    uint64_t kept_ms;     /* of files that are replaced */
    uint64_t files_bytes; /* at most, of all that are saved */
};

enum wish_kind {
    WISH_CLAIM, /* the job's turn: session->memo is there */
    WISH_READY, /* open, files put, earlier cells run */
    WISH_RUN,   /* call, code */
    WISH_GET,   /* name: a file of the workspace, into session->file */
    WISH_SAVE,  /* as READY, then names and files into Redis, once a job */
    WISH_NOTE,  /* said, into the record; no executor is asked for it */
};

/* What was said in the session: a blob that is there, see history.h. Without
 * one: as the record has it. */
struct said {
    struct view blob;
    uint64_t bytes, exchanges;
};

struct wish {
    enum wish_kind kind;
    struct view call, code;
    uint64_t number; /* of the cell in its job, from 1 */
    bool last;       /* no call will follow it in this session */
    bool intended;   /* the call may have been sent before, by somebody else */
    const struct cell_events *cell; /* RUN: who hears of it */
    void *owner;
    struct view name;
    struct past past;
    bool files_there;
    uint64_t cells;   /* SAVE: that this job has run */
    struct said said; /* SAVE, NOTE */
};

struct session {
    struct session_setup setup;
    struct session_events events;
    void *owner;
    char name[80];
    struct machine machine; /* enum session_state */
    bool over;              /* the wish is, and its owner is to be told */
    struct executor_watch watch;
    struct alarm *alarm;
    struct wish wish;
    struct err fault; /* of the last wish; ERR_NONE: fulfilled */
    struct buf file;

    bool begun, landed; /* in this state: the request is out; answered */
    uint64_t ref;
    size_t asked;      /* tools: calls that are open */
    struct err answer; /* FAILED */
    bool fresh;        /* OPENED said so */

    bool made;                 /* on this connection it was asked for */
    bool opened;               /* ... and is there */
    bool files_due;            /* to be put */
    size_t file_at;            /* the next one */
    size_t fetches, fetched;   /* asked of the store, answered by it */
    bool past_due;             /* earlier cells are to be run again */
    bool check_first;          /* CHECKING asks for the first, not the last */
    size_t rerun;              /* earlier cells that did run again */
    size_t rerun_killed;       /* of these, that had to be killed this time */
    size_t past_at;            /* the next one */
    bool sent;                 /* the call may have reached the executor */
    bool sent_here;            /* it has: we sent it */
    unsigned int losses;       /* of the session, by this call */
    bool restored, unrestored; /* to be said of the next cell */

    bool claimed;                    /* it is our turn, known is the latest */
    bool waiting;                    /* for another job's turn to end */
    uint64_t wait_ms;                /* until we ask again whose it is */
    char holder[MAX_NAME_BYTES + 1]; /* which session it is, of that name */
    unsigned int drops;              /* of others of that name */
    struct session_memo memo;
    bool record_due;      /* what is known is to be put into it */
    bool hold_due;        /* it is to be said that this one is it */
    struct notice notice; /* ... with the next cell */
    bool reported;        /* a cell has been told what the record says */
    struct buf sent_out;  /* the record on its way */
    unsigned int saves;   /* asked of the executor */
    struct saving *saving;
};

/* name: at most 79 bytes, see session_name(). Copies; borrows the lists. */
void session_init(struct session *session, const struct session_setup *setup,
                  const char *name, struct session_events events, void *owner);
/* Nothing is called after. The executor keeps the session. */
void session_finish(struct session *session);

/* One wish at a time. on_done comes from the loop or, when there is nothing
 * to do, at once. The wish's views are borrowed until then. */
void session_want(struct session *session, const struct wish *wish);

/* Its turn has not come: another job has the session, or goes first. */
bool session_waits(const struct session *session);

/* Gives the wish up: nothing is called after. */
void session_abandon(struct session *session);

/* The value of a tool as JSON, or why there is none. */
void session_answer(struct session *session, struct view call, uint64_t number,
                    struct view data, const struct err *why);

void session_forget(struct session *session, struct view call);
void session_interrupt(struct session *session);
void session_close(struct session *session); /* ends it at the executor */

/* A record of a session of that key, one generation on; now nobody's. */
struct session_record session_record_next(const struct session_setup *setup,
                                          const struct session_memo *memo);
/* Replaces what is known; reply as the transition answers. */
bool session_record_send(struct session *session, struct session_key key,
                         uint64_t generation,
                         const struct session_record *record, store_done *done,
                         void *owner, struct err *err);

/* What the executor calls the session: job-<id>, or for a session that
 * outlives jobs a hash of tenant and name, so that no tenant can name
 * another's. */
void session_name(char name[80], const struct job *job);

#endif
