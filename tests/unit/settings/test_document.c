/* test_document.c - what a table tells: --help, man page, sample, Markdown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/settings/document.h"
#include "tests/unit/settings/example.h"

static const char help[] = "usage: quern-example [--SETTING VALUE]...\n"
                           "\n"
                           "Has a setting of each type.\n"
                           "\n";

/* free() it. */
static char *print(enum setting_request request, size_t width)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (request == SETTING_HELP)
        document_help(&example_table, width, out);
    else
        setting_print(&example_table, request, "1.2.3", out);
    fclose(out);
    return text;
}

static void has(enum setting_request request, const char *const *parts)
{
    char *text = print(request, 80);
    for (; *parts; parts++)
        if (!strstr(text, *parts))
            fail_msg("there is no\n%s\nin\n%s", *parts, text);
    free(text);
}

static void help_says_all(void **state)
{
    static const char *const parts[] = {
        help,
        "\nNames:\n"
        "  --name TEXT             The name. [default made up]\n"
        "  --user TEXT             Whom root becomes.\n"
        "  --queues NAME,...       Queues. [default default]\n"
        "  --api-key TEXT          A key | a pipe. [$EXAMPLE_API_KEY or\n"
        "                          $EXAMPLE_API_KEY_FILE]\n",
        "\nNumbers:\n"
        "  --slots N               Jobs at once. [default 64; 1 to 1000]\n"
        "  --lease TIME            A job that is silent for so long goes to "
        "another\n"
        "                          consumer, which goes on where this one has "
        "been.\n"
        "                          [default 30s; 300ms to 1h; read again upon "
        "HUP]\n",
        "  --check on|off          Checks and ends. [a flag only]\n",
        "  --level WORD            How high. [default low; low or high]\n",
        "\nFirst paragraph.\n\nSecond paragraph.\n",
        "\nExamples:\n  quern-example --lease 10s\n",
        "  --config FILE ",
        NULL,
    };
    (void)state;
    has(SETTING_HELP, parts);
}

static void help_fits_the_terminal(void **state)
{
    (void)state;
    for (size_t width = 60; width <= 120; width += 7) {
        char *text = print(SETTING_HELP, width);
        size_t longest = 0;
        for (char *rest = text, *line; (line = strsep(&rest, "\n"));)
            longest = strlen(line) > longest ? strlen(line) : longest;
        if (longest > width || longest + 20 < width)
            fail_msg("%zu columns have a line of %zu", width, longest);
        free(text);
    }
}

static void the_width_is_that_of_COLUMNS(void **state)
{
    (void)state;
    setenv("COLUMNS", "100", 1);
    assert_int_equal(document_width(), 100);
    setenv("COLUMNS", "10", 1);
    assert_int_equal(document_width(), 60);
    setenv("COLUMNS", "1000", 1);
    assert_int_equal(document_width(), 120);
    unsetenv("COLUMNS");
}

static void a_man_page_escapes_what_roff_reads(void **state)
{
    static const char *const parts[] = {
        ".TH \"QUERN-EXAMPLE\" 8 \"\" \"quern 1.2.3\" \"quern\"\n",
        ".SH NAME\nquern\\-example \\- Has a setting of each type.\n",
        ".SS Numbers\n.TP\n.BI \"\\-\\-slots\" \" N\"\nJobs at once.\n.br\n"
        "Variable QUERN_SLOTS. Default: 64. Values: 1 to 1000.\n",
        "\n\\&.dots and \\e mean something to roff.\n",
        "Variable EXAMPLE_API_KEY or EXAMPLE_API_KEY_FILE.\n",
        ".SH EXAMPLES\n.nf\n  quern\\-example \\-\\-lease 10s\n.fi\n",
        NULL,
    };
    (void)state;
    has(SETTING_MAN, parts);
}

static void markdown_is_a_table_for_each_group(void **state)
{
    static const char *const parts[] = {
        "**Names**\n\n| setting | default | range | takes effect after | |\n"
        "|---|---|---|---|---|\n"
        "| `--name` | made up |  | restart | The name. |\n",
        "| `--api-key` `EXAMPLE_API_KEY` (`_FILE`) |  |  | restart | A key \\| "
        "a pipe. |\n",
        "| `--lease` | `30s` | 300ms to 1h | HUP | A job ",
        "| `--check` |  | a flag only | restart | Checks and ends. |\n",
        NULL,
    };
    (void)state;
    has(SETTING_MARKDOWN, parts);
}

/* Every line of the sample is a comment; without the # it is a file that gives
 * what the defaults give. */
static void a_sample_can_be_read(void **state)
{
    char *text = print(SETTING_SAMPLE, 0);
    struct example example = { 0 };
    struct err err = { 0 };
    size_t settings = 0;
    (void)state;
    for (char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        assert_true(*line == '#' || *line == '\n' || *line == '\0');
        if (line[0] == '#' && line[1] != ' ') {
            *line = ' ';
            settings++;
        }
    }
    assert_int_equal(settings, example_table.count - 1); /* not --check */
    if (!setting_load_text(&example_table, &example, "sample", text, &err))
        fail_msg("%s", err.text);
    assert_int_equal(example.lease_ms, 30000);
    assert_int_equal(example.mode, 0660);
    assert_string_equal(example.queues, "default");
    assert_null(example.user);
    setting_finish(&example_table, &example);
    free(text);
}

static void a_sample_says_what_may_be_set(void **state)
{
    static const char *const parts[] = {
        "\n# --- Numbers\n\n# Jobs at once. (1 to 1000)\n#QUERN_SLOTS=64\n",
        "\n# How high. (low or high)\n#QUERN_LEVEL=low\n",
        "\n# The name. Without it: made up.\n#QUERN_NAME=\n",
        NULL,
    };
    (void)state;
    has(SETTING_SAMPLE, parts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_says_all),
        cmocka_unit_test(help_fits_the_terminal),
        cmocka_unit_test(the_width_is_that_of_COLUMNS),
        cmocka_unit_test(a_man_page_escapes_what_roff_reads),
        cmocka_unit_test(markdown_is_a_table_for_each_group),
        cmocka_unit_test(a_sample_can_be_read),
        cmocka_unit_test(a_sample_says_what_may_be_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
