/* link.h - one connection out of a box, and the one that it leads to.
 *
 *   READING --> WAITING --> RESOLVING --> CONNECTING --> PASSING --.
 *      |           |            |             |            |       v
 *      `-----------+------------+-------------+----------> | --> LINGERING
 *      |  a refusal is an answer with a sentence           v       |
 *      `---------------------------------------------->  ENDED <---'
 *
 * Each connection carries one request. Its name is resolved once, and the
 * address that was checked is the one that is connected to: a name server that
 * answers in another way the second time gains nothing. */
#ifndef EXECUTOR_PROXY_LINK_H
#define EXECUTOR_PROXY_LINK_H

#include "executor/proxy/door.h"

/* Accepts the connection that waits at the door. It may have ended when this
 * returns. */
void link_new(struct door *door);
/* Ends it, in any state, and takes it out of the door's list. */
void link_end(struct proxy_link *link);

/* The next one of the door's links. */
struct proxy_link *link_next(const struct proxy_link *link);
/* reach.c: its name may be looked up, or bytes may pass, if it waits for that.
 */
void link_resume(struct proxy_link *link);

#endif
