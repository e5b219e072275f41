/* notice.h - what the next cell is told of how its session came to be.
 *
 * A notice has parts, one after the other, and fits the reason of a cell. Where
 * the room ends, the text says that there is more. */
#ifndef CONSUMER_PYTHON_NOTICE_H
#define CONSUMER_PYTHON_NOTICE_H

#include "schemas/message/session.h"

struct notice {
    enum cell_state state; /* the worst of its parts */
    struct buf text;
    bool full;
};

void notice_init(struct notice *notice);
void notice_finish(struct notice *notice);

void notice_add(struct notice *notice, enum cell_state state,
                const char *format, ...) __attribute__((format(printf, 3, 4)));
/* "what: a (why), b (why)", or without the reasons when these leave no room for
 * all names. pairs: of struct pair; cut: there are more of them. */
void notice_add_names(struct notice *notice, const char *what,
                      const struct list *pairs, bool cut);
/* Names those of a record's files that it has no blob of. */
void notice_add_files(struct notice *notice, const char *what,
                      const struct list *files);
/* packages: of struct view. */
void notice_add_packages(struct notice *notice, const char *what,
                         const struct list *packages);

#endif
