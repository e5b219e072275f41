/* mcp_reply.c - the answer to a JSON-RPC request, out of bytes of a server. */
#include "consumer/tools/mcp_reply.h"

#include <string.h>

static bool has_come(const struct mcp_reply *reply)
{
    return reply->result || reply->error;
}

/* Whether the id is that of our request. A server that could not read the
 * request does not know its id: it sends the error without one, with null, or,
 * in a plain answer, with any that is no integer. */
static bool mcp_reply_is_ours(const struct mcp_reply *reply, const json_t *id,
                              bool is_error)
{
    if (json_is_integer(id))
        return json_integer_value(id) == reply->id;
    return is_error &&
           (reply->form == MCP_FORM_PLAIN || !id || json_is_null(id));
}

static void mcp_reply_take_answer(struct mcp_reply *reply,
                                  const json_t *message)
{
    json_t *result = json_object_get(message, "result");
    json_t *error = json_object_get(message, "error");
    const json_t *id = json_object_get(message, "id");
    if (json_is_object(error) && mcp_reply_is_ours(reply, id, true))
        reply->error = json_incref(error);
    else if (json_is_object(result) && mcp_reply_is_ours(reply, id, false))
        reply->result = json_incref(result);
}

static void take_message(struct mcp_reply *reply, const json_t *message)
{
    const char *method = json_string_value(json_object_get(message, "method"));
    const json_t *id = json_object_get(message, "id");
    if (has_come(reply))
        return;
    if (!method)
        mcp_reply_take_answer(reply, message);
    else if (json_is_string(id) || json_is_integer(id))
        reply->asked(reply->owner, id, method);
    else if (strcmp(method, "notifications/tools/list_changed") == 0)
        reply->changed = true;
}

static void take_json(struct mcp_reply *reply, struct view text)
{
    size_t i;
    json_t *message,
        *all = json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    if (json_is_object(all))
        take_message(reply, all);
    json_array_foreach(all, i, message)
        take_message(reply, message);
    json_decref(all);
}

static bool on_event(void *owner, struct view name, struct view data)
{
    struct mcp_reply *reply = owner;
    (void)name;
    take_json(reply, data);
    return !has_come(reply);
}

void mcp_reply_init(struct mcp_reply *reply, json_int_t id, size_t max,
                    mcp_asked *asked, void *owner)
{
    *reply = (struct mcp_reply){ .id = id, .asked = asked, .owner = owner };
    buf_init(&reply->body, max);
    sse_init(&reply->sse, on_event, reply);
}

void mcp_reply_finish(struct mcp_reply *reply)
{
    buf_finish(&reply->body);
    sse_finish(&reply->sse);
    json_decref(reply->result);
    json_decref(reply->error);
    *reply = (struct mcp_reply){ 0 };
}

static bool mcp_reply_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct view without_blanks(struct view bytes)
{
    while (bytes.len > 0 && mcp_reply_is_blank(bytes.data[0])) {
        bytes.data++;
        bytes.len--;
    }
    return bytes;
}

bool mcp_reply_feed(struct mcp_reply *reply, struct view bytes)
{
    if (reply->form == MCP_FORM_OPEN) {
        bytes = without_blanks(bytes);
        if (bytes.len == 0)
            return false;
        bool plain = bytes.data[0] == '{' || bytes.data[0] == '[';
        reply->form = plain ? MCP_FORM_PLAIN : MCP_FORM_STREAM;
    }
    if (reply->form == MCP_FORM_PLAIN)
        buf_add(&reply->body, bytes);
    else
        sse_feed(&reply->sse, bytes);
    return has_come(reply);
}

bool mcp_reply_end(struct mcp_reply *reply)
{
    if (reply->form == MCP_FORM_STREAM)
        sse_end(&reply->sse);
    else if (buf_ok(&reply->body) && reply->body.len > 0)
        take_json(reply, buf_view(&reply->body));
    return has_come(reply);
}

json_int_t mcp_error_code(const json_t *error)
{
    return json_integer_value(json_object_get(error, "code"));
}

const char *mcp_error_message(const json_t *error)
{
    const char *text = json_string_value(json_object_get(error, "message"));
    return text ? text : "";
}
