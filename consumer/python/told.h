/* told.h - what the next cell is told of how its session came to be.
 *
 * Parts, one after the other, which fit the reason of a cell. What there is no
 * room for is not left out in silence: then it says that there is more. */
#ifndef CONSUMER_TOLD_H
#define CONSUMER_TOLD_H

#include "schemas/message/session.h"

struct told {
    enum cell_state state; /* the worst of its parts */
    struct buf text;
    bool full;
};

void told_init(struct told *told);
void told_finish(struct told *told);

void told_add(struct told *told, enum cell_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* "what: a (why), b (why)", or without the reasons when these leave no room for
 * all names. pairs: of struct pair; cut: there are more of them. */
void told_add_names(struct told *told, const char *what,
                    const struct list *pairs, bool cut);
/* Those of a record's files that it has no blob of. */
void told_add_files(struct told *told, const char *what,
                    const struct list *files);
/* packages: of struct view. */
void told_add_packages(struct told *told, const char *what,
                       const struct list *packages);

#endif
