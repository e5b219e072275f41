/* link.h - one connection out of a box, and the one that it leads to.
 *
 *   READING --> WAITING --> RESOLVING --> CONNECTING --> PASSING --.
 *      |           |            |             |            |       v
 *      `-----------+------------+-------------+----------> | --> LINGERING
 *      |  a refusal is an answer with a sentence           v       |
 *      `---------------------------------------------->  ENDED <---'
 *
 * The name is resolved once; the address that was checked is the one that is
 * connected to. */
#ifndef EXECUTOR_PROXY_LINK_H
#define EXECUTOR_PROXY_LINK_H

#include "executor/proxy/door.h"

/* Lets in who knocked at the door. */
void link_new(struct door *door);
/* Ends it; its memory goes later. */
void link_end(struct proxy_link *link);

/* The next one of the door's links. */
struct proxy_link *link_next(const struct proxy_link *link);
/* reach.c: its name may be looked up, or bytes may pass, if it waits for that.
 */
void link_resume(struct proxy_link *link);

#endif
