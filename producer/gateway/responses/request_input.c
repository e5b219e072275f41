/* request_input.c - the items of a request's input as messages of a job.
 *
 * A conversation comes back as it was given out, so each item of the API may be
 * there. What was said and called becomes messages; what only another server
 * could use (encrypted reasoning, calls of its tools) is left out.
 *
 * Each call of a function needs its output. In a job the answers stand right
 * behind the message with the calls: so an output is put there, wherever the
 * client has put it. */
#include <string.h>

#include "producer/gateway/responses/request_reader.h"
#include "schemas/message/buf.h"
#include "schemas/message/limits.h"

enum { MOST_CALL_ID = 256 };

/* -------------------------------------------------------------------- calls */

static bool input_is(const json_t *message, const char *role)
{
    return view_is(body_string(json_object_get(message, "role")), role);
}

static bool input_has_call(const json_t *message, struct view id)
{
    json_t *call;
    size_t i;

    json_array_foreach(json_object_get(message, "tool_calls"), i, call)
        if (view_equal(body_string(json_object_get(call, "id")), id))
            return true;
    return false;
}

/* A call belongs to the assistant's message before it, if that is the last. */
static bool input_add_call(struct request_reader *reader,
                           const struct body_value *item, struct view id,
                           struct view name, struct view arguments)
{
    size_t count = json_array_size(reader->messages);
    json_t *last = json_array_get(reader->messages, count - 1), *calls;

    if (count == 0 || !input_is(last, "assistant")) {
        last = json_pack("{s:s}", "role", "assistant");
        json_array_append_new(reader->messages, last);
    }
    if (input_has_call(last, id))
        return body_refuse(item, "invalid_value",
                           "has the id \"%.*s\" of the call before it",
                           VIEW_ARG(view_head(id, 64)));
    calls = json_object_get(last, "tool_calls");
    if (!calls) {
        calls = json_array();
        json_object_set_new(last, "tool_calls", calls);
    }
    if (json_array_size(calls) == MAX_MESSAGE_CALLS)
        return body_refuse(item, "invalid_value",
                           "is one call too many: at most %d may stand "
                           "together",
                           MAX_MESSAGE_CALLS);
    json_array_append_new(
        calls, json_pack("{s:s%, s:s, s:{s:s%, s:s%}}", "id", id.data, id.len,
                         "type", "function", "function", "name", name.data,
                         name.len, "arguments", arguments.data, arguments.len));
    return true;
}

/* Behind the message at that place come answers to its calls; *behind: where
 * they end. Whether one answers that call. */
static bool input_is_answered(const json_t *messages, size_t at, struct view id,
                              size_t *behind)
{
    bool found = false;
    json_t *message;

    for (*behind = at; (message = json_array_get(messages, *behind)) != NULL &&
                       input_is(message, "tool");
         (*behind)++)
        found |= view_equal(
            body_string(json_object_get(message, "tool_call_id")), id);
    return found;
}

/* Where the output of the call belongs. A call of the response that this one
 * continues is not here: its output stands before all messages. */
static bool input_find_place(const struct request_reader *reader,
                             const struct body_value *at, struct view id,
                             size_t *place)
{
    bool continues = reader->request->previous.len > 0 ||
                     reader->request->conversation.len > 0;
    bool answered = false;

    for (size_t i = json_array_size(reader->messages); i-- > 0;) {
        if (!input_has_call(json_array_get(reader->messages, i), id))
            continue;
        if (!input_is_answered(reader->messages, i + 1, id, place))
            return true;
        answered = true;
    }
    if (!answered && continues)
        answered = input_is_answered(reader->messages, 0, id, place);
    if (answered)
        return body_refuse(at, "invalid_value",
                           "is \"%.*s\", whose output the input has already",
                           VIEW_ARG(view_head(id, 64)));
    return continues ||
           body_refuse(at, "invalid_value",
                       "is \"%.*s\", but no call before it has this id",
                       VIEW_ARG(view_head(id, 64)));
}

/* Takes content. */
static void input_add_answer(struct request_reader *reader, size_t place,
                             struct view id, json_t *content)
{
    json_array_insert_new(reader->messages, place,
                          json_pack("{s:s, s:s%, s:o}", "role", "tool",
                                    "tool_call_id", id.data, id.len, "content",
                                    content));
}

bool request_input_check(const json_t *messages, const struct body_value *input)
{
    json_t *message, *call;
    size_t i, k, behind;

    json_array_foreach(messages, i, message)
        json_array_foreach(json_object_get(message, "tool_calls"), k, call) {
            struct view id = body_string(json_object_get(call, "id"));

            if (!input_is_answered(messages, i + 1, id, &behind))
                return body_refuse(input, "invalid_value",
                                   "has no output for the call \"%.*s\"",
                                   VIEW_ARG(view_head(id, 64)));
        }
    return true;
}

/* -------------------------------------------------------------------- items */

static bool input_read_id(const struct body_value *item, struct view *id)
{
    struct body_value at = body_member(item, "call_id");

    return body_require(item, "call_id") &&
           body_text(item, "call_id", MOST_CALL_ID, id) &&
           (id->len > 0 ||
            body_refuse(&at, "invalid_value", "is empty, must be an id"));
}

static bool on_message(struct request_reader *reader,
                       const struct body_value *item)
{
    static const char *const roles[] = { "user", "assistant", "system",
                                         "developer", NULL };
    const char *role = NULL;
    json_t *content;

    if (!body_require(item, "role") || !body_word(item, "role", roles, &role))
        return false;
    if (strcmp(role, "assistant") == 0) {
        if (!request_part_read_text(reader, item, "content", "", &content))
            return false;
    } else if (!request_part_read_content(reader, item, "content", &content)) {
        return false;
    }
    json_array_append_new(
        reader->messages,
        json_pack("{s:s, s:o}", "role", role, "content", content));
    return true;
}

static bool on_function_call(struct request_reader *reader,
                             const struct body_value *item)
{
    struct view id = { 0 }, name = { 0 }, arguments = { 0 };

    return input_read_id(item, &id) &&
           request_tools_check_name(item, "name", &name) &&
           body_require(item, "arguments") &&
           body_text(item, "arguments", MAX_JOB_BYTES, &arguments) &&
           input_add_call(reader, item, id, name, arguments);
}

static bool on_function_output(struct request_reader *reader,
                               const struct body_value *item)
{
    struct body_value at = body_member(item, "call_id");
    struct view id = { 0 };
    size_t place;
    json_t *content;

    if (!input_read_id(item, &id) ||
        !input_find_place(reader, &at, id, &place) ||
        !request_part_read_text(reader, item, "output", "\n", &content))
        return false;
    input_add_answer(reader, place, id, content);
    return true;
}

/* What code printed, as the model is told it. */
static json_t *python_output(const struct body_value *item)
{
    CLEANUP(buf_finish) struct buf text = { .max = MAX_OBSERVATION_BYTES };
    json_t *outputs = json_object_get(item->json, "outputs"), *output;
    size_t i;

    if (!json_is_array(outputs))
        return json_string("(The output was not kept.)");
    json_array_foreach(outputs, i, output) {
        struct view logs = body_string(json_object_get(output, "logs"));

        if (text.len > 0)
            buf_add(&text, VIEW("\n"));
        buf_add(&text, logs.data ? view_head(logs, MAX_OBSERVATION_BYTES / 2)
                                 : VIEW("(an image)"));
    }
    return json_stringn(text.data ? text.data : "", text.len);
}

/* Python that ran earlier. Its container may be gone: that is no fault. */
static bool on_python(struct request_reader *reader,
                      const struct body_value *item)
{
    struct view code = { 0 }, id = { 0 };
    json_t *arguments;
    char *text;
    size_t place;
    bool good;

    if (!body_text(item, "code", MAX_CODE_BYTES, &code) ||
        !body_text(item, "id", MOST_CALL_ID, &id) ||
        !body_text(item, "container_id", 128,
                   &reader->request->input_container))
        return false;
    if (!reader->python) { /* the model has no such tool */
        request_tools_leave_out(reader, "code_interpreter_call");
        return true;
    }
    if (id.len == 0)
        return body_require(item, "id");
    arguments =
        json_pack("{s:s%}", "code", code.data ? code.data : "", code.len);
    text = json_dumps(arguments, 0);
    json_decref(arguments);
    good =
        input_add_call(reader, item, id, VIEW(REQUEST_PYTHON), view_of(text)) &&
        input_find_place(reader, item, id, &place);
    cleanup_free(&text);
    if (good)
        input_add_answer(reader, place, id, python_output(item));
    return good;
}

static bool on_reference(struct request_reader *reader,
                         const struct body_value *item)
{
    struct body_value at = body_member(item, "id");
    struct view id = { 0 };

    (void)reader;
    return body_require(item, "id") &&
           body_text(item, "id", MOST_CALL_ID, &id) &&
           body_refuse(&at, "invalid_value",
                       "is \"%.*s\": there is no such item",
                       VIEW_ARG(view_head(id, 64)));
}

static bool on_reasoning(struct request_reader *reader,
                         const struct body_value *item)
{
    (void)reader;
    (void)item;
    return true; /* of another server, or without what it could be read by */
}

/* Items of tools that are not here. */
static const char *const other_items[] = {
    "apply_patch_call",
    "apply_patch_call_output",
    "computer_call",
    "computer_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "file_search_call",
    "image_generation_call",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "program",
    "program_output",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
    NULL,
};

static const struct {
    const char *type;
    bool (*read)(struct request_reader *reader, const struct body_value *item);
} item_types[] = {
    { "message", on_message },
    { "function_call", on_function_call },
    { "function_call_output", on_function_output },
    { "code_interpreter_call", on_python },
    { "reasoning", on_reasoning },
    { "item_reference", on_reference },
};

/* {"role", "content"} is a message, {"id"} a reference. */
static const char *input_type(const json_t *item)
{
    json_t *type = json_object_get(item, "type");

    if (type && !json_is_null(type))
        return json_string_value(type);
    return json_object_get(item, "role") || !json_object_get(item, "id")
               ? "message"
               : "item_reference";
}

static bool input_read_item(struct request_reader *reader,
                            const struct body_value *item)
{
    struct body_value at = body_member(item, "type");
    const char *type;

    if (!json_is_object(item->json))
        return body_refuse_type(item, "an object");
    type = input_type(item->json);
    if (!type)
        return body_refuse_type(&at, "a string");
    for (size_t i = 0; i < sizeof(item_types) / sizeof(item_types[0]); i++)
        if (strcmp(type, item_types[i].type) == 0)
            return item_types[i].read(reader, item);
    for (const char *const *other = other_items; *other; other++)
        if (strcmp(type, *other) == 0) {
            request_tools_leave_out(reader, type);
            return true;
        }
    return body_refuse(&at, "invalid_value",
                       "is \"%.*s\", which is no item that can be read here",
                       VIEW_ARG(view_head(view_of(type), 64)));
}

/* -------------------------------------------------------------------- input */

static bool input_read_string(struct request_reader *reader,
                              const struct body_value *input)
{
    if (json_string_length(input->json) == 0)
        return body_refuse(input, "invalid_value", "is empty");
    json_array_append_new(
        reader->messages,
        json_pack("{s:s, s:O}", "role", "user", "content", input->json));
    return true;
}

bool request_input_read(struct request_reader *reader,
                        const struct body_value *body)
{
    struct body_value input = body_member(body, "input");

    if (!body_require(body, "input"))
        return false;
    if (json_is_string(input.json))
        return input_read_string(reader, &input);
    if (!json_is_array(input.json))
        return body_refuse_type(&input, "a string or a list");
    if (!body_list(body, "input", RESPONSE_MAX_INPUT, &input))
        return false;
    for (size_t i = 0; i < json_array_size(input.json); i++) {
        struct body_value item = body_item(&input, i);

        if (!input_read_item(reader, &item))
            return false;
    }
    if (json_array_size(reader->messages) == 0)
        return body_refuse(&input, "invalid_value",
                           "has no message and no output of a function");
    return request_input_check(reader->messages, &input);
}

json_t *response_request_references(json_t *body, struct body_error *error)
{
    struct body_value root = body_root(body, error);
    struct body_value input = body_member(&root, "input");
    json_t *found = json_array();

    if (!json_is_array(input.json))
        return found;
    for (size_t i = 0; i < json_array_size(input.json); i++) {
        struct body_value item = body_item(&input, i);
        struct body_value id = body_member(&item, "id");
        const char *type = input_type(item.json);

        if (!type || strcmp(type, "item_reference") != 0)
            continue;
        if (!json_is_string(id.json)) {
            body_refuse_type(&id, "a string");
            json_decref(found);
            return NULL;
        }
        json_array_append_new(found, json_pack("{s:I, s:O}", "index",
                                               (json_int_t)i, "id", id.json));
    }
    return found;
}
