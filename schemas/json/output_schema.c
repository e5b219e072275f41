/* output_schema.c - whether a JSON Schema is one that quern can check, and
 * whether a value fits it. */
#include "schemas/json/output_schema.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/json/convert.h"
#include "schemas/message/buf.h"

/* A place in a value, or in the schema itself, for error sentences:
 * "$.items[2]". Each is on the stack of the function that looks at it. */
struct schema_path {
    const struct schema_path *outer; /* NULL: this is "$" */
    const char *name; /* of a member; NULL: it is an item, by index */
    size_t index;
    size_t depth;
};

/* One check of a schema or a value. */
struct schema_check {
    const json_t *root; /* the whole schema, in which $ref is looked up */
    size_t steps;       /* so far; at most MAX_SCHEMA_STEPS */
    const char *code;   /* of errors: bad_field, bad_output */
    struct err *err;
};

/* What the value of a word of the schema must be. */
enum keyword_form {
    FORM_ANY,
    FORM_TYPE,
    FORM_LIST,  /* not empty */
    FORM_NAMES, /* a list of texts */
    FORM_COUNT, /* 0 or more */
    FORM_NUMBER,
    FORM_SCHEMA,
    FORM_SCHEMAS, /* a list of them, not empty */
    FORM_MEMBERS, /* an object of them */
    FORM_OPEN,    /* a schema, true or false */
    FORM_REF,
};

struct keyword {
    const char *name;
    enum keyword_form form;
    /* Whether the value fits the word; NULL: the word only tells people
     * something. */
    bool (*fit)(struct schema_check *check, const struct schema_path *place,
                const json_t *schema, const json_t *word, const json_t *value);
};

/* ------------------------------------------------------------------- places */

/* The place of a member or item inside of outer. */
static struct schema_path place_inside(const struct schema_path *outer,
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

/* Sets the error: where it is wrong, and why. Always false. Of a path that is
 * too long the end is shown: that helps most. */
__attribute__((format(printf, 3, 4))) static bool
place_wrong(struct schema_check *check, const struct schema_path *place,
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

/* The same, with the sentence "is "x", must be a number". */
static bool place_wrong_value(struct schema_check *check,
                              const struct schema_path *place,
                              const json_t *value, const char *must)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(6));
    place_wrong(check, place, "is %.60s%s, must be %s",
                text ? text : "what it is",
                text && strlen(text) > 60 ? "..." : "", must);
    free(text);
    return false;
}

/* ------------------------------------------------------------- words: types */

static bool schema_is_whole_number(const json_t *value)
{
    enum { EXACT = 1 << 30 };
    double real = json_real_value(value);
    double most = (double)EXACT * (double)EXACT;
    return json_is_real(value) && real > -most && real < most &&
           (double)(int64_t)real == real;
}

bool json_is_of_type(const json_t *value, const char *type)
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

/* JSON Schema says that 1.0 is an integer, too. */
static bool is_of_type(const json_t *value, const char *type)
{
    return json_is_of_type(value, type) ||
           (strcmp(type, "integer") == 0 && schema_is_whole_number(value));
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

/* ----------------------------------------------------------- words: objects */

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

/* ------------------------------------------------------ words: lists, texts */

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

/* ----------------------------------------------------------- words: numbers */

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

/* ----------------------------------------------------- words: other schemas */

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

/* The schema that a $ref means; NULL: there is none. */
static const json_t *schema_referred(const struct schema_check *check,
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

/* ---------------------------------------------------------------- all words */

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
    { "format", FORM_ANY, NULL }, /* as the standard has it by default */
    { "description", FORM_ANY, NULL },
    { "default", FORM_ANY, NULL },
    { "examples", FORM_ANY, NULL },
    { "$schema", FORM_ANY, NULL },
    { "$id", FORM_ANY, NULL },
    { "$comment", FORM_ANY, NULL },
};
enum { KEYWORDS = sizeof(keywords) / sizeof(keywords[0]) };

/* The word of that name; NULL: there is none. */
static const struct keyword *keyword_find(const char *name)
{
    for (size_t i = 0; i < KEYWORDS; i++)
        if (strcmp(keywords[i].name, name) == 0)
            return &keywords[i];
    return NULL;
}

/* -------------------------------------------------------- checking a schema */

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

bool output_schema_check(const json_t *schema, struct err *err)
{
    struct schema_check check = { schema, 0, "bad_field", err };
    size_t bytes = json_dumpb(schema, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);

    if (bytes > MAX_SCHEMA_BYTES)
        return err_set(err, ERR_REJECT, "too_large",
                       "%zu bytes as JSON, at most %d", bytes,
                       MAX_SCHEMA_BYTES);
    return check_schema(&check, &(struct schema_path){ 0 }, schema);
}

/* --------------------------------------------------------- checking a value */

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

bool output_schema_fits(const json_t *schema, const json_t *value,
                        struct err *err)
{
    struct schema_check check = { schema, 0, "bad_output", err };
    return fits_schema(&check, &(struct schema_path){ 0 }, schema, value);
}

/* -------------------------------------------------------------- of a job */

json_t *output_schema_read(const msgpack_object *value, struct err *err)
{
    json_t *schema = json_from_value(value);

    if (output_schema_check(schema, err))
        return schema;
    err_prefix(err, "output_schema");
    json_decref(schema);
    return NULL;
}
