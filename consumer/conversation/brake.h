/* brake.h - stops a model that goes round in circles.
 *
 * A call that had the same outcome before, an error in particular, will not
 * turn out otherwise next time. The brake works in three steps: it gives a hint
 * beside the outcome, then refuses the call, then asks for a last answer. It
 * looks at the last BRAKE_WINDOW calls, wherever they stand: so it catches
 * A-B-A-B as it catches A-A-A. */
#ifndef CONSUMER_BRAKE_H
#define CONSUMER_BRAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/message/journal.h"

enum { BRAKE_WINDOW = 12, BRAKE_REFUSALS = 2 };

/* One call and what came of it, as far as two of them can be the same. */
struct call_digest {
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
struct call_digest brake_digest(uint64_t action, const struct record *result);

/* Of the action that is to come, or, with its call made already, of the last
 * one: hint. most: so often may the same come of the same; 0: no brake. */
enum brake brake_before(const struct call_digest *digests, size_t count,
                        uint64_t action, size_t most);
bool brake_hints(const struct call_digest *digests, size_t count,
                 const struct call_digest *last, size_t most);

#endif
