/* reply.h - the bytes of a reply, as one assistant message.
 *
 * Takes a stream of server-sent events or a plain body, cut into pieces of any
 * size, and knows nothing of HTTP. What endpoints get wrong is corrected here:
 * calls without an index or with the same one, arguments that are an object,
 * reasoning under two names, content as a list of parts, errors inside a 200.
 *
 * A call that was cut off is never given to the owner: half a program would
 * run, and endpoints would refuse every later request with that call in it. */
#ifndef CONSUMER_REPLY_H
#define CONSUMER_REPLY_H

#include <jansson.h>

#include "schemas/message/err.h"
#include "schemas/message/result.h"

enum {
    REPLY_MAX_TEXT = 512 << 10,    /* content, reasoning, arguments: each */
    REPLY_MAX_PLAIN = 8 << 20,     /* a plain body */
    REPLY_MAX_ERROR = 16 << 10,    /* of one that says what is wrong */
    REPLY_MAX_MESSAGE = 960 << 10, /* as JSON: a journal record holds it */
    REPLY_MAX_CALLS = 64,
    REPLY_MAX_DETAILS = 256, /* blocks of reasoning_details */
    REPLY_MAX_BLOCKS = 512,  /* of text, calls and what is kept, together */
};

/* A whole reply. Borrowed from struct reply, until it is freed. */
struct model_reply {
    /* The assistant message, to store and to send back: role, content (string
     * or, beside calls, null), reasoning_content or reasoning as it was named,
     * reasoning_details and "opaque" (reasoning.h) if there are any,
     * tool_calls only when there are any, each {id, type, function {name,
     * arguments}}. id is the model's own, "" when it gave none; arguments is
     * the model's own text, which need not be JSON. */
    json_t *message;
    struct view text;          /* the content, "" when null */
    struct view finish_reason; /* in the words of chat-completions, or as the
                                * endpoint wrote it; may be empty */
    struct usage usage;        /* no tokens when the endpoint did not say */
    bool has_cost;             /* usage.cost is what the endpoint said */
    bool truncated;            /* stopped by its length, or calls cut off */
    size_t dropped_calls;      /* cut-off calls, left out of the message */
};

/* Pieces as they come, borrowed. Called from inside reply_feed() and
 * reply_end(); none may free the reply. Each may be NULL. */
struct reply_events {
    void (*on_text)(void *owner, struct view text);
    void (*on_reasoning)(void *owner, struct view text);
    /* A tool call has begun. Its arguments have not come, and it may still be
     * cut off. */
    void (*on_call)(void *owner, struct view tool);
    /* The id that the endpoint gives the reply. */
    void (*on_id)(void *owner, struct view id);
};

struct reply;
struct dialect;

struct reply *reply_new(const struct dialect *dialect,
                        struct reply_events events, void *owner);
void reply_free(struct reply *reply);

/* The request allowed so many tokens; 0: it did not say. No call is taken from
 * a reply that has used up all of them: some endpoints give the reason
 * tool_calls whatever happened, and some close the brackets of a call that was
 * cut. */
void reply_limit(struct reply *reply, uint64_t max_tokens);

/* Takes the next bytes. True when they held payload, and not just comments or
 * half a line: only payload shows that the model is still at work. */
bool reply_feed(struct reply *reply, struct view bytes);

/* The text that has come so far, borrowed. */
struct view reply_text(const struct reply *reply);

/* Whether no more bytes are needed: it has ended, or has a fault. */
bool reply_is_over(const struct reply *reply);

/* At the end of the body. whole: by the transport nothing is missing. Fills
 * result, which borrows from the reply; on an error only its usage, if the
 * reply was whole: it may be charged for. Errors: model_cut, model_garbage,
 * model_too_long, model_refused, and for an error that came inside a 200 what
 * reply_error_judge() says. */
bool reply_end(struct reply *reply, bool whole, struct model_reply *result,
               struct err *err);

/* Whether a plain body said that the endpoint is still at work on the reply. */
bool reply_is_unfinished(const struct reply *reply);

/* Whether that is a reason for which endpoints stop a reply that is too long.
 */
bool reply_reason_is_length(struct view finish_reason);

#endif
