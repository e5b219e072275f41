/* journal.h - entries of systemd's journal, with fields of their own.
 *
 * An entry is written when stderr leads to the journal (JOURNAL_STREAM of
 * systemd.exec(5)); then journalctl shows the sentence, and finds entries by
 * their fields: journalctl QUERN_JOB=ID.
 *
 * Format: https://systemd.io/JOURNAL_NATIVE_PROTOCOL/ */
#ifndef SCHEMAS_SERVICE_JOURNAL_H
#define SCHEMAS_SERVICE_JOURNAL_H

#include "schemas/message/buf.h"

/* Whether stderr leads to the journal; asked once. */
bool journal_is_there(void);
/* Appends a field of an entry. name: capitals, digits and _. */
void journal_add(struct buf *entry, const char *name, struct view value);
/* The same of a member of a log line: QUERN_JOB of "job". */
void journal_add_member(struct buf *entry, const char *member,
                        struct view value);
/* Hands the entry over; false: it was not taken, write it elsewhere. */
bool journal_send(const struct buf *entry);

#endif
