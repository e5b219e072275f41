/* history.h - what was said in the jobs of a session: a blob that the session's
 * record names (session.h).
 *
 * Questions and answers, as texts: the session's variables and files are what
 * the work came to, so of that only a note is kept. It can be shown to any
 * model, in any mode, and no call can ever stand there without its result. */
#ifndef SCHEMAS_MESSAGE_HISTORY_H
#define SCHEMAS_MESSAGE_HISTORY_H

#include "schemas/message/field.h"

/* One job's. */
struct exchange {
    struct view job;
    struct view question; /* what the user said last */
    struct view work;     /* the code that ran for it, what it left */
    struct view answer;
};

struct history {
    struct list exchanges; /* of struct exchange, the oldest first */
};
extern const struct schema schema_history;

#endif
