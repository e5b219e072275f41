/* response_stream.c - a job's events as events of OpenAI's Responses API. */
#include "producer/gateway/responses/response_stream.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/responses/response_object.h"
#include "schemas/message/buf.h"

enum {
    MOST_OPEN = 80,        /* items that are open at once: calls of a reply */
    TEXT_BYTES = 4 << 20,  /* of an open item */
    LOG_BYTES = 256 << 10, /* of what a cell has printed */
    MOST_FILES = 256,      /* that wait to be cited */
    LEAST_CUT_BYTES = (48 << 10) - 3, /* of a text that an event may have cut,
                                         never inside of a character */
};

/* An item that has begun and not ended. */
struct open_item {
    uint64_t number;
    enum item_kind kind;
    uint64_t index;  /* in the output */
    bool shown;      /* its first wire event was sent */
    bool whole;      /* message: its text is whole; it ends with the next event,
                        which tells whether it was cut off */
    struct buf text; /* message, reasoning: so far; code: the code; search: what
                        is searched for */
    struct buf logs; /* code: what it has printed */
    char call[129];
};

struct response_stream {
    const struct wire_job *job;
    struct response_stream_options options;
    response_stream_sink *sink;
    void *owner;

    uint64_t seq;  /* of the event that is translated */
    uint64_t part; /* wire events of it so far */
    bool created, in_progress, ended;
    bool late; /* the first events were not there any more */
    uint64_t turn;
    uint64_t highest; /* number of an item so far */
    uint64_t shown;   /* index in the output of the next item that is shown */
    struct open_item open[MOST_OPEN];
    size_t open_count;
    json_t *output;   /* items that have ended and are valid, */
    uint64_t *places; /* ... by their indexes, which these are */
    json_t *uncited;  /* names of files that cells have left */
    json_t *waiting;  /* calls of functions that are shown at the end */
};

/* -------------------------------------------------------------------- wire */

/* Takes json, a whole event but for its number, which is put behind type. */
static void send_event(struct response_stream *stream, const char *type,
                       json_t *members)
{
    uint64_t sequence = stream->seq * RESPONSE_SEQUENCE_STEP + stream->part;
    json_t *json = json_pack("{s:s, s:I}", "type", type, "sequence_number",
                             (json_int_t)sequence);

    json_object_update_missing(json, members);
    json_decref(members);
    if (stream->part + 1 < RESPONSE_SEQUENCE_STEP)
        stream->part++;
    stream->sink(stream->owner, sequence, type, json);
    json_decref(json);
}

static void send_response(struct response_stream *stream, const char *type,
                          int state)
{
    struct response_state now = { .state = state };

    send_event(
        stream, type,
        json_pack("{s:o}", "response", response_object(stream->job, &now)));
}

/* "item_id" and "output_index", and with content "content_index": 0. */
static json_t *stream_place(const struct response_stream *stream,
                            const struct open_item *item, const char *content)
{
    char id[ITEM_ID_BYTES];
    json_t *json;

    item_id_write(id, item->kind, stream->job->id, item->number);
    json = json_pack("{s:s, s:I}", "item_id", id, "output_index",
                     (json_int_t)item->index);
    if (content)
        json_object_set_new(json, content, json_integer(0));
    return json;
}

static void send_plain(struct response_stream *stream,
                       const struct open_item *item, const char *type)
{
    send_event(stream, type, stream_place(stream, item, NULL));
}

static json_t *text_json(struct view text)
{
    json_t *json = json_stringn(text.data, text.len);

    return json ? json : json_string("");
}

/* A text of 8 to 23 characters that means nothing, the same on each read. Who
 * only sees how long the bytes on the wire are does not know the job's id. */
static void add_obfuscation(const struct response_stream *stream, json_t *json)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQR"
                                  "STUVWXYZ0123456789";
    CLEANUP(buf_finish) struct buf of = { .max = 256 };
    unsigned char hash[EVP_MAX_MD_SIZE];
    char text[25] = "";

    buf_printf(&of, "%.*s %llu %llu", VIEW_ARG(stream->job->id),
               (unsigned long long)stream->seq,
               (unsigned long long)stream->part);
    if (EVP_Digest(of.data, of.len, hash, NULL, EVP_sha256(), NULL) != 1)
        return;
    for (size_t i = 0, len = 8 + hash[0] % 16; i < len; i++)
        text[i] = letters[hash[i + 1] % 62];
    json_object_set_new(json, "obfuscation", json_string(text));
}

static void send_delta(struct response_stream *stream,
                       const struct open_item *item, const char *type,
                       const char *content, struct view text)
{
    json_t *json = stream_place(stream, item, content);

    json_object_set_new(json, "delta", text_json(text));
    if (item->kind == ITEM_MESSAGE)
        json_object_set_new(json, "logprobs", json_array());
    if (stream->options.obfuscate)
        add_obfuscation(stream, json);
    send_event(stream, type, json);
}

static void send_item(struct response_stream *stream,
                      const struct open_item *item, const char *type,
                      json_t *json)
{
    send_event(stream, type,
               json_pack("{s:I, s:o}", "output_index", (json_int_t)item->index,
                         "item", json));
}

/* ------------------------------------------------------------------- items */

static struct open_item *find_item(struct response_stream *stream,
                                   uint64_t number)
{
    for (size_t i = 0; i < stream->open_count; i++)
        if (stream->open[i].number == number)
            return &stream->open[i];
    return NULL;
}

/* Its place in the output. Late, the first item that is there has as many
 * before it as its number says. */
static uint64_t next_index(struct response_stream *stream, uint64_t number)
{
    if (stream->late && stream->shown == 0)
        stream->shown = number - 1;
    return stream->shown++;
}

/* Searches that go on at once end in any order. */
static void keep_item(struct response_stream *stream, uint64_t index,
                      json_t *json)
{
    size_t count = json_array_size(stream->output), at = count;
    uint64_t *places = reallocarray(stream->places, count + 1, sizeof(*places));

    if (!places)
        abort();
    for (; at > 0 && places[at - 1] > index; at--)
        places[at] = places[at - 1];
    places[at] = index;
    stream->places = places;
    json_array_insert(stream->output, at, json);
}

/* The item has ended; valid: the output has it. Takes json. */
static void drop_item(struct response_stream *stream, struct open_item *item,
                      json_t *json, bool valid)
{
    if (valid)
        keep_item(stream, item->index, json);
    json_decref(json);
    buf_finish(&item->text);
    buf_finish(&item->logs);
    *item = stream->open[--stream->open_count];
}

static void show_message(struct response_stream *stream, struct open_item *item)
{
    json_t *json =
        wire_message(stream->job, item->number, "in_progress", VIEW(""), NULL);
    json_t *place = stream_place(stream, item, "content_index");

    json_array_clear(json_object_get(json, "content"));
    send_item(stream, item, "response.output_item.added", json);
    json_object_set_new(place, "part", wire_text_part(VIEW(""), NULL));
    send_event(stream, "response.content_part.added", place);
}

static void show_reasoning(struct response_stream *stream,
                           struct open_item *item)
{
    json_t *place = stream_place(stream, item, "summary_index");

    send_item(stream, item, "response.output_item.added",
              wire_reasoning(stream->job, item->number, VIEW("")));
    json_object_set_new(place, "part", wire_summary_part(VIEW("")));
    send_event(stream, "response.reasoning_summary_part.added", place);
}

static void show_code(struct response_stream *stream, struct open_item *item)
{
    struct view code = buf_view(&item->text);
    json_t *done = stream_place(stream, item, NULL);

    send_item(
        stream, item, "response.output_item.added",
        wire_code(stream->job, item->number, "in_progress", VIEW(""), NULL));
    send_plain(stream, item, "response.code_interpreter_call.in_progress");
    send_delta(stream, item, "response.code_interpreter_call_code.delta", NULL,
               code);
    json_object_set_new(done, "code", text_json(code));
    send_event(stream, "response.code_interpreter_call_code.done", done);
    send_plain(stream, item, "response.code_interpreter_call.interpreting");
}

static void show_search(struct response_stream *stream, struct open_item *item)
{
    send_item(stream, item, "response.output_item.added",
              wire_search(stream->job, item->number, "in_progress",
                          buf_view(&item->text)));
    send_plain(stream, item, "response.web_search_call.in_progress");
    send_plain(stream, item, "response.web_search_call.searching");
}

static void show_item(struct response_stream *stream, struct open_item *item)
{
    if (item->shown)
        return;
    item->shown = true;
    item->index = next_index(stream, item->number);
    switch (item->kind) {
    case ITEM_MESSAGE:
        show_message(stream, item);
        break;
    case ITEM_REASONING:
        show_reasoning(stream, item);
        break;
    case ITEM_CODE:
        show_code(stream, item);
        break;
    case ITEM_SEARCH:
        show_search(stream, item);
        break;
    case ITEM_FUNCTION:
        break; /* it is never open */
    }
}

/* NULL: there are too many. */
static struct open_item *open_item(struct response_stream *stream,
                                   uint64_t number, enum item_kind kind)
{
    struct open_item *item;

    if (stream->open_count == MOST_OPEN)
        return NULL;
    item = &stream->open[stream->open_count++];
    *item = (struct open_item){ .number = number, .kind = kind };
    buf_init(&item->text, TEXT_BYTES);
    buf_init(&item->logs, LOG_BYTES);
    if (number > stream->highest)
        stream->highest = number;
    return item;
}

/* ----------------------------------------------------------------- closing */

/* Names of files that no message has cited yet, cited in this text. */
static json_t *take_citations(struct response_stream *stream, struct view text)
{
    json_t *annotations = json_array(), *name;
    size_t i;

    json_array_foreach(stream->uncited, i, name) {
        struct view file = { json_string_value(name),
                             json_string_length(name) };

        json_array_append_new(annotations,
                              wire_citation(stream->job, text, file));
    }
    json_array_clear(stream->uncited);
    return annotations;
}

static void send_annotations(struct response_stream *stream,
                             const struct open_item *item,
                             const json_t *annotations)
{
    json_t *annotation;
    size_t i;

    json_array_foreach(annotations, i, annotation) {
        json_t *json = stream_place(stream, item, "content_index");

        json_object_set_new(json, "annotation_index",
                            json_integer((json_int_t)i));
        json_object_set(json, "annotation", annotation);
        send_event(stream, "response.output_text.annotation.added", json);
    }
}

static void close_message(struct response_stream *stream,
                          struct open_item *item, const char *status,
                          bool valid)
{
    struct view text = buf_view(&item->text);
    json_t *annotations, *json, *done, *part;

    if (!valid && !item->shown) { /* nobody has seen it */
        drop_item(stream, item, NULL, false);
        return;
    }
    annotations = valid ? take_citations(stream, text) : json_array();
    show_item(stream, item);
    send_annotations(stream, item, annotations);
    done = stream_place(stream, item, "content_index");
    json_object_set_new(done, "text", text_json(text));
    json_object_set_new(done, "logprobs", json_array());
    send_event(stream, "response.output_text.done", done);
    part = stream_place(stream, item, "content_index");
    json_object_set_new(part, "part",
                        wire_text_part(text, json_incref(annotations)));
    send_event(stream, "response.content_part.done", part);
    json = wire_message(stream->job, item->number, status, text, annotations);
    send_item(stream, item, "response.output_item.done", json_incref(json));
    drop_item(stream, item, json, valid);
}

static void close_reasoning(struct response_stream *stream,
                            struct open_item *item, bool valid)
{
    struct view text = buf_view(&item->text);
    json_t *json, *done, *part;

    if (!item->shown && !valid) {
        drop_item(stream, item, NULL, false);
        return;
    }
    if (!item->shown) {
        show_item(stream, item);
        send_delta(stream, item, "response.reasoning_summary_text.delta",
                   "summary_index", text);
    }
    done = stream_place(stream, item, "summary_index");
    json_object_set_new(done, "text", text_json(text));
    send_event(stream, "response.reasoning_summary_text.done", done);
    part = stream_place(stream, item, "summary_index");
    json_object_set_new(part, "part", wire_summary_part(text));
    send_event(stream, "response.reasoning_summary_part.done", part);
    json = wire_reasoning(stream->job, item->number, text);
    send_item(stream, item, "response.output_item.done", json_incref(json));
    drop_item(stream, item, json, valid);
}

static void close_code(struct response_stream *stream, struct open_item *item,
                       const char *status)
{
    json_t *outputs =
        stream->job->with_outputs ? wire_logs(buf_view(&item->logs)) : NULL;
    json_t *json = wire_code(stream->job, item->number, status,
                             buf_view(&item->text), outputs);

    show_item(stream, item);
    if (strcmp(status, "incomplete") != 0)
        send_plain(stream, item, "response.code_interpreter_call.completed");
    send_item(stream, item, "response.output_item.done", json_incref(json));
    drop_item(stream, item, json, true);
}

static void close_search(struct response_stream *stream, struct open_item *item,
                         const char *status)
{
    json_t *json =
        wire_search(stream->job, item->number, status, buf_view(&item->text));

    show_item(stream, item);
    if (strcmp(status, "incomplete") != 0)
        send_plain(stream, item, "response.web_search_call.completed");
    send_item(stream, item, "response.output_item.done", json_incref(json));
    drop_item(stream, item, json, true);
}

/* The item ends without its own event. A reasoning is complete when something
 * follows it; all else is void. */
static void abandon_item(struct response_stream *stream, struct open_item *item,
                         bool follows)
{
    switch (item->kind) {
    case ITEM_MESSAGE:
        close_message(stream, item, "incomplete", false);
        break;
    case ITEM_REASONING:
        close_reasoning(stream, item, follows);
        break;
    case ITEM_CODE:
        close_code(stream, item, "incomplete");
        break;
    case ITEM_SEARCH:
        close_search(stream, item, "incomplete");
        break;
    case ITEM_FUNCTION:
        break;
    }
}

static bool is_text(const struct open_item *item)
{
    return item->kind == ITEM_MESSAGE || item->kind == ITEM_REASONING;
}

/* Texts of the model end where anything else begins. follows: the reply goes
 * on; else its turn begins again. */
static void close_texts(struct response_stream *stream, uint64_t but,
                        bool follows)
{
    for (size_t i = stream->open_count; i-- > 0;)
        if (is_text(&stream->open[i]) && stream->open[i].number != but)
            abandon_item(stream, &stream->open[i], follows);
}

/* ------------------------------------------------------------------ events */

static void begin_response(struct response_stream *stream)
{
    bool queued = stream->job->background;

    if (stream->created)
        return;
    stream->created = true;
    send_response(stream, "response.created",
                  queued ? STATE_QUEUED : STATE_IN_PROGRESS);
    if (queued)
        send_response(stream, "response.queued", STATE_QUEUED);
}

static void begin_work(struct response_stream *stream)
{
    begin_response(stream);
    if (stream->in_progress)
        return;
    stream->in_progress = true;
    send_response(stream, "response.in_progress", STATE_IN_PROGRESS);
}

static void on_turn(struct response_stream *stream,
                    const struct event_data *data)
{
    close_texts(stream, 0, false);
    stream->turn = data->turn;
}

/* A piece of a text; a number that was not seen yet begins an item. */
static struct open_item *text_item(struct response_stream *stream,
                                   const struct event_data *data,
                                   enum item_kind kind)
{
    struct open_item *item = find_item(stream, data->item);

    if (item)
        return item->kind == kind ? item : NULL;
    if (data->item == 0 || data->item <= stream->highest)
        return NULL;          /* it has ended */
    if (kind == ITEM_MESSAGE) /* the reasoning is over */
        close_texts(stream, data->item, true);
    return open_item(stream, data->item, kind);
}

static void on_delta(struct response_stream *stream,
                     const struct event_data *data, enum item_kind kind)
{
    struct open_item *item = text_item(stream, data, kind);

    if (!item || !buf_add(&item->text, data->text) ||
        stream->options.whole_turns)
        return;
    show_item(stream, item);
    if (kind == ITEM_MESSAGE)
        send_delta(stream, item, "response.output_text.delta", "content_index",
                   data->text);
    else
        send_delta(stream, item, "response.reasoning_summary_text.delta",
                   "summary_index", data->text);
}

/* The text of the event may be longer than its pieces, some of which are lost
 * with a trimmed stream, or shorter, as an event holds 48 KiB. */
static void on_message(struct response_stream *stream,
                       const struct event_data *data)
{
    struct open_item *item;
    struct view rest = data->text;

    if (data->item == 0) { /* its text was calls */
        close_texts(stream, 0, true);
        return;
    }
    item = text_item(stream, data, ITEM_MESSAGE);
    if (!item)
        return;
    if (item->text.len > 0 && data->text.len > item->text.len &&
        memcmp(data->text.data, item->text.data, item->text.len) == 0)
        rest = (struct view){ data->text.data + item->text.len,
                              data->text.len - item->text.len };
    else if (item->text.len > 0)
        rest = (struct view){ "", 0 };
    buf_add(&item->text, rest);
    if (!item->shown && item->text.len > 0) {
        show_item(stream, item);
        rest = buf_view(&item->text);
    }
    if (rest.len > 0)
        send_delta(stream, item, "response.output_text.delta", "content_index",
                   rest);
    item->whole = true;
}

/* Messages that are whole end with that status. */
static void end_messages(struct response_stream *stream, const char *status)
{
    for (size_t i = stream->open_count; i-- > 0;)
        if (stream->open[i].whole)
            close_message(stream, &stream->open[i], status, true);
}

static void show_function(struct response_stream *stream, uint64_t number,
                          struct view call, struct view name,
                          struct view arguments)
{
    struct open_item item = { .number = number,
                              .kind = ITEM_FUNCTION,
                              .index = next_index(stream, number) };
    json_t *json =
        wire_function(stream->job, number, "completed", call, name, arguments);
    json_t *done = stream_place(stream, &item, NULL);

    send_item(stream, &item, "response.output_item.added",
              wire_function(stream->job, number, "in_progress", call, name,
                            VIEW("")));
    send_delta(stream, &item, "response.function_call_arguments.delta", NULL,
               arguments);
    json_object_set_new(done, "name", text_json(name));
    json_object_set_new(done, "arguments", text_json(arguments));
    send_event(stream, "response.function_call_arguments.done", done);
    send_item(stream, &item, "response.output_item.done", json_incref(json));
    keep_item(stream, item.index, json);
    json_decref(json);
}

/* An event holds 48 KiB of the arguments, the result all of them. So a call
 * whose arguments may be cut, and those behind it, wait for the end. */
static void on_function(struct response_stream *stream,
                        const struct event_data *data)
{
    close_texts(stream, 0, true);
    if (data->item == 0 || data->item <= stream->highest)
        return;
    stream->highest = data->item;
    if (data->text.len >= LEAST_CUT_BYTES ||
        json_array_size(stream->waiting) > 0)
        json_array_append_new(
            stream->waiting,
            json_pack("{s:I, s:o, s:o, s:o}", "number", (json_int_t)data->item,
                      "call", text_json(data->call), "name",
                      text_json(data->tool), "text", text_json(data->text)));
    else
        show_function(stream, data->item, data->call, data->tool, data->text);
}

static struct view waiting_text(const json_t *call, const char *name)
{
    const json_t *text = json_object_get(call, name);

    return (struct view){ json_string_value(text), json_string_length(text) };
}

static void show_waiting(struct response_stream *stream,
                         const struct result *result)
{
    const struct result_call *calls = result ? result->calls.items : NULL;
    json_t *call;
    size_t i;

    json_array_foreach(stream->waiting, i, call) {
        struct view id = waiting_text(call, "call");
        struct view arguments = waiting_text(call, "text");

        for (size_t k = 0; calls && k < result->calls.count; k++)
            if (view_equal(calls[k].call_id, id))
                arguments = calls[k].arguments;
        show_function(
            stream,
            (uint64_t)json_integer_value(json_object_get(call, "number")), id,
            waiting_text(call, "name"), arguments);
    }
}

static bool is_search(const struct event_data *data)
{
    return view_is(data->tool, "search_web");
}

/* NULL: no call of that number is open. */
static struct open_item *find_call(struct response_stream *stream,
                                   uint64_t number)
{
    struct open_item *item = find_item(stream, number);

    return item && !is_text(item) ? item : NULL;
}

/* {"query": "..."}, as it was written. */
static void stream_add_query(struct buf *out, struct view arguments)
{
    json_t *json = json_loadb(arguments.data, arguments.len, 0, NULL);
    const json_t *query = json_object_get(json, "query");

    if (json_is_string(query))
        buf_append(out, json_string_value(query), json_string_length(query));
    else
        buf_add(out, arguments);
    json_decref(json);
}

static struct open_item *begin_call(struct response_stream *stream,
                                    const struct event_data *data)
{
    struct open_item *item = find_call(stream, data->item);

    if (item || data->item <= stream->highest)
        return item;
    close_texts(stream, 0, true);
    item = open_item(stream, data->item,
                     is_search(data) ? ITEM_SEARCH : ITEM_CODE);
    if (!item)
        return NULL;
    if (item->kind == ITEM_CODE)
        buf_add(&item->text, data->code);
    else
        stream_add_query(&item->text, data->text);
    show_item(stream, item);
    return item;
}

/* A call that begins again: what it has printed is void. */
static void on_call(struct response_stream *stream,
                    const struct event_data *data)
{
    struct open_item *item = begin_call(stream, data);

    if (item)
        buf_clear(&item->logs);
}

static void on_called(struct response_stream *stream,
                      const struct event_data *data)
{
    struct open_item *item = begin_call(stream, data);

    if (!item)
        return;
    if (item->kind == ITEM_SEARCH)
        close_search(stream, item,
                     view_is(data->status, "ok") ? "completed" : "failed");
    else
        close_code(stream, item, wire_code_status(data->status));
}

static void on_output(struct response_stream *stream,
                      const struct event_data *data)
{
    struct open_item *item = find_call(stream, data->item);

    if (item && stream->job->with_outputs)
        buf_add(&item->logs, data->text);
}

static void on_cleared(struct response_stream *stream,
                       const struct event_data *data)
{
    struct open_item *item = find_call(stream, data->item);

    if (item)
        buf_clear(&item->logs);
}

static void on_file(struct response_stream *stream, struct view name)
{
    json_t *known;
    size_t i;

    json_array_foreach(stream->uncited, i, known)
        if (view_is(name, json_string_value(known)))
            return;
    if (name.len > 0 && json_array_size(stream->uncited) < MOST_FILES)
        json_array_append_new(stream->uncited, text_json(name));
}

static void take_item_event(struct response_stream *stream,
                            const struct event *event)
{
    const struct event_data *data = &event->data;

    if (view_is(event->type, "message.delta"))
        on_delta(stream, data, ITEM_MESSAGE);
    else if (view_is(event->type, "reasoning.delta"))
        on_delta(stream, data, ITEM_REASONING);
    else if (view_is(event->type, "message.completed"))
        on_message(stream, data);
    else if (view_is(event->type, "function.called"))
        on_function(stream, data);
    else if (data->item == 0)
        return; /* a call that is no item */
    else if (view_is(event->type, "tool.output"))
        on_output(stream, data);
    else if (view_is(event->type, "tool.cleared"))
        on_cleared(stream, data);
    else if (view_is(event->type, "image"))
        on_file(stream, data->image.name);
    else if (view_is(event->type, "file") && data->file.blob.len > 0)
        on_file(stream, data->file.name);
    else if (view_is(event->type, "tool.started"))
        on_call(stream, data);
    else if (view_is(event->type, "tool.completed"))
        on_called(stream, data);
}

void response_stream_event(struct response_stream *stream,
                           const struct event *event)
{
    if (stream->ended || event->seq <= stream->seq ||
        event_is_terminal(event->type))
        return;
    stream->late |= stream->seq == 0 && event->seq > 1;
    stream->seq = event->seq;
    stream->part = 0;
    end_messages(stream, "completed");
    if (view_is(event->type, "job.queued") ||
        view_is(event->type, "job.waiting")) {
        begin_response(stream);
        if (!stream->job->background)
            begin_work(stream);
        return;
    }
    begin_work(stream);
    if (view_is(event->type, "turn.started"))
        on_turn(stream, &event->data);
    else
        take_item_event(stream, event);
}

/* --------------------------------------------------------------------- end */

/* Of a job that has ended otherwise than with an answer. */
static void close_all(struct response_stream *stream)
{
    while (stream->open_count > 0)
        abandon_item(stream, &stream->open[stream->open_count - 1], false);
}

static const char *end_type(const struct response_state *last)
{
    switch (response_end(last)) {
    case STATE_COMPLETED:
        return "response.completed";
    case STATE_FAILED:
        return "response.failed";
    default: /* there is no event of its own for a cancelled one */
        return "response.incomplete";
    }
}

void response_stream_end(struct response_stream *stream, uint64_t seq,
                         int state, const struct result *result,
                         uint64_t finished_at)
{
    struct response_state last = { .state = state, .finished_at = finished_at };

    if (stream->ended)
        return;
    stream->late |= stream->seq == 0;
    if (seq > stream->seq) {
        stream->seq = seq;
        stream->part = 0;
    }
    begin_work(stream);
    end_messages(stream, state == STATE_COMPLETED ? "completed" : "incomplete");
    close_all(stream);
    show_waiting(stream, result);
    last.output = stream->late && result ? response_output(stream->job, result)
                                         : json_incref(stream->output);
    if (result) {
        last.error_kind = result->error.kind;
        last.error_code = result->error.code;
        last.error_message = result->error.message;
        last.usage = &result->usage;
    }
    stream->ended = true;
    send_event(
        stream, end_type(&last),
        json_pack("{s:o}", "response", response_object(stream->job, &last)));
}

/* -------------------------------------------------------------------- life */

struct response_stream *
response_stream_new(const struct wire_job *job,
                    const struct response_stream_options *options,
                    response_stream_sink *sink, void *owner)
{
    struct response_stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        abort();
    stream->job = job;
    stream->options = *options;
    stream->sink = sink;
    stream->owner = owner;
    stream->output = json_array();
    stream->uncited = json_array();
    stream->waiting = json_array();
    return stream;
}

void response_stream_free(struct response_stream *stream)
{
    if (!stream)
        return;
    for (size_t i = 0; i < stream->open_count; i++) {
        buf_finish(&stream->open[i].text);
        buf_finish(&stream->open[i].logs);
    }
    json_decref(stream->output);
    json_decref(stream->uncited);
    json_decref(stream->waiting);
    free(stream->places);
    free(stream);
}
