/* speech_chat.c - chat-completions: what scripts are written in. */
#include <stdbool.h>

#include "speech.h"

/* One chunk of a stream; takes the choices. */
static void write_chunk(struct writer *writer, json_t *choices, json_t *usage)
{
    json_t *chunk =
        json_pack("{s:s, s:s, s:i, s:s, s:o}", "id", "chatcmpl-practice",
                  "object", "chat.completion.chunk", "created", 0, "model",
                  writer->model, "choices", choices);

    if (usage)
        json_object_set(chunk, "usage", usage);
    write_event(writer, NULL, chunk);
}

/* Takes the delta; finish may be NULL. */
static void write_delta(struct writer *writer, json_t *delta,
                        const char *finish)
{
    write_chunk(writer,
                json_pack("[{s:i, s:o, s:s?}]", "index", 0, "delta", delta,
                          "finish_reason", finish),
                NULL);
}

static json_t *index_of(const json_t *call, size_t position)
{
    json_t *index = json_object_get(call, "index");

    return index ? json_incref(index) : json_integer((json_int_t)position);
}

/* What the script says of a call, in the form of the wire: "raw" as it is. */
static json_t *call_head(const json_t *call, size_t position, json_t *arguments)
{
    json_t *raw = json_object_get(call, "raw");
    json_t *index = json_object_get(call, "index");
    json_t *id = json_object_get(call, "id");
    json_t *head;

    if (raw)
        return json_incref(raw);
    head = json_pack("{s:s, s:{s:O?, s:o}}", "type", "function", "function",
                     "name", json_object_get(call, "name"), "arguments",
                     arguments);
    if (!json_is_null(index))
        json_object_set_new(head, "index", index_of(call, position));
    if (id)
        json_object_set(head, "id", id);
    return head;
}

static void write_call_delta(struct writer *writer, json_t *call)
{
    write_delta(writer, json_pack("{s:[o]}", "tool_calls", call), NULL);
}

static void write_arguments(struct writer *writer, json_t *piece)
{
    json_t *delta = json_pack("{s:{s:o}}", "function", "arguments", piece);

    if (!json_is_null(json_object_get(writer->call, "index")))
        json_object_set_new(delta, "index",
                            index_of(writer->call, writer->position));
    write_call_delta(writer, delta);
}

static void write_call(struct writer *writer, const json_t *call,
                       size_t position)
{
    json_t *arguments = json_object_get(call, "arguments");
    bool pieces = json_is_string(arguments);
    json_t *first = pieces      ? json_string("")
                    : arguments ? json_incref(arguments)
                                : json_null();

    write_call_delta(writer, call_head(call, position, first));
    writer->call = call;
    writer->position = position;
    if (pieces)
        write_pieces(writer, arguments, write_arguments);
}

static const char *reasoning_name(const json_t *reply)
{
    const char *name =
        json_string_value(json_object_get(reply, "reasoning_name"));

    return name ? name : "reasoning_content";
}

static void write_text(struct writer *writer, json_t *piece)
{
    write_delta(writer, json_pack("{s:o}", "content", piece), NULL);
}

static void write_reasoning(struct writer *writer, json_t *piece)
{
    write_delta(writer,
                json_pack("{s:o}", reasoning_name(writer->reply), piece), NULL);
}

static void write_end(struct writer *writer, const json_t *request)
{
    const json_t *reply = writer->reply;
    const json_t *options = json_object_get(request, "stream_options");
    const char *finish = reply_finish(reply);
    json_t *usage = reply_usage(reply, request);

    if (finish)
        write_delta(writer, json_object(), finish);
    if (usage && json_is_true(json_object_get(options, "include_usage")))
        write_chunk(writer, json_array(), usage);
    json_decref(usage);
    if (!json_is_false(json_object_get(reply, "done"))) {
        fputs("data: [DONE]\n\n", writer->out);
        wrote_piece(writer);
    }
}

static void write_stream(struct writer *writer, const json_t *request)
{
    const json_t *reply = writer->reply, *call;
    size_t i;

    for (json_int_t n = reply_integer(reply, "keep_alive", 0); n > 0; n--) {
        fputs(": keep-alive\n\n", writer->out);
        wrote_piece(writer);
    }
    write_delta(writer,
                json_pack("{s:s, s:s}", "role", "assistant", "content", ""),
                NULL);
    write_pieces(writer, json_object_get(reply, "reasoning"), write_reasoning);
    write_pieces(writer, json_object_get(reply, "text"), write_text);
    json_array_foreach(json_object_get(reply, "tool_calls"), i, call)
        write_call(writer, call, i);
    if (!json_object_get(reply, "stream_error"))
        write_end(writer, request);
}

static void write_plain(struct writer *writer, const json_t *request)
{
    const json_t *reply = writer->reply, *call;
    json_t *calls = json_array();
    json_t *content = json_object_get(reply, "text");
    json_t *message =
        json_pack("{s:s, s:O?}", "role", "assistant", "content", content);
    json_t *usage = reply_usage(reply, request);
    json_t *body;
    size_t i;

    json_array_foreach(json_object_get(reply, "tool_calls"), i, call) {
        json_t *arguments = json_object_get(call, "arguments");

        json_array_append_new(calls,
                              call_head(call, i, json_incref(arguments)));
    }
    if (json_object_get(reply, "reasoning"))
        json_object_set(message, reasoning_name(reply),
                        json_object_get(reply, "reasoning"));
    if (json_array_size(calls) > 0)
        json_object_set(message, "tool_calls", calls);
    json_decref(calls);
    body =
        json_pack("{s:s, s:s, s:i, s:s, s:[{s:i, s:o, s:s?}]}", "id",
                  "chatcmpl-practice", "object", "chat.completion", "created",
                  0, "model", writer->model, "choices", "index", 0, "message",
                  message, "finish_reason", reply_finish(reply));
    if (usage)
        json_object_set_new(body, "usage", usage);
    write_json(writer, body);
}

static json_t *read_request(const json_t *request)
{
    return json_deep_copy(request);
}

static const char *refuse(const json_t *request)
{
    return json_is_array(json_object_get(request, "messages"))
               ? NULL
               : "messages: a list is required.";
}

static json_t *wrap_error(json_t *error, unsigned status)
{
    (void)status;
    return json_pack("{s:o}", "error", error);
}

const struct speech speech_chat = {
    .path = "/v1/chat/completions",
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .read = read_request,
    .refuse = refuse,
    .stream = write_stream,
    .plain = write_plain,
    .error = wrap_error,
};
