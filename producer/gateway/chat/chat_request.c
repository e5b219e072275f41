/* chat_request.c - POST /v1/chat/completions: its body as one of
 * POST /v1/responses. */
#include "producer/gateway/chat/chat_request.h"

#include <stdio.h>
#include <string.h>

#include "producer/gateway/chat/chat_reader.h"
#include "producer/gateway/responses/response_request.h"
#include "schemas/message/buf.h"
#include "schemas/message/sampling.h"

enum { MOST_MODALITIES = 4 };
#define MOST_COUNT ((json_int_t)1 << 53)

/* Members that Responses have, too. */
static const char *const same[] = {
    "model",
    "temperature",
    "top_p",
    "metadata",
    "user",
    "safety_identifier",
    "prompt_cache_key",
    "service_tier",
    "parallel_tool_calls",
    NULL,
};

/* They would change the answer, and there is nothing like them here. */
static const char *const unsupported[] = {
    "logprobs",  "top_logprobs",  "logit_bias",         "audio",
    "functions", "function_call", "web_search_options", NULL,
};

/* ------------------------------------------------------------ what is refused
 */

/* false, 0, "none" and what is empty ask for nothing. */
static bool asks_something(const json_t *json)
{
    if (json_is_integer(json))
        return json_integer_value(json) != 0;
    if (json_is_object(json))
        return json_object_size(json) > 0;
    if (json_is_array(json))
        return json_array_size(json) > 0;
    return json && !json_is_false(json) && !view_is(body_string(json), "none");
}

static bool check_modalities(const struct body_value *body)
{
    struct body_value list;

    if (!body_list(body, "modalities", MOST_MODALITIES, &list))
        return false;
    for (size_t i = 0; i < json_array_size(list.json); i++) {
        struct body_value item = body_item(&list, i);

        if (!view_is(body_string(item.json), "text"))
            return body_refuse(&item, "unsupported_parameter",
                               "must be \"text\": answers are texts here");
    }
    return true;
}

static bool check_possible(const struct body_value *body)
{
    struct body_value number = body_member(body, "n");
    json_int_t count = 1;

    for (const char *const *name = unsupported; *name; name++) {
        struct body_value member = body_member(body, *name);

        if (asks_something(member.json))
            return body_refuse(&member, "unsupported_parameter",
                               "is not supported");
    }
    if (!body_integer(body, "n", 1, MOST_COUNT, &count))
        return false;
    if (count > 1)
        return body_refuse(&number, "unsupported_parameter",
                           "is %lld, at most 1: a request has one answer here",
                           (long long)count);
    return check_modalities(body);
}

/* --------------------------------------------------------- how it is answered
 */

static bool read_stream(struct chat_request *chat,
                        const struct body_value *body)
{
    struct body_value options;

    if (!body_flag(body, "stream", &chat->stream) ||
        !body_object(body, "stream_options", &options) ||
        !body_flag(&options, "include_usage", &chat->with_usage))
        return false;
    if (options.json && !chat->stream)
        return body_refuse(&options, "invalid_value",
                           "is for requests with stream only");
    return true;
}

static bool read_format(const struct body_value *body, json_t *text)
{
    struct body_value format, schema;
    json_t *out;

    if (!body_object(body, "response_format", &format))
        return false;
    if (!format.json)
        return true;
    if (!body_require(&format, "type") ||
        !body_object(&format, "json_schema", &schema))
        return false;
    if (view_is(body_string(json_object_get(format.json, "type")),
                "json_schema") &&
        !body_require(&format, "json_schema"))
        return false;
    out = schema.json ? json_copy(schema.json) : json_object();
    json_object_set(out, "type", json_object_get(format.json, "type"));
    json_object_set_new(text, "format", out);
    return true;
}

static bool chat_read_text(struct chat_request *chat,
                           const struct body_value *body)
{
    struct body_value verbosity = body_member(body, "verbosity");
    json_t *text = json_object();

    json_object_set_new(chat->body, "text", text);
    if (verbosity.json)
        json_object_set(text, "verbosity", verbosity.json);
    return read_format(body, text);
}

static bool check_stop(const struct body_value *stop)
{
    size_t length = json_string_length(stop->json);

    if (!json_is_string(stop->json))
        return body_refuse_type(stop, "a string");
    return (length > 0 && length <= MAX_STOP_BYTES) ||
           body_refuse(stop, "invalid_value",
                       "has %zu bytes, must have 1 to %d", length,
                       MAX_STOP_BYTES);
}

static bool read_stop(struct chat_request *chat, const struct body_value *body)
{
    struct body_value stop = body_member(body, "stop");

    if (json_is_string(stop.json)) {
        if (!check_stop(&stop))
            return false;
    } else if (!body_list(body, "stop", MAX_STOPS, &stop)) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(stop.json); i++) {
        struct body_value item = body_item(&stop, i);

        if (!check_stop(&item))
            return false;
    }
    if (json_is_string(stop.json) || json_array_size(stop.json) > 0)
        json_object_set(chat->parameters, "stop", stop.json);
    return true;
}

static bool read_sampling(struct chat_request *chat,
                          const struct body_value *body)
{
    static const char *const penalties[] = { "presence_penalty",
                                             "frequency_penalty", NULL };
    struct body_value seed = body_member(body, "seed");
    json_int_t integer = 0;
    double number = 0;

    for (const char *const *name = penalties; *name; name++) {
        struct body_value member = body_member(body, *name);

        if (!body_number(body, *name, -2, 2, &number))
            return false;
        if (member.json)
            json_object_set(chat->parameters, *name, member.json);
    }
    if (!body_integer(body, "seed", -MOST_COUNT, MOST_COUNT, &integer))
        return false;
    if (seed.json)
        json_object_set(chat->parameters, "seed", seed.json);
    return read_stop(chat, body) &&
           body_integer(body, "max_tokens", 1, MOST_COUNT - 1,
                        &chat->max_tokens) &&
           body_integer(body, "max_completion_tokens", 1, MOST_COUNT - 1,
                        &chat->max_tokens);
}

/* ------------------------------------------------------------------- tools */

/* {"type": "function", "function": {...}}, with the function's members beside
 * type in *out: a new reference. */
static bool read_function(const struct body_value *tool, json_t **out)
{
    static const char *const types[] = { "function", NULL };
    struct body_value function;
    const char *type = NULL;

    if (!json_is_object(tool->json))
        return body_refuse_type(tool, "an object");
    if (!body_require(tool, "type") || !body_word(tool, "type", types, &type) ||
        !body_require(tool, "function") ||
        !body_object(tool, "function", &function))
        return false;
    *out = json_copy(function.json);
    json_object_set_new(*out, "type", json_string(type));
    return true;
}

static bool read_choice(struct chat_request *chat,
                        const struct body_value *body)
{
    struct body_value choice = body_member(body, "tool_choice");
    json_t *out = NULL;

    if (json_is_object(choice.json)) {
        if (!read_function(&choice, &out))
            return false;
        json_object_set_new(chat->body, "tool_choice", out);
    } else if (choice.json) {
        json_object_set(chat->body, "tool_choice", choice.json);
    }
    return true;
}

static bool read_tools(struct chat_request *chat, const struct body_value *body)
{
    struct body_value list;
    json_t *tools = json_array(), *tool = NULL;

    json_object_set_new(chat->body, "tools", tools);
    if (!body_list(body, "tools", RESPONSE_MAX_TOOLS - 1, &list))
        return false;
    for (size_t i = 0; i < json_array_size(list.json); i++) {
        struct body_value item = body_item(&list, i);

        if (!read_function(&item, &tool))
            return false;
        json_array_append_new(tools, tool);
    }
    json_array_append_new(tools, json_pack("{s:s, s:{s:s}}", "type",
                                           "code_interpreter", "container",
                                           "type", "auto"));
    return read_choice(chat, body);
}

/* ------------------------------------------------------------------- whole */

static void copy_same(struct chat_request *chat, const struct body_value *body)
{
    struct body_value effort = body_member(body, "reasoning_effort");

    for (const char *const *name = same; *name; name++) {
        struct body_value member = body_member(body, *name);

        if (member.json)
            json_object_set(chat->body, *name, member.json);
    }
    if (effort.json)
        json_object_set_new(chat->body, "reasoning",
                            json_pack("{s:O}", "effort", effort.json));
    json_object_set_new(chat->body, "stream", json_boolean(chat->stream));
    json_object_set_new(chat->body, "store", json_false());
}

bool chat_request_read(struct chat_request *chat, json_t *body,
                       struct body_error *error)
{
    struct body_value root = body_root(body, error);

    *chat = (struct chat_request){ .parameters = json_object(),
                                   .places = json_array(),
                                   .body = json_object() };
    if (!check_possible(&root) || !read_stream(chat, &root) ||
        !chat_read_text(chat, &root) || !read_sampling(chat, &root) ||
        !read_tools(chat, &root) || !chat_messages_read(chat, &root))
        return false;
    copy_same(chat, &root);
    return true;
}

void chat_request_finish(struct chat_request *chat)
{
    json_decref(chat->parameters);
    json_decref(chat->places);
    json_decref(chat->body);
    *chat = (struct chat_request){ 0 };
}

static json_t *job_map(json_t *job, const char *name)
{
    if (!json_object_get(job, name))
        json_object_set_new(job, name, json_object());
    return json_object_get(job, name);
}

void chat_request_apply(const struct chat_request *chat, json_t *job)
{
    json_object_del(job, "tools");
    if (json_object_size(chat->parameters) > 0)
        json_object_update(job_map(job, "parameters"), chat->parameters);
    if (chat->max_tokens > 0)
        json_object_set_new(job_map(job, "limits"), "max_output_tokens",
                            json_integer(chat->max_tokens));
}

/* ------------------------------------------------------------------- names */

/* Of the content: ".content[0].detail" --> ".content[0].image_url.detail". */
static void name_part(const char *path, struct buf *out)
{
    static const struct {
        const char *of_response, *of_chat;
    } members[] = {
        { ".detail", ".image_url.detail" }, { ".image_url", ".image_url.url" },
        { ".file_id", ".file.file_id" },    { ".file_data", ".file.file_data" },
        { ".filename", ".file.filename" },
    };
    const char *end = strchr(path, ']');

    for (size_t i = 0; end && i < sizeof(members) / sizeof(members[0]); i++)
        if (strcmp(end + 1, members[i].of_response) == 0) {
            buf_printf(out, "%.*s%s", (int)(end + 1 - path), path,
                       members[i].of_chat);
            return;
        }
    buf_printf(out, "%s", path);
}

/* "input[4].content[0]" --> "messages[2].content[0]". What is not of the
 * content stands elsewhere in a chat. */
static void name_message(const struct chat_request *chat, const char *param,
                         struct buf *out)
{
    static const char head[] = "input[";
    const size_t skip = sizeof(head) - 1;
    size_t item;
    char *end;

    buf_printf(out, "messages");
    if (strncmp(param, head, skip) != 0)
        return;
    item = strtoul(param + skip, &end, 10);
    if (end == param + skip || *end != ']')
        return;
    end++;
    buf_printf(
        out, "[%lld]",
        (long long)json_integer_value(json_array_get(chat->places, item)));
    if (view_starts(view_of(end), ".content"))
        name_part(end, out);
    else if (view_starts(view_of(end), ".call_id"))
        buf_printf(out, ".tool_call_id");
}

static void name_tool(const char *param, struct buf *out)
{
    const char *end = strchr(param, ']');

    if (!end || end[1] != '.') {
        buf_printf(out, "%s", param);
        return;
    }
    buf_printf(out, "%.*s.function%s", (int)(end + 1 - param), param, end + 1);
}

static void name_other(const char *param, struct buf *out)
{
    static const struct {
        const char *of_response, *of_chat;
    } names[] = {
        { "text.verbosity", "verbosity" },
        { "text.format.type", "response_format.type" },
        { "text.format", "response_format.json_schema" },
        { "reasoning.effort", "reasoning_effort" },
        { "tool_choice.name", "tool_choice.function.name" },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (view_starts(view_of(param), names[i].of_response)) {
            buf_printf(out, "%s%s", names[i].of_chat,
                       param + strlen(names[i].of_response));
            return;
        }
    buf_printf(out, "%s", param);
}

void chat_request_name(const struct chat_request *chat, char *param,
                       size_t size)
{
    CLEANUP(buf_finish) struct buf out = { .max = 1024 };

    if (*param == '\0')
        return;
    if (view_starts(view_of(param), "input"))
        name_message(chat, param, &out);
    else if (view_starts(view_of(param), "tools["))
        name_tool(param, &out);
    else
        name_other(param, &out);
    snprintf(param, size, "%.*s",
             VIEW_ARG(view_head(buf_view(&out), size - 1)));
}

void chat_request_name_error(const struct chat_request *chat,
                             struct body_error *error)
{
    CLEANUP(buf_finish) struct buf sentence = { .max = 1024 };
    size_t named = strlen(error->param);
    bool begins =
        named > 0 && view_starts(view_of(error->message), error->param);

    chat_request_name(chat, error->param, sizeof(error->param));
    if (!begins)
        return;
    buf_printf(&sentence, "%s%s", error->param, error->message + named);
    snprintf(
        error->message, sizeof(error->message), "%.*s",
        VIEW_ARG(view_head(buf_view(&sentence), sizeof(error->message) - 1)));
}
