/* nursery.h - interpreters that are ready before anybody asks.
 *
 *   BOXING --> BORN --> READY --> (a session's)
 *      |         |        |
 *      `---------+--------'--> (gone: it died, or its zygote was renewed)
 *
 * A few of each profile that is in use stand ready: boxed, walls up, frozen. A
 * session takes one and is open. Others follow off its path: one at a time,
 * and not while somebody waits for a birth. */
#ifndef EXECUTOR_WARDEN_NURSERY_H
#define EXECUTOR_WARDEN_NURSERY_H

#include "executor/warden/interpreter.h"

struct nursery;

/* The zygote of the profile that sessions have by default loads at once, the
 * others when they are first asked for. Borrows boxes. */
struct nursery *nursery_new(uv_loop_t *loop, const struct settings *settings,
                            struct boxes *boxes);
/* What stands ready ends, and nothing follows. */
void nursery_close(struct nursery *nursery);
void nursery_free(struct nursery *nursery); /* accepts NULL */

/* One that is ready, with these limits from now on; the caller owns it. NULL:
 * none is, or none can have them. */
struct interpreter *nursery_take(struct nursery *nursery, enum profile profile,
                                 const struct session_limits *limits);

/* For those that have to be born while somebody waits. */
struct zygote *nursery_zygote(struct nursery *nursery, enum profile profile);

#endif
