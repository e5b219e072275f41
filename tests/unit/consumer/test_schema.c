/* test_schema.c - JSON Schemas that can be checked, and what fits them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/answer.h"
#include "schemas/json/output_schema.h"

static json_t *parse(const char *text)
{
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    if (json == NULL)
        fail_msg("not JSON: %s", text);
    return json;
}

#define PERSON                                                                 \
    "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": \"string\"," \
    " \"minLength\": 2, \"maxLength\": 4}, \"age\": {\"type\": [\"integer\","  \
    " \"null\"], \"minimum\": 0, \"exclusiveMaximum\": 150}}, \"required\":"   \
    " [\"name\"], \"additionalProperties\": false}"
#define NODE                                                                   \
    "{\"$defs\": {\"node\": {\"type\": \"object\", \"properties\": {\"next\":" \
    " {\"$ref\": \"#/$defs/node\"}}}}, \"$ref\": \"#/$defs/node\"}"
#define CIRCLE                                                                 \
    "{\"$defs\": {\"a\": {\"anyOf\": [{\"$ref\": \"#/$defs/a\"}, {\"$ref\":"   \
    " \"#/$defs/a\"}]}}, \"$ref\": \"#/$defs/a\"}"

/* sentence: NULL, it fits; else what is said. */
static const struct {
    const char *name, *schema, *value, *sentence;
} fits[] = {
    { "all of it", PERSON, "{\"name\": \"Ann\", \"age\": 7}", NULL },
    { "null is one of the types", PERSON, "{\"name\": \"An\", \"age\": null}",
      NULL },
    { "another type", PERSON, "[]", "$: is [], must be of type \"object\"" },
    { "a member is missing", PERSON, "{}", "$: \"name\" is missing" },
    { "a member of another type", PERSON, "{\"name\": 7}",
      "$.name: is 7, must be of type \"string\"" },
    { "one that there is not", PERSON, "{\"name\": \"Ann\", \"x\": 1}",
      "$.x: there is no such member" },
    { "characters are not bytes", PERSON, "{\"name\": \"日本語字\"}", NULL },
    { "too long", PERSON, "{\"name\": \"Annie\"}",
      "$.name: has 5 characters, must have at most 4" },
    { "too short", PERSON, "{\"name\": \"A\"}", "must have at least 2" },
    { "too small", PERSON, "{\"name\": \"Ann\", \"age\": -1}",
      "$.age: is -1, must be at least 0" },
    { "the bound itself", PERSON, "{\"name\": \"Ann\", \"age\": 150}",
      "must be less than 150" },
    { "a whole number, written as a real", "{\"type\": \"integer\"}", "2.0",
      NULL },
    { "no whole number", "{\"type\": \"integer\"}", "2.5",
      "$: is 2.5, must be of type \"integer\"" },
    { "a huge real", "{\"type\": \"integer\"}", "1e300", "must be of type" },
    { "an item", "{\"items\": {\"type\": \"number\"}}", "[1, \"2\"]",
      "$[1]: is \"2\", must be of type \"number\"" },
    { "too few", "{\"minItems\": 1, \"maxItems\": 2}", "[]",
      "has 0 items, must have at least 1" },
    { "too many", "{\"minItems\": 1, \"maxItems\": 2}", "[1, 2, 3]",
      "must have at most 2" },
    { "what is no list has no items", "{\"minItems\": 1}", "7", NULL },
    { "one of them", "{\"enum\": [\"a\", null]}", "null", NULL },
    { "none of them", "{\"enum\": [\"a\", null]}", "\"b\"",
      "$: is \"b\", must be one of [\"a\",null]" },
    { "that and nothing else", "{\"const\": {\"a\": 1}}", "{\"a\": 1}", NULL },
    { "something else", "{\"const\": 1}", "2", "$: is 2, must be 1" },
    { "the second form",
      "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}", "null",
      NULL },
    { "no form", "{\"anyOf\": [{\"type\": \"string\"}, {\"type\": \"null\"}]}",
      "1", "$: is 1, must be of type \"string\", or another form" },
    { "members of a schema", "{\"additionalProperties\": {\"minimum\": 3}}",
      "{\"a\": 4, \"b\": 2}", "$.b: is 2, must be at least 3" },
    { "round and round", NODE, "{\"next\": {\"next\": {\"next\": 1}}}",
      "$.next.next.next: is 1, must be of type" },
    { "a circle ends", CIRCLE, "1", "" },
    { "no words", "{}", "[1]", NULL },
};

static void a_value_fits_or_is_told_why_not(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(fits) / sizeof(fits[0]); i++) {
        json_t *schema = parse(fits[i].schema), *value = parse(fits[i].value);
        struct err err = { 0 };
        if (!output_schema_check(schema, &err))
            fail_msg("%s: %s", fits[i].name, err.text);
        bool good = output_schema_fits(schema, value, &err);
        if (good != (fits[i].sentence == NULL) ||
            (!good && (strcmp(err.code, "bad_output") != 0 ||
                       !strstr(err.text, fits[i].sentence))))
            fail_msg("%s: %d: %s", fits[i].name, good, err.text);
        json_decref(schema);
        json_decref(value);
    }
}

static const struct {
    const char *schema, *sentence;
} bad[] = {
    { "[]", "$: is [], must be a JSON Schema" },
    { "{\"pattern\": \"a\"}", "$.pattern: is not checked here" },
    { "{\"properties\": {\"a\": {\"pattern\": \"x\"}}}",
      "$.properties.a.pattern: is not checked here" },
    { "{\"type\": \"text\"}", "$.type: is \"text\", must be" },
    { "{\"type\": [\"string\", 1]}", "$.type[1]: is 1, must be string, "
                                     "integer, number, boolean, array, object "
                                     "or null" },
    { "{\"type\": \"strange\"}", "$.type: is \"strange\", must be string, "
                                 "integer, number, boolean, array, "
                                 "object or null, or a list" },
    { "{\"enum\": []}", "$.enum: is [], must be a list" },
    { "{\"required\": [1]}", "$.required[0]: is 1, must be a text" },
    { "{\"minItems\": -1}", "$.minItems: is -1, must be a whole number" },
    { "{\"minimum\": \"1\"}", "$.minimum: is \"1\", must be a number" },
    { "{\"items\": false}", "$.items: is false, must be a JSON Schema" },
    { "{\"items\": [{}]}", "$.items: is [{}], must be a JSON Schema" },
    { "{\"anyOf\": [{\"not\": {}}]}", "$.anyOf[0].not: is not checked" },
    { "{\"$ref\": \"#/$defs/a\"}", "$.$ref: is \"#/$defs/a\", must be" },
    { "{\"$ref\": \"https://example.org/a\"}", "must be #/$defs/NAME" },
    { "{\"additionalProperties\": 1}", "must be a JSON Schema" },
};

static void what_cannot_be_checked_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        json_t *schema = parse(bad[i].schema);
        struct err err = { 0 };
        if (output_schema_check(schema, &err) ||
            strcmp(err.code, "bad_field") != 0 ||
            !strstr(err.text, bad[i].sentence))
            fail_msg("%s: %s", bad[i].schema, err.text);
        json_decref(schema);
    }
}

static void depth_is_bounded(void **state)
{
    (void)state;
    json_t *deep = json_object(), *value = json_object();
    json_t *node = parse(NODE);
    struct err err;
    for (int i = 0; i < 2 * MAX_SCHEMA_DEPTH; i++) {
        deep = json_pack("{s:o}", "items", deep);
        value = json_pack("{s:o}", "next", value);
    }
    assert_false(output_schema_check(deep, &err));
    assert_non_null(strstr(err.text, "is nested deeper than 64"));
    assert_false(output_schema_fits(node, value, &err));
    assert_non_null(strstr(err.text, "is nested deeper than 64"));
    json_decref(deep);
    json_decref(value);
    json_decref(node);
}

/* What a model writes around it. */
static const struct {
    const char *name, *text, *output; /* NULL: none */
} answers[] = {
    { "alone", " {\"name\": \"Ann\"}\n", "{\"name\": \"Ann\"}" },
    { "in a fence", "Here:\n```json\n{\"name\": \"Ann\"}\n```\nGood?",
      "{\"name\": \"Ann\"}" },
    { "behind one that does not fit",
      "Not {\"x\": 1}, but {\"name\": \"Ann\"}.", "{\"name\": \"Ann\"}" },
    { "behind what is none", "{a} [b] {\"name\": \"Ann\"}",
      "{\"name\": \"Ann\"}" },
    { "inside of another one", "{\"answer\": {\"name\": \"Ann\"}}", NULL },
    { "no JSON", "Ann", NULL },
    { "nothing", "", NULL },
    { "cut off", "{\"name\": \"Ann\"", NULL },
};

static void an_answer_is_found(void **state)
{
    (void)state;
    json_t *schema = parse(PERSON);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        struct err err = { 0 };
        json_t *output = answer_read(schema, view_of(answers[i].text), &err);
        json_t *due =
            answers[i].output == NULL ? NULL : parse(answers[i].output);
        if ((due == NULL && (output != NULL || *err.text == '\0')) ||
            (due != NULL && !json_equal(output, due)))
            fail_msg("%s: %s", answers[i].name, err.text);
        json_decref(output);
        json_decref(due);
    }
    json_decref(schema);
}

static void what_code_gives_is_a_value_or_its_text(void **state)
{
    (void)state;
    json_t *schema = parse(PERSON), *text = json_string("{\"name\": \"Ann\"}");
    struct err err;
    json_t *output = answer_value(schema, text, &err);
    assert_string_equal(json_string_value(json_object_get(output, "name")),
                        "Ann");
    json_decref(output);
    json_string_set(text, "Ann");
    assert_null(answer_value(schema, text, &err));
    assert_string_equal(err.text, "$: is \"Ann\", must be of type \"object\"");
    json_decref(schema);
    json_decref(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_fits_or_is_told_why_not),
        cmocka_unit_test(what_cannot_be_checked_is_refused),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(an_answer_is_found),
        cmocka_unit_test(what_code_gives_is_a_value_or_its_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
