/* run.h - runs the call of a request as a cell, and reads files that it wrote:
 * states RUNNING, READING_FILE.
 *
 * Only the consumer knows how the session was restored before the cell: it adds
 * that to the cell's state and reason.
 *
 * A cell may run twice, when its session was lost with the executor before the
 * outcome was known, but never three times: it may be what kills the executor.
 */
#ifndef CONSUMER_PYTHON_RUN_H
#define CONSUMER_PYTHON_RUN_H

#include <stddef.h>

#include "schemas/message/journal.h"
#include "schemas/message/machine.h"

struct python_session;

/* How far the call is, in the session that it runs in. */
enum call_progress {
    CALL_UNSENT,
    CALL_INTENDED, /* an earlier attempt may have sent it */
    CALL_SENT,     /* this attempt has sent it */
};

/* What became of the session before the cell, the worst last. */
enum session_loss {
    LOSS_NONE,
    LOSS_RERUN, /* it was lost, and the earlier cells, if any, ran again */
    LOSS_TOTAL, /* it was lost, and they did not all run again */
};

struct cell_run {
    enum call_progress progress;
    unsigned int losses; /* how often the call may have lost its session */
    enum session_loss loss;
    size_t rerun;        /* earlier cells that ran again */
    size_t rerun_killed; /* of these, cells that had to be killed this time */
};

/* Begins the call of a new request. */
void run_begin(struct python_session *session);
/* Counts that the session is lost, in which the call may have run. */
void run_lose_session(struct python_session *session);
/* Whether the call has lost its session too often to be sent once more. */
bool run_is_lost(const struct python_session *session);
/* Whether the executor is away and this would be the call's last loss. Then the
 * call is given up here: another attempt would not know of the losses, and
 * could run the cell a third time. */
bool run_is_lost_again(const struct python_session *session);
/* Tells the owner that the outcome is unknown, and ends the request. */
enum pace run_give_up(struct python_session *session);

/* An earlier cell has ended with that outcome. */
void run_count_rerun(struct python_session *session, const struct cell *cell);
/* All earlier cells run again, or have done so for a request that was given up,
 * or do so for an earlier attempt. */
void run_note_reruns(struct python_session *session);

/* run_landed() ends both states. */
machine_step run_enter, run_landed;
machine_step run_enter_read;
/* Asks the executor for a file of the workspace, as the exchange of the state.
 * When it lands, the bytes are in session->file. */
enum pace run_ask_file(struct python_session *session, struct view name);

#endif
