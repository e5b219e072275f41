/* body.c - the JSON body of a request of OpenAI's APIs, read strictly. */
#include "producer/gateway/body/body.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/buf.h"

enum { MOST_WORDS_BYTES = 300, MOST_NAME_BYTES = 64 };

/* ---------------------------------------------------------------- refusing */

static void body_add_path(const struct body_value *value, struct buf *out)
{
    if (!value || !value->outer)
        return;
    body_add_path(value->outer, out);
    if (value->name)
        buf_printf(out, "%s%s", out->len > 0 ? "." : "", value->name);
    else
        buf_printf(out, "[%zu]", value->index);
}

/* Appends as much of the sentence as fits: it may repeat what a client sent. */
__attribute__((format(printf, 3, 0))) static void
body_say(struct body_error *error, const char *path, const char *format,
         va_list arguments)
{
    int len = snprintf(error->message, sizeof(error->message), "%s%s", path,
                       path[0] != '\0' ? " " : "");
    size_t at = (size_t)len; /* a path is shorter than a message */

    vsnprintf(error->message + at, sizeof(error->message) - at, format,
              arguments);
    struct view whole =
        view_head(view_of(error->message), sizeof(error->message) - 1);
    while (!view_is_utf8(whole)) /* snprintf has cut a character in two */
        whole.len--;
    error->message[whole.len] = '\0';
}

bool body_refuse(const struct body_value *value, const char *code,
                 const char *format, ...)
{
    struct body_error *error = value->error;
    CLEANUP(buf_finish) struct buf path = { .max = sizeof(error->param) - 1 };
    va_list arguments;

    body_add_path(value, &path);
    *error = (struct body_error){ .status = 400,
                                  .type = "invalid_request_error",
                                  .code = code };
    if (path.len > 0)
        memcpy(error->param, path.data, path.len);
    va_start(arguments, format);
    body_say(error, error->param, format, arguments);
    va_end(arguments);
    return false;
}

static const char *body_type(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        break;
    }
    return "null";
}

bool body_refuse_type(const struct body_value *value, const char *expected)
{
    return body_refuse(value, "invalid_type", "is %s, must be %s",
                       value->json ? body_type(value->json) : "null", expected);
}

/* ----------------------------------------------------------------- parsing */

/* How deep it is nested, and about how many values it has. */
struct body_shape {
    size_t depth, values;
};

/* Before jansson parses, which takes time and memory for each value: a text
 * that is no JSON has some shape, too. */
static struct body_shape body_shape(struct view bytes)
{
    size_t depth = 0, most = 0, values = 1;
    bool in_string = false;

    for (size_t i = 0; i < bytes.len; i++) {
        char byte = bytes.data[i];

        if (in_string && byte == '\\')
            i++;
        else if (byte == '"')
            in_string = !in_string;
        else if (!in_string && (byte == '{' || byte == '['))
            most = ++depth > most ? depth : most;
        else if (!in_string && (byte == '}' || byte == ']') && depth > 0)
            depth--;
        else if (!in_string && (byte == ',' || byte == ':'))
            values++;
    }
    return (struct body_shape){ most, values };
}

/* Why a text is no body, in words of its own where jansson's are for those who
 * call jansson. */
static void body_refuse_text(const struct body_value *body,
                             const json_error_t *fault)
{
    enum json_error_code code = json_error_code(fault);

    if (code == json_error_null_character ||
        code == json_error_null_byte_in_key)
        body_refuse(body, "invalid_json",
                    "the body has the character \\u0000 in line %d, which no "
                    "text may have",
                    fault->line);
    else if (code == json_error_duplicate_key)
        body_refuse(body, "invalid_json",
                    "the body has a member twice in one object: line %d, "
                    "column %d",
                    fault->line, fault->column);
    else
        body_refuse(body, "invalid_json",
                    "the body is not JSON: line %d, column %d: %s", fault->line,
                    fault->column, fault->text);
}

json_t *body_parse(struct view bytes, struct body_error *error)
{
    const struct body_value body = { .error = error };
    json_error_t fault;
    struct body_shape shape = body_shape(bytes);
    json_t *json;

    if (shape.depth > BODY_MAX_DEPTH) {
        body_refuse(&body, "invalid_json",
                    "the body is nested %zu deep, at most %d", shape.depth,
                    BODY_MAX_DEPTH);
        return NULL;
    }
    if (shape.values > BODY_MAX_VALUES) {
        body_refuse(&body, "invalid_json",
                    "the body has about %zu values, at most %d", shape.values,
                    BODY_MAX_VALUES);
        return NULL;
    }
    json = json_loadb(bytes.data ? bytes.data : "", bytes.len,
                      JSON_REJECT_DUPLICATES, &fault);
    if (json_is_object(json))
        return json;
    if (json)
        body_refuse(&body, "invalid_json",
                    "the body is %s, must be a JSON object", body_type(json));
    else
        body_refuse_text(&body, &fault);
    json_decref(json);
    return NULL;
}

/* ------------------------------------------------------------------ walking
 */

struct body_value body_root(json_t *json, struct body_error *error)
{
    return (struct body_value){ .json = json, .error = error };
}

struct body_value body_member(const struct body_value *object, const char *name)
{
    json_t *json = json_object_get(object->json, name);

    return (struct body_value){ .outer = object,
                                .name = name,
                                .json = json_is_null(json) ? NULL : json,
                                .error = object->error };
}

struct body_value body_item(const struct body_value *list, size_t index)
{
    json_t *json = json_array_get(list->json, index);

    return (struct body_value){ .outer = list,
                                .index = index,
                                .json = json_is_null(json) ? NULL : json,
                                .error = list->error };
}

bool body_require(const struct body_value *object, const char *name)
{
    struct body_value member = body_member(object, name);

    return member.json ||
           body_refuse(&member, "missing_required_parameter", "is required");
}

static bool body_is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

bool body_check_names(const struct body_value *object, const char *const *names)
{
    const char *name;
    json_t *json;

    json_object_foreach(object->json, name, json) {
        struct body_value member = { .outer = object,
                                     .name = name,
                                     .error = object->error };

        if (json_is_null(json) || body_is_one_of(name, names))
            continue;
        if (strlen(name) > MOST_NAME_BYTES)
            return body_refuse(object, "unknown_parameter",
                               "has a member whose name has %zu bytes and "
                               "begins with \"%.*s\": it is not known here",
                               strlen(name),
                               VIEW_ARG(view_head(view_of(name), 32)));
        return body_refuse(&member, "unknown_parameter",
                           "is not known here: it may be misspelt");
    }
    return true;
}

/* ------------------------------------------------------------------- values */

size_t body_characters(struct view text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += ((unsigned char)text.data[i] & 0xc0) != 0x80;
    return count;
}

struct view body_string(const json_t *json)
{
    return (struct view){ json_string_value(json), json_string_length(json) };
}

bool body_text(const struct body_value *object, const char *name, size_t max,
               struct view *text)
{
    struct body_value member = body_member(object, name);
    struct view found = body_string(member.json);
    size_t count;

    if (!member.json)
        return true;
    if (!json_is_string(member.json))
        return body_refuse_type(&member, "a string");
    count = found.len > max ? body_characters(found) : 0;
    if (count > max)
        return body_refuse(&member, "string_above_max_length",
                           "has %zu characters, at most %zu", count, max);
    *text = found;
    return true;
}

bool body_flag(const struct body_value *object, const char *name, bool *flag)
{
    struct body_value member = body_member(object, name);

    if (!member.json)
        return true;
    if (!json_is_boolean(member.json))
        return body_refuse_type(&member, "true or false");
    *flag = json_is_true(member.json);
    return true;
}

bool body_integer(const struct body_value *object, const char *name,
                  json_int_t least, json_int_t most, json_int_t *integer)
{
    struct body_value member = body_member(object, name);
    json_int_t found = json_integer_value(member.json);

    if (!member.json)
        return true;
    if (!json_is_integer(member.json))
        return body_refuse_type(&member, "an integer");
    if (found < least || found > most)
        return body_refuse(&member, "invalid_value",
                           "is %lld, must be from %lld to %lld",
                           (long long)found, (long long)least, (long long)most);
    *integer = found;
    return true;
}

bool body_number(const struct body_value *object, const char *name,
                 double least, double most, double *number)
{
    struct body_value member = body_member(object, name);
    double found = json_number_value(member.json);

    if (!member.json)
        return true;
    if (!json_is_number(member.json))
        return body_refuse_type(&member, "a number");
    if (found < least || found > most)
        return body_refuse(&member, "invalid_value",
                           "is %g, must be from %g to %g", found, least, most);
    *number = found;
    return true;
}

bool body_word(const struct body_value *object, const char *name,
               const char *const *words, const char **word)
{
    struct body_value member = body_member(object, name);
    struct view found = body_string(member.json);
    CLEANUP(buf_finish) struct buf all = { .max = MOST_WORDS_BYTES };

    if (!member.json)
        return true;
    if (!json_is_string(member.json))
        return body_refuse_type(&member, "a string");
    for (; *words; words++) {
        if (view_is(found, *words)) {
            *word = *words;
            return true;
        }
        buf_printf(&all, "%s%s", all.len > 0 ? ", " : "", *words);
    }
    found = view_head(found, 64);
    return body_refuse(&member, "invalid_value",
                       "is \"%.*s\", must be one of %.*s", VIEW_ARG(found),
                       VIEW_ARG(buf_view(&all)));
}

bool body_object(const struct body_value *object, const char *name,
                 struct body_value *found)
{
    *found = body_member(object, name);
    return !found->json || json_is_object(found->json) ||
           body_refuse_type(found, "an object");
}

bool body_list(const struct body_value *object, const char *name, size_t max,
               struct body_value *found)
{
    *found = body_member(object, name);
    if (!found->json)
        return true;
    if (!json_is_array(found->json))
        return body_refuse_type(found, "a list");
    return json_array_size(found->json) <= max ||
           body_refuse(found, "invalid_value", "has %zu items, at most %zu",
                       json_array_size(found->json), max);
}
