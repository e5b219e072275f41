/* speech_responses.c - OpenAI Responses. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "speech.h"

static bool is(const json_t *object, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text && strcmp(text, value) == 0;
}

/* -------------------------------------------------------------- reading
 */

/* Reasoning and calls of one turn come before the results, with or without a
 * message: the first call without one stands for it. */
static void read_item(json_t *messages, const json_t *item)
{
    const json_t *last =
        json_array_get(messages, json_array_size(messages) - 1);
    json_t *role = json_object_get(item, "role");

    if (role)
        json_array_append_new(
            messages, json_pack("{s:O, s:o}", "role", role, "content",
                                speech_text(json_object_get(item, "content"))));
    else if (is(item, "type", "function_call_output"))
        json_array_append_new(
            messages,
            json_pack("{s:s, s:O?, s:o}", "role", "tool", "tool_call_id",
                      json_object_get(item, "call_id"), "content",
                      speech_text(json_object_get(item, "output"))));
    else if (is(item, "type", "function_call") &&
             !is(last, "role", "assistant"))
        json_array_append_new(
            messages, json_pack("{s:s, s:n}", "role", "assistant", "content"));
}

static json_t *read_request(const json_t *request)
{
    json_t *messages = json_array();
    json_t *tools = json_array();
    const json_t *one, *input = json_object_get(request, "input");
    size_t i;

    if (json_is_string(input))
        json_array_append_new(messages, json_pack("{s:s, s:O}", "role", "user",
                                                  "content", input));
    json_array_foreach(input, i, one)
        read_item(messages, one);
    json_array_foreach(json_object_get(request, "tools"), i, one)
        json_array_append_new(tools, json_pack("{s:{s:O}}", "function", "name",
                                               json_object_get(one, "name")));
    return json_pack("{s:o, s:o}", "messages", messages, "tools", tools);
}

/* ------------------------------------------------------------- refusing
 */

static bool has(const json_t *input, const char *type, const json_t *call_id)
{
    const json_t *item;
    size_t i;

    json_array_foreach(input, i, item)
        if (is(item, "type", type) &&
            json_equal(json_object_get(item, "call_id"), call_id))
            return true;
    return false;
}

static bool is_sealed(const json_t *item)
{
    const json_t *part = json_array_get(json_object_get(item, "summary"), 0);
    json_t *content = seal("enc-", json_object_get(part, "text"));
    bool good = json_equal(content, json_object_get(item, "encrypted_content"));

    json_decref(content);
    return good;
}

static const char *refuse_item(const json_t *input, size_t at)
{
    const json_t *item = json_array_get(input, at);
    const json_t *id = json_object_get(item, "call_id");

    if (is(item, "type", "reasoning") &&
        !json_object_get(item, "encrypted_content"))
        return "Item with id 'rs' not found. Items are not persisted when "
               "`store` is set to false.";
    if (is(item, "type", "reasoning") && !is_sealed(item))
        return "The encrypted content for item rs could not be verified.";
    if (is(item, "type", "reasoning") && at + 1 == json_array_size(input))
        return "Item of type 'reasoning' was provided without its required "
               "following item.";
    if (is(item, "type", "function_call") &&
        !has(input, "function_call_output", id))
        return "No tool output found for function call.";
    if (is(item, "type", "function_call_output") &&
        !has(input, "function_call", id))
        return "No tool call found for function call output.";
    return NULL;
}

static const char *refuse(const json_t *request)
{
    const json_t *input = json_object_get(request, "input");
    const char *why = NULL;

    if (!json_is_string(input) && json_array_size(input) == 0)
        return "input: a text, or a list of items, is required.";
    for (size_t i = 0; i < json_array_size(input) && !why; i++)
        why = refuse_item(input, i);
    return why;
}

/* --------------------------------------------------------------- saying
 */

static bool wants_encrypted(const json_t *request)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(request, "include"), i, one)
        if (strcmp(json_string_value(one), "reasoning.encrypted_content") == 0)
            return true;
    return false;
}

static json_t *reasoning_json(const struct writer *writer)
{
    json_t *text = json_object_get(writer->reply, "reasoning");
    json_t *item =
        json_pack("{s:s, s:s, s:[{s:s, s:O}]}", "id", "rs_practice", "type",
                  "reasoning", "summary", "type", "summary_text", "text", text);

    if (wants_encrypted(writer->request))
        json_object_set_new(item, "encrypted_content", seal("enc-", text));
    return item;
}

/* Takes the content. */
static json_t *message_item(const char *status, json_t *content)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o}", "id", "msg_practice", "type",
                     "message", "role", "assistant", "status", status,
                     "content", content);
}

static json_t *text_part(json_t *text)
{
    return json_pack("{s:s, s:o, s:[]}", "type", "output_text", "text", text,
                     "annotations");
}

static json_t *arguments_of(const json_t *call)
{
    json_t *arguments = json_object_get(call, "arguments");
    char *text;
    json_t *json;

    if (json_is_string(arguments))
        return json_incref(arguments);
    text = json_dumps(arguments, JSON_COMPACT | JSON_ENCODE_ANY);
    json = json_string(text ? text : "");
    free(text);
    return json;
}

/* Takes the arguments. */
static json_t *call_item(const json_t *call, const char *status,
                         json_t *arguments)
{
    return json_pack("{s:s, s:s, s:s, s:O?, s:O?, s:o}", "id", "fc_practice",
                     "type", "function_call", "status", status, "call_id",
                     json_object_get(call, "id"), "name",
                     json_object_get(call, "name"), "arguments", arguments);
}

static json_int_t member(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static json_t *usage_json(const struct writer *writer)
{
    json_t *usage = reply_usage(writer->reply, writer->request);
    json_int_t in = member(usage, "prompt_tokens");
    json_int_t out = member(usage, "completion_tokens");
    json_int_t cached = member(json_object_get(usage, "prompt_tokens_details"),
                               "cached_tokens");

    json_decref(usage);
    return json_pack("{s:I, s:{s:I}, s:I, s:{s:i}, s:I}", "input_tokens", in,
                     "input_tokens_details", "cached_tokens", cached,
                     "output_tokens", out, "output_tokens_details",
                     "reasoning_tokens", 0, "total_tokens", in + out);
}

/* NULL: it is complete. */
static const char *incomplete_reason(const json_t *reply)
{
    const char *finish = reply_finish(reply);

    if (finish && strcmp(finish, "length") == 0)
        return "max_output_tokens";
    return finish && strcmp(finish, "content_filter") == 0 ? finish : NULL;
}

static json_t *response_json(const struct writer *writer, bool over)
{
    const char *why = incomplete_reason(writer->reply);
    const char *id = json_string_value(json_object_get(writer->reply, "id"));
    json_t *response = json_pack(
        "{s:s, s:s, s:i, s:s, s:s, s:n, s:n, s:o, s:b, s:s, s:[], s:O}", "id",
        id ? id : "resp_practice", "object", "response", "created_at", 0,
        "model", writer->model, "status",
        !over ? "in_progress"
        : why ? "incomplete"
              : "completed",
        "error", "incomplete_details", "usage",
        over ? usage_json(writer) : json_null(), "parallel_tool_calls", 1,
        "tool_choice", "auto", "tools", "output", writer->output);

    if (over && why)
        json_object_set_new(response, "incomplete_details",
                            json_pack("{s:s}", "reason", why));
    return response;
}

/* Takes the data. */
static void event(struct writer *writer, const char *type, json_t *data)
{
    json_object_set_new(data, "type", json_string(type));
    json_object_set_new(data, "sequence_number",
                        json_integer((json_int_t)writer->events++));
    write_event(writer, type, data);
}

/* Of the item that is being written. */
static json_t *about_item(const struct writer *writer, const char *id)
{
    return json_pack("{s:s, s:I}", "item_id", id, "output_index",
                     (json_int_t)writer->blocks);
}

static json_t *about_part(const struct writer *writer, const char *id,
                          const char *index)
{
    json_t *about = about_item(writer, id);

    json_object_set_new(about, index, json_integer(0));
    return about;
}

static void begin(struct writer *writer, json_t *item)
{
    event(writer, "response.output_item.added",
          json_pack("{s:I, s:o}", "output_index", (json_int_t)writer->blocks,
                    "item", item));
}

static void end(struct writer *writer, json_t *item)
{
    json_array_append(writer->output, item);
    event(writer, "response.output_item.done",
          json_pack("{s:I, s:o}", "output_index", (json_int_t)writer->blocks++,
                    "item", item));
}

static void text_delta(struct writer *writer, json_t *piece)
{
    json_t *about = about_part(writer, "msg_practice", "content_index");

    json_object_set_new(about, "delta", piece);
    json_object_set_new(about, "logprobs", json_array());
    event(writer, "response.output_text.delta", about);
}

static void summary_delta(struct writer *writer, json_t *piece)
{
    json_t *about = about_part(writer, "rs_practice", "summary_index");

    json_object_set_new(about, "delta", piece);
    event(writer, "response.reasoning_summary_text.delta", about);
}

static void arguments_delta(struct writer *writer, json_t *piece)
{
    json_t *about = about_item(writer, "fc_practice");

    json_object_set_new(about, "delta", piece);
    event(writer, "response.function_call_arguments.delta", about);
}

static void write_reasoning(struct writer *writer)
{
    json_t *text = json_object_get(writer->reply, "reasoning");
    json_t *part;

    if (!text)
        return;
    begin(writer, json_pack("{s:s, s:s, s:[]}", "id", "rs_practice", "type",
                            "reasoning", "summary"));
    part = about_part(writer, "rs_practice", "summary_index");
    json_object_set_new(
        part, "part",
        json_pack("{s:s, s:s}", "type", "summary_text", "text", ""));
    event(writer, "response.reasoning_summary_part.added", part);
    write_pieces(writer, text, summary_delta);
    end(writer, reasoning_json(writer));
}

static void write_text(struct writer *writer)
{
    json_t *text = json_object_get(writer->reply, "text"), *about;

    if (!text)
        return;
    begin(writer, message_item("in_progress", json_array()));
    about = about_part(writer, "msg_practice", "content_index");
    json_object_set_new(about, "part", text_part(json_string("")));
    event(writer, "response.content_part.added", about);
    write_pieces(writer, text, text_delta);
    about = about_part(writer, "msg_practice", "content_index");
    json_object_set(about, "text", text);
    json_object_set_new(about, "logprobs", json_array());
    event(writer, "response.output_text.done", about);
    about = about_part(writer, "msg_practice", "content_index");
    json_object_set_new(about, "part", text_part(json_incref(text)));
    event(writer, "response.content_part.done", about);
    end(writer, message_item("completed",
                             json_pack("[o]", text_part(json_incref(text)))));
}

static void write_call(struct writer *writer, const json_t *call)
{
    json_t *arguments = arguments_of(call);
    json_t *about;

    begin(writer, call_item(call, "in_progress", json_string("")));
    write_pieces(writer, arguments, arguments_delta);
    about = about_item(writer, "fc_practice");
    json_object_set(about, "arguments", arguments);
    json_object_set(about, "name", json_object_get(call, "name"));
    event(writer, "response.function_call_arguments.done", about);
    end(writer, call_item(call, "completed", arguments));
}

static void write_end(struct writer *writer)
{
    const json_t *reply = writer->reply;
    const char *type =
        incomplete_reason(reply) ? "response.incomplete" : "response.completed";

    if (reply_finish(reply) && !json_is_false(json_object_get(reply, "done")))
        event(writer, type,
              json_pack("{s:o}", "response", response_json(writer, true)));
}

static void write_stream(struct writer *writer, const json_t *request)
{
    const json_t *reply = writer->reply, *call;
    size_t i;

    (void)request;
    event(writer, "response.created",
          json_pack("{s:o}", "response", response_json(writer, false)));
    for (json_int_t n = reply_integer(reply, "keep_alive", 0); n > 0; n--)
        event(writer, "keepalive", json_object());
    write_reasoning(writer);
    write_text(writer);
    json_array_foreach(json_object_get(reply, "tool_calls"), i, call)
        write_call(writer, call);
    if (!json_object_get(reply, "stream_error"))
        write_end(writer);
}

static void write_plain(struct writer *writer, const json_t *request)
{
    const json_t *reply = writer->reply, *call;
    json_t *text = json_object_get(reply, "text");
    size_t i;

    if (json_is_true(json_object_get(request, "background"))) {
        write_json(writer, response_json(writer, false));
        return; /* it is only begun */
    }
    if (json_object_get(reply, "reasoning"))
        json_array_append_new(writer->output, reasoning_json(writer));
    if (text)
        json_array_append_new(
            writer->output,
            message_item("completed",
                         json_pack("[o]", text_part(json_incref(text)))));
    json_array_foreach(json_object_get(reply, "tool_calls"), i, call)
        json_array_append_new(writer->output,
                              call_item(call, "completed", arguments_of(call)));
    write_json(writer, response_json(writer, true));
}

/* Inside a stream an error is an event of its own, and flat. */
static json_t *wrap_error(json_t *error, unsigned status)
{
    if (status != 200)
        return json_pack("{s:o}", "error", error);
    json_object_set_new(error, "type", json_string("error"));
    if (!json_object_get(error, "code"))
        json_object_set_new(error, "code", json_string("server_error"));
    return error;
}

const struct speech speech_responses = {
    .path = "/v1/responses",
    .key_header = "Authorization",
    .key_prefix = "Bearer ",
    .read = read_request,
    .refuse = refuse,
    .stream = write_stream,
    .plain = write_plain,
    .error = wrap_error,
};
