/* history.h - the conversation of a session: a blob that the session's record
 * names (session.h).
 *
 * It has questions and answers as texts, and only a note of the work in
 * between, because the outcome of that work is in the session's variables and
 * files. So quern can show a history to any model, in any mode, and no call in
 * it can lack its result. */
#ifndef SCHEMAS_MESSAGE_HISTORY_H
#define SCHEMAS_MESSAGE_HISTORY_H

#include "schemas/message/field.h"

/* What one job has added. */
struct exchange {
    struct view job;      /* its id */
    struct view question; /* what the user said last */
    struct view work;     /* the code that ran for it, what it left */
    struct view answer;
};

struct history {
    struct list exchanges; /* of struct exchange, the oldest first */
};
extern const struct schema schema_history;

#endif
