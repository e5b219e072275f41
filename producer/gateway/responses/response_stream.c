/* response_stream.c - a job's events as events of OpenAI's Responses API. */
#include <stdlib.h>
#include <string.h>

#include "producer/gateway/responses/response_object.h"
#include "producer/gateway/responses/stream_item.h"
#include "schemas/message/limits.h"

enum {
    MOST_FILES = 256,                 /* that wait to be cited */
    LEAST_CUT_BYTES = (48 << 10) - 3, /* of a text that an event may have cut,
                                         never inside of a character */
};

/* ------------------------------------------------------------------ events */

/* Texts of the model end where anything else begins. follows: the reply goes
 * on; else its turn begins again. */
static void close_texts(struct response_stream *stream, uint64_t but,
                        bool follows)
{
    for (size_t i = stream->open_count; i-- > 0;)
        if (stream_is_text(&stream->open[i]) && stream->open[i].number != but)
            stream_abandon(stream, &stream->open[i], follows);
}

static void begin_response(struct response_stream *stream)
{
    bool queued = stream->job->background;

    if (stream->created)
        return;
    stream->created = true;
    stream_send_response(stream, "response.created",
                         queued ? STATE_QUEUED : STATE_IN_PROGRESS);
    if (queued)
        stream_send_response(stream, "response.queued", STATE_QUEUED);
}

static void begin_work(struct response_stream *stream)
{
    begin_response(stream);
    if (stream->in_progress)
        return;
    stream->in_progress = true;
    stream_send_response(stream, "response.in_progress", STATE_IN_PROGRESS);
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
    struct open_item *item = stream_find(stream, data->item);

    if (item)
        return item->kind == kind ? item : NULL;
    if (data->item == 0 || data->item <= stream->highest)
        return NULL;          /* it has ended */
    if (kind == ITEM_MESSAGE) /* the reasoning is over */
        close_texts(stream, data->item, true);
    return stream_open(stream, data->item, kind);
}

static void on_delta(struct response_stream *stream,
                     const struct event_data *data, enum item_kind kind)
{
    struct open_item *item = text_item(stream, data, kind);

    if (!item || !buf_add(&item->text, data->text) ||
        stream->options.whole_turns)
        return;
    stream_show(stream, item);
    if (kind == ITEM_MESSAGE)
        stream_send_delta(stream, item, "response.output_text.delta",
                          "content_index", data->text);
    else
        stream_send_delta(stream, item, "response.reasoning_summary_text.delta",
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
        stream_show(stream, item);
        rest = buf_view(&item->text);
    }
    if (rest.len > 0)
        stream_send_delta(stream, item, "response.output_text.delta",
                          "content_index", rest);
    item->whole = true;
}

/* Messages that are whole end with that status. */
static void end_messages(struct response_stream *stream, const char *status)
{
    for (size_t i = stream->open_count; i-- > 0;)
        if (stream->open[i].whole)
            stream_close_message(stream, &stream->open[i], status, true);
}

/* Something follows the messages that are whole. Where the answer is to be
 * JSON, they are not the answer: void. */
static void pass_messages(struct response_stream *stream,
                          const struct event *event)
{
    bool is_void = wire_wants_json(stream->job);

    if (is_void && event->data.item == 0 &&
        !view_is(event->type, "turn.started"))
        return; /* the end may still come right behind it */
    if (!is_void) {
        end_messages(stream, "completed");
        return;
    }
    for (size_t i = stream->open_count; i-- > 0;)
        if (stream->open[i].whole)
            stream_abandon(stream, &stream->open[i], true);
}

static void show_function(struct response_stream *stream, uint64_t number,
                          struct view call, struct view name,
                          struct view arguments)
{
    struct open_item item = { .number = number,
                              .kind = ITEM_FUNCTION,
                              .index = stream_next_index(stream, number) };
    json_t *json =
        wire_function(stream->job, number, "completed", call, name, arguments);
    json_t *done = stream_place(stream, &item, NULL);

    stream_send_item(stream, &item, "response.output_item.added",
                     wire_function(stream->job, number, "in_progress", call,
                                   name, VIEW("")));
    stream_send_delta(stream, &item, "response.function_call_arguments.delta",
                      NULL, arguments);
    json_object_set_new(done, "name", stream_text(name));
    json_object_set_new(done, "arguments", stream_text(arguments));
    stream_send(stream, "response.function_call_arguments.done", done);
    stream_send_item(stream, &item, "response.output_item.done",
                     json_incref(json));
    stream_keep(stream, item.index, json);
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
        json_array_append_new(stream->waiting,
                              json_pack("{s:I, s:o, s:o, s:o}", "number",
                                        (json_int_t)data->item, "call",
                                        stream_text(data->call), "name",
                                        stream_text(data->tool), "text",
                                        stream_text(data->text)));
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
    struct open_item *item = stream_find(stream, number);

    return item && !stream_is_text(item) ? item : NULL;
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
    item = stream_open(stream, data->item,
                       is_search(data) ? ITEM_SEARCH : ITEM_CODE);
    if (!item)
        return NULL;
    if (item->kind == ITEM_CODE)
        buf_add(&item->text, data->code);
    else
        stream_add_query(&item->text, data->text);
    stream_show(stream, item);
    return item;
}

/* A call that begins again: what it has printed is void. */
static void on_call(struct response_stream *stream,
                    const struct event_data *data)
{
    struct open_item *item = begin_call(stream, data);

    if (item)
        stream_clear_outputs(item);
}

static void on_called(struct response_stream *stream,
                      const struct event_data *data)
{
    struct open_item *item = begin_call(stream, data);

    if (!item)
        return;
    if (item->kind == ITEM_SEARCH)
        stream_close_search(
            stream, item, view_is(data->status, "ok") ? "completed" : "failed");
    else
        stream_close_code(stream, item, wire_code_status(data->status));
}

static void on_output(struct response_stream *stream,
                      const struct event_data *data)
{
    struct open_item *item = find_call(stream, data->item);

    if (item && stream->job->with_outputs && !stream->job->for_chat)
        buf_add(&item->logs, data->text);
}

static void on_cleared(struct response_stream *stream,
                       const struct event_data *data)
{
    struct open_item *item = find_call(stream, data->item);

    if (item)
        stream_clear_outputs(item);
}

static void on_file(struct response_stream *stream, struct view name)
{
    json_t *known;
    size_t i;

    json_array_foreach(stream->uncited, i, known)
        if (view_is(name, json_string_value(known)))
            return;
    if (name.len > 0 && json_array_size(stream->uncited) < MOST_FILES)
        json_array_append_new(stream->uncited, stream_text(name));
}

static void on_image(struct response_stream *stream,
                     const struct event_data *data)
{
    struct open_item *item = find_call(stream, data->item);

    on_file(stream, data->image.name);
    if (item && data->image.name.len > 0 &&
        json_array_size(item->images) < MAX_IMAGES)
        stream_add_image(item, data->image.name);
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
        on_image(stream, data);
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
    pass_messages(stream, event);
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
        stream_abandon(stream, &stream->open[stream->open_count - 1], false);
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
    stream_send(
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
        json_decref(stream->open[i].images);
        buf_finish(&stream->open[i].text);
        buf_finish(&stream->open[i].logs);
    }
    json_decref(stream->output);
    json_decref(stream->uncited);
    json_decref(stream->waiting);
    free(stream->places);
    free(stream);
}
