/* schema.c - whether a JSON Schema is one that quern can check. */
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/schema_word.h"
#include "schemas/message/buf.h"

struct schema_path place_inside(const struct schema_path *outer,
                                const char *name, size_t index)
{
    return (struct schema_path){ outer, name, index, outer->depth + 1 };
}

static void write_place(struct buf *out, const struct schema_path *place)
{
    if (!place->outer) {
        buf_add(out, VIEW("$"));
        return;
    }
    write_place(out, place->outer);
    if (place->name)
        buf_printf(out, ".%.64s", place->name);
    else
        buf_printf(out, "[%zu]", place->index);
}

/* Of a path that is too long the end is shown: that helps most. */
bool place_wrong(struct schema_check *check, const struct schema_path *place,
                 const char *format, ...)
{
    enum { MOST = 100 };
    CLEANUP(buf_finish) struct buf path;
    char text[200];
    va_list arguments;
    buf_init(&path, 16 << 10);
    write_place(&path, place);
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    size_t cut = path.len > MOST ? path.len - MOST : 0;
    return err_set(check->err, ERR_REJECT, check->code, "%s%.*s: %s",
                   cut > 0 ? "..." : "", (int)(path.len - cut), path.data + cut,
                   text);
}

bool place_wrong_value(struct schema_check *check,
                       const struct schema_path *place, const json_t *value,
                       const char *must)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(6));
    place_wrong(check, place, "is %.60s%s, must be %s",
                text ? text : "what it is",
                text && strlen(text) > 60 ? "..." : "", must);
    free(text);
    return false;
}

/* ------------------------------------------------------------------- words */

static bool check_schema(struct schema_check *check,
                         const struct schema_path *place, const json_t *schema);

static bool is_type(const json_t *type)
{
    static const char *const types[] = { "string",  "integer", "number",
                                         "boolean", "array",   "object",
                                         "null" };
    const char *name = json_string_value(type);
    for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i], name) == 0)
            return true;
    return false;
}

#define A_TYPE "string, integer, number, boolean, array, object or null"

static bool check_list(struct schema_check *check,
                       const struct schema_path *place, const json_t *word,
                       enum keyword_form form)
{
    size_t i;
    json_t *one;
    if (!json_is_array(word) ||
        (form != FORM_NAMES && json_array_size(word) == 0))
        return place_wrong_value(check, place, word, "a list");
    json_array_foreach(word, i, one) {
        struct schema_path there = place_inside(place, NULL, i);
        if (form == FORM_NAMES && !json_is_string(one))
            return place_wrong_value(check, &there, one, "a text");
        if (form == FORM_TYPE && !is_type(one))
            return place_wrong_value(check, &there, one, A_TYPE);
        if (form == FORM_SCHEMAS && !check_schema(check, &there, one))
            return false;
    }
    return true;
}

static bool check_members(struct schema_check *check,
                          const struct schema_path *place, const json_t *word)
{
    const char *name;
    json_t *of;
    if (!json_is_object(word))
        return place_wrong_value(check, place, word, "an object");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)word, name, of) {
        struct schema_path there = place_inside(place, name, 0);
        if (!check_schema(check, &there, of))
            return false;
    }
    return true;
}

static bool check_word(struct schema_check *check,
                       const struct schema_path *place, enum keyword_form form,
                       const json_t *word)
{
    switch (form) {
    case FORM_ANY:
        return true;
    case FORM_TYPE:
        if (!json_is_array(word))
            return is_type(word) ||
                   place_wrong_value(check, place, word, A_TYPE ", or a list");
        return check_list(check, place, word, form);
    case FORM_LIST:
    case FORM_NAMES:
    case FORM_SCHEMAS:
        return check_list(check, place, word, form);
    case FORM_COUNT:
        return (json_is_integer(word) && json_integer_value(word) >= 0) ||
               place_wrong_value(check, place, word,
                                 "a whole number, 0 or more");
    case FORM_NUMBER:
        return json_is_number(word) ||
               place_wrong_value(check, place, word, "a number");
    case FORM_SCHEMA:
        return check_schema(check, place, word);
    case FORM_MEMBERS:
        return check_members(check, place, word);
    case FORM_OPEN:
        return json_is_boolean(word) || check_schema(check, place, word);
    case FORM_REF:
        return json_is_object(schema_referred(check, word)) ||
               place_wrong_value(check, place, word,
                                 "#/$defs/NAME of a schema that is there");
    }
    return false;
}

static bool check_schema(struct schema_check *check,
                         const struct schema_path *place, const json_t *schema)
{
    const char *name;
    json_t *word;
    if (!json_is_object(schema))
        return place_wrong_value(check, place, schema,
                                 "a JSON Schema, an object");
    if (place->depth > MAX_SCHEMA_DEPTH)
        return place_wrong(check, place, "is nested deeper than %d",
                           MAX_SCHEMA_DEPTH);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)schema, name, word) {
        struct schema_path there = place_inside(place, name, 0);
        const struct keyword *keyword = keyword_find(name);
        if (!keyword)
            return place_wrong(
                check, &there,
                "is not checked here, so it may not be asked for");
        if (!check_word(check, &there, keyword->form, word))
            return false;
    }
    return true;
}

bool schema_check(const json_t *schema, struct err *err)
{
    struct schema_check check = { schema, 0, "bad_field", err };
    return check_schema(&check, &(struct schema_path){ 0 }, schema);
}
