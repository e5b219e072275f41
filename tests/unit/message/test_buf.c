/* test_buf.c - buffers: growth, and the maximum that holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/buf.h"

static void test_grows(void **state)
{
    CLEANUP(buf_finish) struct buf buf;

    (void)state;
    buf_init(&buf, 1 << 20);
    for (int i = 0; i < 10000; i++)
        assert_true(buf_append(&buf, "abcdefg", 7));
    assert_int_equal(buf.len, 70000);
    assert_true(buf.room < 4 * buf.len);
    assert_memory_equal(buf.data + 69993, "abcdefg", 7);
}

static void test_maximum_is_kept_to_the_byte(void **state)
{
    CLEANUP(buf_finish) struct buf buf;

    (void)state;
    buf_init(&buf, 10);
    assert_true(buf_append(&buf, "12345", 5));
    assert_true(buf_printf(&buf, "%d", 67890));
    assert_true(buf_ok(&buf));
    assert_true(view_is(buf_view(&buf), "1234567890"));
    assert_false(buf_append(&buf, "x", 1));
    assert_false(buf_ok(&buf));
    assert_true(view_is(buf_view(&buf), "1234567890"));
}

static void test_refusal_sticks(void **state)
{
    CLEANUP(buf_finish) struct buf buf;

    (void)state;
    buf_init(&buf, 4);
    assert_false(buf_append(&buf, "12345", 5));
    assert_false(buf_append(&buf, "1", 1));
    assert_false(buf_printf(&buf, "1"));
    assert_null(buf_reserve(&buf, 1));
    assert_int_equal(buf.len, 0);
    buf_clear(&buf);
    assert_true(buf_append(&buf, "1", 1));
}

static void test_huge_lengths_do_not_wrap(void **state)
{
    CLEANUP(buf_finish) struct buf buf;

    (void)state;
    buf_init(&buf, 100);
    assert_true(buf_append(&buf, "1", 1));
    assert_null(buf_reserve(&buf, SIZE_MAX));
    buf_clear(&buf);
    buf_truncate(&buf, 0);
    assert_null(buf_reserve(&buf, SIZE_MAX - 1));
}

static void test_drop_and_truncate(void **state)
{
    CLEANUP(buf_finish) struct buf buf;

    (void)state;
    buf_init(&buf, 100);
    buf_drop(&buf, 0);
    buf_truncate(&buf, 0);
    buf_printf(&buf, "frame1frame2");
    buf_drop(&buf, 6);
    assert_true(view_is(buf_view(&buf), "frame2"));
    buf_truncate(&buf, 5);
    assert_true(view_is(buf_view(&buf), "frame"));
    buf_drop(&buf, 5);
    assert_int_equal(buf.len, 0);
}

static void test_reserve(void **state)
{
    CLEANUP(buf_finish) struct buf buf;
    char *to;

    (void)state;
    buf_init(&buf, 1000);
    buf_printf(&buf, "a");
    to = buf_reserve(&buf, 999);
    assert_non_null(to);
    memset(to, 'b', 999);
    buf.len += 999;
    assert_null(buf_reserve(&buf, 1));
}

static void test_finish_accepts_anything(void **state)
{
    struct buf zeroed = { 0 };

    (void)state;
    buf_finish(NULL);
    buf_finish(&zeroed);
    buf_finish(&zeroed);
    assert_false(buf_append(&zeroed, "a", 1)); /* its maximum is zero */
    buf_finish(&zeroed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grows),
        cmocka_unit_test(test_maximum_is_kept_to_the_byte),
        cmocka_unit_test(test_refusal_sticks),
        cmocka_unit_test(test_huge_lengths_do_not_wrap),
        cmocka_unit_test(test_drop_and_truncate),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_finish_accepts_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
