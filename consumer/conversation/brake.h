/* brake.h - stops a model that makes the same call again and again.
 *
 * When the same call has had the same outcome before, above all an error, it
 * will have that outcome again. The brake works in three steps: it adds a hint
 * to the outcome, then refuses the call, then asks for a last answer. It looks
 * at all of the last BRAKE_WINDOW calls, so it catches A-B-A-B as well as
 * A-A-A. */
#ifndef CONSUMER_BRAKE_H
#define CONSUMER_BRAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schemas/message/journal.h"

enum { BRAKE_WINDOW = 12, BRAKE_REFUSALS = 2 };

/* One call and its outcome, as hashes: two calls are the same when both are
 * equal. */
struct call_digest {
    uint64_t action;
    uint64_t outcome;
    bool failed;  /* an error: one repetition less is enough */
    bool refused; /* the brake has refused the call */
};

enum brake {
    BRAKE_NONE,
    BRAKE_HINT,   /* the model is told that this leads nowhere */
    BRAKE_FORBID, /* the call is not made */
    BRAKE_LAST,   /* an answer is asked for, without tools */
};

/* The hash of a tool's name and its code or arguments. Blanks at the ends of
 * lines, empty lines and lines of comments do not make it another one. */
uint64_t brake_action(struct view tool, struct view what);

/* The digest of a result, by what the model was shown of it. Addresses of
 * objects do not count, and in an error no digits at all: they differ each
 * time. */
struct call_digest brake_digest(uint64_t action, const struct record *result);

/* What the brake says of a call before it is made (action 0: of asking the
 * model again); and whether it gives a hint beside the result of a call, last.
 * most: how often the same call may have the same outcome; 0: there is no
 * brake. */
enum brake brake_before(const struct call_digest *digests, size_t count,
                        uint64_t action, size_t most);
bool brake_hints(const struct call_digest *digests, size_t count,
                 const struct call_digest *last, size_t most);

#endif
