/* chat_stream.c - the wire events of a response as chunks of a chat completion.
 */
#include "producer/gateway/chat/chat_stream.h"

#include <stdio.h>
#include <string.h>

#include "producer/gateway/body/body.h"
#include "producer/gateway/chat/chat_links.h"

enum { LINKS_BYTES = 256 << 10 }; /* to all files of a job */

/* choices: taken. */
static void send_choices(const struct chat_stream *stream, json_t *choices,
                         json_t *usage)
{
    json_t *chunk = json_pack(
        "{s:s, s:s, s:O, s:O, s:o}", "id", stream->id, "object",
        "chat.completion.chunk", "created",
        json_object_get(stream->response, "created_at"), "model",
        json_object_get(stream->response, "model"), "choices", choices);

    if (stream->with_usage)
        json_object_set_new(chunk, "usage", usage ? usage : json_null());
    stream->sink(stream->owner, chunk);
    json_decref(chunk);
}

/* delta: taken. finish: NULL: there is more. */
static void send_delta(const struct chat_stream *stream, json_t *delta,
                       const char *finish)
{
    send_choices(stream,
                 json_pack("[{s:i, s:o, s:n, s:s?}]", "index", 0, "delta",
                           delta, "logprobs", "finish_reason", finish),
                 NULL);
}

static void begin(struct chat_stream *stream, const json_t *json)
{
    chat_id_write(stream->id, stream->job->id);
    stream->response = json_incref(json_object_get(json, "response"));
    stream->is_json = wire_wants_json(stream->job);
    send_delta(stream,
               json_pack("{s:s, s:s}", "role", "assistant", "content", ""),
               NULL);
}

/* A text of an item: behind that of another one, a blank line comes between. */
static void send_text(struct chat_stream *stream, struct view item,
                      struct view text)
{
    if (text.len == 0)
        return;
    if (stream->item[0] != '\0' && !view_is(item, stream->item))
        send_delta(stream,
                   json_pack("{s:s}", "content",
                             stream->is_void ? CHAT_VOID : CHAT_BETWEEN),
                   NULL);
    stream->is_void = false;
    snprintf(stream->item, sizeof(stream->item), "%.*s", VIEW_ARG(item));
    send_delta(stream, json_pack("{s:s%}", "content", text.data, text.len),
               NULL);
}

static void send_images(struct chat_stream *stream, const json_t *item)
{
    CLEANUP(buf_finish) struct buf text = { .max = LINKS_BYTES };

    chat_add_images(&text, item);
    send_text(stream, body_string(json_object_get(item, "id")),
              buf_view(&text));
}

static void send_files(struct chat_stream *stream)
{
    CLEANUP(buf_finish) struct buf text = { .max = LINKS_BYTES };

    chat_add_files(&text, stream->job, stream->result, 0);
    send_text(stream, VIEW("files"), buf_view(&text));
}

static void on_item(struct chat_stream *stream, const json_t *json)
{
    const json_t *item = json_object_get(json, "item");
    struct view type = body_string(json_object_get(item, "type"));
    json_t *call;

    if (view_is(type, "code_interpreter_call") && !stream->is_json)
        send_images(stream, item);
    /* It cannot be taken back: what follows is told from it. */
    if (view_is(type, "message") &&
        view_is(body_string(json_object_get(item, "status")), "incomplete"))
        stream->is_void = true;
    if (!view_is(type, "function_call"))
        return;
    call = chat_call(item);
    json_object_set_new(call, "index",
                        json_integer((json_int_t)stream->calls++));
    send_delta(stream, json_pack("{s:[o]}", "tool_calls", call), NULL);
}

/* Of an answer that is JSON: what was said before it is none. */
static void send_messages(struct chat_stream *stream, const json_t *response)
{
    const json_t *item, *part;
    size_t i, k;

    json_array_foreach(json_object_get(response, "output"), i, item)
        json_array_foreach(json_object_get(item, "content"), k, part)
            send_text(stream, body_string(json_object_get(item, "id")),
                      body_string(json_object_get(part, "text")));
}

static void on_end(struct chat_stream *stream, const json_t *json)
{
    const json_t *response = json_object_get(json, "response");
    struct chat_failure failure;

    if (chat_failed(response, &failure)) {
        json_t *error = json_pack("{s:{s:s, s:s, s:n, s:s}}", "error",
                                  "message", failure.message, "type",
                                  failure.type, "param", "code", failure.code);

        stream->sink(stream->owner, error);
        json_decref(error);
        return;
    }
    if (stream->is_json)
        send_messages(stream, response);
    else
        send_files(stream);
    send_delta(stream, json_object(), chat_finish_reason(response));
    if (stream->with_usage)
        send_choices(stream, json_array(), chat_usage(response));
}

void chat_stream_event(struct chat_stream *stream, const char *type,
                       const json_t *json)
{
    if (strcmp(type, "response.created") == 0)
        begin(stream, json);
    else if (strcmp(type, "response.output_text.delta") == 0 &&
             !stream->is_json)
        send_text(stream, body_string(json_object_get(json, "item_id")),
                  body_string(json_object_get(json, "delta")));
    else if (strcmp(type, "response.output_item.done") == 0)
        on_item(stream, json);
    else if (strcmp(type, "response.completed") == 0 ||
             strcmp(type, "response.incomplete") == 0 ||
             strcmp(type, "response.failed") == 0)
        on_end(stream, json);
}

void chat_stream_finish(struct chat_stream *stream)
{
    if (stream)
        json_decref(stream->response);
}
