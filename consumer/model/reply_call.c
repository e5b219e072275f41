/* reply_call.c - the tool calls of one reply, put together from their deltas.
 */
#include "consumer/model/reply_call.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/model/reply.h"

enum { MAX_ID = 512 };

static void call_finish(struct reply_call *call)
{
    json_decref(call->extra);
    buf_finish(&call->id);
    buf_finish(&call->name);
    buf_finish(&call->arguments);
}

void reply_calls_finish(struct reply_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        call_finish(&calls->items[i]);
    free(calls->items);
    *calls = (struct reply_calls){ 0 };
}

static struct reply_call *open_call(struct reply_calls *calls)
{
    struct reply_call *call;

    if (calls->count == REPLY_MAX_CALLS) {
        calls->overflow = true;
        return NULL;
    }
    calls->items =
        realloc(calls->items, (calls->count + 1) * sizeof(*calls->items));
    if (!calls->items)
        abort();
    call = &calls->items[calls->count++];
    *call = (struct reply_call){ 0 };
    buf_init(&call->id, MAX_ID);
    buf_init(&call->name, MAX_ID);
    buf_init(&call->arguments, REPLY_MAX_TEXT);
    return call;
}

static struct reply_call *open_indexed(struct reply_calls *calls,
                                       const json_t *index)
{
    struct reply_call *call = open_call(calls);

    if (call) {
        call->has_index = json_is_integer(index);
        call->index = json_integer_value(index);
    }
    return call;
}

/* Some endpoints write ids as numbers. */
static void read_id(struct buf *id, const json_t *delta)
{
    const json_t *value = json_object_get(delta, "id");

    if (json_is_integer(value))
        buf_printf(id, "%lld", (long long)json_integer_value(value));
    else
        buf_add(id, reply_json_text(delta, "id"));
}

/* Null, "" and blanks bring nothing. */
static bool brings_arguments(const json_t *function)
{
    const json_t *arguments = json_object_get(function, "arguments");
    struct json_shape shape = { 0 };

    if (!json_is_string(arguments))
        return arguments && !json_is_null(arguments);
    json_shape_feed(&shape, reply_json_text(function, "arguments"));
    return shape.is != SHAPE_NONE;
}

static bool begins_another(const struct reply_call *call, struct view id,
                           const json_t *function)
{
    if (id.len > 0 && call->id.len > 0 && !view_equal(id, buf_view(&call->id)))
        return true;
    return reply_json_text(function, "name").len > 0 &&
           brings_arguments(function) && call->shape.is == SHAPE_CLOSED;
}

/* The last call that the delta may belong to; begins_another() decides. */
static struct reply_call *reply_calls_find(const struct reply_calls *calls,
                                           const json_t *index, struct view id)
{
    for (size_t i = calls->count; i > 0; i--) {
        struct reply_call *call = &calls->items[i - 1];

        if (json_is_integer(index)
                ? call->has_index && call->index == json_integer_value(index)
                : id.len == 0 || view_equal(id, buf_view(&call->id)))
            return call;
    }
    return NULL;
}

static void add_arguments(struct reply_call *call, const json_t *function)
{
    const json_t *arguments = json_object_get(function, "arguments");
    struct view text = reply_json_text(function, "arguments");
    CLEANUP(cleanup_free) char *dumped = NULL;

    if (brings_arguments(function) && !json_is_string(arguments)) {
        dumped = json_dumps(arguments, JSON_COMPACT | JSON_ENCODE_ANY);
        text = view_of(dumped);
    }
    buf_add(&call->arguments, text);
    json_shape_feed(&call->shape, text);
}

static void add_extra(struct reply_call *call, json_t *delta)
{
    static const char *const known[] = { "index", "id", "type", "function" };
    const char *name;
    json_t *value;

    json_object_foreach(delta, name, value) {
        bool is_known = json_is_null(value);

        for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
            is_known = is_known || strcmp(name, known[i]) == 0;
        if (is_known)
            continue;
        if (!call->extra)
            call->extra = json_object();
        json_object_set(call->extra, name, value);
    }
}

static void check_size(struct reply_calls *calls, const struct reply_call *call)
{
    if (!buf_ok(&call->id) || !buf_ok(&call->name) || !buf_ok(&call->arguments))
        calls->overflow = true;
}

static void add_function(struct reply_calls *calls, struct reply_call *call,
                         const json_t *function)
{
    if (call->name.len == 0)
        buf_add(&call->name, reply_json_text(function, "name"));
    add_arguments(call, function);
    check_size(calls, call);
}

void reply_calls_add(struct reply_calls *calls, json_t *delta, bool alone)
{
    const json_t *function = json_object_get(delta, "function");
    const json_t *index = json_object_get(delta, "index");
    struct reply_call *call = NULL;
    CLEANUP(buf_finish) struct buf id;

    buf_init(&id, MAX_ID);
    read_id(&id, delta);
    if (!alone)
        call = reply_calls_find(calls, index, buf_view(&id));
    if (!call || begins_another(call, buf_view(&id), function))
        call = open_indexed(calls, index);
    if (!call)
        return;
    if (call->id.len == 0)
        buf_add(&call->id, buf_view(&id));
    add_extra(call, delta);
    add_function(calls, call, function);
}

void reply_calls_add_legacy(struct reply_calls *calls, const json_t *function)
{
    struct reply_call *call =
        calls->count > 0 ? &calls->items[calls->count - 1] : open_call(calls);

    add_function(calls, call, function);
}

/* --------------------------------------------------------- begun and ended */

static struct reply_call *find_begun(const struct reply_calls *calls,
                                     json_int_t index)
{
    for (size_t i = calls->count; i > 0; i--)
        if (calls->items[i - 1].index == index)
            return &calls->items[i - 1];
    return NULL;
}

void reply_calls_begin(struct reply_calls *calls, json_int_t index,
                       struct view id, struct view name)
{
    struct reply_call *call = open_call(calls);

    if (!call)
        return;
    call->index = index;
    call->open = true;
    buf_add(&call->id, id);
    buf_add(&call->name, name);
    check_size(calls, call);
}

static void reply_calls_add_text(struct reply_calls *calls,
                                 struct reply_call *call, struct view text)
{
    buf_add(&call->arguments, text);
    json_shape_feed(&call->shape, text);
    check_size(calls, call);
}

void reply_calls_given(struct reply_calls *calls, json_int_t index,
                       struct view arguments)
{
    struct reply_call *call = find_begun(calls, index);

    if (!call || call->arguments.len > 0)
        return;
    call->given = true;
    reply_calls_add_text(calls, call, arguments);
}

void reply_calls_more(struct reply_calls *calls, json_int_t index,
                      struct view arguments)
{
    struct reply_call *call = find_begun(calls, index);

    if (!call || arguments.len == 0)
        return;
    if (call->given) {
        buf_clear(&call->arguments);
        call->shape = (struct json_shape){ 0 };
        call->given = false;
    }
    reply_calls_add_text(calls, call, arguments);
}

bool reply_calls_end(struct reply_calls *calls, json_int_t index)
{
    struct reply_call *call = find_begun(calls, index);

    if (call)
        call->open = false;
    return call;
}

/* ------------------------------------------------------------------ judged */

void reply_calls_prune(struct reply_calls *calls)
{
    size_t kept = 0;

    for (size_t i = 0; i < calls->count; i++) {
        struct reply_call *call = &calls->items[i];

        if (call->name.len > 0 || call->arguments.len > 0)
            calls->items[kept++] = *call;
        else
            call_finish(call);
    }
    calls->count = kept;
}

bool reply_calls_are_cut(const struct reply_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].shape.is == SHAPE_OPEN ||
            (calls->items[i].open && calls->items[i].shape.is != SHAPE_CLOSED))
            return true;
    return false;
}

bool reply_calls_are_closed(const struct reply_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].shape.is != SHAPE_CLOSED)
            return false;
    return true;
}

bool reply_calls_are_named(const struct reply_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].name.len == 0)
            return false;
    return true;
}

static json_t *text_json(const struct buf *text)
{
    return json_stringn(text->len > 0 ? text->data : "", text->len);
}

/* A call without arguments may come as "" or null, but endpoints refuse it in
 * that form when it goes back. */
static json_t *arguments_json(const struct buf *arguments)
{
    return arguments->len > 0 ? text_json(arguments) : json_string("{}");
}

static json_t *call_json(const struct reply_call *call)
{
    json_t *json = json_pack("{s:o, s:s, s:{s:o, s:o}}", "id",
                             text_json(&call->id), "type", "function",
                             "function", "name", text_json(&call->name),
                             "arguments", arguments_json(&call->arguments));

    if (call->extra)
        json_object_update(json, call->extra);
    return json;
}

json_t *reply_calls_json(const struct reply_calls *calls)
{
    json_t *list = json_array();

    for (size_t i = 0; i < calls->count; i++)
        json_array_append_new(list, call_json(&calls->items[i]));
    return list;
}
