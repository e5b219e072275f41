/* known.h - what Redis knows of a session, and what its next cell is told. */
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

/* A sentence for the next cell, of parts that come one after the other. */
struct told {
    int state; /* enum cell_state */
    struct buf text;
};
void told_init(struct told *told);
void told_finish(struct told *told);
void told_add(struct told *told, enum cell_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "what: a (why), b (why)": as many as fit. */
void told_add_names(struct told *told, const char *what,
                    const struct list *pairs, bool cut);

#endif
