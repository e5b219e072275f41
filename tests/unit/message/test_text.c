/* test_text.c - bytes of unknown worth, made fit to be shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "schemas/message/text.h"

#define BAD "\xef\xbf\xbd"

static void expect(const char *what, const struct buf *got, const char *want)
{
    if (!view_is(buf_view(got), want))
        fail_msg("%s: got \"%.*s\", expected \"%s\"", what,
                 VIEW_ARG(buf_view(got)), want);
}

static void test_clean(void **state)
{
    const struct {
        const char *what;
        struct view bytes;
        const char *clean;
    } rows[] = {
        { "text stays", VIEW("caf\xc3\xa9 \xf0\x9f\x99\x82"),
          "caf\xc3\xa9 \xf0\x9f\x99\x82" },
        { "a stray byte is replaced",
          VIEW("a\xff"
               "b"),
          "a" BAD "b" },
        { "a cut character is replaced", VIEW("a\xe4\xb8"), "a" BAD BAD },
        { "an overlong slash is replaced", VIEW("\xc0\xaf"), BAD BAD },
        { "a surrogate is replaced", VIEW("\xed\xa0\x80"), BAD BAD BAD },
        { "a good one after a bad one stays", VIEW("\xe4\xc3\xa9"),
          BAD "\xc3\xa9" },
        { "nothing is nothing", VIEW(""), "" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out;
        buf_init(&out, 100);
        text_add_clean(&out, rows[i].bytes);
        expect(rows[i].what, &out, rows[i].clean);
        buf_finish(&out);
    }
}

static void test_unfinished(void **state)
{
    const struct {
        const char *what;
        struct view bytes;
        size_t unfinished;
    } rows[] = {
        { "ascii is whole", VIEW("abc"), 0 },
        { "a whole character", VIEW("\xe4\xb8\xad"), 0 },
        { "two of three bytes", VIEW("x\xe4\xb8"), 2 },
        { "one of four bytes", VIEW("x\xf0"), 1 },
        { "three of four bytes", VIEW("\xf0\x9f\x99"), 3 },
        { "four of four bytes", VIEW("\xf0\x9f\x99\x82"), 0 },
        { "continuations without a start", VIEW("\x82\x82\x82\x82"), 0 },
        { "nothing", VIEW(""), 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (text_unfinished(rows[i].bytes) != rows[i].unfinished)
            fail_msg("%s: got %zu, expected %zu", rows[i].what,
                     text_unfinished(rows[i].bytes), rows[i].unfinished);
}

static void test_clipped(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out, 200);
    text_add_clipped(&out, VIEW("short"), 100);
    expect("short text is whole", &out, "short");
    buf_finish(&out);

    char text[1000];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i / 100);
    buf_init(&out, 200);
    text_add_clipped(&out, (struct view){ text, sizeof(text) }, 84);
    expect("long text is head, gap and tail", &out,
           "aaaaaaaaaa\n[... 980 bytes left out ...]\njjjjjjjjjj");
    buf_finish(&out);

    for (size_t i = 0; i < 999; i += 3) {
        text[i] = '\xe4';
        text[i + 1] = '\xb8';
        text[i + 2] = '\xad';
    }
    buf_init(&out, 200);
    text_add_clipped(&out, (struct view){ text, 999 }, 84);
    assert_true(view_is_utf8(buf_view(&out)));
    assert_true(out.len <= 84);
    buf_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clean),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_clipped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
