/* test_convert.c - MessagePack to JSON and back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/check.h"
#include "tests/unit/message/notation.h"
#include "tests/unit/message/schemas.h"

static const struct {
    const char *what;
    struct view bytes;
    const char *json;
} values[] = {
    { "nil", VIEW_INIT("\xc0"), "null" },
    { "a boolean", VIEW_INIT("\xc3"), "true" },
    { "a small integer", VIEW_INIT("\x05"), "5" },
    { "a negative integer", VIEW_INIT("\xd0\x80"), "-128" },
    { "2^63-1", VIEW_INIT("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"),
      "9223372036854775807" },
    { "2^63", VIEW_INIT("\xcf\x80\0\0\0\0\0\0\0"), "9.2233720368547758e18" },
    { "a real", VIEW_INIT("\xcb\x3f\xe0\0\0\0\0\0\0"), "0.5" },
    { "NaN", VIEW_INIT("\xcb\x7f\xf8\0\0\0\0\0\0"), "null" },
    { "infinity", VIEW_INIT("\xca\x7f\x80\0\0"), "null" },
    { "text", VIEW_INIT("\xa6h\xc3\xa9llo"), "\"h\xc3\xa9llo\"" },
    { "empty text", VIEW_INIT("\xa0"), "\"\"" },
    { "text with NUL",
      VIEW_INIT("\xa2"
                "a\0"),
      "\"a\\u0000\"" },
    { "text that is not UTF-8",
      VIEW_INIT("\xa4"
                "a\xff\xe2\x82"),
      "\"a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"" },
    { "bytes that are UTF-8", VIEW_INIT("\xc4\x02hi"), "\"hi\"" },
    { "no bytes", VIEW_INIT("\xc4\x00"), "\"\"" },
    { "bytes", VIEW_INIT("\xc4\x03\xff\0\x01"), "{\"base64\": \"/wAB\"}" },
    { "one byte", VIEW_INIT("\xc4\x01\xff"), "{\"base64\": \"/w==\"}" },
    { "an array", VIEW_INIT("\x92\x01\xc0"), "[1, null]" },
    { "a map",
      VIEW_INIT("\x82\xa1z\x01\xa1"
                "a\x90"),
      "{\"z\": 1, \"a\": []}" },
    { "a key with NUL", VIEW_INIT("\x81\xa2k\0\x01"), "{\"k\\u0000\": 1}" },
    { "a key that is not UTF-8", VIEW_INIT("\x81\xa1\xff\x01"),
      "{\"\xef\xbf\xbd\": 1}" },
};

static void test_values_become_json(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        const msgpack_object *value;
        json_t *json;
        char *text;

        assert_true(value_decode(values[i].bytes, &value, &arena, NULL));
        json = json_from_value(value);
        text = json_dumps(json, JSON_ENCODE_ANY);
        if (text == NULL || strcmp(text, values[i].json) != 0)
            fail_msg("%s: %s", values[i].what, text);
        free(text);
        json_decref(json);
    }
}

static void test_json_becomes_the_same_value_again(void **state)
{
    static const char *const rows[] = {
        "null",
        "true",
        "-9223372036854775808",
        "9223372036854775807",
        "0.5",
        "'h\\u00e9llo'",
        "[]",
        "{}",
        "{'a':[1,{'b':null}],'c':''}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf bytes = bytes_of(rows[i]);
        CLEANUP(buf_finish) struct buf again = { .max = 1000 };
        CLEANUP(arena_finish) struct arena arena = { 0 };
        const msgpack_object *value;
        json_t *json;

        assert_true(value_decode(buf_view(&bytes), &value, &arena, NULL));
        json = json_from_value(value);
        assert_true(json_to_value(json, &value, &arena, NULL));
        json_decref(json); /* the value does not borrow from it */
        assert_true(value_encode(value, &again, NULL));
        if (!view_equal(buf_view(&bytes), buf_view(&again)))
            fail_msg("%s", rows[i]);
    }
}

static void test_text_is_that_of_jansson(void **state)
{
    static const char *const rows[] = {
        "null",
        "-9223372036854775808",
        "[0.1,1.0,1e300,-0.0,0.0,-1.0,-2.5,999999.0,1000000.0,1e16]",
        "[0,-1,10,9223372036854775807]",
        "\"\\\" \\\\ / \\b\\f\\n\\r\\t \\u0000\\u001f\"",
        "\"\x7f h\xc3\xa9\xe2\x80\xa8\"",
        "{}",
        "[[],[{}],\"\"]",
        "{\"a\":{\"\":true,\"b\\n\":[false,null]},\"c\":1}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf text = { .max = 1000 };
        json_t *json =
            json_loads(rows[i], JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
        char *same = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

        assert_true(json_add_text(&text, json));
        if (!view_is(buf_view(&text), same))
            fail_msg("%s, not %.*s", same, VIEW_ARG(buf_view(&text)));
        free(same);
        json_decref(json);
    }
}

static void test_text_that_is_not_utf8_is_refused(void **state)
{
    CLEANUP(buf_finish) struct buf text = { .max = 1000 };
    json_t *json = json_pack("{s:o}", "a", json_string_nocheck("\xff"));

    (void)state;
    assert_false(json_add_text(&text, json));
    json_decref(json);
}

static void test_text_is_bounded(void **state)
{
    CLEANUP(buf_finish) struct buf text = { .max = 5 };
    json_t *json = json_string("four");

    (void)state;
    assert_false(json_add_text(&text, json));
    json_decref(json);
}

static bool takes_depth(char container, int depth)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;
    json_t *json = json_null();
    bool ok;

    for (int i = 0; i < depth; i++)
        json = container == '[' ? json_pack("[o]", json)
                                : json_pack("{s:o}", "k", json);
    ok = json_to_value(json, &value, &arena, NULL);
    json_decref(json);
    return ok;
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    assert_true(takes_depth('[', CHECK_MAX_DEPTH));
    assert_false(takes_depth('[', CHECK_MAX_DEPTH + 1));
    assert_true(takes_depth('{', CHECK_MAX_DEPTH));
    assert_false(takes_depth('{', CHECK_MAX_DEPTH + 1));
}

#define ID "'id':'019aa5c8-1b2c-7000-8000-000000000000'"

static const struct {
    const char *what;
    const struct schema *schema;
    const char *json;
    const char *text; /* NULL: accepted */
} messages[] = {
    { "a job", &schema_job, "{'v':1," ID ",'prompt':'hi'}", NULL },
    { "a job that leaves v out", &schema_job, "{" ID ",'prompt':'hi'}", NULL },
    { "a job of another version", &schema_job, "{'v':2," ID "}",
      "v is 2, must be 1" },
    { "a version as text", &schema_job, "{'v':'1'," ID "}",
      "v is text, must be 1" },
    { "not an object", &schema_job, "[1]",
      "the message is an array, must be a map" },
    { "a member nobody knows", &schema_job, "{" ID ",'promt':'hi'}",
      "promt is not a member of job" },
    { "an inner member nobody knows", &schema_job,
      "{" ID ",'files':[{'name':'a','size':3}]}",
      "files[0].size is not a member of job_file" },
    { "any value is free", &schema_job,
      "{" ID ",'messages':[{'role':'user','x':{'y':[1]}}]}", NULL },
    { "a type", &schema_job, "{" ID ",'limits':{'cell_ms':'5'}}",
      "limits.cell_ms is text, must be an integer" },
    { "a real for an integer", &schema_job, "{" ID ",'limits':{'cell_ms':5.5}}",
      "limits.cell_ms is a real, must be an integer" },
    { "a list that is an object", &schema_job, "{" ID ",'cells':{'a':1}}",
      "cells is a map, must be an array" },
    { "a struct that is a list", &schema_job, "{" ID ",'limits':[1]}",
      "limits is an array, must be a map" },
    { "null is absent", &schema_job, "{" ID ",'limits':null}", NULL },
    { "bytes for text that takes them", &schema_cell,
      "{'stdout':{'base64':'/wAB'}}", NULL },
    { "bytes for text that does not", &schema_job,
      "{" ID ",'prompt':{'base64':'/wAB'}}", "prompt is bytes, must be text" },
    { "broken base64", &schema_cell, "{'stdout':{'base64':'/wA'}}",
      "stdout is not well-formed base64" },
    { "no bytes in base64", &schema_cell, "{'stdout':{'base64':''}}", NULL },
    { "not base64", &schema_cell, "{'stdout':{'base64':'****'}}",
      "stdout is not well-formed base64" },
    { "base64 with blanks", &schema_cell, "{'stdout':{'base64':' /wAB   '}}",
      "stdout is not well-formed base64" },
    { "base64 with loose bits", &schema_cell, "{'stdout':{'base64':'/x=='}}",
      "stdout is not well-formed base64" },
    { "base64 with padding inside", &schema_cell,
      "{'stdout':{'base64':'/w==/w=='}}", "stdout is not well-formed base64" },
    { "base64 of nothing but padding", &schema_cell,
      "{'stdout':{'base64':'===='}}", "stdout is not well-formed base64" },
    { "an object that only looks like bytes", &schema_cell,
      "{'stdout':{'base64':'/w==','x':1}}",
      "stdout is a map, must be text or bytes" },
    { "bytes in a map", &schema_frame,
      "{'type':'display','bundle':{'image/png':{'base64':'iVBORw=='}}}", NULL },
    { "broken base64 in a map", &schema_frame,
      "{'type':'display','bundle':{'image/png':{'base64':'*'}}}",
      "bundle.image/png is not well-formed base64" },
};

static void test_messages_are_read_strictly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        CLEANUP(cleanup_free) char *text = strdup(messages[i].json);
        CLEANUP(arena_finish) struct arena arena = { 0 };
        char *message = arena_alloc(&arena, messages[i].schema->size);
        struct err err = { 0 };
        json_t *json;
        bool ok;

        for (char *c = text; *c != '\0'; c++)
            *c = *c == '\'' ? '"' : *c;
        json = json_loads(text, 0, NULL);
        assert_non_null(json);
        ok = json_to_message(messages[i].schema, json, message, &arena, NULL,
                             &err);
        json_decref(json);
        if (ok != (messages[i].text == NULL) ||
            (!ok && strcmp(err.text, messages[i].text) != 0))
            fail_msg("%s: %s", messages[i].what, ok ? "accepted" : err.text);
    }
}

static void test_a_message_survives_json(void **state)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct display_part part = {
        .name = VIEW("display-1.html"),
        .mime = VIEW("text/html"),
        .blob = VIEW("0123456789abcdef0123456789abcdef"
                     "0123456789abcdef0123456789abcdef"),
    };
    struct display displays[] = {
        { .text = VIEW("<Figure>") },
        { .text = VIEW("\xff\xfe"), .parts = { &part, 1 } },
    };
    struct cell cells[] = { {
        .code = VIEW("print('\xc3\xa9')"),
        .status = CELL_ERROR,
        .out = VIEW("\xff\x00 raw"),
        .out_bytes = UINT64_C(1) << 40,
        .error = { .name = VIEW("ValueError") },
        .displays = { displays, 2 },
    } };
    struct pair metadata[] = { { VIEW("user"), VIEW("42") } };
    struct result result = {
        .id = VIEW("019aa5c8-1b2c-7000-8000-000000000000"),
        .status = STATE_COMPLETED,
        .answer = VIEW("done"),
        .cells = { cells, 1 },
        .metadata = { metadata, 1 },
    };
    struct result again;
    const struct cell *cell;
    const struct display *display;
    json_t *json = json_from_message(&schema_result, &result);

    (void)state;
    assert_non_null(json);
    assert_true(
        json_to_message(&schema_result, json, &again, &arena, NULL, NULL));
    json_decref(json);
    cell = again.cells.items;
    assert_int_equal(again.status, STATE_COMPLETED);
    assert_true(view_is(again.answer, "done"));
    assert_true(view_equal(cell->out, cells[0].out));
    assert_true(cell->out_bytes == cells[0].out_bytes);
    display = &((struct display *)cell->displays.items)[1];
    assert_true(view_equal(display->text, displays[1].text));
    assert_int_equal(display->parts.count, 1);
    assert_true(view_equal(((struct display_part *)display->parts.items)->blob,
                           part.blob));
    assert_true(view_is(((struct pair *)again.metadata.items)->value, "42"));
}

static void test_a_message_against_its_table_has_no_json(void **state)
{
    struct result result = { .status = 99 };

    (void)state;
    assert_null(json_from_message(&schema_result, &result));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_become_json),
        cmocka_unit_test(test_json_becomes_the_same_value_again),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_messages_are_read_strictly),
        cmocka_unit_test(test_a_message_survives_json),
        cmocka_unit_test(test_a_message_against_its_table_has_no_json),
        cmocka_unit_test(test_text_is_that_of_jansson),
        cmocka_unit_test(test_text_that_is_not_utf8_is_refused),
        cmocka_unit_test(test_text_is_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
