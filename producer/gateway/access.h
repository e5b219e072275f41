/* access.h - whose a request is, and what it may do.
 *
 * A request names a key: "Authorization: Bearer qk_..." or "X-Api-Key: qk_...";
 * the page of a browser by a cookie (browser.h).
 * Its tenant and its scopes are those of the key's record in Redis, never of
 * the request. */
#ifndef PRODUCER_GATEWAY_ACCESS_H
#define PRODUCER_GATEWAY_ACCESS_H

#include "producer/client/handle.h"
#include "producer/gateway/gateway.h"
#include "producer/gateway/http/http_request.h"
#include "schemas/message/limits.h"

struct access_caller {
    char tenant[MAX_NAME_BYTES + 1];
    unsigned int scopes; /* bits of enum scope */
    /* Of its key (key_use.h); 0: any number. */
    struct sha256 key;
    uint64_t max_jobs; /* that have not ended */
    uint64_t max_cost; /* a day, micro-dollars */
};

struct access *access_new(struct gateway *gateway);
void access_free(struct access *access); /* accepts NULL */
/* A sentinel has named another master. Accepts NULL. */
void access_switch(struct access *access, const struct node *master);

/* Of a key with a rate: what its answers say of it. */
struct access_rate {
    uint64_t limit; /* requests a minute; 0: the key has no rate */
    uint64_t remaining;
    uint64_t resets_at; /* ms since 1970 */
};

/* The outcome of access_check(), from the loop. caller: NULL when the request
 * is refused; then status is 401, 429 or 503, err says why, and after_ms after
 * how long another try is of use (0: not known). */
struct access_outcome {
    const struct access_caller *caller;
    unsigned int status;
    struct err err;
    uint64_t after_ms;
    struct access_rate rate;
};
typedef void access_done(void *owner, const struct access_outcome *outcome);

/* ms since 1970, by this host's clock. */
uint64_t access_now_ms(void);

/* Calls done once; within the call when Redis need not be asked. */
void access_check(struct access *access, const struct http_exchange *exchange,
                  access_done *done, void *owner);
/* Whether a key still counts that did before, for what goes on for long; it is
 * no request of the key's rate. key: of an access_caller; of one without a key
 * the caller stays as it is. Outcome: 401 when it has ended. */
void access_check_again(struct access *access, const struct sha256 *key,
                        access_done *done, void *owner);
/* As access_check(), of a key that is not in the request's headers, of sound
 * form. */
void access_check_key(struct access *access, struct view key, access_done *done,
                      void *owner);

#endif
