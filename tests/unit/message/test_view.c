/* test_view.c - views: comparing, cutting, UTF-8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/buf.h"

static void test_compare(void **state)
{
    struct view text = VIEW("job.completed");

    (void)state;
    assert_true(view_is(text, "job.completed"));
    assert_false(view_is(text, "job.complete"));
    assert_false(view_is(text, "job.completed!"));
    assert_true(view_starts(text, "job."));
    assert_true(view_starts(text, ""));
    assert_true(view_starts(VIEW("job."), "job."));
    assert_false(view_starts(VIEW("jo"), "job."));
    assert_true(view_equal(view_of(NULL), VIEW("")));
    assert_true(view_equal(VIEW("a\0b"), VIEW("a\0b")));
    assert_false(view_equal(VIEW("a\0b"), VIEW("a\0c")));
}

static void test_compare_caseless(void **state)
{
    struct view text = VIEW("Text/CSV");

    (void)state;
    assert_true(view_is_caseless(text, "text/csv"));
    assert_true(view_is_caseless(VIEW(""), ""));
    assert_false(view_is_caseless(text, "text/cs"));
    assert_false(view_is_caseless(text, "text/csv2"));
    assert_true(view_starts_caseless(text, "tEXT/"));
    assert_true(view_starts_caseless(view_of(NULL), ""));
    assert_false(view_starts_caseless(VIEW("Text"), "text/"));
    assert_false(view_starts_caseless(VIEW("[text"), "{text"));
}

static void test_byte_hex(void **state)
{
    (void)state;
    assert_int_equal(byte_hex('0'), 0);
    assert_int_equal(byte_hex('9'), 9);
    assert_int_equal(byte_hex('a'), 10);
    assert_int_equal(byte_hex('F'), 15);
    for (const char *none = "/:@G`g\x11 "; *none; none++)
        assert_int_equal(byte_hex(*none), -1);
    assert_int_equal(byte_hex('\0'), -1);
}

static void test_byte_is_of(void **state)
{
    (void)state;
    assert_true(byte_is_of('\t', " \t"));
    assert_false(byte_is_of('x', " \t"));
    assert_false(byte_is_of('\0', " \t"));
    assert_false(byte_is_of('x', ""));
}

static void test_dup(void **state)
{
    char *copy = view_dup((struct view){ "hello", 4 });

    (void)state;
    assert_string_equal(copy, "hell");
    free(copy);
    copy = view_dup((struct view){ NULL, 0 });
    assert_string_equal(copy, "");
    free(copy);
}

static const struct {
    const char *what;
    const char *text;
    size_t max;
    size_t len;
} heads[] = {
    { "shorter than the limit", "abc", 5, 3 },
    { "as long as the limit", "abc", 3, 3 },
    { "ASCII is cut anywhere", "abc", 2, 2 },
    { "to nothing", "abc", 0, 0 },
    { "two bytes, between characters", "\xc3\xa9\xc3\xa9", 2, 2 },
    { "two bytes, inside a character", "\xc3\xa9\xc3\xa9", 3, 2 },
    { "three bytes, after the first", "a\xe2\x82\xac", 2, 1 },
    { "three bytes, after the second", "a\xe2\x82\xac", 3, 1 },
    { "four bytes, after the third", "\xf0\x9f\x98\x80z", 3, 0 },
    { "four bytes, whole", "\xf0\x9f\x98\x80z", 4, 4 },
    { "more continuations than any has", "\xf0\x80\x80\x80\x80", 4, 4 },
    { "nothing but continuations", "\x80\x80\x80", 1, 1 },
    { "not text: cut where asked", "\x80\x80\x80\x80\x80\x80", 5, 5 },
};

static void test_head(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        /* Memory that ends where the text does shows a read beyond. */
        size_t len = strlen(heads[i].text);
        CLEANUP(cleanup_free)
        char *text = memcpy(malloc(len), heads[i].text, len);
        struct view head = view_head((struct view){ text, len }, heads[i].max);

        if (head.len != heads[i].len)
            fail_msg("%s: %zu bytes, not %zu", heads[i].what, head.len,
                     heads[i].len);
    }
}

static const struct {
    const char *what;
    struct view text;
    bool valid;
} texts[] = {
    { "nothing", VIEW_INIT(""), true },
    { "ASCII", VIEW_INIT("plain text, longer than a word"), true },
    { "NUL", VIEW_INIT("\0"), true },
    { "DEL", VIEW_INIT("\x7f"), true },
    { "a lone continuation", VIEW_INIT("\x80"), false },
    { "two bytes", VIEW_INIT("\xc3\xa9"), true },
    { "two bytes, cut", VIEW_INIT("\xc3"), false },
    { "overlong NUL", VIEW_INIT("\xc0\x80"), false },
    { "overlong DEL", VIEW_INIT("\xc1\xbf"), false },
    { "least of two bytes", VIEW_INIT("\xc2\x80"), true },
    { "overlong of three bytes", VIEW_INIT("\xe0\x9f\xbf"), false },
    { "least of three bytes", VIEW_INIT("\xe0\xa0\x80"), true },
    { "last before the surrogates", VIEW_INIT("\xed\x9f\xbf"), true },
    { "first surrogate", VIEW_INIT("\xed\xa0\x80"), false },
    { "last surrogate", VIEW_INIT("\xed\xbf\xbf"), false },
    { "first after the surrogates", VIEW_INIT("\xee\x80\x80"), true },
    { "overlong of four bytes", VIEW_INIT("\xf0\x8f\xbf\xbf"), false },
    { "least of four bytes", VIEW_INIT("\xf0\x90\x80\x80"), true },
    { "U+10FFFF", VIEW_INIT("\xf4\x8f\xbf\xbf"), true },
    { "beyond U+10FFFF", VIEW_INIT("\xf4\x90\x80\x80"), false },
    { "five bytes", VIEW_INIT("\xf8\x88\x80\x80\x80"), false },
    { "0xff", VIEW_INIT("\xff"), false },
    { "bad third byte", VIEW_INIT("\xe2\x82\x20"), false },
    { "bad fourth byte", VIEW_INIT("\xf0\x9f\x98\x20"), false },
    { "bad in the second word", VIEW_INIT("abcdefghijkl\xff"), false },
    { "good across a word's end", VIEW_INIT("abcdefg\xc3\xa9hij"), true },
};

static void test_character(void **state)
{
    (void)state;
    assert_int_equal(view_character(view_of(NULL)), 0);
    assert_int_equal(view_character(VIEW("ab")), 1);
    assert_int_equal(view_character(VIEW("\xc3\xa9z")), 2);
    assert_int_equal(view_character(VIEW("\xf0\x9f\x98\x80z")), 4);
    assert_int_equal(view_character(VIEW("\xf0\x9f\x98")), 0);
    assert_int_equal(view_character(VIEW("\xa9z")), 0);
}

static void test_utf8(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (view_is_utf8(texts[i].text) != texts[i].valid)
            fail_msg("%s", texts[i].what);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_compare_caseless),
        cmocka_unit_test(test_byte_hex),
        cmocka_unit_test(test_byte_is_of),
        cmocka_unit_test(test_dup),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_character),
        cmocka_unit_test(test_utf8),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
