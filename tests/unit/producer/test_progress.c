/* test_progress.c - a bar where a person looks, and nothing elsewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/cli/progress.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What is drawn when so much is done of work that began long ago; free() it. */
static char *draw(struct term *term, uint64_t total, uint64_t done)
{
    struct progress_bar progress;
    char *text = NULL;
    size_t size;

    term->err.file = open_memstream(&text, &size);
    progress_init(&progress, term, "jobs purged", total);
    progress.began_ms = 0;
    progress_add(&progress, done);
    progress_add(&progress, 0); /* too soon to be drawn again */
    progress_finish(&progress);
    progress_finish(&progress);
    fclose(term->err.file);
    return text;
}

static void a_bar_says_how_far_it_is(void **state)
{
    static const struct {
        const char *what;
        uint64_t total, done;
        const char *drawn;
    } rows[] = {
        { "at the beginning", 100, 0,
          "\r\033[K[                    ] 0 of 100 jobs purged\r\033[K" },
        { "at the end", 100, 100,
          "\r\033[K[####################] 100 of 100 jobs purged\r\033[K" },
        { "more than there should be", 100, 250,
          "\r\033[K[####################] 250 of 100 jobs purged\r\033[K" },
        { "of so many that nobody knows", 0, 7,
          "\r\033[K7 jobs purged\r\033[K" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct term term = { .err = { .tty = true } };
        char *text = draw(&term, rows[i].total, rows[i].done);

        print_message("%s\n", rows[i].what);
        assert_string_equal(text, rows[i].drawn);
        free(text);
    }
}

static void half_done_tells_how_long_the_rest_takes(void **state)
{
    struct term term = { .err = { .tty = true } };
    char *text = draw(&term, 100, 50);

    (void)state;
    assert_non_null(strstr(text, "[##########          ] 50 of 100 jobs "
                                 "purged, "));
    assert_non_null(strstr(text, " left\r\033[K"));
    free(text);
}

static void nobody_looks(void **state)
{
    static const struct term terms[] = {
        { .err = { .tty = false } },
        { .err = { .tty = true }, .json = true },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(terms); i++) {
        struct term term = terms[i];
        char *text = draw(&term, 100, 50);

        assert_string_equal(text, "");
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bar_says_how_far_it_is),
        cmocka_unit_test(half_done_tells_how_long_the_rest_takes),
        cmocka_unit_test(nobody_looks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
