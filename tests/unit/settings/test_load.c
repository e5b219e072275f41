/* test_load.c - defaults, file, environment, command line: who wins, and how
 * mistakes are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "schemas/message/buf.h"
#include "tests/unit/settings/example.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { MAX_ARGS = 6 };

/* Gives the path of a file of that text; unlink() it. */
static const char *write_file(char path[static 32], const char *text)
{
    strcpy(path, "/tmp/quern-settings-XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    return path;
}

/* flags NULL: none. file: the text of --config, or NULL. */
static bool load(struct example *example, const char *const *flags,
                 const char *file, enum setting_request *request,
                 struct err *err)
{
    char path[32];
    const char *argv[MAX_ARGS + 4] = { "quern-example" };
    size_t argc = 1;
    if (file) {
        argv[argc++] = "--config";
        argv[argc++] = write_file(path, file);
    }
    for (size_t i = 0; flags && i < MAX_ARGS && flags[i]; i++)
        argv[argc++] = flags[i];
    *example = (struct example){ 0 };
    bool ok = setting_load(&example_table, example,
                           (char *const *)(uintptr_t)argv, request, err);
    if (file)
        unlink(path);
    return ok;
}

static const struct {
    const char *what;
    const char *variable; /* NAME=value, or NULL */
    const char *file;     /* or NULL */
    const char *flags[MAX_ARGS];
    const char *says; /* the refusal, the path left out; NULL: lease_ms */
    uint64_t lease_ms;
} rows[] = {
    { "the default", NULL, NULL, { NULL }, NULL, 30000 },
    { "a variable", "QUERN_LEASE=400ms", NULL, { NULL }, NULL, 400 },
    { "a file",
      NULL,
      "# note\n\n QUERN_LEASE = 500ms \n",
      { NULL },
      NULL,
      500 },
    { "a file without a line feed",
      NULL,
      "QUERN_LEASE=1m",
      { NULL },
      NULL,
      60000 },
    { "a variable over a file",
      "QUERN_LEASE=400ms",
      "QUERN_LEASE=500ms",
      { NULL },
      NULL,
      400 },
    { "a flag over both",
      "QUERN_LEASE=400ms",
      "QUERN_LEASE=500ms",
      { "--lease", "600ms" },
      NULL,
      600 },
    { "a flag with =", NULL, NULL, { "--lease=600ms" }, NULL, 600 },
    { "the last flag",
      NULL,
      NULL,
      { "--lease=1s", "--lease", "2s" },
      NULL,
      2000 },
    { "an empty variable is none",
      "QUERN_LEASE=",
      NULL,
      { NULL },
      NULL,
      30000 },
    { "the flag of a switch alone",
      NULL,
      NULL,
      { "--check", "--lease", "1s" },
      NULL,
      1000 },
    { "a switch that is off",
      NULL,
      NULL,
      { "--save", "off", "--lease=1s" },
      NULL,
      1000 },
    { "a text that must be one of some",
      NULL,
      NULL,
      { "--on-end", "skip" },
      NULL,
      30000 },
    { "an empty list", NULL, NULL, { "--queues=" }, NULL, 30000 },
    { "a list", NULL, NULL, { "--queues", "a, b" }, NULL, 30000 },

    { "too little, in the environment",
      "QUERN_LEASE=5ms",
      NULL,
      { NULL },
      "QUERN_LEASE is \"5ms\", must be a time from 300ms to 1h",
      0 },
    { "no unit, on the command line",
      NULL,
      NULL,
      { "--lease", "30000" },
      "--lease is \"30000\", must have a unit: 30000ms, 30000s or 30000m",
      0 },
    { "too much, in the file",
      NULL,
      "\nQUERN_LEASE=2h\n",
      { NULL },
      ":2: QUERN_LEASE is \"2h\", must be a time from 300ms to 1h",
      0 },
    { "a wrong value that a flag would write over",
      "QUERN_LEASE=x",
      NULL,
      { "--lease=1s" },
      "QUERN_LEASE is \"x\"",
      0 },
    { "an unknown flag",
      NULL,
      NULL,
      { "--leese" },
      "there is no flag --leese; did you mean --lease?",
      0 },
    { "an unknown flag with a value",
      NULL,
      NULL,
      { "--leese=1s" },
      "there is no flag --leese; did you mean --lease?",
      0 },
    { "an unknown flag like nothing",
      NULL,
      NULL,
      { "--xyzzy" },
      "there is no flag --xyzzy",
      0 },
    { "a flag of every program, misspelled",
      NULL,
      NULL,
      { "--confg=x" },
      "did you mean --config?",
      0 },
    { "the old name",
      NULL,
      NULL,
      { "--lease-ms", "1" },
      "there is no flag --lease-ms; did you mean --lease?",
      0 },
    { "a flag without its value",
      NULL,
      NULL,
      { "--lease" },
      "--lease needs a value: TIME",
      0 },
    { "a word", NULL, NULL, { "start" }, "\"start\" is not a flag", 0 },
    { "two dashes", NULL, NULL, { "--" }, "\"--\" is not a flag", 0 },
    { "an unknown line",
      NULL,
      "QUERN_LEASE=1s\nQUERN_LEES=1s",
      { NULL },
      ":2: there is no setting \"QUERN_LEES\"; did you mean QUERN_LEASE?",
      0 },
    { "the old name in a file",
      NULL,
      "QUERN_LEASE_MS=1",
      { NULL },
      ":1: there is no setting \"QUERN_LEASE_MS\"; did you mean QUERN_LEASE?",
      0 },
    { "a flag only, in a file",
      NULL,
      "QUERN_CHECK=on",
      { NULL },
      ":1: there is no setting \"QUERN_CHECK\"",
      0 },
    { "a line without =",
      NULL,
      "QUERN_LEASE",
      { NULL },
      ":1: \"QUERN_LEASE\" is not a line of the form VARIABLE=value",
      0 },
    { "no such file",
      NULL,
      NULL,
      { "--config", "/nowhere" },
      "--config: /nowhere: No such file",
      0 },
    { "a folder as file",
      NULL,
      NULL,
      { "--config", "/tmp" },
      "--config: /tmp",
      0 },
    { "a switch that is neither",
      NULL,
      NULL,
      { "--save=maybe" },
      "--save is \"maybe\", must be off or on",
      0 },
    { "a choice that is none",
      NULL,
      NULL,
      { "--level", "hihg" },
      "--level is \"hihg\", must be low or high; did you mean high?",
      0 },
    { "a text that is none of some",
      NULL,
      NULL,
      { "--on-end", "stop" },
      "--on-end is \"stop\", must be abort or skip",
      0 },
    { "a list with nothing in it",
      NULL,
      NULL,
      { "--queues", "a,,b" },
      "must have a name before and after each comma",
      0 },
    { "a list that ends in a comma",
      NULL,
      NULL,
      { "--queues", "a," },
      "must have a name before and after each comma",
      0 },
    { "a text against the program's own rule",
      NULL,
      NULL,
      { "--name", "a b" },
      "--name is \"a b\", must have no blank",
      0 },
    { "what the program reads itself",
      NULL,
      NULL,
      { "--mode", "rw" },
      "--mode is \"rw\", must be octal, 0 to 0777",
      0 },
    { "a document that there is not",
      NULL,
      NULL,
      { "--document", "pdf" },
      "--document is \"pdf\", must be man, sample or markdown",
      0 },
};

static void the_strongest_source_wins_and_mistakes_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct example example;
        enum setting_request request;
        struct err err = { 0 };
        unsetenv("QUERN_LEASE");
        if (rows[i].variable)
            putenv((char *)(uintptr_t)rows[i].variable);
        bool ok = load(&example, rows[i].flags, rows[i].file, &request, &err);
        if (ok != !rows[i].says)
            fail_msg("%s: %s", rows[i].what, ok ? "was accepted" : err.text);
        if (ok && example.lease_ms != rows[i].lease_ms)
            fail_msg("%s: %llu", rows[i].what,
                     (unsigned long long)example.lease_ms);
        if (!ok && !strstr(err.text, rows[i].says))
            fail_msg("%s: says \"%s\"", rows[i].what, err.text);
        if (!ok && err.kind != ERR_REJECT)
            fail_msg("%s: kind", rows[i].what);
        setting_finish(&example_table, &example);
    }
    unsetenv("QUERN_LEASE");
}

static void each_type_arrives(void **state)
{
    static const char file[] = "QUERN_NAME=a\n"
                               "QUERN_USER=nobody\n"
                               "QUERN_QUEUES=x,y\n"
                               "EXAMPLE_API_KEY=sk=1\n"
                               "QUERN_ON_END=skip\n"
                               "QUERN_SLOTS=7\n"
                               "QUERN_LEASE=2m\n"
                               "QUERN_MEMORY=3G\n"
                               "QUERN_MAX_COST=0.25\n"
                               "QUERN_SAVE=off\n"
                               "QUERN_LEVEL=high\n"
                               "QUERN_MODE=0600\n";
    struct example example;
    enum setting_request request;
    struct err err;
    (void)state;
    assert_true(load(&example, NULL, file, &request, &err));
    assert_int_equal(request, SETTING_RUN);
    assert_string_equal(example.name, "a");
    assert_string_equal(example.user, "nobody");
    assert_string_equal(example.queues, "x,y");
    assert_string_equal(example.key, "sk=1");
    assert_string_equal(example.word, "skip");
    assert_int_equal(example.slots, 7);
    assert_int_equal(example.lease_ms, 120000);
    assert_int_equal(example.memory_bytes, UINT64_C(3) << 30);
    assert_int_equal(example.max_cost, 250000);
    assert_false(example.save);
    assert_false(example.check);
    assert_int_equal(example.level, EXAMPLE_HIGH);
    assert_int_equal(example.mode, 0600);
    setting_finish(&example_table, &example);
}

static void defaults_arrive(void **state)
{
    struct example example;
    enum setting_request request;
    struct err err;
    (void)state;
    assert_true(load(&example, NULL, NULL, &request, &err));
    assert_string_equal(example.name, "");
    assert_null(example.user);
    assert_string_equal(example.queues, "default");
    assert_int_equal(example.slots, 64);
    assert_true(example.save);
    assert_int_equal(example.mode, 0660);
    setting_finish(&example_table, &example);
    assert_null(example.queues);
}

/* Also where a value is wrong: whoever asks for help needs it. */
static void a_document_is_wished(void **state)
{
    static const struct {
        const char *flags[MAX_ARGS];
        enum setting_request request;
    } wishes[] = {
        { { "--help" }, SETTING_HELP },
        { { "--lease", "x", "--help" }, SETTING_HELP },
        { { "--version" }, SETTING_VERSION },
        { { "--document", "man" }, SETTING_MAN },
        { { "--document=sample" }, SETTING_SAMPLE },
        { { "--document=markdown" }, SETTING_MARKDOWN },
    };
    (void)state;
    for (size_t i = 0; i < COUNT(wishes); i++) {
        struct example example;
        enum setting_request request = SETTING_RUN;
        struct err err;
        assert_true(load(&example, wishes[i].flags, NULL, &request, &err));
        assert_int_equal(request, wishes[i].request);
        setting_finish(&example_table, &example);
    }
}

static void a_secret_comes_from_a_file_and_is_never_told(void **state)
{
    char path[32];
    struct example example;
    enum setting_request request;
    struct err err;
    (void)state;
    setenv("EXAMPLE_API_KEY_FILE", write_file(path, " sk-1 \r\n"), 1);
    assert_true(load(&example, NULL, NULL, &request, &err));
    assert_string_equal(example.key, "sk-1");
    setting_finish(&example_table, &example);
    unlink(path);
    setenv("EXAMPLE_API_KEY_FILE", write_file(path, "sk-1\nmore\n"), 1);
    assert_false(load(&example, NULL, NULL, &request, &err));
    assert_non_null(strstr(err.text, "has more than one line"));
    assert_null(strstr(err.text, "sk-1"));
    setting_finish(&example_table, &example);
    unlink(path);
    assert_false(load(&example, NULL, NULL, &request, &err));
    assert_non_null(strstr(err.text, "EXAMPLE_API_KEY_FILE: /tmp/"));
    setting_finish(&example_table, &example);
    unsetenv("EXAMPLE_API_KEY_FILE");
    assert_false(load(&example, NULL, "EXAMPLE_API_KEY=sk 3", &request, &err));
    assert_non_null(strstr(err.text, ":1: EXAMPLE_API_KEY: must have no"));
    assert_null(strstr(err.text, "sk 3"));
    setting_finish(&example_table, &example);
}

static void a_secret_file_is_named_by_the_settings_file(void **state)
{
    char path[32], line[96];
    struct example example;
    enum setting_request request;
    struct err err;
    (void)state;
    snprintf(line, sizeof(line), "EXAMPLE_API_KEY_FILE=%s\n",
             write_file(path, "sk-2"));
    assert_true(load(&example, NULL, line, &request, &err));
    assert_string_equal(example.key, "sk-2");
    setting_finish(&example_table, &example);
    unlink(path);
    assert_false(load(&example, NULL, "QUERN_NAME_FILE=/x\n", &request, &err));
    assert_non_null(strstr(err.text, "no setting \"QUERN_NAME_FILE\""));
    setting_finish(&example_table, &example);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_strongest_source_wins_and_mistakes_are_told),
        cmocka_unit_test(each_type_arrives),
        cmocka_unit_test(defaults_arrive),
        cmocka_unit_test(a_document_is_wished),
        cmocka_unit_test(a_secret_comes_from_a_file_and_is_never_told),
        cmocka_unit_test(a_secret_file_is_named_by_the_settings_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
