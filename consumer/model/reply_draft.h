/* reply_draft.h - the part of a reply that has arrived. Only reply.c and the
 * dialects, which fill it, include this; all others include reply.h. */
#ifndef CONSUMER_REPLY_DRAFT_H
#define CONSUMER_REPLY_DRAFT_H

#include "consumer/model/dialect.h"
#include "consumer/model/reasoning.h"
#include "consumer/model/reply.h"
#include "consumer/model/sse.h"

enum reply_form { FORM_UNKNOWN, FORM_STREAM, FORM_PLAIN };

/* Follows how far a JSON value has come, without parsing it: each byte of a
 * text that comes in pieces is looked at once. Zeroed: nothing has come. */
struct json_shape {
    enum {
        SHAPE_NONE,   /* blanks at most */
        SHAPE_OTHER,  /* not JSON, or a bare number or word */
        SHAPE_OPEN,   /* an object, list or string that has not ended yet */
        SHAPE_CLOSED, /* it has; something may come after it */
    } is;
    size_t depth;
    bool in_string, escaped;
};

struct reply_call {
    bool has_index;
    json_int_t index;
    json_t *extra; /* members that we do not know; they go back; or NULL */
    struct buf id, name, arguments;
    struct json_shape shape; /* of the arguments so far */
    bool open;               /* reply_calls_begin(), but no reply_calls_end() */
    bool given;              /* its arguments are of reply_calls_given() */
};

/* The tool calls of one reply, put together from their deltas. Zeroed: empty.
 *
 * Endpoints number calls badly: sparse, from 1, all 0, not at all. A delta
 * belongs to the last call of its index; without an index to the call of its
 * id, else to the last one. It begins a new call when the ids differ, or when
 * it brings a name and arguments to a call whose arguments are whole. */
struct reply_calls {
    struct reply_call *items;
    size_t count;
    size_t told;   /* so many were told by reply_events.on_call() */
    bool overflow; /* too many, or one too long: the reply is refused */
};

/* Reasoning between marks in the text of a reply: see chat.c. */
struct reply_thought {
    enum {
        THOUGHT_MAY,   /* the text may still begin with the opening mark */
        THOUGHT_IN,    /* between the marks */
        THOUGHT_AFTER, /* blanks behind the closing mark */
        THOUGHT_NONE,  /* all text from here on is the answer */
    } state;
    struct buf held;  /* may be a mark, or blanks around one: not told yet */
    struct buf whole; /* the thought with its marks, as it came */
};

/* A kept block that is still coming. Its text is reply.reasoning from start on.
 */
struct reply_open {
    json_t *block;    /* owned; NULL: none */
    json_int_t index; /* by which the dialect finds it */
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
    bool has_choice;  /* it has the form of a reply of this dialect */
    bool done;        /* the event that ends it has come */
    bool at_end;      /* no more bytes will come; the last event may be half */
    bool failed;      /* the endpoint says so, and its usage is final */
    bool unfinished;  /* a plain body says that the endpoint is still at work */
    bool by_length;   /* the endpoint stopped it because of its length */
    struct err fault; /* the first thing wrong; kind ERR_NONE: nothing */
    struct buf content, reasoning, refusal, finish_reason;
    bool has_content;           /* content was a string, even an empty one */
    const char *reasoning_name; /* the member in which reasoning goes back;
                                   NULL: it does not, or in blocks */
    struct reply_details details;
    struct reply_calls calls;
    struct reply_blocks blocks;
    struct reply_open open;
    struct reply_thought thought;
    uint64_t max_tokens; /* that the request allowed; 0: not known */
    struct usage usage;
    bool has_cost; /* usage.cost is what the endpoint said */
    /* Responses: the items that are whole, and the bytes of content and
     * reasoning that belong to these. */
    size_t items, text_settled, reasoning_settled;
    json_t *message; /* made at the end */
};

/* Pieces of the reply: added to it, and told to its owner. */
void reply_add_text(struct reply *reply, struct view text);
void reply_add_reasoning(struct reply *reply, struct view text);
void reply_add_refusal(struct reply *reply, struct view text);

/* The id that the endpoint gives the reply: told to the owner. */
void reply_add_id(struct reply *reply, struct view id);

/* Why it ended; the last reason counts. */
void reply_set_finish(struct reply *reply, struct view reason);

/* Makes the endpoint's own error the fault, if it is the first one. json: in
 * any form that reply_error_read() knows. */
void reply_set_error(struct reply *reply, const json_t *json);

/* Takes one delta {index, id, type, function {name, arguments}}. alone: it is a
 * whole call, as in a plain body. */
void reply_calls_add(struct reply_calls *calls, json_t *delta, bool alone);

/* Takes a delta of the older form "function_call", {name, arguments}: there is
 * at most one such call, without an id. */
void reply_calls_add_legacy(struct reply_calls *calls, const json_t *function);

/* For dialects that say where a call begins and ends; the last call of that
 * index is meant. reply_calls_given() sets all of the arguments; pieces that
 * come by reply_calls_more() replace them, when an endpoint sends both. */
void reply_calls_begin(struct reply_calls *calls, json_int_t index,
                       struct view id, struct view name);
void reply_calls_given(struct reply_calls *calls, json_int_t index,
                       struct view arguments);
void reply_calls_more(struct reply_calls *calls, json_int_t index,
                      struct view arguments);
/* False: there is none of that index. */
bool reply_calls_end(struct reply_calls *calls, json_int_t index);

/* Opens a block that will be kept; takes block. Closing it puts the reasoning
 * that came meanwhile into its member name (NULL: nowhere) and keeps it. A
 * block that is still open when another is opened is lost: close it first. */
void reply_open_block(struct reply *reply, json_t *block, json_int_t index);
void reply_close_block(struct reply *reply, const char *name);

/* The member as a number of tokens; 0 unless it is one. */
uint64_t reply_tokens(const json_t *object, const char *name);

#endif
