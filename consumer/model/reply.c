/* reply.c - the bytes of a reply, as one assistant message.
 *
 * First the calls in a reply, then the reply itself: made, filled by its
 * dialect, fed, and judged at its end. */
#include "consumer/model/reply.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "consumer/model/reply_draft.h"
#include "consumer/model/reply_error.h"
#include "consumer/model/reply_json.h"

enum {
    MAX_ID = 512,
    MAX_REASON = 64,
    HEAD_BYTES = 2048, /* enough to find the title of an HTML page */
    SHOWN_BYTES = 160, /* of anything else, in a sentence */
};

/* ---------------------------------------------------- the calls in a reply */

/* Takes one byte of an open value. It only counts brackets and quotes, and does
 * not validate: models put bare newlines into strings. */
static void json_shape_follow(struct json_shape *shape, char byte)
{
    if (shape->escaped)
        shape->escaped = false;
    else if (shape->in_string && byte == '\\')
        shape->escaped = true;
    else if (byte == '"')
        shape->in_string = !shape->in_string;
    else if (!shape->in_string && (byte == '{' || byte == '['))
        shape->depth++;
    else if (!shape->in_string && (byte == '}' || byte == ']'))
        shape->depth--;
    if (shape->depth == 0 && !shape->in_string)
        shape->is = SHAPE_CLOSED;
}

static void json_shape_feed(struct json_shape *shape, struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.data[i];

        if (shape->is == SHAPE_NONE && !byte_is_of(byte, " \t\r\n"))
            shape->is = byte == '{' || byte == '[' || byte == '"' ? SHAPE_OPEN
                                                                  : SHAPE_OTHER;
        if (shape->is == SHAPE_OPEN)
            json_shape_follow(shape, byte);
    }
}

static void call_finish(struct reply_call *call)
{
    json_decref(call->extra);
    buf_finish(&call->id);
    buf_finish(&call->name);
    buf_finish(&call->arguments);
}

static void reply_calls_finish(struct reply_calls *calls)
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

/* Drops the calls that say nothing: some endpoints write out every member of
 * every message, with empty values. */
static void reply_calls_prune(struct reply_calls *calls)
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

/* Whether the arguments of a call are visibly half. */
static bool reply_calls_are_cut(const struct reply_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].shape.is == SHAPE_OPEN ||
            (calls->items[i].open && calls->items[i].shape.is != SHAPE_CLOSED))
            return true;
    return false;
}

/* Whether the arguments of all calls are visibly whole. Neither need be true:
 * bare words have no brackets to count. */
static bool reply_calls_are_closed(const struct reply_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        if (calls->items[i].shape.is != SHAPE_CLOSED)
            return false;
    return true;
}

static bool reply_calls_are_named(const struct reply_calls *calls)
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

static json_t *reply_calls_json(const struct reply_calls *calls)
{
    json_t *list = json_array();

    for (size_t i = 0; i < calls->count; i++)
        json_array_append_new(list, call_json(&calls->items[i]));
    return list;
}

/* ----------------------------------------------------------------- a reply */

static sse_event take_event;

struct reply *reply_new(const struct dialect *dialect,
                        struct reply_events events, void *owner)
{
    struct reply *reply = calloc(1, sizeof(*reply));

    if (!reply)
        abort();
    reply->dialect = dialect;
    reply->events = events;
    reply->owner = owner;
    sse_init(&reply->sse, take_event, reply);
    reply->sse.errors = true;
    buf_init(&reply->plain, REPLY_MAX_PLAIN);
    buf_init(&reply->head, HEAD_BYTES);
    buf_init(&reply->content, REPLY_MAX_TEXT);
    buf_init(&reply->reasoning, REPLY_MAX_TEXT);
    buf_init(&reply->refusal, REPLY_MAX_TEXT);
    buf_init(&reply->finish_reason, MAX_REASON);
    buf_init(&reply->thought.held, REPLY_MAX_TEXT);
    buf_init(&reply->thought.whole, REPLY_MAX_TEXT);
    return reply;
}

void reply_free(struct reply *reply)
{
    if (!reply)
        return;
    sse_finish(&reply->sse);
    buf_finish(&reply->plain);
    buf_finish(&reply->head);
    buf_finish(&reply->content);
    buf_finish(&reply->reasoning);
    buf_finish(&reply->refusal);
    buf_finish(&reply->finish_reason);
    reply_details_finish(&reply->details);
    reply_calls_finish(&reply->calls);
    reply_blocks_finish(&reply->blocks);
    json_decref(reply->open.block);
    buf_finish(&reply->thought.held);
    buf_finish(&reply->thought.whole);
    json_decref(reply->message);
    free(reply);
}

void reply_limit(struct reply *reply, uint64_t max_tokens)
{
    reply->max_tokens = max_tokens;
}

static bool has_fault(const struct reply *reply)
{
    return reply->fault.kind != ERR_NONE;
}

static void set_garbage(struct reply *reply, const char *what, struct view text)
{
    text = view_head(text, SHOWN_BYTES);
    if (!has_fault(reply))
        err_set(&reply->fault, ERR_RETRY, "model_garbage", "%s%.*s", what,
                VIEW_ARG(text));
}

static void set_too_long(struct reply *reply)
{
    if (!has_fault(reply))
        err_set(&reply->fault, ERR_REJECT, "model_too_long",
                "the reply is too long: at most %d bytes of text, %d calls, "
                "%d bytes in all",
                REPLY_MAX_TEXT, REPLY_MAX_CALLS, REPLY_MAX_MESSAGE);
}

void reply_add_reasoning(struct reply *reply, struct view text)
{
    if (!buf_add(&reply->reasoning, text))
        set_too_long(reply);
    if (text.len > 0 && reply->events.on_reasoning)
        reply->events.on_reasoning(reply->owner, text);
}

void reply_add_text(struct reply *reply, struct view text)
{
    reply->has_content = true;
    reply_blocks_text(&reply->blocks, text.len);
    if (!buf_add(&reply->content, text))
        set_too_long(reply);
    if (text.len > 0 && reply->events.on_text)
        reply->events.on_text(reply->owner, text);
}

void reply_add_refusal(struct reply *reply, struct view text)
{
    if (!buf_add(&reply->refusal, text))
        set_too_long(reply);
}

void reply_add_id(struct reply *reply, struct view id)
{
    if (id.len > 0 && reply->events.on_id)
        reply->events.on_id(reply->owner, id);
}

void reply_open_block(struct reply *reply, json_t *block, json_int_t index)
{
    json_decref(reply->open.block);
    reply->open = (struct reply_open){ block, index, reply->reasoning.len };
}

void reply_close_block(struct reply *reply, const char *name)
{
    struct reply_open *open = &reply->open;
    size_t len = reply->reasoning.len - open->start;

    if (!open->block)
        return;
    if (name && len > 0)
        json_object_set_new(
            open->block, name,
            json_stringn(reply->reasoning.data + open->start, len));
    reply_blocks_keep(&reply->blocks, open->block);
    open->block = NULL;
}

bool reply_reason_is_length(struct view reason)
{
    static const char *const names[] = { "length", "max_tokens",
                                         "model_length" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (reason.len == strlen(names[i]) &&
            strncasecmp(reason.data, names[i], reason.len) == 0)
            return true;
    return false;
}

void reply_set_finish(struct reply *reply, struct view reason)
{
    if (reason.len == 0)
        return;
    buf_clear(&reply->finish_reason);
    buf_add(&reply->finish_reason, view_head(reason, MAX_REASON));
    reply->by_length = reply->by_length || reply_reason_is_length(reason);
}

uint64_t reply_tokens(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));

    return value > 0 ? (uint64_t)value : 0;
}

void reply_set_error(struct reply *reply, const json_t *json)
{
    struct reply_error error;

    reply_error_read(&error, json);
    if (!has_fault(reply))
        reply_error_judge(&error, 200, 0, &reply->fault);
}

/* Tells the calls that have begun, in order: one whose name has not come holds
 * up those behind it. */
static void tell_calls(struct reply *reply)
{
    struct reply_calls *calls = &reply->calls;

    if (!reply->events.on_call)
        return;
    while (calls->told < calls->count && calls->items[calls->told].name.len > 0)
        reply->events.on_call(reply->owner,
                              buf_view(&calls->items[calls->told++].name));
}

/* An event of a stream, or a plain body. False: it is no payload. */
static bool take_json(struct reply *reply, struct view name, const json_t *json)
{
    bool payload = true;

    /* A failed reply of Responses has its usage beside the error: its dialect
     * reads both. */
    bool fails =
        reply_error_is(json) && !json_is_array(json_object_get(json, "output"));

    if (view_is(name, "error") || fails)
        reply_set_error(reply, json);
    else
        payload = reply->dialect->take(reply, name, json);
    tell_calls(reply);
    if (reply->details.overflow || reply->calls.overflow ||
        reply->blocks.overflow)
        set_too_long(reply);
    return payload;
}

static bool take_event(void *owner, struct view name, struct view data)
{
    struct reply *reply = owner;
    bool payload = true;
    json_t *json;

    if (view_starts(data, "[DONE]")) {
        reply->payload = reply->done = true;
        return false;
    }
    json = reply_json_parse(data);
    if (!json && view_is(name, "error"))
        json = json_stringn(data.data, data.len);
    if (json)
        payload = take_json(reply, name, json);
    else if (!reply->at_end)
        set_garbage(reply, "an event that is not JSON: ", data);
    reply->payload = reply->payload || payload;
    json_decref(json);
    return !reply_is_over(reply);
}

static struct view reply_skip_blanks(struct view bytes)
{
    while (bytes.len > 0 && byte_is_of(*bytes.data, " \t\r\n")) {
        bytes.data++;
        bytes.len--;
    }
    return bytes;
}

bool reply_feed(struct reply *reply, struct view bytes)
{
    reply->payload = false;
    if (reply->form == FORM_UNKNOWN) /* blank lines may come for minutes */
        bytes = reply_skip_blanks(bytes);
    if (bytes.len == 0 || reply_is_over(reply))
        return false;
    if (reply->form == FORM_UNKNOWN)
        reply->form =
            *bytes.data == '{' || *bytes.data == '[' ? FORM_PLAIN : FORM_STREAM;
    buf_add(&reply->head, view_head(bytes, HEAD_BYTES - reply->head.len));
    if (reply->form == FORM_PLAIN) {
        if (!buf_add(&reply->plain, bytes))
            set_too_long(reply);
        return true;
    }
    sse_feed(&reply->sse, bytes);
    if (sse_overflow(&reply->sse))
        set_too_long(reply);
    return reply->payload;
}

struct view reply_text(const struct reply *reply)
{
    return buf_view(&reply->content);
}

bool reply_is_over(const struct reply *reply)
{
    return reply->done || has_fault(reply);
}

bool reply_is_unfinished(const struct reply *reply)
{
    return reply->unfinished;
}

/* Reads what is left when the bytes end: the last event, or a plain body. */
static void reply_drain(struct reply *reply)
{
    json_t *json;

    reply->at_end = true;
    if (reply->form == FORM_STREAM && !reply_is_over(reply))
        sse_end(&reply->sse);
    if (reply->form == FORM_PLAIN && !has_fault(reply)) {
        json = reply_json_parse(buf_view(&reply->plain));
        take_json(reply, VIEW(""), json);
        json_decref(json);
    }
    if (reply->dialect->end)
        reply->dialect->end(reply);
    reply_calls_prune(&reply->calls);
}

/* A plain body is whole when it is JSON with a choice; a stream when it has
 * said so, by [DONE] or by a reason for its end. */
static bool is_finished(const struct reply *reply)
{
    return reply->has_choice && (reply->done || reply->form == FORM_PLAIN ||
                                 reply->finish_reason.len > 0);
}

/* The error of a body that is no reply: what it is instead. */
static bool not_a_reply(const struct reply *reply, struct err *err)
{
    struct view head = buf_view(&reply->head);
    char text[SHOWN_BYTES];

    if (head.len == 0)
        return err_set(err, ERR_RETRY, "model_garbage", "not %s: it is empty",
                       reply->dialect->what);
    if (strange_body(head, text, sizeof(text)))
        return err_set(err, ERR_RETRY, "model_garbage", "not %s, but %s",
                       reply->dialect->what, text);
    head = view_head(head, SHOWN_BYTES);
    return err_set(err, ERR_RETRY, "model_garbage", "not %s: %.*s",
                   reply->dialect->what, VIEW_ARG(head));
}

static bool reply_judge(struct reply *reply, bool whole, struct err *err)
{
    struct view refusal = view_head(buf_view(&reply->refusal), 256);
    struct view reason = buf_view(&reply->finish_reason);
    bool cut = reply->has_choice || !whole;

    if (has_fault(reply)) {
        *err = reply->fault;
        return false;
    }
    if (reply->unfinished)
        return err_set(err, ERR_RETRY, "model_cut",
                       "the reply is not there yet: the endpoint is still at "
                       "work on it");
    if (!is_finished(reply) && cut)
        return err_set(err, ERR_RETRY, "model_cut",
                       "the reply ended before its end, after %zu bytes of "
                       "text",
                       reply->content.len);
    if (!is_finished(reply))
        return not_a_reply(reply, err);
    if (refusal.len > 0)
        return err_set(err, ERR_REJECT, "model_refused", "%.*s",
                       VIEW_ARG(refusal));
    if (view_is(reason, "content_filter"))
        return err_set(err, ERR_REJECT, "model_refused",
                       "the endpoint's content filter stopped the reply");
    if (view_is(reason, "error"))
        return err_set(err, ERR_RETRY, "model_unavailable",
                       "the endpoint broke off with an error");
    if (!reply_calls_are_named(&reply->calls))
        return err_set(err, ERR_RETRY, "model_garbage",
                       "a tool call without a name");
    return true;
}

static json_t *make_message(const struct reply *reply, bool with_calls)
{
    json_t *message = json_pack("{s:s}", "role", "assistant");
    json_t *opaque = reply_blocks_json(&reply->blocks, reply->dialect->name);

    json_object_set_new(message, "content",
                        reply->has_content || !with_calls
                            ? text_json(&reply->content)
                            : json_null());
    if (reply->reasoning_name)
        json_object_set_new(message, reply->reasoning_name,
                            text_json(&reply->reasoning));
    if (reply->details.count > 0)
        json_object_set_new(message, "reasoning_details",
                            reply_details_json(&reply->details));
    if (opaque)
        json_object_set_new(message, "opaque", opaque);
    if (with_calls)
        json_object_set_new(message, "tool_calls",
                            reply_calls_json(&reply->calls));
    return message;
}

/* Whether its calls may be half. In a stream without a reason for its end only
 * arguments that are visibly whole are trusted. */
static bool is_truncated(const struct reply *reply)
{
    bool spent = reply->max_tokens > 0 &&
                 reply->usage.output_tokens >= reply->max_tokens;
    bool unsaid = reply->form == FORM_STREAM && reply->finish_reason.len == 0;

    return reply->by_length || reply_calls_are_cut(&reply->calls) ||
           (spent && reply->calls.count > 0) ||
           (unsaid && !reply_calls_are_closed(&reply->calls));
}

/* Only of a reply that has come to its end: a count before that is not all. */
static void set_usage(const struct reply *reply, struct model_reply *result)
{
    if (!reply->failed && (has_fault(reply) || !is_finished(reply)))
        return;
    result->usage = reply->usage;
    result->usage.model_calls = 1;
    result->has_cost = reply->has_cost;
}

bool reply_end(struct reply *reply, bool whole, struct model_reply *result,
               struct err *err)
{
    bool truncated;

    if (!reply->at_end)
        reply_drain(reply);
    *result = (struct model_reply){ 0 };
    if (!reply_judge(reply, whole, err)) {
        set_usage(reply, result);
        return false;
    }
    truncated = is_truncated(reply);
    json_decref(reply->message);
    reply->message = make_message(reply, reply->calls.count > 0 && !truncated);
    *result = (struct model_reply){
        .message = reply->message,
        .text = buf_view(&reply->content),
        .finish_reason = buf_view(&reply->finish_reason),
        .truncated = truncated,
        .dropped_calls = truncated ? reply->calls.count : 0,
    };
    set_usage(reply, result);
    if (json_dumpb(reply->message, NULL, 0, JSON_COMPACT) <= REPLY_MAX_MESSAGE)
        return true;
    set_too_long(reply);
    *err = reply->fault;
    return false;
}
