/* test_table.c - columns that fit, whatever stands in them. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/cli/table.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct column columns[] = {
    { .title = "NAME", .cut = true },
    { .title = "N", .right = true },
    { .title = "WHERE", .cut = true },
};

/* What a table of these rows looks like; free() it. */
static char *draw(const char *const (*rows)[COUNT(columns)], size_t count,
                  size_t width)
{
    struct table *table = table_new(columns, COUNT(columns));
    char *text = NULL;
    size_t size;
    struct pane pane = { .file = open_memstream(&text, &size) };

    for (size_t i = 0; i < count; i++)
        table_add(table, rows[i]);
    table_print(table, &pane, width);
    fclose(pane.file);
    table_free(table);
    return text;
}

static void columns_are_as_wide_as_what_they_hold(void **state)
{
    static const char *const few[][COUNT(columns)] = {
        { "lab", "7", "host/1" },
        { "a-long-name", "1000", "-" },
    };
    static const char *const none[][COUNT(columns)] = { { "" } };
    static const struct {
        const char *what;
        const char *const (*rows)[COUNT(columns)];
        size_t count, width;
        const char *drawn;
    } rows[] = {
        { "as wide as needed", few, 2, 0,
          "NAME            N  WHERE\n"
          "lab             7  host/1\n"
          "a-long-name  1000  -\n" },
        { "just wide enough", few, 2, 25,
          "NAME            N  WHERE\n"
          "lab             7  host/1\n"
          "a-long-name  1000  -\n" },
        { "the widest is cut first", few, 2, 22,
          "NAME         N  WHERE\n"
          "lab          7  host/1\n"
          "a-long..  1000  -\n" },
        { "but something of it is left", few, 2, 1,
          "NAME       N  WHERE\n"
          "lab        7  host/1\n"
          "a-lo..  1000  -\n" },
        { "only a head", none, 0, 80, "NAME  N  WHERE\n" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char *drawn = draw(rows[i].rows, rows[i].count, rows[i].width);

        print_message("%s\n", rows[i].what);
        assert_string_equal(drawn, rows[i].drawn);
        free(drawn);
    }
}

static void many_rows_are_kept(void **state)
{
    static const char *const row[] = { "x", "1", "-" };
    struct table *table = table_new(columns, COUNT(columns));
    char *text = NULL;
    size_t size, lines = 0;
    struct pane pane = { .file = open_memstream(&text, &size) };

    (void)state;
    for (size_t i = 0; i < 1000; i++)
        table_add(table, row);
    table_print(table, &pane, 80);
    fclose(pane.file);
    table_free(table);
    table_free(NULL);
    for (const char *at = text; (at = strchr(at, '\n')); at++)
        lines++;
    assert_int_equal(lines, 1001);
    free(text);
}

static void hostile_text_cannot_drive_the_terminal(void **state)
{
    static const char *const row[][COUNT(columns)] = {
        { "a\033[2Jb\u202e", "1", "\r\n" },
    };
    struct table *table = table_new(columns, COUNT(columns));
    char *text = NULL;
    size_t size;
    struct pane pane = { .file = open_memstream(&text, &size), .tty = true };

    (void)state;
    table_add(table, row[0]);
    table_print(table, &pane, 80);
    fclose(pane.file);
    table_free(table);
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\r'));
    assert_null(strstr(text, "\u202e"));
    free(text);
}

/* Of a wide character two, of a combining one none; a cut leaves it whole. */
static void widths_are_those_of_the_terminal(void **state)
{
    static const char *const rows[][COUNT(columns)] = {
        { "caf\u00e9", "1", "x" },
        { "cafe\u0301", "2", "x" },
        { "\u4e2d\u6587", "3", "x" },
        { "\u4e2d\u6587\u4e2d\u6587\u4e2d", "4", "x" },
    };
    char *drawn = draw(rows, COUNT(rows), 18);

    (void)state;
    assert_string_equal(drawn, "NAME      N  WHERE\n"
                               "caf\u00e9      1  x\n"
                               "cafe\u0301      2  x\n"
                               "\u4e2d\u6587      3  x\n"
                               "\u4e2d\u6587\u4e2d..  4  x\n");
    free(drawn);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_what_they_hold),
        cmocka_unit_test(many_rows_are_kept),
        cmocka_unit_test(hostile_text_cannot_drive_the_terminal),
        cmocka_unit_test(widths_are_those_of_the_terminal),
    };

    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
