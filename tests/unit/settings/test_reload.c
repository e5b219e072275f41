/* test_reload.c - new values for a program that runs, and what it tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schemas/settings/reload.h"
#include "schemas/settings/tell.h"

struct settings {
    char *name;
    char *secret;
    uint64_t count, wait_ms;
    bool is_on;
    int word;
    char *made;
};

static const char *const words[] = { "little", "much", NULL };

static bool read_made(void *settings, const char *text, struct err *err)
{
    struct settings *to = settings;
    (void)err;
    free(to->made);
    to->made = strdup(text);
    return true;
}

static bool check(const void *settings, struct err *err)
{
    const struct settings *given = settings;
    return given->count != 13 ||
           err_set(err, ERR_REJECT, "bad_setting", "13 goes with nothing");
}

#define AT(member) offsetof(struct settings, member)
static const struct setting rows[] = {
    { .name = "name",
      .type = SETTING_TEXT,
      .offset = AT(name),
      .normal = "a",
      .is_reloaded = true,
      .is_shared = true },
    { .name = "secret",
      .type = SETTING_SECRET,
      .offset = AT(secret),
      .is_reloaded = true,
      .is_shared = true },
    { .name = "count",
      .type = SETTING_NUMBER,
      .offset = AT(count),
      .max = 20,
      .normal = "1",
      .is_shared = true },
    { .name = "wait",
      .type = SETTING_TIME,
      .offset = AT(wait_ms),
      .normal = "90s",
      .is_reloaded = true,
      .is_shared = true },
    { .name = "on",
      .type = SETTING_SWITCH,
      .offset = AT(is_on),
      .normal = "off",
      .is_reloaded = true,
      .is_shared = true },
    { .name = "word",
      .type = SETTING_CHOICE,
      .offset = AT(word),
      .choices = words,
      .normal = "little",
      .is_reloaded = true,
      .is_shared = true },
    { .name = "made",
      .type = SETTING_OF_READER,
      .read = read_made,
      .normal = "x",
      .is_shared = true },
};

static const struct setting_table table = {
    .program = "test",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .size = sizeof(struct settings),
    .check = check,
};

static char config[] = "/tmp/test_reload.XXXXXX";
static char program[] = "test", flag[] = "--config";
static char *argv[] = { program, flag, config, NULL };
static struct settings settings;

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void write_config(const char *text)
{
    write_text(config, text);
}

static int setup(void **state)
{
    enum setting_request request;
    struct err err;
    (void)state;
    write_config("QUERN_COUNT=2\n");
    memset(&settings, 0, sizeof(settings));
    return setting_load(&table, &settings, argv, &request, &err) ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    setting_finish(&table, &settings);
    free(settings.made);
    return 0;
}

static const struct {
    const char *text, *applied, *restart;
    const char *why; /* NULL: it is good */
} reloads[] = {
    { "QUERN_COUNT=2\n", "", "", NULL },
    { "QUERN_COUNT=3\n", "", "count", NULL },
    { "QUERN_COUNT=2\nQUERN_NAME=b\nQUERN_WAIT=1s\n", "name, wait", "", NULL },
    { "QUERN_COUNT=2\nQUERN_SECRET=s\n", "secret", "", NULL },
    { "QUERN_COUNT=2\nQUERN_ON=on\nQUERN_WORD=much\n", "on, word", "", NULL },
    { "QUERN_COUNT=2\nQUERN_MADE=y\n", "", "", NULL },
    { "QUERN_NAME=b\nQUERN_COUNT=21\n", "", "", "0 to 20" },
    { "QUERN_NAME=b\nQUERN_COUNT=13\n", "", "", "13 goes with nothing" },
    { "QUERN_NAME=b\nQUERN_COU", "", "", "VARIABLE=value" },
    { " \n", "", "", "is empty" },
};

static void assert_names(const struct buf *names, const char *text)
{
    assert_int_equal(names->len, strlen(text));
    assert_memory_equal(names->len > 0 ? names->data : "", text, names->len);
}

static void what_may_change_changes_and_the_rest_is_named(void **state)
{
    for (size_t i = 0; i < sizeof(reloads) / sizeof(reloads[0]); i++) {
        struct setting_changes changes;
        struct err err = { 0 };
        setup(state);
        write_config(reloads[i].text);
        print_message("%s", reloads[i].text);
        bool good = setting_reload(&table, &settings, argv, &changes, &err);
        assert_int_equal(good, !reloads[i].why);
        if (reloads[i].why && !strstr(err.text, reloads[i].why))
            fail_msg("no \"%s\" in \"%s\"", reloads[i].why, err.text);
        assert_names(&changes.applied, reloads[i].applied);
        assert_names(&changes.restart, reloads[i].restart);
        assert_int_equal(settings.count, 2);
        assert_string_equal(settings.made, "x");
        assert_string_equal(settings.name,
                            strncmp(reloads[i].applied, "name", 4) == 0 ? "b"
                                                                        : "a");
        setting_changes_finish(&changes);
        teardown(state);
    }
}

static void files_are_found(void **state)
{
    struct setting_files files;
    (void)state;
    setting_files_find(&table, argv, &files);
    assert_int_equal(files.count, 1);
    assert_string_equal(files.paths[0], config);
    setting_files_finish(&files);
}

static void what_a_fleet_shares_is_told_without_secrets(void **state)
{
    CLEANUP(buf_finish) struct buf out;
    (void)state;
    buf_init(&out, 1000);
    setting_tell(&table, &settings, &out);
    buf_append(&out, "", 1);
    assert_string_equal(out.data,
                        "name=a\ncount=2\nwait=90s\non=off\nword=little\n");
}

static bool reloads_to(const char *secret, const char *applied)
{
    struct setting_changes changes;
    struct err err = { 0 };
    bool good = setting_reload(&table, &settings, argv, &changes, &err);
    if (!good)
        assert_non_null(strstr(err.text, "is empty"));
    assert_names(&changes.applied, applied);
    assert_string_equal(settings.secret ? settings.secret : "", secret);
    setting_changes_finish(&changes);
    return good;
}

/* systemd gives a service an empty file where it has no secret for it. */
static void a_secret_whose_file_is_empty_is_not_set(void **state)
{
    char path[] = "/tmp/test_reload_secret.XXXXXX";
    int file = mkstemp(path);
    (void)state;
    assert_true(file >= 0);
    close(file);
    setenv("QUERN_SECRET_FILE", path, 1);
    write_config("QUERN_COUNT=2\nQUERN_SECRET=s\n");
    assert_true(reloads_to("s", "secret"));
    write_config("QUERN_COUNT=2\nQUERN_SECRET=s\nQUERN_NAME=b\n");
    assert_true(reloads_to("s", "name"));
    write_text(path, "t\n");
    assert_true(reloads_to("t", "secret"));
    write_text(path, "\n");
    assert_false(reloads_to("t", "")); /* as if it were being written */
    unsetenv("QUERN_SECRET_FILE");
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_secret_whose_file_is_empty_is_not_set,
                                        setup, teardown),
        cmocka_unit_test(what_may_change_changes_and_the_rest_is_named),
        cmocka_unit_test_setup_teardown(files_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(
            what_a_fleet_shares_is_told_without_secrets, setup, teardown),
    };
    int file = mkstemp(config);
    if (file < 0)
        return 1;
    close(file);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(config);
    return failed;
}
