/* model_body.c - the body of a chat-completions request, as that endpoint
 * takes it. */
#include "consumer/model/model_body.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

/* Messages hold the images of a long conversation. */
enum { MAX_BODY = 64 << 20 };

static bool has(const struct model_endpoint *endpoint, unsigned quirk)
{
    return (endpoint->quirks & quirk) != 0;
}

/* Some endpoints refuse content null, some "". A new reference. */
static json_t *fit_message(const struct model_endpoint *endpoint,
                           json_t *message)
{
    json_t *content = json_object_get(message, "content");
    json_t *fit = NULL;

    if (has(endpoint, QUIRK_NO_NULL_CONTENT) && json_is_null(content))
        fit = json_string("");
    if (has(endpoint, QUIRK_NO_EMPTY_CONTENT) && json_is_string(content) &&
        json_string_length(content) == 0)
        fit = json_null();
    if (!fit)
        return json_incref(message);
    message = json_copy(message);
    json_object_set_new(message, "content", fit);
    return message;
}

static json_t *fit_messages(const struct model_endpoint *endpoint,
                            json_t *messages)
{
    json_t *list, *message;
    size_t i;

    if (!has(endpoint, QUIRK_NO_NULL_CONTENT | QUIRK_NO_EMPTY_CONTENT))
        return json_incref(messages);
    list = json_array();
    json_array_foreach(messages, i, message)
        json_array_append_new(list, fit_message(endpoint, message));
    return list;
}

/* What must not be called is shown all the same: some endpoints refuse a
 * history of calls without it. */
static void set_tools(json_t *body, const struct model_endpoint *endpoint,
                      json_t *tools, bool last)
{
    bool chooses = !has(endpoint, QUIRK_NO_TOOL_CHOICE);
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
    const char *name = has(endpoint, QUIRK_MAX_COMPLETION_TOKENS)
                           ? "max_completion_tokens"
                           : "max_tokens";

    if (max_tokens > 0 && !has(endpoint, QUIRK_NO_MAX_TOKENS))
        json_object_set_new(body, name, json_integer((json_int_t)max_tokens));
}

uint64_t model_body_max_tokens(const struct model_endpoint *endpoint,
                               const struct model_request *request)
{
    static const char *const names[] = { "max_completion_tokens",
                                         "max_tokens" };

    if (request->max_tokens > 0 && !has(endpoint, QUIRK_NO_MAX_TOKENS))
        return request->max_tokens;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        json_int_t most =
            json_integer_value(json_object_get(endpoint->parameters, names[i]));

        if (most > 0)
            return (uint64_t)most;
    }
    return 0;
}

static json_t *make_json(const struct model_endpoint *endpoint,
                         const struct model_request *request)
{
    json_t *body = json_pack("{s:s, s:o}", "model", endpoint->model, "messages",
                             fit_messages(endpoint, request->messages));

    json_object_update_missing(body, endpoint->parameters);
    set_tools(body, endpoint, request->tools, request->last);
    set_max_tokens(body, endpoint, request->max_tokens);
    if (has(endpoint, QUIRK_NO_STREAM))
        return body;
    json_object_set_new(body, "stream", json_true());
    if (!has(endpoint, QUIRK_NO_STREAM_OPTIONS))
        json_object_set_new(body, "stream_options",
                            json_pack("{s:b}", "include_usage", 1));
    return body;
}

static int write_piece(const char *data, size_t len, void *owner)
{
    return buf_append(owner, data, len) ? 0 : -1;
}

static void make_hash(char hash[65], struct view body)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;

    EVP_Digest(body.data, body.len, digest, &len, EVP_sha256(), NULL);
    for (unsigned i = 0; i < 32; i++)
        snprintf(hash + (size_t)i * 2, 3, "%02x", digest[i]);
}

bool model_body_make(struct buf *body, char hash[65],
                     const struct model_endpoint *endpoint,
                     const struct model_request *request, struct err *err)
{
    json_t *json = make_json(endpoint, request);

    buf_finish(body);
    buf_init(body, MAX_BODY);
    json_dump_callback(json, write_piece, body, JSON_COMPACT);
    json_decref(json);
    if (!buf_ok(body))
        return err_set(err, ERR_REJECT, "too_large",
                       "the conversation is longer than %d bytes as JSON",
                       MAX_BODY);
    make_hash(hash, buf_view(body));
    return true;
}

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* As a word: "stream" is not in "stream_options". */
static bool mentions(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = text; (at = strstr(at, name)); at += len)
        if ((at == text || !is_word(at[-1])) && !is_word(at[len]))
            return true;
    return false;
}

/* The endpoint names the parameter, and says that it does not know it: a
 * value out of bounds is not cured by leaving it out. */
static bool is_unknown(const struct reply_error *error, const char *name)
{
    static const char *const words[] = {
        "unsupported",   "not support", "unknown",     "unrecognized",
        "not permitted", "unexpected",  "not allowed", "only allowed",
    };

    if (strcmp(error->param, name) != 0 && !mentions(error->message, name))
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcasestr(error->message, words[i]) ||
            strcasestr(error->code, words[i]))
            return true;
    return false;
}

static unsigned quirk_of(const struct reply_error *error)
{
    static const struct {
        const char *parameter;
        unsigned quirk;
    } parameters[] = {
        { "stream_options", QUIRK_NO_STREAM_OPTIONS },
        { "stream", QUIRK_NO_STREAM },
        { "tool_choice", QUIRK_NO_TOOL_CHOICE },
        /* Who refuses the one proposes the other: look for the old one first */
        { "max_tokens", QUIRK_MAX_COMPLETION_TOKENS },
        { "max_completion_tokens", QUIRK_NO_MAX_TOKENS },
    };

    for (size_t i = 0; i < sizeof(parameters) / sizeof(*parameters); i++)
        if (is_unknown(error, parameters[i].parameter))
            return parameters[i].quirk;
    if (strstr(error->message, "invalid message content type"))
        return QUIRK_NO_NULL_CONTENT;
    if (strstr(error->message, "must be non-empty"))
        return QUIRK_NO_EMPTY_CONTENT;
    return 0;
}

bool model_body_learn(struct model_endpoint *endpoint,
                      const struct reply_error *error)
{
    unsigned quirk = quirk_of(error);
    bool news = quirk && !has(endpoint, quirk);

    endpoint->quirks |= quirk;
    return news;
}
