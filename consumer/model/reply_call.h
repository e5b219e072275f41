/* reply_call.h - the tool calls of one reply, put together from their deltas.
 *
 * Endpoints number calls badly: sparse, from 1, all 0, not at all. A delta
 * belongs to the last call of its index; without an index to the call of its
 * id, else to the last one. It begins a new call when the ids differ, or when
 * it brings a name and arguments to a call whose arguments are whole. */
#ifndef CONSUMER_REPLY_CALL_H
#define CONSUMER_REPLY_CALL_H

#include <jansson.h>

#include "consumer/model/reply_json.h"
#include "schemas/message/buf.h"

struct reply_call {
    bool has_index;
    json_int_t index;
    json_t *extra; /* members that we do not know, to be sent back; or NULL */
    struct buf id, name, arguments;
    struct json_shape shape; /* of the arguments */
    bool open;               /* it was begun, and has not been ended */
    bool given;              /* its arguments came with its beginning */
};

struct reply_calls {
    struct reply_call *items;
    size_t count;
    size_t told;   /* of them: reply_events.on_call() */
    bool overflow; /* too many, or one too long */
};

void reply_calls_finish(struct reply_calls *calls);

/* One delta {index, id, type, function {name, arguments}}; alone: it is a
 * whole call, as a plain body holds them. */
void reply_calls_add(struct reply_calls *calls, json_t *delta, bool alone);

/* The form before tool calls: {name, arguments}, without an id. */
void reply_calls_add_legacy(struct reply_calls *calls, const json_t *function);

/* For dialects that say where a call begins and ends: the last of its index is
 * meant. given: all that its arguments may be; pieces take its place. */
void reply_calls_begin(struct reply_calls *calls, json_int_t index,
                       struct view id, struct view name);
void reply_calls_given(struct reply_calls *calls, json_int_t index,
                       struct view arguments);
void reply_calls_more(struct reply_calls *calls, json_int_t index,
                      struct view arguments);
/* False: there is none of that index. */
bool reply_calls_end(struct reply_calls *calls, json_int_t index);

/* Drops the calls that say nothing: some endpoints write out every member of
 * every message, with empty values. */
void reply_calls_prune(struct reply_calls *calls);

bool reply_calls_are_cut(const struct reply_calls *calls);
bool reply_calls_are_closed(const struct reply_calls *calls);
bool reply_calls_are_named(const struct reply_calls *calls);

/* As an assistant message holds them; a new reference. */
json_t *reply_calls_json(const struct reply_calls *calls);

#endif
