/* chat_body.c - what a chat-completions endpoint is sent. */
#include "consumer/model/chat.h"
#include "consumer/model/endpoint.h"
#include "consumer/model/model.h"
#include "consumer/model/reply_block.h"
#include "consumer/model/reply_json.h"
#include "consumer/model/sampling.h"
#include "schemas/message/buf.h"

enum { MAX_CONTENT = 4 << 20 };

/* ------------------------------------------------------ what was kept
 */

struct content {
    struct buf text; /* its text, with the reasoning that stands in it */
    json_t *parts;
    bool has_parts; /* Mistral's: a list it has to be */
};

static void on_kept(void *owner, json_t *kept)
{
    struct content *content = owner;
    struct view thinking = reply_json_text(kept, "thinking");
    json_t *part;

    if (view_is(reply_json_text(kept, "type"), "inline")) {
        buf_add(&content->text, reply_json_text(kept, "text"));
        return;
    }
    content->has_parts = true;
    part = json_copy(kept);
    json_object_set_new(part, "thinking",
                        json_pack("[{s:s, s:o}]", "type", "text", "text",
                                  json_stringn(thinking.data, thinking.len)));
    json_array_append_new(content->parts, part);
}

static void on_text(void *owner, struct view text, const json_t *mark)
{
    struct content *content = owner;

    (void)mark;
    buf_add(&content->text, text);
    json_array_append_new(content->parts,
                          json_pack("{s:s, s:o}", "type", "text", "text",
                                    json_stringn(text.data, text.len)));
}

static void on_call(void *owner, const json_t *call)
{
    (void)owner;
    (void)call;
}

/* The content with its reasoning where it was. A new reference. */
static json_t *content_as_said(const struct model_endpoint *endpoint,
                               const json_t *message)
{
    static const struct block_events events = { on_kept, on_text, on_call };
    struct content content = { .parts = json_array() };
    json_t *json;

    buf_init(&content.text, MAX_CONTENT);
    opaque_walk(message, dialect_chat.name, endpoint->name, &events, &content);
    json = content.has_parts
               ? json_incref(content.parts)
               : json_stringn(content.text.len > 0 ? content.text.data : "",
                              content.text.len);
    json_decref(content.parts);
    buf_finish(&content.text);
    return json;
}

/* ------------------------------------------------------------ messages
 */

/* What another endpoint said only for itself is left out; some endpoints
 * refuse content null, some "". A new reference, or NULL: it stays as it is. */
static json_t *fit_content(const struct model_endpoint *endpoint,
                           const json_t *message)
{
    json_t *content = json_object_get(message, "content");

    if (opaque_is_for(message, dialect_chat.name, endpoint->name))
        return content_as_said(endpoint, message);
    if (endpoint_has(endpoint, QUIRK_NO_NULL_CONTENT) && json_is_null(content))
        return json_string("");
    if (endpoint_has(endpoint, QUIRK_NO_EMPTY_CONTENT) &&
        json_is_string(content) && json_string_length(content) == 0)
        return json_null();
    return NULL;
}

static json_t *fit_message(const struct model_endpoint *endpoint,
                           json_t *message)
{
    json_t *fit = fit_content(endpoint, message);

    if (!fit && !json_object_get(message, "opaque"))
        return json_incref(message);
    message = json_copy(message);
    json_object_del(message, "opaque");
    if (fit)
        json_object_set_new(message, "content", fit);
    return message;
}

static json_t *fit_messages(const struct model_endpoint *endpoint,
                            json_t *messages)
{
    json_t *list = json_array(), *message;
    size_t i;

    json_array_foreach(messages, i, message)
        json_array_append_new(list, fit_message(endpoint, message));
    return list;
}

/* What must not be called is shown all the same: some endpoints refuse a
 * history of calls without it. */
static void set_tools(json_t *body, const struct model_endpoint *endpoint,
                      json_t *tools, bool last)
{
    bool chooses = !endpoint_has(endpoint, QUIRK_NO_TOOL_CHOICE);
    if (json_array_size(tools) == 0 || (last && !chooses))
        return;
    json_object_set(body, "tools", tools);
    if (chooses)
        json_object_set_new(body, "tool_choice",
                            json_string(last ? "none" : "auto"));
}

static void set_max_tokens(json_t *body, const struct model_endpoint *endpoint,
                           uint64_t max_tokens)
{
    const char *name = endpoint_has(endpoint, QUIRK_MAX_COMPLETION_TOKENS)
                           ? "max_completion_tokens"
                           : "max_tokens";

    if (max_tokens > 0 && !endpoint_has(endpoint, QUIRK_NO_MAX_TOKENS))
        json_object_set_new(body, name, json_integer((json_int_t)max_tokens));
}

static uint64_t max_tokens_of(const struct model_endpoint *endpoint,
                              const struct model_request *request)
{
    static const char *const names[] = { "max_completion_tokens",
                                         "max_tokens" };

    if (request->max_tokens > 0 && !endpoint_has(endpoint, QUIRK_NO_MAX_TOKENS))
        return request->max_tokens;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        json_int_t most =
            json_integer_value(json_object_get(endpoint->parameters, names[i]));

        if (most > 0)
            return (uint64_t)most;
    }
    return 0;
}

static json_t *write_body(const struct model_endpoint *endpoint,
                          const struct model_request *request)
{
    json_t *body = json_pack("{s:s, s:o}", "model", endpoint->model, "messages",
                             fit_messages(endpoint, request->messages));

    json_t *parameters = sampling_of(endpoint, request->parameters);

    json_object_update_missing(body, parameters);
    json_decref(parameters);
    set_tools(body, endpoint, request->tools, request->last);
    set_max_tokens(body, endpoint, request->max_tokens);
    if (endpoint_has(endpoint, QUIRK_NO_STREAM))
        return body;
    json_object_set_new(body, "stream", json_true());
    if (!endpoint_has(endpoint, QUIRK_NO_STREAM_OPTIONS))
        json_object_set_new(body, "stream_options",
                            json_pack("{s:b}", "include_usage", 1));
    return body;
}

static void set_parameter(json_t *parameters, const char *name, json_t *value)
{
    json_object_set(parameters, name, value);
}

static const struct dialect_lesson lessons[] = {
    { "temperature", QUIRK_NO_TEMPERATURE },
    { "top_p", QUIRK_NO_TOP_P },
    { "seed", QUIRK_NO_SEED },
    { "stop", QUIRK_NO_STOP },
    { "reasoning_effort", QUIRK_NO_EFFORT },
    { "top_k", QUIRK_NO_SAMPLING },
    { "min_p", QUIRK_NO_SAMPLING },
    { "presence_penalty", QUIRK_NO_SAMPLING },
    { "frequency_penalty", QUIRK_NO_SAMPLING },
    { "verbosity", QUIRK_NO_SAMPLING },
    { "stream_options", QUIRK_NO_STREAM_OPTIONS },
    { "stream", QUIRK_NO_STREAM },
    { "tool_choice", QUIRK_NO_TOOL_CHOICE },
    /* Who refuses the one proposes the other: look for the old one first */
    { "max_tokens", QUIRK_MAX_COMPLETION_TOKENS },
    { "max_completion_tokens", QUIRK_NO_MAX_TOKENS },
    { NULL, 0 },
};

const struct dialect dialect_chat = {
    .name = "chat",
    .what = "a chat-completions reply",
    .path = "/chat/completions",
    .key_header = "Authorization: Bearer %s",
    .lessons = lessons,
    .write = write_body,
    .set_parameter = set_parameter,
    .max_tokens = max_tokens_of,
    .take = chat_take,
    .end = chat_end,
};
