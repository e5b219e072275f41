/* reply.h - the bytes of a chat-completions reply, as one assistant message.
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

#include "consumer/sse.h"
#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/result.h"

enum {
    REPLY_MAX_TEXT = 512 << 10, /* content, reasoning, arguments: each */
    REPLY_MAX_PLAIN = 8 << 20,  /* a plain body */
    REPLY_MAX_CALLS = 64,
};

/* What a whole reply says. */
struct model_reply {
    /* The assistant message, to store and to send back: role, content (string
     * or null), reasoning_content or reasoning as it was named, tool_calls
     * only when there are any, each {id, type, function {name, arguments}}.
     * id is the model's own, "" when it gave none; arguments is the model's
     * own text, whatever it is worth as JSON. */
    json_t *message;
    struct view text;          /* the content, "" when null */
    struct view finish_reason; /* as the endpoint wrote it; may be empty */
    struct usage usage;        /* zero tokens when the endpoint did not say */
    bool truncated;            /* stopped by its length */
    size_t dropped_calls;      /* cut-off calls, left out of the message */
};

struct reply_events {
    void (*on_text)(void *owner, struct view text);
    void (*on_reasoning)(void *owner, struct view text);
};

struct reply_call {
    bool has_index;
    json_int_t index;
    json_t *extra; /* members we do not know, to be sent back; or NULL */
    struct buf id, name, arguments;
};

struct reply {
    struct reply_events events;
    void *owner;
    struct sse sse;
    struct buf plain; /* the body when it is not a stream */
    enum { REPLY_START, REPLY_STREAM, REPLY_PLAIN } form;
    bool chunks;      /* at least one good one came */
    bool ended;       /* [DONE] */
    bool overflow;    /* a cap was reached */
    struct err fault; /* the first thing wrong; kind ERR_NONE: nothing */
    struct buf content, reasoning, refusal, finish_reason;
    bool has_content; /* a string, even an empty one */
    const char *reasoning_name;
    struct reply_call *calls[REPLY_MAX_CALLS];
    size_t call_count;
    struct usage usage;
};

void reply_init(struct reply *reply, struct reply_events events, void *owner);
void reply_finish(struct reply *reply); /* accepts NULL and a zeroed one */

/* True when the bytes held payload, not just comments or half a line: only
 * payload shows that the model still works on it. */
bool reply_feed(struct reply *reply, struct view bytes);

/* Nothing more to come: [DONE], or a fault after which reading on is idle. */
bool reply_is_over(const struct reply *reply);

/* At the end of the body. Fills result, which borrows from the reply.
 * Errors: model_cut, model_garbage, model_refused, or, for an error that came
 * inside a 200, model_unavailable and model_rejected. */
bool reply_end(struct reply *reply, struct model_reply *result,
               struct err *err);

/* The endpoint's own sentence in an error body, or the start of the body.
 * code and param (as much as fits, "" when absent) help to sort it. */
struct reply_error {
    char message[256];
    char type[64];
    char code[64];
    char param[64];
};
void reply_error_read(struct reply_error *error, struct view body);

#endif
