/* notice.h - what a person or model has to know of a session that was saved or
 * put back: the guest's report of its variables, and the text for the next
 * cell.
 *
 * Guest code is hostile: its report is bounded and cleaned, and taken as its
 * words only.
 *
 * The notice tells the next cell what happened to its session. It goes into the
 * cell's reason. When there is no room for another part, the text says that
 * there is more. */
#ifndef CONSUMER_PYTHON_NOTICE_H
#define CONSUMER_PYTHON_NOTICE_H

#include "schemas/message/journal.h"
#include "schemas/message/session.h"

struct variables_report {
    struct list left;     /* of struct pair: names left out, and why */
    struct list packages; /* of struct view: "name==version" */
    bool cut;             /* more names were left out */
};

/* Why the cell that saved or put back variables did not end well. Borrowed. */
struct view report_why(const struct cell *cell);

/* text: JSON; where it is broken, the report is empty. Copies. */
void report_read(struct variables_report *report, struct view text,
                 struct arena *arena);

/* Adds one to a record's list of missing names. It replaces one of the same
 * name, or the last one where the list is full. */
void missing_add(struct list *missing, const char *name, const char *why,
                 struct arena *arena);

struct notice {
    enum cell_state state; /* the worst of its parts */
    struct buf text;
    bool full; /* further parts only change the state */
};

void notice_init(struct notice *notice);
void notice_finish(struct notice *notice);

/* Adds a part. */
void notice_add(struct notice *notice, enum cell_state state,
                const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Adds "what: a (why), b (why)", without the reasons when these leave no room
 * for all names. pairs: of struct pair; cut: there are more of them. */
void notice_add_names(struct notice *notice, const char *what,
                      const struct list *pairs, bool cut);
/* Adds the names of those of a record's files that have no blob. */
void notice_add_files(struct notice *notice, const char *what,
                      const struct list *files);
/* Adds the names of packages, a list of struct view. */
void notice_add_packages(struct notice *notice, const char *what,
                         const struct list *packages);

#endif
