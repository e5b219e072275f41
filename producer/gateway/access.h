/* access.h - whose a request is, and what it may do.
 *
 * A request names a key: "Authorization: Bearer qk_..." or "X-Api-Key: qk_...".
 * Its tenant and its scopes are those of the key's record in Redis, never of
 * the request. */
#ifndef PRODUCER_GATEWAY_ACCESS_H
#define PRODUCER_GATEWAY_ACCESS_H

#include "producer/gateway/gateway.h"
#include "producer/gateway/http/http_request.h"
#include "schemas/message/limits.h"

struct access_caller {
    char tenant[MAX_NAME_BYTES + 1];
    unsigned int scopes; /* bits of enum scope */
};

struct access *access_new(struct gateway *gateway);
void access_free(struct access *access); /* accepts NULL */

/* The outcome of access_check(), from the loop. caller: NULL when the request
 * is refused; then status is 401, 429 or 503, err says why, and after_ms after
 * how long another try is of use (0: not known). */
struct access_outcome {
    const struct access_caller *caller;
    unsigned int status;
    struct err err;
    uint64_t after_ms;
};
typedef void access_done(void *owner, const struct access_outcome *outcome);

/* Calls done once; within the call when Redis need not be asked. */
void access_check(struct access *access, const struct http_exchange *exchange,
                  access_done *done, void *owner);

#endif
