/* chat_message.c - the messages of a chat as items of Responses.
 *
 * system, developer, user --> message
 * assistant               --> message, and a function_call for each call
 * tool                    --> function_call_output */
#include <string.h>

#include "producer/gateway/chat/chat_reader.h"
#include "producer/gateway/responses/response_request.h"

enum { MOST_CALL_ID = 256, MOST_TOOL_CALLS = 128, MOST_NAME = 1024 };
static const size_t any_length = SIZE_MAX;

static void chat_add_item(struct chat_request *chat, size_t index, json_t *item)
{
    json_array_append_new(json_object_get(chat->body, "input"), item);
    json_array_append_new(chat->places, json_integer((json_int_t)index));
}

/* ------------------------------------------------------------------- parts */

static bool read_image(const struct body_value *part, json_t **out)
{
    struct body_value image;
    struct view url = { 0 };

    if (!body_require(part, "image_url") ||
        !body_object(part, "image_url", &image) ||
        !body_require(&image, "url") ||
        !body_text(&image, "url", any_length, &url))
        return false;
    *out = json_pack("{s:s, s:O, s:O*}", "type", "input_image", "image_url",
                     json_object_get(image.json, "url"), "detail",
                     json_object_get(image.json, "detail"));
    return true;
}

static bool read_file(const struct body_value *part, json_t **out)
{
    struct body_value file;

    if (!body_require(part, "file") || !body_object(part, "file", &file))
        return false;
    *out = json_copy(file.json);
    json_object_set_new(*out, "type", json_string("input_file"));
    return true;
}

static bool chat_read_part(const struct body_value *part, json_t **out)
{
    struct body_value type_at = body_member(part, "type");
    struct view type = { 0 };

    if (!json_is_object(part->json))
        return body_refuse_type(part, "an object");
    if (!body_require(part, "type") || !body_text(part, "type", 64, &type))
        return false;
    if (view_is(type, "image_url"))
        return read_image(part, out);
    if (view_is(type, "file"))
        return read_file(part, out);
    if (!view_is(type, "text") && !view_is(type, "refusal"))
        return body_refuse(&type_at, "invalid_value",
                           "is \"%.*s\", must be one of text, image_url, file, "
                           "refusal",
                           VIEW_ARG(type));
    *out = json_incref(part->json);
    return true;
}

/* *out: a new reference; a string or a list, else refused. */
static bool read_content(const struct body_value *message, json_t **out)
{
    struct body_value content = body_member(message, "content");
    json_t *part = NULL, *parts;

    if (!body_require(message, "content"))
        return false;
    if (json_is_string(content.json)) {
        *out = json_incref(content.json);
        return true;
    }
    if (!json_is_array(content.json))
        return body_refuse_type(&content, "a string or a list");
    parts = json_array();
    for (size_t i = 0; i < json_array_size(content.json); i++) {
        struct body_value at = body_item(&content, i);

        if (!chat_read_part(&at, &part)) {
            json_decref(parts);
            return false;
        }
        json_array_append_new(parts, part);
    }
    *out = parts;
    return true;
}

/* ---------------------------------------------------------------- messages */

static bool read_plain(struct chat_request *chat, size_t index,
                       const struct body_value *message, const char *role)
{
    json_t *content = NULL;

    if (!read_content(message, &content))
        return false;
    chat_add_item(chat, index,
                  json_pack("{s:s, s:s, s:o}", "type", "message", "role", role,
                            "content", content));
    return true;
}

static bool read_call(struct chat_request *chat, size_t index,
                      const struct body_value *call)
{
    static const char *const types[] = { "function", NULL };
    const char *type = NULL;
    struct body_value function;
    struct view id = { 0 }, name = { 0 }, arguments = { 0 };

    if (!json_is_object(call->json))
        return body_refuse_type(call, "an object");
    if (!body_require(call, "id") ||
        !body_text(call, "id", MOST_CALL_ID, &id) ||
        !body_word(call, "type", types, &type) ||
        !body_require(call, "function") ||
        !body_object(call, "function", &function) ||
        !body_require(&function, "name") ||
        !body_text(&function, "name", MOST_NAME, &name) ||
        !body_require(&function, "arguments") ||
        !body_text(&function, "arguments", any_length, &arguments))
        return false;
    chat_add_item(chat, index,
                  json_pack("{s:s, s:s%, s:s%, s:s%}", "type", "function_call",
                            "call_id", id.data, id.len, "name", name.data,
                            name.len, "arguments", arguments.data,
                            arguments.len));
    return true;
}

/* One without text and calls says nothing, and is left out: clients keep such a
 * message of an answer that failed. */
static bool read_assistant(struct chat_request *chat, size_t index,
                           const struct body_value *message)
{
    struct body_value content = body_member(message, "content"), calls;
    bool says = json_is_string(content.json)
                    ? json_string_length(content.json) > 0
                    : content.json && (!json_is_array(content.json) ||
                                       json_array_size(content.json) > 0);

    if (!body_list(message, "tool_calls", MOST_TOOL_CALLS, &calls))
        return false;
    if (says && !read_plain(chat, index, message, "assistant"))
        return false;
    for (size_t i = 0; i < json_array_size(calls.json); i++) {
        struct body_value call = body_item(&calls, i);

        if (!read_call(chat, index, &call))
            return false;
    }
    return true;
}

static bool read_tool(struct chat_request *chat, size_t index,
                      const struct body_value *message)
{
    struct view id = { 0 };
    json_t *content = NULL;

    if (!body_require(message, "tool_call_id") ||
        !body_text(message, "tool_call_id", MOST_CALL_ID, &id) ||
        !read_content(message, &content))
        return false;
    chat_add_item(chat, index,
                  json_pack("{s:s, s:s%, s:o}", "type", "function_call_output",
                            "call_id", id.data, id.len, "output", content));
    return true;
}

static bool read_message(struct chat_request *chat, size_t index,
                         const struct body_value *message)
{
    static const char *const roles[] = { "system",    "developer", "user",
                                         "assistant", "tool",      NULL };
    const char *role = NULL;

    if (!json_is_object(message->json))
        return body_refuse_type(message, "an object");
    if (!body_require(message, "role") ||
        !body_word(message, "role", roles, &role))
        return false;
    if (strcmp(role, "assistant") == 0)
        return read_assistant(chat, index, message);
    if (strcmp(role, "tool") == 0)
        return read_tool(chat, index, message);
    return read_plain(chat, index, message, role);
}

bool chat_messages_read(struct chat_request *chat,
                        const struct body_value *body)
{
    struct body_value list;

    json_object_set_new(chat->body, "input", json_array());
    if (!body_require(body, "messages") ||
        !body_list(body, "messages", RESPONSE_MAX_INPUT, &list))
        return false;
    for (size_t i = 0; i < json_array_size(list.json); i++) {
        struct body_value message = body_item(&list, i);

        if (!read_message(chat, i, &message))
            return false;
    }
    return json_array_size(chat->places) > 0 ||
           body_refuse(&list, "invalid_value", "has no message");
}
