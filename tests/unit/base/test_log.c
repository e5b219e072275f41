/* test_log.c - lines of the log, whatever stands in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/base/log.h"

/* What a line has behind its time. */
static const char *logged(const char *text)
{
    static char line[1024];
    char name[] = "/tmp/test_log.XXXXXX";
    int file = mkstemp(name), before = dup(STDERR_FILENO);
    assert_true(file >= 0 && before >= 0);
    unlink(name);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    log_line("folder.left", text, "%s", text);
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t len = pread(file, line, sizeof(line) - 1, 0);
    close(file);
    assert_true(len > 0);
    line[len] = '\0';
    return strstr(line, ",\"what\"");
}

#define LINE(text)                                                             \
    ",\"what\":\"folder.left\",\"who\":\"" text "\",\"text\":\"The "           \
    "folder " text " is left: " text ".\"}\n"

static const struct {
    const char *what, *text, *line;
} rows[] = {
    { "a name", "é 中", LINE("é 中") },
    { "quotes", "\"\\", LINE("\\\"\\\\") },
    { "a colour", "\033[31m\n", LINE("\\u001b[31m\\u000a") },
    { "DEL and C1", "\177\xc2\x9b", LINE("\\u007f\\u009b") },
    { "what turns text round", "a\u202eb", LINE("a\\u202eb") },
    { "a tag", "\U000e0041", LINE("\\udb40\\udc41") },
    { "what is not UTF-8", "a\x9b", LINE("a\\ufffd") },
};

static void a_line_shows_what_is_hidden(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        print_message("%s\n", rows[i].what);
        assert_string_equal(logged(rows[i].text), rows[i].line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_shows_what_is_hidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
