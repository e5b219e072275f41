/* test_arguments.c - the code in arguments, however models write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/calls.h"

static const struct {
    const char *what;
    const char *arguments;
    const char *code; /* NULL: refused */
    const char *says; /* in the refusal */
} rows[] = {
    { "as it should be", "{\"code\": \"print(1)\"}", "print(1)", NULL },
    { "with more members", "{\"lang\": \"py\", \"code\": \"1\"}", "1", NULL },
    { "escaped newlines", "{\"code\": \"a = 1\\nb = 2\"}", "a = 1\nb = 2",
      NULL },
    { "bare newlines in the string", "{\"code\": \"a = 1\nb = 2\"}",
      "a = 1\nb = 2", NULL },
    { "a bare tab in the string", "{\"code\": \"if x:\n\ty\"}", "if x:\n\ty",
      NULL },
    { "an object written twice", "\"{\\\"code\\\": \\\"print(2)\\\"}\"",
      "print(2)", NULL },
    { "and three times",
      "\"\\\"{\\\\\\\"code\\\\\\\": \\\\\\\"3\\\\\\\"}\\\"\"", "3", NULL },
    { "a string that is the code", "\"print(3)\"", "print(3)", NULL },
    { "just the code", "print('hello')", "print('hello')", NULL },
    { "code that begins with a number", "1 + 1", "1 + 1", NULL },
    { "code that is a number", "42", "42", NULL },
    { "code that is a list", "[1, 2][0]", "[1, 2][0]", NULL },
    { "code that is JSON too", "[1, 2]", "[1, 2]", NULL },
    { "code that is a word of JSON", "true", "true", NULL },
    { "code of several lines", "import os\nprint(os.sep)",
      "import os\nprint(os.sep)", NULL },
    { "code in a fence", "```python\nprint(4)\n```", "print(4)", NULL },
    { "JSON in a fence", "```json\n{\"code\": \"5\"}\n```", "5", NULL },
    { "under another name", "{\"__arg1\": \"print(5)\"}", "print(5)", NULL },
    { "white space around", "  {\"code\": \"6\"}\n", "6", NULL },
    { "any character", "{\"code\": \"print('\\u4e2d\\ud83d\\ude42')\"}",
      "print('\xe4\xb8\xad\xf0\x9f\x99\x82')", NULL },
    { "quotes and backslashes", "{\"code\": \"'\\\\n' + \\\"\\\\\\\"\\\"\"}",
      "'\\n' + \"\\\"\"", NULL },
    { "nothing", "", NULL, "missing" },
    { "white space only", " \n", NULL, "missing" },
    { "an empty object", "{}", NULL, "missing" },
    { "no such member", "{\"a\": \"1\", \"b\": \"2\"}", NULL, "missing" },
    { "code that is a number in an object", "{\"code\": 7}", NULL, "string" },
    { "code that is a list in an object", "{\"code\": [\"a\"]}", NULL,
      "string" },
    { "an object that is cut", "{\"code\": \"print(", NULL, "JSON object" },
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out;
        struct err err = { 0 };
        buf_init(&out, 1000);
        bool ok = arguments_text(view_of(rows[i].arguments), "code", true, &out,
                                 &err);
        if (ok != (rows[i].code != NULL))
            fail_msg("%s: %s (%.*s)", rows[i].what,
                     ok ? "was accepted" : err.text, VIEW_ARG(buf_view(&out)));
        if (ok && !view_is(buf_view(&out), rows[i].code))
            fail_msg("%s: got \"%.*s\"", rows[i].what,
                     VIEW_ARG(buf_view(&out)));
        if (!ok && strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s: says \"%s\"", rows[i].what, err.text);
        buf_finish(&out);
    }
}

static void test_only_json(void **state)
{
    (void)state;
    struct buf out;
    struct err err;
    buf_init(&out, 100);
    assert_false(
        arguments_text(VIEW("just words"), "query", false, &out, &err));
    assert_true(
        arguments_text(VIEW("{\"query\": \"x\"}"), "query", false, &out, &err));
    buf_finish(&out);
}

static void test_objects(void **state)
{
    (void)state;
    static const struct {
        const char *arguments, *text, *object; /* NULL: refused */
    } cases[] = {
        { "{}", "q", "{}" },
        { "{ \"q\": 1 }", "q", "{ \"q\": 1 }" }, /* as it stands */
        { "", "q", "{}" },
        { "null", "q", "{}" },
        { "\"{\\\"q\\\": \\\"a\\\"}\"", NULL, "{\"q\":\"a\"}" },
        { "```json\n{\"q\": \"a\"}\n```", NULL, "{\"q\":\"a\"}" },
        { "{\"q\": \"a\nb\"}", NULL, "{\"q\":\"a\\nb\"}" },
        { "\"just words\"", "q", "{\"q\":\"just words\"}" },
        { "just words", "q", "{\"q\":\"just words\"}" },
        { "just words", NULL, NULL },
        { "[1]", NULL, NULL },
        { "{\"q\": \"a", "q", NULL },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = { 0 };
        struct buf out;
        buf_init(&out, 200);
        bool good = arguments_object(view_of(cases[i].arguments), cases[i].text,
                                     &out, &err);
        print_message("%s\n", cases[i].arguments);
        assert_int_equal(good, cases[i].object != NULL);
        if (good)
            assert_true(view_is(buf_view(&out), cases[i].object));
        else
            assert_string_equal(err.code, "bad_field");
        buf_finish(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_only_json),
        cmocka_unit_test(test_objects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
