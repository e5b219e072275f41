/* arguments.c - a tool call's arguments, however they are written. */
#include "consumer/conversation/arguments.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAYERS = 3 }; /* strings inside strings */

/* What stands between a fence's first line and its last. */
static struct view unfenced(struct view text)
{
    text = view_trimmed(text);
    if (!view_starts(text, "```"))
        return text;
    const char *line = memchr(text.data, '\n', text.len);
    if (!line)
        return text;
    size_t head = (size_t)(line + 1 - text.data);
    struct view body = { text.data + head, text.len - head };
    if (body.len >= 3 && memcmp(body.data + body.len - 3, "```", 3) == 0)
        body.len -= 3;
    return view_trimmed(body);
}

/* Bare newlines and tabs inside strings, which JSON does not allow, escaped. */
static void escape_controls(struct view text, struct buf *out)
{
    bool quoted = false;
    for (size_t i = 0; i < text.len; i++) {
        char byte = text.data[i];
        if (byte == '"')
            quoted = !quoted;
        if (byte == '\\' && quoted && i + 1 < text.len) {
            buf_append(out, text.data + i, 2);
            i++;
        } else if (quoted && (unsigned char)byte < 0x20) {
            buf_printf(out, "\\u%04x", (unsigned int)byte);
        } else {
            buf_append(out, &byte, 1);
        }
    }
}

static json_t *arguments_parse(struct view text)
{
    return json_loadb(text.data, text.len, JSON_DECODE_ANY | JSON_ALLOW_NUL,
                      NULL);
}

/* JSON, or JSON but for bare newlines. NULL: neither. */
static json_t *parse_loosely(struct view text)
{
    json_t *value = arguments_parse(text);
    if (value)
        return value;
    CLEANUP(buf_finish) struct buf escaped;
    buf_init(&escaped, text.len * 6 + 1);
    escape_controls(text, &escaped);
    return arguments_parse(buf_view(&escaped));
}

/* A string that holds JSON in turn is opened, some layers deep. */
static json_t *open_layers(json_t *value)
{
    for (int layer = 0; layer < MAX_LAYERS && json_is_string(value); layer++) {
        struct view inner = { json_string_value(value),
                              json_string_length(value) };
        json_t *next = parse_loosely(unfenced(inner));
        if (!json_is_object(next) && !json_is_string(next)) {
            json_decref(next);
            break;
        }
        json_decref(value);
        value = next;
    }
    return value;
}

static bool arguments_add_text(const json_t *value, struct buf *out)
{
    return buf_append(out, json_string_value(value), json_string_length(value));
}

/* The member of that name; failing that, the only text there is: models also
 * call it "input", "source" or "__arg1". */
static const json_t *find_member(json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!value && json_object_size(object) == 1)
        value = json_object_iter_value(json_object_iter(object));
    return json_is_string(value) ? value : NULL;
}

static bool arguments_read(json_t *value, const char *name, bool raw,
                           struct buf *out, struct err *err)
{
    if (json_is_object(value)) {
        const json_t *member = find_member(value, name);
        if (member)
            return arguments_add_text(member, out);
        return err_set(err, ERR_REJECT, "bad_field",
                       json_object_get(value, name)
                           ? "the argument \"%s\" must be a string"
                           : "the argument \"%s\" is missing",
                       name);
    }
    if (raw && json_is_string(value))
        return arguments_add_text(value, out);
    return err_set(err, ERR_REJECT, "bad_field",
                   "the arguments must be a JSON object like {\"%s\": \"...\"}",
                   name);
}

bool arguments_text(struct view arguments, const char *name, bool raw,
                    struct buf *out, struct err *err)
{
    struct view text = unfenced(arguments);
    if (text.len == 0)
        return err_set(err, ERR_REJECT, "bad_field",
                       "the argument \"%s\" is missing", name);
    json_t *value = parse_loosely(text);
    /* 42 and [1, 2] are JSON, and code as well. */
    bool code =
        !json_is_object(value) && !json_is_string(value) && text.data[0] != '{';
    if (raw && code) {
        json_decref(value);
        return buf_add(out, text);
    }
    value = open_layers(value);
    bool ok = arguments_read(value, name, raw, out, err);
    json_decref(value);
    return ok;
}

static bool add_object(const json_t *object, struct buf *out)
{
    char *text = json_dumps(object, JSON_COMPACT);
    bool added = text && buf_add(out, view_of(text));
    free(text);
    return added;
}

/* What is no object: nothing, or the one text that the tool wants. */
static json_t *object_of(struct view all, const char *text, const json_t *value)
{
    if (all.len == 0 || json_is_null(value))
        return json_object();
    if (!text || (!value && all.data[0] == '{'))
        return NULL;
    json_t *string = json_is_string(value)
                         ? json_string(json_string_value(value))
                         : json_stringn(all.data, all.len);
    return !string ? NULL : json_pack("{s:o}", text, string);
}

bool arguments_object(struct view arguments, const char *text, struct buf *out,
                      struct err *err)
{
    json_t *value =
        json_loadb(arguments.data, arguments.len, JSON_ALLOW_NUL, NULL);
    bool plain = json_is_object(value);
    json_decref(value);
    if (plain)
        return buf_add(out, arguments);
    struct view all = unfenced(arguments);
    value = all.len > 0 ? open_layers(parse_loosely(all)) : NULL;
    json_t *object = json_is_object(value) ? json_incref(value)
                                           : object_of(all, text, value);
    bool good = object && add_object(object, out);
    json_decref(object);
    json_decref(value);
    return good || err_set(err, ERR_REJECT, "bad_field",
                           "the arguments must be a JSON object");
}
