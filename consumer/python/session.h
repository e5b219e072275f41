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
 * job/load.c makes a session for a job, and job/attempt.c frees it with the
 * attempt. A job that could not be read has none: all functions but
 * session_request(), session_setup() and session_file_bytes() accept NULL. */
#ifndef CONSUMER_PYTHON_SESSION_H
#define CONSUMER_PYTHON_SESSION_H

#include "consumer/conversation/conversation.h"
#include "consumer/python/executor.h"
#include "consumer/queue/store.h"
#include "schemas/redis/session.h"

struct python_session;
struct session_memo; /* record.h */

/* What the owner of a SESSION_RUN is told of its cell, from the loop. Arguments
 * are borrowed for the call; none of these may free the session. */
struct cell_events {
    /* The output starts from its first byte. again: it is the same run, whose
     * first part came before; else what came before is void. */
    void (*on_start)(void *owner, bool again);
    /* offset: the position of the bytes in the stream; 0 when the executor does
     * not say. */
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

/* What the attempt is told of its session. */
struct session_events {
    /* The code of an earlier cell, which runs again, calls a tool (borrowed):
     * session_answer() gives it the value. */
    void (*on_tool)(void *owner, struct view call, const struct frame *frame);
    /* An earlier cell begins to run again: its calls come from the first on. */
    void (*on_rerun)(void *owner, struct view call);
    /* The session has waited for its turn for a while, and no consumer works on
     * the job that goes first: that job may need this one's slot. */
    void (*on_stuck)(void *owner);
    /* The request has ended: session_fault() says how. The next request may be
     * made, or the session freed, from inside. */
    void (*on_done)(void *owner);
};

/* Constant. What it points to must outlive the session. */
struct session_setup {
    uv_loop_t *loop;
    struct executor *executor;
    struct store *store; /* through which Redis is asked */
    const struct names *names;
    struct view job; /* id; makes calls unique in a session that jobs share */
    struct session_limits limits;
    struct list files; /* of struct file_ref: the job's */
    uint64_t away_ms;  /* how long an executor that is away is waited for */
    uint64_t cell_ms;  /* limit of one cell, without the time of its tools */
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
    SESSION_CLAIM,    /* wait for the job's turn, and read session_memo() */
    SESSION_PREPARE,  /* open it, put in files, run earlier cells again */
    SESSION_RUN,      /* as PREPARE, then run code as call */
    SESSION_READ,     /* read the file called name from the workspace */
    SESSION_SAVE,     /* as PREPARE, then save all into Redis; once a job */
    SESSION_REMEMBER, /* write the history into the record, without executor */
};

/* The session's conversation (schemas/message/history.h), a blob that is in
 * Redis already. blob empty: the record keeps the one that it has. */
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
    const struct cell_events *cell; /* RUN */
    void *owner;                    /* of cell */
    struct view name;               /* READ */
    struct earlier_cells
        earlier;                /* cells that a fresh session must run again */
    bool files_there;           /* the job's files are in it already */
    uint64_t cells;             /* SAVE: how many cells this job has run */
    struct saved_history saved; /* SAVE, REMEMBER */
};

/* Copies setup and name (at most 79 bytes, see session_name()); borrows what
 * setup points to. */
struct python_session *session_new(const struct session_setup *setup,
                                   const char *name,
                                   struct session_events events, void *owner);
/* Nothing is called any more. The executor still has the session: see
 * session_close(). */
void session_free(struct python_session *session);

/* The name of the job's session at the executor: job-<id>, or "session-" and a
 * hash of tenant and name, so that no tenant can name another's. */
void session_name(char name[80], const struct job *job);

/* Begins a request; there must be none. on_done comes from the loop or, when
 * there is nothing to do, from inside here: then the session may be gone on
 * return. */
void session_request(struct python_session *session,
                     const struct session_request *request);
/* Gives the request up: on_done is not called. */
void session_abandon(struct python_session *session);
/* The same; session_fault() then is why. */
void session_fail_request(struct python_session *session,
                          const struct err *why);

/* How the last request ended; kind ERR_NONE: it was carried out. */
const struct err *session_fault(const struct python_session *session);
/* The bytes of the last SESSION_READ, borrowed until the next request. */
struct view session_file_bytes(const struct python_session *session);
const struct session_setup *session_setup(const struct python_session *session);
/* The record as this job has read or written it last. NULL when session is. */
struct session_memo *session_memo(struct python_session *session);

/* Whether the executor was asked for the session, so that it may have it. */
bool session_is_asked(const struct python_session *session);
/* Whether the executor has it, and it can be used. */
bool session_is_open(const struct python_session *session);
/* Whether SESSION_PREPARE would open it at once: it has no request, is not
 * open, and waits for no other job. */
bool session_can_open(const struct python_session *session);
/* Whether it waits because another job has the session, or goes first. */
bool session_waits(const struct python_session *session);

/* Gives the code the value of its tool call, JSON, or the reason why there is
 * none. number: of the tool call in its cell, as on_tool() told it. Ignored
 * when no tool call is open. */
void session_answer(struct python_session *session, struct view call,
                    uint64_t number, struct view data, const struct err *why);
/* Messages to the executor, without an answer: the result of the call is not
 * needed any more; stop the cell that runs; end the session. Lost while the
 * connection is broken. */
void session_forget(struct python_session *session, struct view call);
void session_interrupt(struct python_session *session);
void session_close(struct python_session *session);

#endif
