/* reply_draft.h - a reply as far as it has come, for the dialects that read
 * it. Everybody else sees reply.h. */
#ifndef CONSUMER_REPLY_DRAFT_H
#define CONSUMER_REPLY_DRAFT_H

#include "consumer/model/dialect.h"
#include "consumer/model/reasoning.h"
#include "consumer/model/reply.h"
#include "consumer/model/reply_call.h"
#include "consumer/model/sse.h"

enum reply_form { FORM_UNKNOWN, FORM_STREAM, FORM_PLAIN };

/* Reasoning between marks in the text of a reply: see chat_thought.c. */
struct reply_thought {
    enum { THOUGHT_MAY, THOUGHT_IN, THOUGHT_AFTER, THOUGHT_NONE } state;
    struct buf held;  /* may be a mark, or blanks around one */
    struct buf whole; /* the thought with its marks, as it came */
};

/* A kept block that is still coming; its text is the reasoning from start. */
struct reply_open {
    json_t *block; /* NULL: none */
    json_int_t index;
    size_t start;
};

struct reply {
    const struct dialect *dialect;
    struct reply_events events;
    void *owner;
    enum reply_form form;
    struct sse sse;
    struct buf plain; /* the body when it is not a stream */
    struct buf head;  /* its first bytes, for the sentence that rejects it */
    bool payload;     /* the bytes fed last held some */
    bool has_choice;  /* it is a reply of that dialect */
    bool done;        /* the event that ends it */
    bool at_end;      /* the transport has ended; an event may be half */
    bool failed;      /* it says so, with what was counted until then */
    bool unfinished;  /* a plain body says that there is more to come */
    bool by_length;   /* the endpoint stopped it for its length */
    struct err fault; /* the first thing wrong; kind ERR_NONE: nothing */
    struct buf content, reasoning, refusal, finish_reason;
    bool has_content;           /* a string, even an empty one */
    const char *reasoning_name; /* under which it goes back; NULL: nowhere */
    struct reply_details details;
    struct reply_calls calls;
    struct reply_blocks blocks;
    struct reply_open open;
    struct reply_thought thought;
    uint64_t max_tokens; /* that the request allowed; 0: not known */
    struct usage usage;
    bool has_cost; /* the endpoint has said what that cost */
    /* Responses: how much has been said in items that are whole. */
    size_t items, text_settled, reasoning_settled;
    json_t *message; /* made at the end */
};

/* Pieces of the reply: kept, and told. */
void reply_add_text(struct reply *reply, struct view text);
void reply_add_reasoning(struct reply *reply, struct view text);
void reply_add_refusal(struct reply *reply, struct view text);

/* What the endpoint calls it. */
void reply_add_id(struct reply *reply, struct view id);

/* Why it ended; the last one counts. */
void reply_set_finish(struct reply *reply, struct view reason);

/* The endpoint's own error, in any form that reply_error_read() knows. */
void reply_set_error(struct reply *reply, const json_t *json);

/* A block that begins, to be kept (taken), and its end, where its reasoning
 * becomes the member of that name. One that is open is closed before. */
void reply_open_block(struct reply *reply, json_t *block, json_int_t index);
void reply_close_block(struct reply *reply, const char *name);

/* The member as a number of tokens; 0 unless it is one. */
uint64_t reply_tokens(const json_t *object, const char *name);

#endif
