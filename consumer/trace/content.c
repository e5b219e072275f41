/* content.c - messages in the form of the conventions for generative AI:
 * {"role", "parts": [{"type": "text", "content"}, {"type": "tool_call", "id",
 * "name", "arguments"}, {"type": "tool_call_response", "id", "response"}]}. */
#include "consumer/trace/content.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/model/reply_json.h"
#include "consumer/trace/span.h"

enum {
    PART_BYTES = 2 << 10, /* of a text */
    MOST_PARTS = 16,      /* of a message */
};

static json_t *text_of(struct view text)
{
    struct view head = view_head(text, PART_BYTES);
    return json_stringn(head.data, head.len);
}

static void content_add_text(json_t *parts, struct view text)
{
    if (text.len > 0)
        json_array_append_new(parts, json_pack("{s:s, s:o*}", "type", "text",
                                               "content", text_of(text)));
}

/* Of a content in parts the texts; pictures are named, no more. */
static void content_add_parts(json_t *parts, const json_t *content)
{
    size_t i;
    json_t *part;
    if (json_is_string(content))
        content_add_text(parts, view_of(json_string_value(content)));
    json_array_foreach(content, i, part) {
        struct view type = reply_json_text(part, "type");
        if (i == MOST_PARTS)
            break;
        if (view_is(type, "text"))
            content_add_text(parts, reply_json_text(part, "text"));
        else
            json_array_append_new(parts,
                                  json_pack("{s:o*}", "type", text_of(type)));
    }
}

static void add_calls(json_t *parts, const json_t *calls)
{
    size_t i;
    json_t *call;
    json_array_foreach(calls, i, call) {
        const json_t *function = json_object_get(call, "function");
        if (i == MOST_PARTS)
            break;
        json_array_append_new(
            parts,
            json_pack("{s:s, s:o*, s:o*, s:o*}", "type", "tool_call", "id",
                      text_of(reply_json_text(call, "id")), "name",
                      text_of(reply_json_text(function, "name")), "arguments",
                      text_of(reply_json_text(function, "arguments"))));
    }
}

static json_t *message_of(const json_t *message)
{
    json_t *parts = json_array();
    struct view role = reply_json_text(message, "role");
    const json_t *content = json_object_get(message, "content");
    if (view_is(role, "tool"))
        json_array_append_new(
            parts,
            json_pack("{s:s, s:o*, s:o*}", "type", "tool_call_response", "id",
                      text_of(reply_json_text(message, "tool_call_id")),
                      "response",
                      text_of(reply_json_text(message, "content"))));
    else
        content_add_parts(parts, content);
    add_calls(parts, json_object_get(message, "tool_calls"));
    return json_pack("{s:o*, s:o}", "role", text_of(role), "parts", parts);
}

/* Puts as many as fit behind the bracket, the last ones of the array. */
void content_write_messages(struct buf *out, const json_t *messages)
{
    size_t count = json_array_size(messages), first = count, bytes = 2;
    char **texts = calloc(count + 1, sizeof(*texts));
    if (!texts)
        abort();
    while (first > 0) {
        json_t *told = message_of(json_array_get(messages, first - 1));
        char *text = json_dumps(told, JSON_COMPACT);
        json_decref(told);
        bytes += text ? strlen(text) + 1 : 0;
        if (!text || bytes > SPAN_CONTENT_BYTES) {
            free(text);
            break;
        }
        texts[--first] = text;
    }
    buf_init(out, SPAN_CONTENT_BYTES);
    buf_add(out, VIEW("["));
    for (size_t i = first; i < count; i++) {
        buf_printf(out, "%s%s", i > first ? "," : "", texts[i]);
        free(texts[i]);
    }
    buf_add(out, VIEW("]"));
    free(texts);
}

void content_write_reply(struct buf *out, const json_t *message,
                         struct view finish_reason)
{
    json_t *told = message_of(message);
    json_object_set_new(told, "finish_reason", text_of(finish_reason));
    json_t *all = json_pack("[o]", told);
    char *text = json_dumps(all, JSON_COMPACT);
    json_decref(all);
    buf_init(out, SPAN_CONTENT_BYTES);
    if (!text || !buf_add(out, view_of(text))) {
        buf_clear(out);
        buf_add(out, VIEW("[]"));
    }
    free(text);
}
