/* record.h - the record of a session with a name: read in the job's turn, and
 * written.
 *
 * CLAIMING waits until it is the job's turn; the answer brings the record.
 * NAMING_HOLDER writes who holds the session. It comes after all that the
 * record has was put in, and before anything runs there: so a session that was
 * left half made is never taken for the right one.
 *
 * A write names the generation that it replaces: Redis refuses it when another
 * job has written meanwhile. */
#ifndef CONSUMER_PYTHON_RECORD_H
#define CONSUMER_PYTHON_RECORD_H

#include "consumer/python/session.h"
#include "schemas/message/machine.h"

/* The job has to claim the session before it uses it. */
enum claim_state {
    CLAIM_NONE,  /* Redis is to be asked */
    CLAIM_WAITS, /* another job has it, or goes first */
    CLAIM_OURS,  /* the memo is the latest record */
};

struct session_claim {
    enum claim_state state;
    uint64_t wait_ms;  /* until Redis is asked again */
    bool holder_due;   /* the record is to name this executor's session */
    bool notice_told;  /* a cell has told what the record's note says */
    struct buf record; /* on its way to Redis, or the last that was */
};

void record_finish(struct session_claim *claim);

machine_step record_enter_claim, record_claimed;
machine_step record_enter_holder, record_holder_named;
machine_step record_enter_history, record_history_written;

/* The record that follows the memo: one generation on, held by nobody. Borrows
 * from both. */
struct session_record record_next(const struct session_setup *setup,
                                  const struct session_memo *memo);
/* Sends it, in place of the one of that generation; reply as the transition
 * answers. False: it does not fit. */
bool record_send(struct python_session *session, struct session_key key,
                 uint64_t generation, const struct session_record *record,
                 store_done *done, void *owner, struct err *err);

/* The state writes the session's record; when it lands, the memo is that. */
enum pace record_write(struct python_session *session,
                       const struct session_record *record);
/* The notice that no cell has told yet is kept in the record. */
void record_add_notice(const struct python_session *session,
                       struct session_record *record);
/* The request's history, if it has one. */
void record_add_history(const struct python_session *session,
                        struct session_record *record);
uint64_t record_wall_ms(void);

#endif
