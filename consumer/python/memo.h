/* memo.h - the record of a session with a name, as Redis had it when this job
 * read it, or as this job has written it since. */
#ifndef CONSUMER_PYTHON_MEMO_H
#define CONSUMER_PYTHON_MEMO_H

#include "schemas/message/journal.h"

/* Zeroed: there is no record. */
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

#endif
