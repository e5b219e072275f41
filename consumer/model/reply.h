/* reply.h - the bytes of a reply, as one assistant message.
 *
 * Takes a stream of server-sent chunks or a plain body, however the bytes were
 * cut into pieces, and knows nothing of HTTP. What endpoints get wrong is put
 * right here, so that nobody else has to know: calls without or with the same
 * index, arguments that are an object, reasoning under two names, content as
 * a list of parts, errors inside a 200.
 *
 * A call that was cut off is never handed out: it would run half a program,
 * and stored in a conversation it poisons every later request. */
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

/* What a whole reply says. */
struct model_reply {
    /* The assistant message, to store and to send back: role, content (string
     * or, beside calls, null), reasoning_content or reasoning as it was named,
     * reasoning_details and "opaque" (reasoning.h) if there are any,
     * tool_calls only when there are any,
     * each {id, type, function {name, arguments}}. id is the model's own, ""
     * when it gave none; arguments is the model's own text, whatever it is
     * worth as JSON. */
    json_t *message;
    struct view text;          /* the content, "" when null */
    struct view finish_reason; /* in the words of chat-completions, or as the
                                * endpoint wrote it; may be empty */
    struct usage usage;        /* no tokens when the endpoint did not say */
    bool has_cost;             /* it has said what that cost */
    bool truncated;            /* stopped by its length, or calls cut off */
    size_t dropped_calls;      /* cut-off calls, left out of the message */
};

/* Pieces as they come; each may be NULL. */
struct reply_events {
    void (*on_text)(void *owner, struct view text);
    void (*on_reasoning)(void *owner, struct view text);
    /* A tool call has begun: nothing is known of its arguments, and it may
     * still be cut off. */
    void (*on_call)(void *owner, struct view tool);
    /* The endpoint's own id of it, as it was written. */
    void (*on_id)(void *owner, struct view id);
};

struct reply;
struct dialect;

struct reply *reply_new(const struct dialect *dialect,
                        struct reply_events events, void *owner);
void reply_free(struct reply *reply);

/* The request allowed so many tokens; 0: it did not say. Some endpoints say
 * tool_calls whatever happened, and some close the brackets of a call that was
 * cut: of a reply that has used up all tokens no call is handed out. */
void reply_limit(struct reply *reply, uint64_t max_tokens);

/* True when the bytes held payload, not just comments or half a line: only
 * payload shows that the model still works on it. */
bool reply_feed(struct reply *reply, struct view bytes);

/* The text that has come so far, borrowed. */
struct view reply_text(const struct reply *reply);

/* Nothing more to come: [DONE], or a fault after which reading on is idle. */
bool reply_is_over(const struct reply *reply);

/* At the end of the body; whole: the transport says that nothing is missing.
 * Fills result, which borrows from the reply; on an error with its usage alone,
 * where the reply was whole: it may be charged for. Errors: model_cut,
 * model_garbage, model_too_long, model_refused, and for an error that came
 * inside a 200 what reply_error_judge() says. */
bool reply_end(struct reply *reply, bool whole, struct model_reply *result,
               struct err *err);

/* The endpoint is still at work on it, and said so in a plain body. */
bool reply_is_unfinished(const struct reply *reply);

/* What endpoints call it when a reply was stopped by its length. */
bool reply_reason_is_length(struct view finish_reason);

#endif
