/* test_body.c - bodies of JSON that are refused, and base64 in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "producer/gateway/body/body.h"
#include "producer/gateway/body/inline_file.h"

static void test_what_is_no_body(void **state)
{
    static const struct {
        const char *name;
        struct view bytes;
    } rows[] = {
        { "nothing", VIEW_INIT("") },
        { "a list", VIEW_INIT("[]") },
        { "a text", VIEW_INIT("\"a\"") },
        { "two objects", VIEW_INIT("{}{}") },
        { "a member twice", VIEW_INIT("{\"a\":1,\"a\":2}") },
        { "a lone surrogate", VIEW_INIT("{\"a\":\"\\ud800\"}") },
        { "NUL, escaped", VIEW_INIT("{\"a\":\"\\u0000\"}") },
        { "NUL in a name", VIEW_INIT("{\"a\\u0000b\":1}") },
        { "NUL", VIEW_INIT("{\"a\":\"\0\"}") },
        { "a byte order mark", VIEW_INIT("\xef\xbb\xbf{}") },
        { "no UTF-8", VIEW_INIT("{\"a\":\"\xff\"}") },
        { "a number out of range", VIEW_INIT("{\"a\":1e400}") },
        { "an integer out of range", VIEW_INIT("{\"a\":9223372036854775808}") },
        { "a comment", VIEW_INIT("{/**/}") },
        { "NaN", VIEW_INIT("{\"a\":NaN}") },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct body_error error = { 0 };

        if (body_parse(rows[i].bytes, &error))
            fail_msg("%s is taken", rows[i].name);
        assert_int_equal(error.status, 400);
        assert_string_equal(error.code, "invalid_json");
        assert_true(error.message[0] != '\0');
        assert_true(view_is_utf8(view_of(error.message)));
    }
}

static void test_depth(void **state)
{
    char text[2 * BODY_MAX_DEPTH + 16];
    struct body_error error;
    json_t *json;

    (void)state;
    for (int depth = BODY_MAX_DEPTH; depth <= BODY_MAX_DEPTH + 1; depth++) {
        int len = snprintf(text, sizeof(text), "{\"[\\\"[\":");

        memset(text + len, '[', (size_t)depth - 1);
        memset(text + len + depth - 1, ']', (size_t)depth - 1);
        strcpy(text + len + 2 * (depth - 1), "}");
        json = body_parse(view_of(text), &error);
        assert_int_equal(json != NULL, depth == BODY_MAX_DEPTH);
        json_decref(json);
    }
    assert_string_equal(error.message,
                        "the body is nested 25 deep, at most 24");
}

static void test_a_refusal_is_cut_to_utf8(void **state)
{
    struct body_error error;
    struct body_value root = body_root(NULL, &error);
    char text[2001];

    (void)state;
    for (size_t i = 0; i < 2000; i += 2)
        memcpy(text + i, "\xc3\xbc", 2);
    text[2000] = '\0';
    body_refuse(&root, "invalid_value", "%s", text);
    assert_true(view_is_utf8(view_of(error.message)));
    body_refuse(&root, "invalid_value", "x%s", text);
    assert_true(view_is_utf8(view_of(error.message)));
}

static void test_base64(void **state)
{
    static const struct {
        const char *url, *mime;
        struct view bytes; /* data NULL: refused */
    } rows[] = {
        { "data:image/png;base64,AQID", "image/png", VIEW_INIT("\1\2\3") },
        { "data:text/csv;charset=utf-8;base64,QUI=", "text/csv",
          VIEW_INIT("AB") },
        { "data:;base64,QQ==", "", VIEW_INIT("A") },
        { "QQ", "", VIEW_INIT("A") },
        { "+/+/", "", VIEW_INIT("\xfb\xff\xbf") },
        { "", "", VIEW_INIT("") },
        { "data:text/plain,A", "", { NULL, 0 } },
        { "Q", "", { NULL, 0 } },
        { "QQ=", "", { NULL, 0 } },
        { "QQQ==", "", { NULL, 0 } },
        { "Q Q=", "", { NULL, 0 } },
        { "-_-_", "", { NULL, 0 } },
        { "Q=Q=", "", { NULL, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf out = { .max = 64 };
        struct inline_file data;
        bool good = inline_file_read(view_of(rows[i].url), &data) &&
                    inline_file_decode(data.base64, &out);

        if (good != (rows[i].bytes.data != NULL))
            fail_msg("%s: %s", rows[i].url, good ? "is taken" : "is refused");
        if (!good)
            continue;
        assert_true(view_is(data.mime, rows[i].mime));
        assert_true(view_equal(buf_view(&out), rows[i].bytes));
        assert_int_equal(inline_file_length(data.base64), rows[i].bytes.len);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_no_body),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_a_refusal_is_cut_to_utf8),
        cmocka_unit_test(test_base64),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
