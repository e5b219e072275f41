/* retrieval.h - a reply that its endpoint has kept, fetched by its id.
 *
 * A request may have been carried out, and be charged, though its stream broke
 * off, or whoever listened has died. Where the endpoint keeps replies (OpenAI
 * Responses, "store": true) it is not asked again before that is known:
 *
 *   what it says                       retrieved as
 *   completed, incomplete              RETRIEVED_REPLY, or _BAD: it will not do
 *   queued, in_progress                RETRIEVED_UNFINISHED: ask later
 *   408, 409, 425, 429, 5xx, no answer RETRIEVED_AWAY: ask later
 *   anything else                      RETRIEVED_NONE: nor will there be one
 *
 * It costs nothing. The end is reported once, from the loop, never from inside
 * retrieval_new(). */
#ifndef CONSUMER_RETRIEVAL_H
#define CONSUMER_RETRIEVAL_H

#include "consumer/model/model.h"

enum retrieval_outcome {
    RETRIEVED_REPLY,
    RETRIEVED_BAD, /* ERR_REJECT: another one would be like it */
    RETRIEVED_UNFINISHED,
    RETRIEVED_AWAY,
    RETRIEVED_NONE,
};

struct retrieval_events {
    /* Of a reply that is there, all at once. May be NULL. */
    void (*on_text)(void *owner, struct view text);
    void (*on_reasoning)(void *owner, struct view text);

    /* RETRIEVED_REPLY has a reply, all else a failure; borrowed, for the call.
     */
    void (*on_done)(void *owner, enum retrieval_outcome what,
                    const struct model_reply *reply,
                    const struct model_failure *failure);
};

struct retrieval;

/* Whether that endpoint keeps its replies, and this may be the id of one: it
 * comes from there, or from a journal, and goes into a URL. */
bool retrieval_knows(const struct model_endpoint *endpoint, struct view id);

/* Of an id that is known. Takes a reference to the endpoint; the http must
 * outlive it. */
struct retrieval *retrieval_new(struct http *http,
                                struct model_endpoint *endpoint, struct view id,
                                struct retrieval_events events, void *owner);

/* At any time, also from its own callbacks; nothing is reported after. Accepts
 * NULL. */
void retrieval_free(struct retrieval *retrieval);

/* Nobody wants that reply any more: where it would be made on, it is told so,
 * once; whatever comes of that. */
void retrieval_cancel(struct http *http, const struct model_endpoint *endpoint,
                      struct view id);

#endif
