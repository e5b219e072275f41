/* retrieval.h - a reply that its endpoint has kept, fetched by its id.
 *
 * A request may have been carried out, and be charged, although its stream
 * broke off or its consumer died. Where the endpoint keeps replies (OpenAI
 * Responses, "store": true), the kept one is asked for before the request is
 * made again:
 *
 *   what it says                       retrieved as
 *   completed, incomplete              RETRIEVED_REPLY, or _BAD: no use
 *   queued, in_progress                RETRIEVED_UNFINISHED: ask later
 *   408, 409, 425, 429, 5xx, no answer RETRIEVED_AWAY: ask later
 *   anything else                      RETRIEVED_NONE: there is none, for good
 *
 * To fetch it costs no tokens. The end is reported once, from the loop, never
 * from inside retrieval_new(). */
#ifndef CONSUMER_RETRIEVAL_H
#define CONSUMER_RETRIEVAL_H

#include "consumer/model/model.h"

enum retrieval_outcome {
    RETRIEVED_REPLY,
    RETRIEVED_BAD, /* failure.why.kind ERR_REJECT: a new one would be, too */
    RETRIEVED_UNFINISHED,
    RETRIEVED_AWAY,
    RETRIEVED_NONE,
};

struct retrieval_events {
    /* The texts of the reply, each at once, borrowed. May be NULL. */
    void (*on_text)(void *owner, struct view text);
    void (*on_reasoning)(void *owner, struct view text);

    /* RETRIEVED_REPLY has a reply, all others a failure; borrowed for the call.
     */
    void (*on_done)(void *owner, enum retrieval_outcome what,
                    const struct model_reply *reply,
                    const struct model_failure *failure);
};

struct retrieval;

/* Whether the endpoint keeps its replies and this may be the id of one. The id
 * comes from the endpoint or from a journal, and goes into a URL, so its bytes
 * are checked. */
bool retrieval_knows(const struct model_endpoint *endpoint, struct view id);

/* Asks for the reply; retrieval_knows() must be true. Takes a reference to the
 * endpoint; the http must outlive the retrieval. trace: of the job. */
struct retrieval *retrieval_new(struct http *http,
                                struct model_endpoint *endpoint, struct view id,
                                const struct trace *trace,
                                struct retrieval_events events, void *owner);

/* Cancels it, at any time, also from its own callbacks; nothing is reported
 * after. Accepts NULL. Must be called after on_done(), too. */
void retrieval_free(struct retrieval *retrieval);

/* Tells the endpoint that nobody wants the reply any more, if it would go on
 * making it (KEEPS_MAKING). Once, without waiting for an answer. */
void retrieval_cancel(struct http *http, const struct model_endpoint *endpoint,
                      struct view id, const struct trace *trace);

#endif
