/* test_term.c - what others say is harmless on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/cli/term.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT(literal)                                                          \
    {                                                                          \
        (literal), sizeof(literal) - 1                                         \
    }

static const struct {
    const char *what;
    struct view text;
    const char *shown;
} rows[] = {
    { "plain text", TEXT("a b"), "a b" },
    { "lines and tabs", TEXT("a\n\tb\n"), "a\n\tb\n" },
    { "other scripts", TEXT("Ünï \xe4\xb8\xad \xf0\x9f\x98\x80"),
      "Ünï \xe4\xb8\xad \xf0\x9f\x98\x80" },
    { "a colour", TEXT("\033[31mred"), "<U+001B>[31mred" },
    { "a window title", TEXT("\033]0;x\a"), "<U+001B>]0;x<U+0007>" },
    { "a carriage return", TEXT("50%\r100%\r\n"), "50%<U+000D>100%\n" },
    { "a backspace", TEXT("a\bb"), "a<U+0008>b" },
    { "a NUL", TEXT("a\0b"), "a<U+0000>b" },
    { "DEL", TEXT("a\177"), "a<U+007F>" },
    { "C1 CSI in UTF-8",
      TEXT("\xc2\x9b"
           "31m"),
      "<U+009B>31m" },
    { "the letter after C1", TEXT("\xc2\xa0."), "\xc2\xa0." },
    { "a cut character at the end", TEXT("a\xc2"), "a<C2>" },
    { "an override", TEXT("\u202eevil"), "<U+202E>evil" },
    { "nothing", TEXT(""), "" },
};

/* What a pane wrote while write() ran. */
static char *shown(struct view text, bool tty, const char *bar)
{
    char *written = NULL;
    size_t size = 0;
    struct pane pane = { .file = open_memstream(&written, &size), .tty = tty };

    assert_non_null(pane.file);
    if (bar)
        pane_quote(&pane, PLAIN, bar, READ_CODE, text);
    else
        pane_text(&pane, PLAIN, text);
    fclose(pane.file);
    return written;
}

static void a_terminal_is_protected(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = shown(rows[i].text, true, NULL);

        print_message("%s\n", rows[i].what);
        assert_string_equal(text, rows[i].shown);
        free(text);
    }
}

static void a_pipe_gets_every_byte(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *text = shown(rows[i].text, false, NULL);

        print_message("%s\n", rows[i].what);
        assert_memory_equal(text, rows[i].text.data, rows[i].text.len);
        free(text);
    }
}

static void a_bar_stands_before_every_line(void **state)
{
    char *text = shown(VIEW("a\n\nb"), true, "| ");

    (void)state;
    assert_string_equal(text, "| a\n| \n| b");
    free(text);
}

static void pieces_of_a_line_get_one_bar(void **state)
{
    char *written = NULL;
    size_t size = 0;
    struct pane pane = { .file = open_memstream(&written, &size) };

    (void)state;
    pane_quote(&pane, PLAIN, "| ", READ_PROSE, VIEW("on"));
    pane_quote(&pane, PLAIN, "| ", READ_PROSE, VIEW("e\ntwo\n"));
    pane_quote(&pane, PLAIN, "| ", READ_PROSE, VIEW("three"));
    pane_line(&pane);
    pane_line(&pane);
    fclose(pane.file);
    assert_string_equal(written, "| one\n| two\n| three\n");
    free(written);
}

/* A joiner belongs to the letter that came in the piece before. */
static void pieces_of_prose_are_one_text(void **state)
{
    char *written = NULL;
    size_t size = 0;
    struct pane pane = { .file = open_memstream(&written, &size), .tty = true };

    (void)state;
    pane_prose(&pane, PLAIN, VIEW("م"));
    pane_prose(&pane, PLAIN, VIEW("\u200cخ"));
    pane_line(&pane);
    pane_prose(&pane, PLAIN, VIEW("\u200cخ"));
    fclose(pane.file);
    assert_string_equal(written, "م\u200cخ\n<U+200C>خ");
    free(written);
}

static void our_sentences_are_protected_from_names_in_them(void **state)
{
    char *written = NULL;
    size_t size = 0;
    struct pane pane = { .file = open_memstream(&written, &size), .tty = true };

    (void)state;
    pane_printf(&pane, PLAIN, "queue %s\n", "a\u202e\033[2J");
    fclose(pane.file);
    assert_string_equal(written, "queue a<U+202E><U+001B>[2J\n");
    free(written);
}

static void a_number_stands_out(void **state)
{
    char *written = NULL;
    size_t size = 0;
    struct pane pane = { .file = open_memstream(&written, &size),
                         .tty = true,
                         .colour = true };

    (void)state;
    pane_text(&pane, RED, VIEW("a\u202eb"));
    fclose(pane.file);
    assert_string_equal(written,
                        "\033[31ma\033[7m<U+202E>\033[0m\033[31mb\033[0m");
    free(written);
}

static void amounts_are_short(void **state)
{
    (void)state;
    assert_string_equal(term_size(1023), "1023 B");
    assert_string_equal(term_size(18637), "18.2 KiB");
    assert_string_equal(term_size(3 << 20), "3.0 MiB");
    assert_string_equal(term_time(999), "999 ms");
    assert_string_equal(term_time(3200), "3.2 s");
    assert_string_equal(term_time(125000), "2 min 5 s");
    assert_string_equal(term_age(0), "0 s");
    assert_string_equal(term_age(59999), "59 s");
    assert_string_equal(term_age(3599999), "59 min");
    assert_string_equal(term_age(3600000), "1 hour");
    assert_string_equal(term_age(86399999), "23 hours");
    assert_string_equal(term_age(86400000), "1 day");
    assert_string_equal(term_age(UINT64_C(600000000)), "6 days");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_terminal_is_protected),
        cmocka_unit_test(a_pipe_gets_every_byte),
        cmocka_unit_test(a_bar_stands_before_every_line),
        cmocka_unit_test(pieces_of_a_line_get_one_bar),
        cmocka_unit_test(pieces_of_prose_are_one_text),
        cmocka_unit_test(our_sentences_are_protected_from_names_in_them),
        cmocka_unit_test(a_number_stands_out),
        cmocka_unit_test(amounts_are_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
