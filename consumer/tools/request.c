/* request.c - the HTTP request that a tool's call becomes, and its answer. */
#include "consumer/tools/request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/text.h"

/* Percent-encodes all but what RFC 3986 calls unreserved. */
static void request_add_escaped(struct buf *out, struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (isalnum(c) || (c != 0 && strchr("-_.~", c)))
            buf_append(out, text.data + i, 1);
        else
            buf_printf(out, "%%%02X", c);
    }
}

static bool add_value(struct buf *out, const json_t *value, bool in_path,
                      struct err *err)
{
    if (json_is_string(value)) {
        struct view text = { json_string_value(value),
                             json_string_length(value) };
        /* Escaping does not help against these: servers resolve "." and ".."
         * after unescaping, and an empty part makes another path. */
        if (in_path &&
            (text.len == 0 || view_is(text, ".") || view_is(text, "..")))
            return err_set(err, ERR_REJECT, "bad_field",
                           "an argument in the path may not be \"%.*s\"",
                           VIEW_ARG(text));
        request_add_escaped(out, text);
        return true;
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    request_add_escaped(out, view_of(text));
    free(text);
    return true;
}

/* Copies the URL with the arguments in it, and removes those from arguments:
 * what is left is for the query or the body. One that is missing is an error in
 * the path, and empty in the query. */
static bool fill_template(const char *url, json_t *arguments, struct buf *out,
                          struct err *err)
{
    const char *query = url + strcspn(url, "?");
    while (*url != '\0') {
        size_t plain = strcspn(url, "{");
        buf_append(out, url, plain);
        url += plain;
        const char *close = strchr(url, '}');
        if (!close) {
            buf_add(out, view_of(url));
            break;
        }
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int)(close - url - 1), url + 1);
        const json_t *value = json_object_get(arguments, name);
        if (!value && url < query)
            return err_set(err, ERR_REJECT, "bad_field",
                           "the argument \"%.64s\" is missing", name);
        if (value && !add_value(out, value, url < query, err))
            return false;
        json_object_del(arguments, name);
        url = close + 1;
    }
    return true;
}

static bool add_query(json_t *arguments, struct buf *url, struct err *err)
{
    const char *name;
    json_t *value;
    /* An argument in the path has no ? of its own: it is escaped. */
    bool first = url->len > 0 && !memchr(url->data, '?', url->len);
    json_object_foreach(arguments, name, value) {
        buf_add(url, first ? VIEW("?") : VIEW("&"));
        request_add_escaped(url, view_of(name));
        buf_add(url, VIEW("="));
        if (!add_value(url, value, false, err))
            return false;
        first = false;
    }
    return true;
}

bool request_write(const struct http_tool *tool, json_t *arguments,
                   struct buf *url, struct buf *body, struct err *err)
{
    if (!fill_template(tool->url, arguments, url, err))
        return false;
    if (!tool->post && !add_query(arguments, url, err))
        return false;
    buf_append(url, "", 1);
    if (tool->post) {
        char *text = json_dumps(arguments, JSON_COMPACT);
        buf_add(body, view_of(text));
        free(text);
    }
    return (buf_ok(url) && buf_ok(body)) ||
           err_set(err, ERR_REJECT, "too_large",
                   "the arguments are more than the tool takes");
}

static json_t *request_clean_text(struct view body)
{
    CLEANUP(buf_finish) struct buf clean;
    buf_init(&clean, body.len * 3 + 1);
    text_add_clean(&clean, body);
    return json_stringn(!clean.data ? "" : clean.data, clean.len);
}

void answer_write(const struct headers *headers, struct view body,
                  struct buf *out)
{
    json_t *value = json_loadb(!body.data ? "" : body.data, body.len,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    bool is_json = value != NULL;
    if (!is_json)
        value = request_clean_text(body);
    json_t *masked = headers_mask(headers, json_incref(value), body);
    if (is_json && masked == value) {
        buf_add(out, body); /* numbers as the server has written them */
    } else {
        CLEANUP(cleanup_free)
        char *text = json_dumps(masked, JSON_COMPACT | JSON_ENCODE_ANY);
        buf_add(out, view_of(!text ? "\"\"" : text));
    }
    json_decref(masked);
    json_decref(value);
}
