/* test_log.c - lines of the log, whatever stands in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schemas/service/log.h"

/* What a line has behind its event. */
static const char *logged(const char *text)
{
    static char line[1024];
    char name[] = "/tmp/test_log.XXXXXX";
    int file = mkstemp(name), before = dup(STDERR_FILENO);
    assert_true(file >= 0 && before >= 0);
    unlink(name);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    log_line("exit", "{s:s}", "session", text);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t len = pread(file, line, sizeof(line) - 1, 0);
    close(file);
    assert_true(len > 0);
    line[len] = '\0';
    return strstr(line, ",\"session\"");
}

static const struct {
    const char *what, *text, *line;
} rows[] = {
    { "a name", "é 中",
      ",\"session\":\"é 中\",\"text\":\"The program has ended.\"}\n" },
    { "a colour", "\033[31m",
      ",\"session\":\"\\u001B[31m\",\"text\":\"The program has ended.\"}\n" },
    { "DEL and C1", "\177\xc2\x9b",
      ",\"session\":\"\\u007f\\u009b\",\"text\":\"The program has "
      "ended.\"}\n" },
    { "what turns text round", "a\u202eb",
      ",\"session\":\"a\\u202eb\",\"text\":\"The program has ended.\"}\n" },
    { "a tag", "\U000e0041",
      ",\"session\":\"\\udb40\\udc41\",\"text\":\"The program has "
      "ended.\"}\n" },
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
