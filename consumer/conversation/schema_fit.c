/* schema_fit.c - whether a value fits a JSON Schema. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/schema_word.h"
#include "schemas/message/buf.h"

/* ------------------------------------------------------------------- types */

static bool schema_is_whole_number(const json_t *value)
{
    enum { EXACT = 1 << 30 };
    double real = json_real_value(value);
    double most = (double)EXACT * (double)EXACT;
    return json_is_integer(value) ||
           (json_is_real(value) && real > -most && real < most &&
            (double)(int64_t)real == real);
}

static bool is_of_type(const json_t *value, const char *type)
{
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "integer") == 0)
        return schema_is_whole_number(value);
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    if (strcmp(type, "object") == 0)
        return json_is_object(value);
    return json_is_null(value);
}

static bool fits_schema(struct schema_check *check,
                        const struct schema_path *place, const json_t *schema,
                        const json_t *value);

static bool fit_type(struct schema_check *check,
                     const struct schema_path *place, const json_t *schema,
                     const json_t *word, const json_t *value)
{
    size_t i;
    json_t *one;
    (void)schema;
    if (json_is_string(word) && is_of_type(value, json_string_value(word)))
        return true;
    json_array_foreach(word, i, one)
        if (is_of_type(value, json_string_value(one)))
            return true;
    CLEANUP(cleanup_free)
    char *types = json_dumps(word, JSON_COMPACT | JSON_ENCODE_ANY);
    char must[100];
    snprintf(must, sizeof(must), "of type %.80s", types);
    return place_wrong_value(check, place, value, must);
}

static bool fit_enum(struct schema_check *check,
                     const struct schema_path *place, const json_t *schema,
                     const json_t *word, const json_t *value)
{
    size_t i;
    json_t *one;
    (void)schema;
    json_array_foreach(word, i, one)
        if (json_equal(one, value))
            return true;
    CLEANUP(cleanup_free) char *all = json_dumps(word, JSON_COMPACT);
    char must[120];
    snprintf(must, sizeof(must), "one of %.100s", all);
    return place_wrong_value(check, place, value, must);
}

static bool fit_const(struct schema_check *check,
                      const struct schema_path *place, const json_t *schema,
                      const json_t *word, const json_t *value)
{
    (void)schema;
    if (json_equal(word, value))
        return true;
    CLEANUP(cleanup_free)
    char *only = json_dumps(word, JSON_COMPACT | JSON_ENCODE_ANY);
    char must[100];
    snprintf(must, sizeof(must), "%.80s", only);
    return place_wrong_value(check, place, value, must);
}

/* ----------------------------------------------------------------- objects */

static bool fit_properties(struct schema_check *check,
                           const struct schema_path *place,
                           const json_t *schema, const json_t *word,
                           const json_t *value)
{
    const char *name;
    json_t *of;
    (void)schema;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)word, name, of) {
        const json_t *member = json_object_get(value, name);
        struct schema_path there = place_inside(place, name, 0);
        if (member && !fits_schema(check, &there, of, member))
            return false;
    }
    return true;
}

static bool fit_required(struct schema_check *check,
                         const struct schema_path *place, const json_t *schema,
                         const json_t *word, const json_t *value)
{
    size_t i;
    json_t *name;
    (void)schema;
    json_array_foreach(word, i, name)
        if (json_is_object(value) &&
            !json_object_get(value, json_string_value(name)))
            return place_wrong(check, place, "\"%.64s\" is missing",
                               json_string_value(name));
    return true;
}

static bool fit_additional(struct schema_check *check,
                           const struct schema_path *place,
                           const json_t *schema, const json_t *word,
                           const json_t *value)
{
    const json_t *known = json_object_get(schema, "properties");
    const char *name;
    json_t *member;
    if (json_is_true(word))
        return true;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)value, name, member) {
        struct schema_path there = place_inside(place, name, 0);
        if (json_object_get(known, name))
            continue;
        if (json_is_false(word))
            return place_wrong(check, &there, "there is no such member");
        if (!fits_schema(check, &there, word, member))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------ lists, texts */

static bool fit_items(struct schema_check *check,
                      const struct schema_path *place, const json_t *schema,
                      const json_t *word, const json_t *value)
{
    size_t i;
    json_t *item;
    (void)schema;
    json_array_foreach(value, i, item) {
        struct schema_path there = place_inside(place, NULL, i);
        if (!fits_schema(check, &there, word, item))
            return false;
    }
    return true;
}

static size_t characters(const json_t *text)
{
    const char *at = json_string_value(text);
    size_t count = 0;
    for (size_t i = 0; i < json_string_length(text); i++)
        count += (at[i] & 0xc0) != 0x80;
    return count;
}

static bool fit_size(struct schema_check *check,
                     const struct schema_path *place, size_t size,
                     const json_t *word, bool most, const char *of)
{
    size_t bound = (size_t)json_integer_value(word);
    return (most ? size <= bound : size >= bound) ||
           place_wrong(check, place, "has %zu %s, must have at %s %zu", size,
                       of, most ? "most" : "least", bound);
}

#define SIZE(name, holds, size, most, of)                                      \
    static bool name(struct schema_check *check,                               \
                     const struct schema_path *place, const json_t *schema,    \
                     const json_t *word, const json_t *value)                  \
    {                                                                          \
        (void)schema;                                                          \
        return !holds(value) ||                                                \
               fit_size(check, place, size(value), word, most, of);            \
    }
SIZE(fit_min_items, json_is_array, json_array_size, false, "items")
SIZE(fit_max_items, json_is_array, json_array_size, true, "items")
SIZE(fit_min_length, json_is_string, characters, false, "characters")
SIZE(fit_max_length, json_is_string, characters, true, "characters")

/* ----------------------------------------------------------------- numbers */

#define BOUND(name, sign, words)                                               \
    static bool name(struct schema_check *check,                               \
                     const struct schema_path *place, const json_t *schema,    \
                     const json_t *word, const json_t *value)                  \
    {                                                                          \
        char must[64];                                                         \
        (void)schema;                                                          \
        if (!json_is_number(value) || json_number_value(value)                 \
                                          sign json_number_value(word))        \
            return true;                                                       \
        snprintf(must, sizeof(must), words " %g", json_number_value(word));    \
        return place_wrong_value(check, place, value, must);                   \
    }
BOUND(fit_minimum, >=, "at least")
BOUND(fit_maximum, <=, "at most")
BOUND(fit_above, >, "more than")
BOUND(fit_below, <, "less than")

/* ------------------------------------------------------------ other schemas */

static bool fit_any(struct schema_check *check, const struct schema_path *place,
                    const json_t *schema, const json_t *word,
                    const json_t *value)
{
    size_t i;
    json_t *one;
    struct err first = { 0 }, *err = check->err;
    (void)schema;
    json_array_foreach(word, i, one) {
        struct err other = { 0 };
        check->err = i == 0 ? &first : &other;
        bool fits = fits_schema(check, place, one, value);
        check->err = err;
        if (fits)
            return true;
    }
    return err_set(err, ERR_REJECT, check->code, "%.220s, or another form",
                   first.text);
}

const json_t *schema_referred(const struct schema_check *check,
                              const json_t *word)
{
    static const char *const lists[] = { "$defs", "definitions" };
    const char *name = json_string_value(word);
    for (size_t i = 0; name && i < 2; i++) {
        size_t len = strlen(lists[i]);
        if (strncmp(name, "#/", 2) == 0 &&
            strncmp(name + 2, lists[i], len) == 0 && name[2 + len] == '/')
            return json_object_get(json_object_get(check->root, lists[i]),
                                   name + 3 + len);
    }
    return NULL;
}

static bool fit_ref(struct schema_check *check, const struct schema_path *place,
                    const json_t *schema, const json_t *word,
                    const json_t *value)
{
    struct schema_path there = *place;
    (void)schema;
    there.depth++; /* $ref may lead round in a circle: the depth ends it */
    return fits_schema(check, &there, schema_referred(check, word), value);
}

/* ---------------------------------------------------------------- all of it */

static const struct keyword keywords[] = {
    { "type", FORM_TYPE, fit_type },
    { "enum", FORM_LIST, fit_enum },
    { "const", FORM_ANY, fit_const },
    { "properties", FORM_MEMBERS, fit_properties },
    { "required", FORM_NAMES, fit_required },
    { "additionalProperties", FORM_OPEN, fit_additional },
    { "items", FORM_SCHEMA, fit_items },
    { "minItems", FORM_COUNT, fit_min_items },
    { "maxItems", FORM_COUNT, fit_max_items },
    { "minLength", FORM_COUNT, fit_min_length },
    { "maxLength", FORM_COUNT, fit_max_length },
    { "minimum", FORM_NUMBER, fit_minimum },
    { "maximum", FORM_NUMBER, fit_maximum },
    { "exclusiveMinimum", FORM_NUMBER, fit_above },
    { "exclusiveMaximum", FORM_NUMBER, fit_below },
    { "anyOf", FORM_SCHEMAS, fit_any },
    { "$ref", FORM_REF, fit_ref },
    { "$defs", FORM_MEMBERS, NULL },
    { "definitions", FORM_MEMBERS, NULL },
    { "title", FORM_ANY, NULL },
    { "description", FORM_ANY, NULL },
    { "default", FORM_ANY, NULL },
    { "examples", FORM_ANY, NULL },
    { "$schema", FORM_ANY, NULL },
    { "$id", FORM_ANY, NULL },
    { "$comment", FORM_ANY, NULL },
};
enum { KEYWORDS = sizeof(keywords) / sizeof(keywords[0]) };

const struct keyword *keyword_find(const char *name)
{
    for (size_t i = 0; i < KEYWORDS; i++)
        if (strcmp(keywords[i].name, name) == 0)
            return &keywords[i];
    return NULL;
}

static bool fits_schema(struct schema_check *check,
                        const struct schema_path *place, const json_t *schema,
                        const json_t *value)
{
    if (place->depth > MAX_SCHEMA_DEPTH)
        return place_wrong(check, place, "is nested deeper than %d",
                           MAX_SCHEMA_DEPTH);
    for (size_t i = 0; i < KEYWORDS; i++) {
        const struct keyword *keyword = &keywords[i];
        const json_t *word = json_object_get(schema, keyword->name);
        if (!word || !keyword->fit)
            continue;
        if (++check->steps > MAX_SCHEMA_STEPS)
            return place_wrong(check, place,
                               "takes more than %d steps to check",
                               MAX_SCHEMA_STEPS);
        if (!keyword->fit(check, place, schema, word, value))
            return false;
    }
    return true;
}

bool schema_fits(const json_t *schema, const json_t *value, struct err *err)
{
    struct schema_check check = { schema, 0, "bad_output", err };
    return fits_schema(&check, &(struct schema_path){ 0 }, schema, value);
}
