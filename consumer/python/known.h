/* known.h - what Redis knows of a session, and what guest code says of its
 * picture. */
#ifndef CONSUMER_KNOWN_H
#define CONSUMER_KNOWN_H

#include "schemas/message/journal.h"

struct known {
    bool there; /* there is a record */
    struct arena arena;
    struct session_record record; /* in the arena */
};

/* Empty bytes: there is none. Copies. Error: as message_decode(). */
bool known_read(struct known *known, struct view bytes, struct err *err);
void known_finish(struct known *known);

/* There is a record, and the session is not over. */
bool known_is_open(const struct known *known);
/* What an executor has had under the session's name before now is the session:
 * nothing else is, whatever it has run. */
bool known_is_held_by(const struct known *known, struct view holder);
/* Something was said in it, and nothing else: no executor has ever had it. */
bool known_is_blank(const struct known *known);
/* That is what was said in it; none is asked for: it is, whatever it is. */
bool known_says(const struct known *known, struct view history);
/* A write of the record was refused with that: somebody has deleted a blob that
 * it names. It is named no more, what was in it is told to be gone, and the
 * write may begin again. False: it was refused for another reason. */
bool record_lets_go(struct session_record *record, const struct err *why);
bool record_lets_history_go(struct session_record *record,
                            const struct err *why);
/* That job has saved it, and had nothing to do after. */
bool known_is_saved_by(const struct known *known, struct view job);

/* What guest code says of a picture, as JSON; nothing of it is believed but
 * that these are its words. */
struct picture_report {
    struct list left; /* of struct pair: names, and why they are not there */
    struct list packages; /* of struct view */
    bool cut;             /* there were more */
};
void picture_report_read(struct picture_report *report, struct view text,
                         struct arena *arena);

/* One more of a record's missing names, in the place of one that is called the
 * same, or of the last where there are as many as it holds. */
void missing_add(struct list *missing, const char *name, const char *why,
                 struct arena *arena);

#endif
