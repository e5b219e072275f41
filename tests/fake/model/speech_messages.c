/* speech_messages.c - Anthropic Messages. */
#include <stdbool.h>
#include <string.h>

#include "speech.h"

static bool is(const json_t *object, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text && strcmp(text, value) == 0;
}

/* -------------------------------------------------------------- reading
 */

static void read_result(json_t *messages, const json_t *block)
{
    json_array_append_new(
        messages, json_pack("{s:s, s:O?, s:o}", "role", "tool", "tool_call_id",
                            json_object_get(block, "tool_use_id"), "content",
                            speech_text(json_object_get(block, "content"))));
}

/* Of a user's message results come first. */
static void read_message(json_t *messages, const json_t *message)
{
    const json_t *block, *content = json_object_get(message, "content");
    json_t *text = speech_text(content);
    bool results = false;
    size_t i;

    json_array_foreach(content, i, block)
        if (is(block, "type", "tool_result")) {
            read_result(messages, block);
            results = true;
        }
    if (results && json_string_length(text) == 0)
        json_decref(text);
    else
        json_array_append_new(messages,
                              json_pack("{s:O, s:o}", "role",
                                        json_object_get(message, "role"),
                                        "content", text));
}

static json_t *read_request(const json_t *request)
{
    json_t *messages = json_array(), *tools = json_array();
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(request, "messages"), i, one)
        read_message(messages, one);
    json_array_foreach(json_object_get(request, "tools"), i, one)
        json_array_append_new(tools, json_pack("{s:{s:O}}", "function", "name",
                                               json_object_get(one, "name")));
    return json_pack("{s:o, s:o}", "messages", messages, "tools", tools);
}

/* ------------------------------------------------------------- refusing
 */

static bool is_id(const json_t *id)
{
    static const char most[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const char *text = json_string_value(id);

    return text && *text && text[strspn(text, most)] == '\0';
}

static bool is_signed(const json_t *block)
{
    json_t *signature = seal("sig-", json_object_get(block, "thinking"));
    bool good = json_equal(signature, json_object_get(block, "signature"));

    json_decref(signature);
    return good;
}

static const char *refuse_block(const json_t *block)
{
    const char *text = json_string_value(json_object_get(block, "text"));

    if (is(block, "type", "text") && (!text || !text[strspn(text, " \n\t\r")]))
        return "messages: text content blocks must contain non-whitespace "
               "text";
    if (is(block, "type", "thinking") && !is_signed(block))
        return "messages: Invalid `signature` in `thinking` block";
    if (is(block, "type", "tool_use") && !is_id(json_object_get(block, "id")))
        return "messages: tool_use.id: String should match pattern "
               "'^[a-zA-Z0-9_-]+$'";
    if (is(block, "type", "tool_use") &&
        !json_is_object(json_object_get(block, "input")))
        return "messages: tool_use.input: Input should be a valid dictionary";
    return NULL;
}

/* Results stand before all else. */
static bool has_result(const json_t *message, const json_t *id)
{
    const json_t *block;
    size_t i;

    json_array_foreach(json_object_get(message, "content"), i, block) {
        if (!is(block, "type", "tool_result"))
            return false;
        if (json_equal(json_object_get(block, "tool_use_id"), id))
            return true;
    }
    return false;
}

static bool is_answered(const json_t *message, const json_t *next)
{
    const json_t *block;
    size_t i;

    json_array_foreach(json_object_get(message, "content"), i, block)
        if (is(block, "type", "tool_use") &&
            !has_result(next, json_object_get(block, "id")))
            return false;
    return true;
}

static const char *refuse_message(const json_t *messages, size_t at)
{
    const json_t *message = json_array_get(messages, at);
    const json_t *next = json_array_get(messages, at + 1);
    const json_t *block, *content = json_object_get(message, "content");
    size_t i, count = json_array_size(content);

    if (!is(message, "role", at % 2 ? "assistant" : "user"))
        return "messages: roles must alternate, and begin with user";
    if (json_is_array(content) && count == 0)
        return "messages: content must not be empty";
    json_array_foreach(content, i, block)
        if (refuse_block(block))
            return refuse_block(block);
    if (at % 2 && is(json_array_get(content, count - 1), "type", "thinking"))
        return "messages: The final block in an assistant message cannot be "
               "`thinking`.";
    if (at % 2 && !is_answered(message, next))
        return "messages: `tool_use` ids were found without `tool_result` "
               "blocks immediately after";
    return NULL;
}

/* A chain of calls that was begun in thinking has to show it. */
static bool chain_is_thought(const json_t *request, const json_t *messages)
{
    size_t count = json_array_size(messages);
    const json_t *last = json_array_get(messages, count - 1);
    const json_t *before = json_array_get(messages, count - 2);
    const json_t *block = json_array_get(json_object_get(before, "content"), 0);

    return !is(json_object_get(request, "thinking"), "type", "enabled") ||
           !is(json_array_get(json_object_get(last, "content"), 0), "type",
               "tool_result") ||
           is(block, "type", "thinking") ||
           is(block, "type", "redacted_thinking");
}

static const char *refuse(const json_t *request)
{
    const json_t *messages = json_object_get(request, "messages");
    const char *why = NULL;

    if (json_array_size(messages) == 0)
        return "messages: at least one message is required";
    if (!json_is_integer(json_object_get(request, "max_tokens")))
        return "max_tokens: Field required";
    for (size_t i = 0; i < json_array_size(messages) && !why; i++)
        why = refuse_message(messages, i);
    if (!why && !chain_is_thought(request, messages))
        why = "messages: Expected `thinking` or `redacted_thinking`, but "
              "found `tool_use`.";
    return why;
}

/* --------------------------------------------------------------- saying
 */

static const char *stop_reason(const json_t *reply)
{
    static const char *const reasons[][2] = {
        { "stop", "end_turn" },
        { "length", "max_tokens" },
        { "tool_calls", "tool_use" },
        { "content_filter", "refusal" },
    };
    const char *finish = reply_finish(reply);

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (finish && strcmp(finish, reasons[i][0]) == 0)
            return reasons[i][1];
    return finish;
}

static json_int_t member(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

/* What was read from the cache is told apart; of the reply there is one token
 * at the start. */
static json_t *usage_json(const struct writer *writer, bool at_start)
{
    json_t *usage = reply_usage(writer->reply, writer->request);
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    json_int_t cached = member(details, "cached_tokens");
    json_int_t written = member(details, "cache_write_tokens");
    json_t *json = json_pack("{s:I, s:I, s:I, s:I}", "input_tokens",
                             member(usage, "prompt_tokens") - cached - written,
                             "cache_creation_input_tokens", written,
                             "cache_read_input_tokens", cached, "output_tokens",
                             at_start ? (json_int_t)1
                                      : member(usage, "completion_tokens"));

    json_decref(usage);
    return json;
}

static json_t *thinking_json(const json_t *reply)
{
    json_t *reasoning = json_object_get(reply, "reasoning");

    return json_pack("{s:s, s:O, s:o}", "type", "thinking", "thinking",
                     reasoning, "signature", seal("sig-", reasoning));
}

static json_t *input_of(const json_t *call)
{
    json_t *arguments = json_object_get(call, "arguments");
    json_t *input = NULL;

    if (json_is_string(arguments))
        input = json_loads(json_string_value(arguments), 0, NULL);
    else if (arguments)
        input = json_incref(arguments);
    return input ? input : json_object();
}

/* Takes the input. */
static json_t *call_json(const json_t *call, json_t *input)
{
    return json_pack("{s:s, s:O?, s:O?, s:o}", "type", "tool_use", "id",
                     json_object_get(call, "id"), "name",
                     json_object_get(call, "name"), "input", input);
}

/* Takes the content. */
static json_t *message_json(const struct writer *writer, json_t *content,
                            const char *reason, bool at_start)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:s?, s:n, s:o}", "id",
                     "msg_practice", "type", "message", "role", "assistant",
                     "model", writer->model, "content", content, "stop_reason",
                     reason, "stop_sequence", "usage",
                     usage_json(writer, at_start));
}

static void event(struct writer *writer, const char *type, json_t *data)
{
    json_object_set_new(data, "type", json_string(type));
    write_event(writer, type, data);
}

static void begin(struct writer *writer, json_t *block)
{
    event(writer, "content_block_start",
          json_pack("{s:I, s:o}", "index", (json_int_t)writer->blocks,
                    "content_block", block));
}

static void delta(struct writer *writer, const char *type, const char *name,
                  json_t *piece)
{
    event(writer, "content_block_delta",
          json_pack("{s:I, s:{s:s, s:o}}", "index", (json_int_t)writer->blocks,
                    "delta", "type", type, name, piece));
}

static void end(struct writer *writer)
{
    event(writer, "content_block_stop",
          json_pack("{s:I}", "index", (json_int_t)writer->blocks++));
}

static void text_delta(struct writer *writer, json_t *piece)
{
    delta(writer, "text_delta", "text", piece);
}

static void thinking_delta(struct writer *writer, json_t *piece)
{
    delta(writer, "thinking_delta", "thinking", piece);
}

static void input_delta(struct writer *writer, json_t *piece)
{
    delta(writer, "input_json_delta", "partial_json", piece);
}

static void write_reasoning(struct writer *writer)
{
    json_t *reasoning = json_object_get(writer->reply, "reasoning");
    json_t *redacted = json_object_get(writer->reply, "redacted");

    if (reasoning) {
        begin(writer, json_pack("{s:s, s:s, s:s}", "type", "thinking",
                                "thinking", "", "signature", ""));
        write_pieces(writer, reasoning, thinking_delta);
        delta(writer, "signature_delta", "signature", seal("sig-", reasoning));
        end(writer);
    }
    if (redacted) {
        begin(writer, json_pack("{s:s, s:O}", "type", "redacted_thinking",
                                "data", redacted));
        end(writer);
    }
}

static void write_text(struct writer *writer)
{
    json_t *text = json_object_get(writer->reply, "text");

    if (!text)
        return;
    begin(writer, json_pack("{s:s, s:s}", "type", "text", "text", ""));
    write_pieces(writer, text, text_delta);
    end(writer);
}

static void write_call(struct writer *writer, const json_t *call)
{
    json_t *arguments = json_object_get(call, "arguments");

    if (json_is_string(arguments)) {
        begin(writer, call_json(call, json_object()));
        write_pieces(writer, arguments, input_delta);
    } else {
        begin(writer, call_json(call, input_of(call)));
    }
    end(writer);
}

static void write_end(struct writer *writer)
{
    const char *reason = stop_reason(writer->reply);

    if (reason)
        event(writer, "message_delta",
              json_pack("{s:{s:s, s:n}, s:o}", "delta", "stop_reason", reason,
                        "stop_sequence", "usage", usage_json(writer, false)));
    if (!json_is_false(json_object_get(writer->reply, "done")))
        event(writer, "message_stop", json_object());
}

static void write_stream(struct writer *writer, const json_t *request)
{
    const json_t *reply = writer->reply, *call;
    size_t i;

    (void)request;
    for (json_int_t n = reply_integer(reply, "keep_alive", 0); n > 0; n--)
        event(writer, "ping", json_object());
    event(writer, "message_start",
          json_pack("{s:o}", "message",
                    message_json(writer, json_array(), NULL, true)));
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
    json_t *content = json_array();
    json_t *redacted = json_object_get(reply, "redacted");
    json_t *text = json_object_get(reply, "text");
    size_t i;

    (void)request;
    if (json_object_get(reply, "reasoning"))
        json_array_append_new(content, thinking_json(reply));
    if (redacted)
        json_array_append_new(content,
                              json_pack("{s:s, s:O}", "type",
                                        "redacted_thinking", "data", redacted));
    if (text)
        json_array_append_new(
            content, json_pack("{s:s, s:O}", "type", "text", "text", text));
    json_array_foreach(json_object_get(reply, "tool_calls"), i, call)
        json_array_append_new(content, call_json(call, input_of(call)));
    write_json(writer,
               message_json(writer, content, stop_reason(reply), false));
}

static json_t *wrap_error(json_t *error, unsigned status)
{
    const char *type = status == 400   ? "invalid_request_error"
                       : status == 401 ? "authentication_error"
                       : status == 429 ? "rate_limit_error"
                       : status == 529 ? "overloaded_error"
                                       : "api_error";

    if (is(error, "type", "practice"))
        json_object_set_new(error, "type", json_string(type));
    return json_pack("{s:s, s:o}", "type", "error", "error", error);
}

const struct speech speech_messages = {
    .path = "/v1/messages",
    .key_header = "x-api-key",
    .key_prefix = "",
    .read = read_request,
    .refuse = refuse,
    .stream = write_stream,
    .plain = write_plain,
    .error = wrap_error,
};
