/* record.h - the record of a session with a name: what it tells, and how it is
 * read and written. States CLAIMING, NAMING_HOLDER, WRITING_HISTORY.
 *
 * CLAIMING waits until it is the job's turn; the answer brings the record.
 * NAMING_HOLDER writes which interpreter is the session.
 *
 * Each write names the generation that it replaces, and carries the lease of
 * the job: Redis refuses it when another job has written meanwhile, or when the
 * job belongs to another consumer. */
#ifndef CONSUMER_PYTHON_RECORD_H
#define CONSUMER_PYTHON_RECORD_H

#include "consumer/python/session.h"
#include "schemas/message/journal.h"
#include "schemas/message/machine.h"

/* The record as Redis had it when this job read it, or as this job has written
 * it since. Zeroed: there is none. */
struct session_memo {
    bool exists; /* Redis has a record */
    struct arena arena;
    struct session_record record; /* in the arena */
};

/* Replaces the memo by the record in those bytes; empty bytes: Redis has none.
 * Copies. Error: as message_decode(). */
bool memo_read(struct session_memo *memo, struct view bytes, struct err *err);
void memo_finish(struct session_memo *memo);

/* Whether there is a record, and the session is not closed. */
bool memo_is_open(const struct session_memo *memo);
/* Whether the record names that holder. Only the holder's interpreter is the
 * session; another one of the same name is not, whatever it has run. */
bool memo_is_held_by(const struct session_memo *memo, struct view holder);
/* Whether the session has a history and nothing else, because no executor has
 * ever had it. */
bool memo_is_blank(const struct session_memo *memo);
/* Whether the record has that blob as its history. An empty view: true, because
 * the caller has nothing to add. */
bool memo_has_history(const struct session_memo *memo, struct view history);
/* Whether that job has saved the session, which is the last that a job does. */
bool memo_is_saved_by(const struct session_memo *memo, struct view job);

/* Redis refuses a record that names a blob which is not there any more
 * (missing_blob). These take the blob that why names out of the record and note
 * that its contents are gone; then the caller writes the record again. False:
 * why is another error. */
bool record_forget_blob(struct session_record *record, const struct err *why);
/* The same for the history alone. */
bool record_forget_history(struct session_record *record,
                           const struct err *why);

/* A job claims a session with a name before it uses it. */
enum claim_state {
    CLAIM_NONE,  /* Redis must be asked, again or for the first time */
    CLAIM_WAITS, /* another job has it, or goes first */
    CLAIM_OURS,  /* it is the job's turn, and the memo is the latest record */
};

struct session_claim {
    enum claim_state state;
    uint64_t wait_ms;  /* until Redis is asked again; 0: it is not waited */
    bool holder_due;   /* the record has yet to name this interpreter */
    bool notice_told;  /* a cell of this job has told the record's note */
    struct buf record; /* bytes of the record that was sent last */
};

void record_finish(struct session_claim *claim);

machine_step record_enter_claim, record_claimed;
machine_step record_enter_holder, record_holder_named;
machine_step record_enter_history, record_history_written;

/* The record that follows the memo: the next generation, without a holder.
 * Borrows from both. */
struct session_record record_next(const struct session_setup *setup,
                                  const struct session_memo *memo);
/* Sends a record, to replace the one of that generation (0: there is none).
 * done gets the answer of quern_v1_session_save. False: the record is too
 * large. */
bool record_send(struct python_session *session, struct session_key key,
                 uint64_t generation, const struct session_record *record,
                 store_done *done, void *owner, struct err *err);

/* Writes the session's record as the exchange of the state. When it lands
 * without an error, the memo is that record. */
enum pace record_write(struct python_session *session,
                       const struct session_record *record);
/* Puts the notice, which no cell has told yet, into the record: the next
 * attempt or job will tell it. */
void record_add_notice(const struct python_session *session,
                       struct session_record *record);
/* Puts the request's history into the record, if it has one. */
void record_add_history(const struct python_session *session,
                        struct session_record *record);
/* Now, in ms since 1970. */
uint64_t record_wall_ms(void);

#endif
