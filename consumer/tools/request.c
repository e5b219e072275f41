/* request.c - the HTTP request that a tool's call becomes, and its answer. */
#include "consumer/tools/request.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/text.h"

/* ---------------------------------------------------------------- checking */

static bool is_of_type(const json_t *value, const char *type)
{
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(value);
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    if (strcmp(type, "object") == 0)
        return json_is_object(value);
    return strcmp(type, "null") != 0 || json_is_null(value);
}

/* The type that the schema names, or one of those; the enum where it has one.
 * What else a schema can say is for the tool itself to refuse. */
static bool fits(const json_t *value, const json_t *schema)
{
    const json_t *type = json_object_get(schema, "type");
    const json_t *allowed = json_object_get(schema, "enum");
    size_t i;
    json_t *one;
    bool good = !json_is_array(type);
    if (json_is_string(type) && !is_of_type(value, json_string_value(type)))
        return false;
    json_array_foreach(type, i, one)
        good |=
            json_is_string(one) && is_of_type(value, json_string_value(one));
    if (!good || !json_is_array(allowed))
        return good;
    json_array_foreach(allowed, i, one)
        if (json_equal(one, value))
            return true;
    return false;
}

static bool check(const struct http_tool *tool, const json_t *arguments,
                  struct err *err)
{
    const json_t *parameters = json_object_get(tool->function, "parameters");
    const json_t *properties = json_object_get(parameters, "properties");
    bool open =
        json_object_get(parameters, "additionalProperties") != NULL &&
        !json_is_false(json_object_get(parameters, "additionalProperties"));
    size_t i;
    const char *name;
    json_t *value;
    json_array_foreach(json_object_get(parameters, "required"), i, value)
        if (json_is_string(value) &&
            json_object_get(arguments, json_string_value(value)) == NULL)
            return err_set(err, ERR_REJECT, "bad_field",
                           "the argument \"%.64s\" is missing",
                           json_string_value(value));
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)arguments, name, value) {
        const json_t *schema = json_object_get(properties, name);
        if (schema == NULL && !open)
            return err_set(err, ERR_REJECT, "bad_field",
                           "there is no argument \"%.64s\"", name);
        if (!fits(value, schema))
            return err_set(err, ERR_REJECT, "bad_field",
                           "the argument \"%.64s\" is not what the tool takes",
                           name);
    }
    return true;
}

/* ----------------------------------------------------------------- writing */

/* Everything but letters, digits, - _ . ~ is percent and two digits. */
static void add_escaped(struct buf *out, struct view text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (isalnum(c) || (c != 0 && strchr("-_.~", c) != NULL))
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
        /* Servers take these, escaped or not, for other folders. */
        if (in_path &&
            (text.len == 0 || view_is(text, ".") || view_is(text, "..")))
            return err_set(err, ERR_REJECT, "bad_field",
                           "an argument in the path may not be \"%.*s\"",
                           VIEW_ARG(text));
        add_escaped(out, text);
        return true;
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    add_escaped(out, view_of(text));
    free(text);
    return true;
}

/* Each {name} takes its argument away. */
static bool fill_template(const char *url, json_t *arguments, struct buf *out,
                          struct err *err)
{
    const char *query = url + strcspn(url, "?");
    while (*url != '\0') {
        size_t plain = strcspn(url, "{");
        buf_append(out, url, plain);
        url += plain;
        const char *close = strchr(url, '}');
        if (close == NULL) {
            buf_add(out, view_of(url));
            break;
        }
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int)(close - url - 1), url + 1);
        const json_t *value = json_object_get(arguments, name);
        if (value == NULL && url < query)
            return err_set(err, ERR_REJECT, "bad_field",
                           "the argument \"%.64s\" is missing", name);
        if (value != NULL && !add_value(out, value, url < query, err))
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
    bool first = url->len > 0 && memchr(url->data, '?', url->len) == NULL;
    json_object_foreach(arguments, name, value) {
        buf_add(url, first ? VIEW("?") : VIEW("&"));
        add_escaped(url, view_of(name));
        buf_add(url, VIEW("="));
        if (!add_value(url, value, false, err))
            return false;
        first = false;
    }
    return true;
}

static bool write_parts(const struct http_tool *tool, json_t *arguments,
                        struct buf *url, struct buf *body, struct err *err)
{
    if (!check(tool, arguments, err) ||
        !fill_template(tool->url, arguments, url, err))
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

bool request_write(const struct http_tool *tool, struct view arguments,
                   struct buf *url, struct buf *body, struct err *err)
{
    json_t *object =
        json_loadb(arguments.data, arguments.len, JSON_REJECT_DUPLICATES, NULL);
    bool good = json_is_object(object);
    if (!good)
        err_set(err, ERR_REJECT, "bad_field",
                "the arguments are not a JSON object");
    good = good && write_parts(tool, object, url, body, err);
    json_decref(object);
    return good;
}

void answer_write(struct view body, struct buf *out)
{
    json_t *value = json_loadb(body.data == NULL ? "" : body.data, body.len,
                               JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (value != NULL) {
        buf_add(out, body);
        json_decref(value);
        return;
    }
    CLEANUP(buf_finish) struct buf clean;
    buf_init(&clean, body.len * 3 + 1);
    text_add_clean(&clean, body);
    value = json_stringn(clean.data == NULL ? "" : clean.data, clean.len);
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    buf_add(out, view_of(text == NULL ? "\"\"" : text));
    free(text);
    json_decref(value);
}
