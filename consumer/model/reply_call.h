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
    json_t *extra; /* members that we do not know; they go back; or NULL */
    struct buf id, name, arguments;
    struct json_shape shape; /* of the arguments so far */
    bool open;               /* reply_calls_begin(), but no reply_calls_end() */
    bool given;              /* its arguments are of reply_calls_given() */
};

/* Zeroed: empty. */
struct reply_calls {
    struct reply_call *items;
    size_t count;
    size_t told;   /* so many were told by reply_events.on_call() */
    bool overflow; /* too many, or one too long: the reply is refused */
};

void reply_calls_finish(struct reply_calls *calls);

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

/* Drops the calls that say nothing: some endpoints write out every member of
 * every message, with empty values. */
void reply_calls_prune(struct reply_calls *calls);

/* Whether the arguments of a call are visibly half. */
bool reply_calls_are_cut(const struct reply_calls *calls);
/* Whether the arguments of all calls are visibly whole. Neither need be true:
 * bare words have no brackets to count. */
bool reply_calls_are_closed(const struct reply_calls *calls);
/* Whether each call has a name. */
bool reply_calls_are_named(const struct reply_calls *calls);

/* As an assistant message holds them; a new reference. */
json_t *reply_calls_json(const struct reply_calls *calls);

#endif
