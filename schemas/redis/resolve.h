/* resolve.h - looks up the address of a host without blocking the loop.
 *
 * hiredis would look it up itself and block: while a name server is away, every
 * conversation of the process would wait. */
#ifndef SCHEMAS_REDIS_RESOLVE_H
#define SCHEMAS_REDIS_RESOLVE_H

#include <uv.h>

#include "schemas/message/err.h"

enum { RESOLVE_TEXT = 64 };

/* ip: a numeric address as text, or NULL and then why. From the loop. */
typedef void resolve_done(void *owner, const char *ip, const struct err *why);

struct resolve;

/* done is called once from the loop, and frees the request. attempt: a host may
 * have several addresses, and each attempt takes the next one. NULL: the lookup
 * could not be started; done will not be called. */
struct resolve *resolve_start(uv_loop_t *loop, const char *host,
                              unsigned int attempt, resolve_done *done,
                              void *owner, struct err *err);
/* done will not be called. Accepts NULL. The loop frees the request when it has
 * ended, so the loop must run on. */
void resolve_cancel(struct resolve *resolve);

/* Whether the host is a numeric address, which needs no lookup. */
bool resolve_is_numeric(const char *host);

#endif
