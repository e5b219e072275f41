/* model.h - one request to a model endpoint, and what came of it.
 *
 *   READY --> ASKING --> JUDGING --> DONE
 *               ^-----------+  (the endpoint does not take a parameter: once
 *                               each, without it)
 *
 * A call is made first (then its hash is known and the intent can be
 * journaled), started after. Its end is reported once, from the loop, never
 * from inside model_call_start(). Failures are sorted by what a queue has to
 * do about them; trying again is the owner's business.
 *
 *   code               kind    when
 *   model_unavailable  retry   no connection, time-out, 408, 409, 425, 429, 5xx
 *   model_cut          retry   the reply ended before its end
 *   model_garbage      retry   the reply is not of the endpoint's dialect
 *   model_rejected     reject  other 4xx, quota used up
 *   model_context      reject  the request is longer than the model's window
 *   model_refused      reject  refusal, content filter
 *   model_too_long     reject  more than is kept: it would be paid for again
 *
 * The texts hold the endpoint's own sentence and never the key. */
#ifndef CONSUMER_MODEL_H
#define CONSUMER_MODEL_H

#include "consumer/model/endpoint.h"
#include "consumer/model/http.h"
#include "consumer/model/model_request.h"
#include "consumer/model/reply.h"

struct model_failure {
    struct err why;
    unsigned http_status;    /* 0: there was no answer */
    uint64_t retry_after_ms; /* what the endpoint asked for; 0: nothing */
    uint64_t counted;   /* tokens of a request that was too long; 0: unknown */
    struct usage usage; /* of a reply that was whole, and refused or no use;
                           zeroed: nothing was counted */
    bool has_cost;      /* the endpoint has said what that cost */
    bool blind;         /* it does not take the pictures of the request */
    bool anew;    /* worth another request at once, which is the owner's to
                     make: that one's bytes are gone */
    bool unknown; /* it was sent: it may have been carried out, and charged */
};

struct model_events {
    /* Pieces of the reply as they come. May be NULL. */
    void (*on_text)(void *owner, struct view text);
    void (*on_reasoning)(void *owner, struct view text);
    void (*on_call)(void *owner, struct view tool);

    /* The endpoint keeps the reply under that id, from now on or from its end
     * on: see retrieval.h. It may say so again. May be NULL; must leave the
     * call as it is. */
    void (*on_kept)(void *owner, struct view id);

    /* The endpoint is to be left alone, as its breaker knows. May be NULL; must
     * leave the call as it is. */
    void (*on_wait)(void *owner);

    /* Exactly one of the two is not NULL; both are borrowed, for the call. */
    void (*on_done)(void *owner, const struct model_reply *reply,
                    const struct model_failure *failure);
};

struct model_call;

/* Takes references to the endpoint, messages and tools. The http must outlive
 * the call. NULL: the messages cannot be written as JSON (too_large). */
struct model_call *model_call_new(struct http *http,
                                  struct model_endpoint *endpoint,
                                  const struct model_request *request,
                                  struct model_events events, void *owner,
                                  struct err *err);

/* SHA-256 of the request body, 64 hexadecimal digits. */
const char *model_call_hash(const struct model_call *call);

void model_call_start(struct model_call *call);

/* The text that has come so far, borrowed; empty: none, or call is NULL. */
struct view model_call_text(const struct model_call *call);

/* At any time, also from its own callbacks; a running call is cancelled, and
 * nothing is reported after. Accepts NULL. */
void model_call_free(struct model_call *call);

#endif
