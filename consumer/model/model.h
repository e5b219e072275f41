/* model.h - one request to a model endpoint, and what came of it.
 *
 *   READY --> ASKING --> JUDGING --> DONE
 *               ^-----------+  the endpoint refused a parameter: again without
 *                              it, once for each parameter
 *
 * model_call_new() makes the body, so that its hash can be written into the
 * intent in the journal before model_call_start() sends it. The end is reported
 * once, from the loop, never from inside model_call_start(). Failures are
 * sorted by what a queue has to do about them; the owner tries again
 * (activity/model_turn.c).
 *
 *   code               kind    when
 *   model_unavailable  retry   no connection, time-out, 408, 409, 425, 429, 5xx
 *   model_cut          retry   the reply ended before its end
 *   model_garbage      retry   the reply is not of the endpoint's dialect
 *   model_rejected     reject  other 4xx, quota used up
 *   model_context      reject  the request is longer than the model's window
 *   model_refused      reject  refusal, content filter
 *   model_too_long     reject  the reply is larger than what is kept; the next
 *                              one would be, too, and would be paid for again
 *
 * The sentences quote the endpoint's own and never hold its key. */
#ifndef CONSUMER_MODEL_H
#define CONSUMER_MODEL_H

#include "consumer/model/endpoint.h"
#include "consumer/model/reply.h"
#include "schemas/http/http.h"
#include "schemas/message/buf.h"

struct model_request {
    json_t *messages;    /* of chat-completions, whatever the dialect; must not
                          * be changed while the call lives */
    json_t *tools;       /* array of {type, function}; NULL or empty: none */
    json_t *parameters;  /* of the job; NULL: none */
    uint64_t max_tokens; /* of the reply; 0: the endpoint's own bound */
    bool last;           /* no tool may be called any more; they are shown all
                            the same, since the history has calls */
    struct trace trace;  /* of the job; what it points to outlives the call */
    struct view choice;  /* none, required, or the name of the tool that has to
                          * be called; else: auto. Borrowed */
    bool pictures;       /* messages hold some, so they are not kept while the
                            model is waited for: see model_failure.anew */
};

/* Why a call has failed. Borrowed for the call of on_done(). */
struct model_failure {
    struct err why;
    unsigned http_status;    /* 0: there was no answer */
    uint64_t retry_after_ms; /* that the endpoint asked for; 0: no wait */
    uint64_t counted;   /* tokens of a request that was too long; 0: unknown */
    struct usage usage; /* of a whole reply that was refused or no use; zeroed:
                           the endpoint counted nothing */
    bool has_cost;      /* usage.cost is what the endpoint said */
    bool late;          /* no answer, or not the rest of it, in time */
    bool blind;         /* the endpoint does not take pictures, or not these */
    bool anew; /* another request at once may succeed, but the owner must make
                  it: the pictures of this one are no longer in memory */
    bool unknown; /* the request was sent: the endpoint may have carried it out
                     and may charge for it */
};

struct model_events {
    /* Pieces of the reply as they come, borrowed. May be NULL. */
    void (*on_text)(void *owner, struct view text);
    void (*on_reasoning)(void *owner, struct view text);
    void (*on_call)(void *owner, struct view tool);

    /* The endpoint keeps the reply under that id (retrieval.h), from now on or
     * from its end on. May come more than once. May be NULL; must not free the
     * call. */
    void (*on_kept)(void *owner, struct view id);

    /* The endpoint has asked for a wait, which its breaker has. May be NULL;
     * must not free the call. */
    void (*on_wait)(void *owner);

    /* Exactly one of the two is not NULL; both are borrowed for this call. */
    void (*on_done)(void *owner, const struct model_reply *reply,
                    const struct model_failure *failure);
};

struct model_call;

/* Makes the body of the request. Takes references to the endpoint, messages,
 * tools and parameters; no reference to messages with pictures. The http must
 * outlive the call. NULL: the body is too large (too_large). */
struct model_call *model_call_new(struct http *http,
                                  struct model_endpoint *endpoint,
                                  const struct model_request *request,
                                  struct model_events events, void *owner,
                                  struct err *err);

/* SHA-256 of the body, 64 hexadecimal digits. Another body, after a parameter
 * was refused, has another hash. */
const char *model_call_hash(const struct model_call *call);

/* Sends the request. Once. */
void model_call_start(struct model_call *call);

/* The text of the reply so far, borrowed until the loop goes on. Empty: none,
 * or call is NULL. */
struct view model_call_text(const struct model_call *call);

/* At any time, also from its own callbacks but on_kept() and on_wait(). A
 * running call is cancelled, and nothing is reported after. Accepts NULL. */
void model_call_free(struct model_call *call);

/* ------------------------------------ the request as its endpoint takes it */

/* Replaces body by that of the request, and hash by its SHA-256. Error:
 * too_large. */
bool model_body_make(struct buf *body, char hash[65],
                     const struct model_endpoint *endpoint,
                     const struct model_request *request, struct err *err);

/* How many tokens the body allows the reply; 0: it does not say. */
uint64_t model_body_max_tokens(const struct model_endpoint *endpoint,
                               const struct model_request *request);

/* Where a request to an endpoint goes, and its headers. */
struct model_head {
    char *url; /* owned */
    char *key; /* the line with the key, owned; NULL: there is none */
    const char *lines[5 + MAX_TOOL_HEADERS]; /* borrowed; NULL ends */
};

/* path: comes behind the endpoint's URL, before its query. Borrows from the
 * endpoint and its dialect. */
void model_head_make(struct model_head *head,
                     const struct model_endpoint *endpoint, const char *path);
void model_head_finish(struct model_head *head);

#endif
