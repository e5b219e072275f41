/* run.h - the call of a request runs as a cell, and what it wrote is read.
 *
 * Only the consumer knows how the session came to be what the cell runs in: it
 * adds that to the cell's state and reason. */
#ifndef CONSUMER_PYTHON_RUN_H
#define CONSUMER_PYTHON_RUN_H

#include <stddef.h>

#include "schemas/message/journal.h"
#include "schemas/message/machine.h"

struct python_session;

/* Where the call is. */
enum call_progress {
    CALL_UNSENT,
    CALL_INTENDED, /* an earlier attempt may have sent it */
    CALL_SENT,     /* this one has */
};

/* What became of the session before the cell, the worst last. */
enum session_loss {
    LOSS_NONE,
    LOSS_RERUN, /* it was lost, and the earlier cells, if any, ran again */
    LOSS_TOTAL, /* they did not */
};

struct cell_run {
    enum call_progress progress;
    unsigned int losses; /* of the session, by this call */
    enum session_loss loss;
    size_t rerun;        /* earlier cells that ran again */
    size_t rerun_killed; /* of these, cells that had to be killed this time */
};

/* A new request's call. */
void run_begin(struct python_session *session);
/* The session that the call may run in is lost. */
void run_lose_session(struct python_session *session);
/* The call has lost its session too often. */
bool run_is_lost(const struct python_session *session);
/* The connection does not come back, and this is the call's last loss: another
 * attempt would not know of the losses, and run the cell a third time. */
bool run_is_lost_again(const struct python_session *session);
/* The owner hears that the outcome is unknown; the request is over. */
enum pace run_give_up(struct python_session *session);

/* An earlier cell has ended; it ran in a fresh session, or not. */
void run_count_rerun(struct python_session *session, const struct cell *cell);
void run_count_fresh(struct python_session *session);

machine_step run_enter, run_landed;
machine_step run_enter_read, run_read;
/* Asks for a file of the workspace: it lands in session->file. */
enum pace run_ask_file(struct python_session *session, struct view name);

#endif
