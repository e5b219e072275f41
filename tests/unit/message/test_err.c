/* test_err.c - errors: one statement, and text that is fit to be shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/err.h"
#include "schemas/message/view.h"

static void test_set(void **state)
{
    struct err err = { 0 };

    (void)state;
    assert_false(err_set(&err, ERR_RETRY, "queue_full", "%d of %d", 10, 10));
    assert_int_equal(err.kind, ERR_RETRY);
    assert_string_equal(err.code, "queue_full");
    assert_string_equal(err.text, "10 of 10");
    assert_false(err_set(NULL, ERR_RETRY, "queue_full", "nobody asks"));
    assert_false(err_prefix(NULL, "nobody asks"));
}

static void test_prefix(void **state)
{
    struct err err = { 0 };

    (void)state;
    err_set(&err, ERR_REJECT, "bad_field", "is 3");
    assert_false(err_prefix(&err, "row %d", 7));
    assert_string_equal(err.text, "row 7: is 3");
    assert_string_equal(err.code, "bad_field");
    assert_int_equal(err.kind, ERR_REJECT);
}

static void test_set_may_quote_itself(void **state)
{
    struct err err = { 0 };

    (void)state;
    err_set(&err, ERR_REJECT, "bad_field", "is 3");
    err_set(&err, ERR_RETRY, err.code, "again: %s", err.text);
    assert_string_equal(err.code, "bad_field");
    assert_string_equal(err.text, "again: is 3");
}

static void test_text_is_one_line_of_utf8(void **state)
{
    struct err err = { 0 };

    (void)state;
    err_set(&err, ERR_REJECT, "x", "a\nb\x1b[31m\x7f");
    assert_string_equal(err.text, "a?b?[31m?");
    err_set(&err, ERR_REJECT, "x", "caf\xc3\xa9");
    assert_string_equal(err.text, "caf\xc3\xa9");
    err_set(&err, ERR_REJECT, "x", "caf\xc3!");
    assert_string_equal(err.text, "caf?!");
}

static void test_long_text_is_cut_between_characters(void **state)
{
    struct err err = { 0 };
    char text[1000];

    (void)state;
    for (size_t i = 0; i < sizeof(text) - 1; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    text[sizeof(text) - 1] = '\0';
    err_set(&err, ERR_REJECT, "x", "%s", text);
    assert_in_range(strlen(err.text), 317, 319);
    assert_true(view_is_utf8(view_of(err.text)));
    err_prefix(&err, "%s", text);
    assert_in_range(strlen(err.text), 317, 319);
    assert_true(view_is_utf8(view_of(err.text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_prefix),
        cmocka_unit_test(test_set_may_quote_itself),
        cmocka_unit_test(test_text_is_one_line_of_utf8),
        cmocka_unit_test(test_long_text_is_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
