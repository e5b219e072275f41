/* test_fold.c - a stream as a terminal would leave it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/text.h"

enum { KEPT = 16 << 10 };

static const struct {
    const char *what;
    struct view bytes;
    const char *text;
    bool same;
} rows[] = {
    { "text stays", VIEW_INIT("a\n\tb \xe4\xb8\xad\n"), "a\n\tb \xe4\xb8\xad\n",
      true },
    { "nothing is nothing", VIEW_INIT(""), "", true },
    { "lines of Windows stay", VIEW_INIT("a\r\nb\r\n"), "a\r\nb\r\n", true },
    { "the last state of a line is left", VIEW_INIT("1%\r50%\r100%\nok\n"),
      "100%\nok\n", false },
    { "a bar that begins with a return", VIEW_INIT("\r 1%\r 2%"), " 2%",
      false },
    { "a bar that ends with one", VIEW_INIT("1%\r"), "1%\r", true },
    { "a bar and then a line's end", VIEW_INIT("1%\r2%\r\n"), "2%\r\n", false },
    { "lines before a bar stay", VIEW_INIT("a\nb\rc"), "a\nc", false },
    { "colours are gone", VIEW_INIT("\x1b[1;31mred\x1b[0m."), "red.", false },
    { "the cursor does not move", VIEW_INIT("\x1b[2Ka\x1b[10;5Hb\x1b(B"), "ab",
      false },
    { "a title is not set", VIEW_INIT("\x1b]0;title\x07text"), "text", false },
    { "a link is its text",
      VIEW_INIT("\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\"), "here", false },
    { "a title without an end costs its line", VIEW_INIT("\x1b]0;title\ntext"),
      "\ntext", false },
    { "an escape at the very end", VIEW_INIT("a\x1b"), "a", false },
    { "bars below one another, as tqdm draws them",
      VIEW_INIT("\rall 0%\n\rpart 1%\x1b[A\n\rpart 9%\x1b[A\rall 50%"
                "\n\rpart 2%\x1b[A\n\rpart 8%\x1b[A\rall 100%\n\nok\n"),
      "all 100%\npart 8%\nok\n", false },
    { "a bar that is taken away when it is over",
      VIEW_INIT("\rall 0%\n\rpart 1%\x1b[A\n\r   \x1b[A\rall 9%\nok"),
      "all 9%\nok", false },
    { "lines that are erased first, as rich does",
      VIEW_INIT("a 1%\nb 1%\r\x1b[2K\x1b[1A\x1b[2Ka 2%\nb 2%\n"),
      "a 2%\nb 2%\n", false },
    { "the rest of a line is erased", VIEW_INIT("50%\r\x1b[K9%"), "9%", false },
    { "what is there is not erased by that", VIEW_INIT("50%\x1b[K!"), "50%!",
      false },
    { "up and down again", VIEW_INIT("a\nb\x1b[A\nc"), "a\nc", false },
    { "no further up than to the first line",
      VIEW_INIT("a\nb\nc\x1b[99A\rd\n\n\ne"), "d\nb\nc\ne", false },
    { "nor to one that is too far back",
      VIEW_INIT("1\n2\n3\n4\n5\n6\n7\n8\n9\x1b[8Ax"),
      "1\nx\n3\n4\n5\n6\n7\n8\n9", false },
    { "backspace takes a character back", VIEW_INIT("a\xc3\xa9\bb\b\b\b\bc"),
      "c", false },
    { "NUL and bell are shown", VIEW_INIT("a\0b\a\x7f"),
      "a\xe2\x90\x80"
      "b\xe2\x90\x87\xe2\x90\xa1",
      false },
    { "what is not UTF-8 is replaced", VIEW_INIT("a\xff"), "a\xef\xbf\xbd",
      false },
    { "a character cut at the end is replaced", VIEW_INIT("\xe4\xb8"),
      "\xef\xbf\xbd\xef\xbf\xbd", false },
};

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        for (size_t piece = 1; piece <= 8; piece++) {
            struct view bytes = rows[i].bytes;
            struct fold fold;
            struct buf text;
            fold_init(&fold, KEPT);
            buf_init(&text, 4096);
            for (size_t at = 0; at < bytes.len; at += piece) {
                size_t len = bytes.len - at < piece ? bytes.len - at : piece;
                fold_add(&fold, (struct view){ bytes.data + at, len });
            }
            bool same = fold_print(&fold, &text, 4096);
            if (!view_is(buf_view(&text), rows[i].text) || same != rows[i].same)
                fail_msg("%s, in pieces of %zu: \"%.*s\", %s", rows[i].what,
                         piece, VIEW_ARG(buf_view(&text)),
                         same ? "the same" : "not the same");
            buf_finish(&text);
            fold_finish(&fold);
        }
}

/* A line that never ends is not held back, one that returns for ever is. */
static void test_much(void **state)
{
    const struct {
        const char *what;
        struct view piece;
        size_t most;
        bool gap;
    } floods[] = {
        { "one line", VIEW("0123456789"), KEPT, true },
        { "a bar", VIEW("\r 12% of it"), 10, false },
        { "lines", VIEW("012345678\n"), KEPT, true },
        { "returns", VIEW("\r\r\r\r\r\r\r\r\r\r"), 1, false },
        { "a title", VIEW("\x1b]01234567"), KEPT, false },
        { "two bars", VIEW("\r1\n\r2\x1b[A"), 3, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(floods) / sizeof(floods[0]); i++) {
        struct fold fold;
        struct buf text;
        fold_init(&fold, KEPT - 64);
        buf_init(&text, KEPT);
        for (size_t n = 0; n < 100000; n++)
            fold_add(&fold, floods[i].piece);
        bool same = fold_print(&fold, &text, KEPT);
        if (same || !buf_ok(&text) || text.len > floods[i].most)
            fail_msg("%s: %zu bytes", floods[i].what, text.len);
        char *copy = view_dup(buf_view(&text));
        assert_int_equal(strstr(copy, "bytes left out") != NULL, floods[i].gap);
        free(copy);
        buf_finish(&text);
        fold_finish(&fold);
    }
}

/* As long as what is said of the gap: that is no reason to call it the same. */
static void test_gap_of_any_length(void **state)
{
    (void)state;
    for (size_t more = 0; more < 100; more++) {
        struct fold fold;
        struct buf text;
        fold_init(&fold, 200);
        buf_init(&text, 400);
        for (size_t n = 0; n < 200 + more; n++)
            fold_add(&fold, VIEW("x"));
        assert_int_equal(fold_print(&fold, &text, 400), more == 0);
        buf_finish(&text);
        fold_finish(&fold);
    }
}

/* What did not come is no part of a line, nor of an escape sequence. */
static void test_gap(void **state)
{
    static const struct {
        const char *before, *after, *text;
    } gaps[] = {
        { "a\n", "b\n", "a\n\n[... 9 bytes left out ...]\nb\n" },
        { "50%\r", "99%\r100%", "50%\n[... 9 bytes left out ...]\n100%" },
        { "a\x1b[", "31m", "a\n[... 9 bytes left out ...]\n31m" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
        struct fold fold;
        struct buf text;
        fold_init(&fold, KEPT);
        buf_init(&text, KEPT);
        fold_add(&fold, view_of(gaps[i].before));
        fold_skip(&fold, 9);
        fold_add(&fold, view_of(gaps[i].after));
        assert_false(fold_print(&fold, &text, KEPT));
        if (!view_is(buf_view(&text), gaps[i].text))
            fail_msg("row %zu: \"%.*s\"", i, VIEW_ARG(buf_view(&text)));
        buf_finish(&text);
        fold_finish(&fold);
    }
}

/* Head and tail are kept, whatever the pieces: here, lines of each length. */
static void test_head_and_tail(void **state)
{
    (void)state;
    for (size_t line = 1; line <= 60; line++) {
        char all[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        char wanted[64];
        struct fold fold;
        struct buf text;
        for (size_t at = line - 1; at < 52; at += line)
            all[at] = '\n';
        snprintf(wanted, sizeof(wanted),
                 "%.10s\n[... 32 bytes left out ...]\n%s", all, all + 42);
        fold_init(&fold, 20);
        buf_init(&text, 200);
        fold_add(&fold, view_of(all));
        assert_false(fold_print(&fold, &text, 200));
        if (!view_is(buf_view(&text), wanted))
            fail_msg("lines of %zu: \"%.*s\"", line, VIEW_ARG(buf_view(&text)));
        buf_finish(&text);
        fold_finish(&fold);
    }
}

static void test_head_and_tail_with_a_gap(void **state)
{
    static const struct {
        const char *what, *before, *after, *text;
    } gaps[] = {
        { "a tail that fills its place", "abcdefghijklmnop", "0123456789ABC",
          "abcdefghij\n[... 109 bytes left out ...]\n3456789ABC" },
        { "a tail of lines", "abcdefghijklmnop",
          "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n",
          "abcdefghij\n[... 116 bytes left out ...]\n5\n6\n7\n8\n9\n" },
        { "a short one", "abcdefghijklmnopqrstuvwxyz", "123",
          "abcdefghij\n[... 116 bytes left out ...]\n123" },
        { "a head that was not full", "abc", "1234567890ABCDE",
          "abc\n[... 105 bytes left out ...]\n67890ABCDE" },
        { "nothing else", "", "1", "\n[... 100 bytes left out ...]\n1" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(gaps) / sizeof(gaps[0]); i++) {
        struct fold fold;
        struct buf text;
        fold_init(&fold, 20);
        buf_init(&text, 200);
        fold_add(&fold, view_of(gaps[i].before));
        fold_skip(&fold, 100);
        fold_add(&fold, view_of(gaps[i].after));
        assert_false(fold_print(&fold, &text, 200));
        if (!view_is(buf_view(&text), gaps[i].text))
            fail_msg("%s: \"%.*s\"", gaps[i].what, VIEW_ARG(buf_view(&text)));
        buf_finish(&text);
        fold_finish(&fold);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_much),
        cmocka_unit_test(test_gap_of_any_length),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_head_and_tail),
        cmocka_unit_test(test_head_and_tail_with_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
