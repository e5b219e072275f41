/* brake.h - tells when a model goes round in circles.
 *
 * What it does again with the same outcome, an error in particular, will not
 * turn out otherwise next time. In three steps: a hint beside the outcome, then
 * the call is not made, then a last answer is asked for. Deeds of the last
 * BRAKE_WINDOW count, wherever they stand: so A-B-A-B is caught as A-A-A is. */
#ifndef CONSUMER_BRAKE_H
#define CONSUMER_BRAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/message/journal.h"

enum { BRAKE_WINDOW = 12, BRAKE_REFUSALS = 2 };

/* One call and what came of it, as far as two of them can be the same. */
struct deed {
    uint64_t action;
    uint64_t outcome;
    bool failed;  /* an error: once less is enough */
    bool refused; /* it was not made, by the brake */
};

enum brake {
    BRAKE_NONE,
    BRAKE_HINT,   /* the model is told that this leads nowhere */
    BRAKE_FORBID, /* the call is not made */
    BRAKE_LAST,   /* an answer is asked for, without tools */
};

/* Of a tool's name and its code or arguments: blanks at the ends of lines,
 * empty lines and comments of their own do not make it another one. */
uint64_t brake_action(struct view tool, struct view what);

/* Of what the model was shown: addresses of objects do not count, of an error
 * no numbers at all. */
struct deed brake_deed(uint64_t action, const struct record *result);

/* Of the action that is to come, or, with the deed done already, of the last
 * one: hint. most: so often may the same come of the same; 0: no brake. */
enum brake brake_before(const struct deed *deeds, size_t count, uint64_t action,
                        size_t most);
bool brake_hints(const struct deed *deeds, size_t count,
                 const struct deed *last, size_t most);

#endif
