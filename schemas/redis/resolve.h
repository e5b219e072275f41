/* resolve.h - the address of a host, found without holding up the loop.
 *
 * hiredis asks the resolver itself and waits for it: while the name server is
 * away, so would every conversation of the process. */
#ifndef SCHEMAS_REDIS_RESOLVE_H
#define SCHEMAS_REDIS_RESOLVE_H

#include <uv.h>

#include "schemas/message/err.h"

enum { RESOLVE_TEXT = 64 };

/* ip: a numeric address as text, or NULL and then why. From the loop. */
typedef void resolve_done(void *owner, const char *ip, const struct err *why);

struct resolve;

/* attempt: a host may have several addresses, each attempt takes the next.
 * NULL: no name that could be looked up. */
struct resolve *resolve_start(uv_loop_t *loop, const char *host,
                              unsigned int attempt, resolve_done *done,
                              void *owner, struct err *err);
/* done will not be called. The loop holds the request until it has ended. */
void resolve_cancel(struct resolve *resolve);

/* Needs no looking up. */
bool resolve_is_numeric(const char *host);

#endif
