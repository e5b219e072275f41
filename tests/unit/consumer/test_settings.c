/* test_settings.c - flags, environment and file, good and bad. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "consumer/settings.h"
#include "schemas/message/buf.h"

enum { MAX_ARGS = 6 };

static const struct row {
    const char *what;
    const char *variable; /* NAME=value, or NULL */
    const char *file;     /* or NULL */
    const char *flags[MAX_ARGS];
    const char *says; /* the refusal; NULL: lease_ms is expected */
    uint64_t lease_ms;
} rows[] = {
    { "the default", NULL, NULL, { NULL }, NULL, 30000 },
    { "a variable", "QUERN_LEASE_MS=400", NULL, { NULL }, NULL, 400 },
    { "a file", NULL, "# note\n\nQUERN_LEASE_MS = 500\n", { NULL }, NULL, 500 },
    { "a variable over a file",
      "QUERN_LEASE_MS=400",
      "QUERN_LEASE_MS=500",
      { NULL },
      NULL,
      400 },
    { "a flag over both",
      "QUERN_LEASE_MS=400",
      "QUERN_LEASE_MS=500",
      { "--lease-ms", "600" },
      NULL,
      600 },
    { "a flag with =", NULL, NULL, { "--lease-ms=600" }, NULL, 600 },
    { "an empty variable is none",
      "QUERN_LEASE_MS=",
      NULL,
      { NULL },
      NULL,
      30000 },
    { "too little",
      "QUERN_LEASE_MS=5",
      NULL,
      { NULL },
      "QUERN_LEASE_MS is \"5\", must be a number from 300 to 3600000",
      0 },
    { "no number", NULL, NULL, { "--lease-ms", "4x" }, "\"4x\"", 0 },
    { "a negative number", NULL, NULL, { "--lease-ms", "-4" }, "\"-4\"", 0 },
    { "a huge number",
      NULL,
      NULL,
      { "--lease-ms", "99999999999999999999999" },
      "must be",
      0 },
    { "a switch", NULL, NULL, { "--save-sessions", "off" }, NULL, 30000 },
    { "a switch that is neither",
      NULL,
      NULL,
      { "--save-sessions=maybe" },
      "QUERN_SAVE_SESSIONS is \"maybe\", must be on or off",
      0 },
    { "an unknown flag", NULL, NULL, { "--leese" }, "--leese is not", 0 },
    { "a flag without value",
      NULL,
      NULL,
      { "--lease-ms" },
      "needs a value",
      0 },
    { "a word", NULL, NULL, { "start" }, "\"start\" is not a flag", 0 },
    { "an unknown line",
      NULL,
      "QUERN_LEASE_MS=500\nQUERN_LEES=1",
      { NULL },
      ":2: \"QUERN_LEES\" is not a setting",
      0 },
    { "a line without =", NULL, "QUERN_LEASE_MS", { NULL }, ":1: ", 0 },
    { "a bad value in a file", NULL, "QUERN_SLOTS=0", { NULL }, ":1: ", 0 },
    { "no such file", NULL, NULL, { "--config", "/nowhere" }, "/nowhere", 0 },
};

static char program[] = "quern-consumer";
static char config[] = "--config";

static bool load(struct settings *settings, const struct row *row,
                 struct err *err)
{
    char *argv[MAX_ARGS + 4] = { program };
    char path[] = "/tmp/quern-settings-XXXXXX";
    int argc = 1;
    enum settings_wish wish;
    if (row->file != NULL) {
        int fd = mkstemp(path);
        assert_int_equal(write(fd, row->file, strlen(row->file)),
                         (ssize_t)strlen(row->file));
        close(fd);
        argv[argc++] = config;
        argv[argc++] = path;
    }
    for (size_t i = 0; i < MAX_ARGS && row->flags[i] != NULL; i++)
        argv[argc++] = (char *)(uintptr_t)row->flags[i];
    unsetenv("QUERN_LEASE_MS");
    if (row->variable != NULL)
        putenv((char *)(uintptr_t)row->variable);
    bool ok = settings_load(settings, argc, argv, &wish, err);
    unlink(path);
    return ok;
}

static void test_table(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct settings settings;
        struct err err = { 0 };
        bool ok = load(&settings, &rows[i], &err);
        if (ok != (rows[i].says == NULL))
            fail_msg("%s: %s", rows[i].what, ok ? "was accepted" : err.text);
        if (ok && settings.lease_ms != rows[i].lease_ms)
            fail_msg("%s: %llu", rows[i].what,
                     (unsigned long long)settings.lease_ms);
        if (!ok && strstr(err.text, rows[i].says) == NULL)
            fail_msg("%s: says \"%s\"", rows[i].what, err.text);
        settings_finish(&settings);
    }
}

static void test_a_secret_from_a_file(void **state)
{
    (void)state;
    char path[] = "/tmp/quern-secret-XXXXXX";
    char *argv[] = { program, NULL };
    enum settings_wish wish;
    struct settings settings;
    struct err err;
    int fd = mkstemp(path);
    assert_int_equal(write(fd, "sk-1\nmore\n", 10), 10);
    close(fd);
    unsetenv("OPENAI_API_KEY");
    setenv("OPENAI_API_KEY_FILE", path, 1);
    assert_true(settings_load(&settings, 1, argv, &wish, &err));
    assert_string_equal(settings.key, "sk-1");
    settings_finish(&settings);
    unlink(path);
    assert_false(settings_load(&settings, 1, argv, &wish, &err));
    assert_non_null(strstr(err.text, "OPENAI_API_KEY_FILE"));
    settings_finish(&settings);
    unsetenv("OPENAI_API_KEY_FILE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_a_secret_from_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
