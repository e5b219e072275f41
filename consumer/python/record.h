/* record.h - the record in Redis of a session with a name: claims it for a job,
 * writes it, and saves the session into it.
 *
 * CLAIMING waits until it is the job's turn; the answer brings the record.
 * NAMING_HOLDER writes which interpreter is the session, WRITING_HISTORY the
 * exchange of a job that has used no executor.
 *
 * SAVING_VARIABLES, LISTING_FILES, SAVING_FILES and WRITING_RECORD save the
 * session. The record comes last, so it never names a blob that was not
 * written. What is too large or cannot be saved is named in the record.
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
 * (missing_blob). Takes the blob that why names out of the record and notes
 * that its contents are gone; then the caller writes the record again. False:
 * why is another error. */
bool record_forget_blob(struct session_record *record, const struct err *why);

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

struct session_saving {
    unsigned int saves; /* so far: makes the name of each call unique */
    struct session_draft *draft; /* the record in the making; NULL: none yet */
};

/* Frees claim, saving and memo. */
void record_finish(struct python_session *session);

machine_step record_enter_claim, record_claimed;
machine_step record_enter_holder, record_holder_named;
machine_step record_enter_history, record_history_written;
machine_step save_enter_variables, save_variables_landed;
machine_step save_enter_list, save_listed;
machine_step save_enter_files, save_file_read;
machine_step save_enter_record, save_record_written;

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

#endif
