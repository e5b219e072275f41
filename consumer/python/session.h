/* session.h - one Python session, as the attempt at a job uses it.
 *
 * The attempt makes one request at a time. The session carries it out, whatever
 * becomes of the executor meanwhile, and calls on_done.
 *
 * A session of the job's own ends with the job. A session with a name outlives
 * jobs: its record in Redis says which executor holds it and what was saved of
 * it. Its jobs take turns; a request waits until it is this job's turn.
 *
 * When the connection to the executor comes back, the session is opened again:
 *
 *   - It is still there. The consumer asks for the running call by its id, and
 *     gets its output again; the call does not run again.
 *   - It is a fresh one, because the executor died. The consumer puts in the
 *     job's files, runs the earlier cells again without showing their output
 *     (cells that had to be killed are left out), and then runs the call; the
 *     cell says that. A call that loses its session twice is given up: its
 *     outcome is unknown.
 *
 * A job that could not be read has no session: all but session_request(),
 * session_setup() and session_file_bytes() accept NULL. */
#ifndef CONSUMER_PYTHON_SESSION_H
#define CONSUMER_PYTHON_SESSION_H

#include "consumer/conversation/conversation.h"
#include "consumer/python/executor.h"
#include "consumer/python/memo.h"
#include "consumer/queue/store.h"
#include "schemas/redis/session.h"

struct python_session;

/* What the owner of a SESSION_RUN hears of its cell. Arguments are borrowed. */
struct cell_events {
    /* The output starts from its first byte. again: it is the same run, whose
     * first part came before; else what came before is void. */
    void (*on_start)(void *owner, bool again);
    /* offset: where the bytes stand in the stream; 0 where the executor does
     * not tell. */
    void (*on_output)(void *owner, struct view stream, uint64_t offset,
                      struct view bytes);
    /* A display, an update or a clear. */
    void (*on_display)(void *owner, const struct frame *frame);
    /* The code calls a tool: session_answer() gives it the value. */
    void (*on_tool)(void *owner, const struct frame *frame);
    /* The cell has ended. displays: how many it had; files: of struct
     * workspace_file; emptied: files that cells had written were lost. */
    void (*on_cell)(void *owner, const struct cell *cell, uint64_t displays,
                    const struct list *files, bool emptied);
};

/* What the attempt hears of its session. */
struct session_events {
    /* The code of an earlier cell, which runs again, calls a tool (borrowed):
     * session_answer() gives it the value. */
    void (*on_tool)(void *owner, struct view call, const struct frame *frame);
    /* An earlier cell begins to run again: its calls come from the first on. */
    void (*on_rerun)(void *owner, struct view call);
    /* The session has waited for its turn for a while, and no consumer works on
     * the job that goes first: that job may need this one's slot. */
    void (*on_stuck)(void *owner);
    /* The request has ended: session_fault() says how. */
    void (*on_done)(void *owner);
};

struct session_setup {
    uv_loop_t *loop;
    struct executor *executor;
    struct store *store; /* the blobs of files are read through it */
    const struct names *names;
    struct view job; /* makes calls unique in a session that jobs share */
    struct session_limits limits;
    struct list files; /* of struct file_ref: the job's */
    uint64_t away_ms, cell_ms;
    struct view tools; /* JSON: what code may call */
    struct list env;   /* of struct pair: environment of the job's cells */

    /* Of a session with a name; key.name is empty: the job's own. */
    struct session_key key;
    struct job_lease lease; /* of the job: it fences writes */
    bool saves;             /* saves variables and files, not only the holder */
    uint64_t ttl_ms;        /* of the record, from its last write on */
    uint64_t kept_ms;       /* of files that are replaced */
    uint64_t files_bytes;   /* limit of all saved files together */
};

enum session_verb {
    SESSION_CLAIM,    /* wait for the job's turn; then session_memo() is read */
    SESSION_PREPARE,  /* open it, put in files, run earlier cells again */
    SESSION_RUN,      /* as PREPARE, then run code as call */
    SESSION_READ,     /* read the file called name from the workspace */
    SESSION_SAVE,     /* as PREPARE, then save all into Redis; once a job */
    SESSION_REMEMBER, /* write the history into the record, without executor */
};

/* The session's conversation: a blob that is in Redis, see history.h. No blob:
 * the record's stays. */
struct saved_history {
    struct view blob;
    uint64_t bytes, exchanges;
};

/* Views are borrowed until on_done. */
struct session_request {
    enum session_verb verb;
    struct view call, code; /* RUN */
    uint64_t number;        /* RUN: of the cell in its job, from 1 */
    bool last;              /* RUN: no other call follows in this session */
    bool intended; /* RUN: an earlier attempt may have sent the call already */
    const struct cell_events *cell; /* RUN: who hears of it */
    void *owner;
    struct view name;             /* READ */
    struct earlier_cells earlier; /* cells that a fresh session needs again */
    bool files_there;             /* the job's files were put in before */
    uint64_t cells;               /* SAVE: that this job has run */
    struct saved_history saved;   /* SAVE, REMEMBER */
};

/* Copies setup and name (at most 79 bytes, see session_name()); borrows what
 * setup points to. */
struct python_session *session_new(const struct session_setup *setup,
                                   const char *name,
                                   struct session_events events, void *owner);
/* Calls nothing any more. The executor keeps the session. */
void session_free(struct python_session *session);

/* What the executor calls the session: job-<id>, or for one with a name a hash
 * of tenant and name, so that no tenant can name another's. */
void session_name(char name[80], const struct job *job);

/* on_done comes from the loop or, when there is nothing to do, at once. */
void session_request(struct python_session *session,
                     const struct session_request *request);
/* Gives the request up: on_done is not called. */
void session_abandon(struct python_session *session);
/* The same; session_fault() says why. */
void session_fail_request(struct python_session *session,
                          const struct err *why);

/* Of the last request; ERR_NONE: it was carried out. */
const struct err *session_fault(const struct python_session *session);
/* Of the last SESSION_READ. */
struct view session_file_bytes(const struct python_session *session);
const struct session_setup *session_setup(const struct python_session *session);
/* The record, as this job has read or written it last. NULL for NULL. */
struct session_memo *session_memo(struct python_session *session);

/* The executor was asked for the session, so it may have it. */
bool session_is_asked(const struct python_session *session);
/* The executor has it, and it can be used. */
bool session_is_open(const struct python_session *session);
/* It has no request, is not open, and waits for no other job: SESSION_PREPARE
 * would open it at once. */
bool session_can_open(const struct python_session *session);
/* Another job has the session, or goes first. */
bool session_waits(const struct python_session *session);

/* Gives code the value of its tool call as JSON, or why there is none. */
void session_answer(struct python_session *session, struct view call,
                    uint64_t number, struct view data, const struct err *why);
/* Tells the executor: the call's result is not needed any more; stop what
 * runs; end the session. */
void session_forget(struct python_session *session, struct view call);
void session_interrupt(struct python_session *session);
void session_close(struct python_session *session);

#endif
