/* test_submission.c - the job that options describe, as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/cli/submission.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Reads a command line, which is cut at its spaces; the first is the verb, its
 * first word the question. */
static bool read_line(struct submission *submission, const char *text,
                      const struct cells *cells, struct err *err)
{
    char line[256];
    char *argv[32], *rest = line;
    struct options options = { 0 };
    int argc = 0;

    snprintf(line, sizeof(line), "%s", text);
    while (rest)
        argv[argc++] = strsep(&rest, " ");
    *submission = (struct submission){ 0 };

    bool good =
        options_parse(&options, argv[0], argc - 1, argv + 1, err) &&
        submission_read(submission, &options, options.words[0], cells, err);

    options_finish(&options);
    return good;
}

static void assert_job(const char *text, const char *expected)
{
    json_t *job = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    json_t *wanted = json_loads(expected, 0, NULL);

    assert_non_null(wanted);
    if (!json_equal(job, wanted))
        fail_msg("it is %s", text);
    json_decref(job);
    json_decref(wanted);
}

static void options_become_a_job(void **state)
{
    static const struct {
        const char *line, *job;
    } rows[] = {
        { "submit q", "{\"prompt\": \"q\"}" },
        { "submit q --tenant acme --max-turns 3 --tool a --tool b",
          "{\"prompt\": \"q\", \"tenant\": \"acme\", \"tools\": [\"a\", \"b\"],"
          " \"limits\": {\"max_turns\": 3}}" },
        { "submit q --env A=b=c --env B=",
          "{\"prompt\": \"q\", \"env\": {\"A\": \"b=c\", \"B\": \"\"}}" },
        { "submit q --env QUERN_HERE",
          "{\"prompt\": \"q\", \"env\": {\"QUERN_HERE\": \"yes\"}}" },
        { "submit q --metadata k=\xff", "{\"prompt\": \"q\", \"metadata\": "
                                        "{\"k\": {\"base64\": \"/w==\"}}}" },
        { "submit q --set temperature=0.5 --set stop=[\"x\"] --set a=low",
          "{\"prompt\": \"q\", \"parameters\": {\"temperature\": 0.5,"
          " \"stop\": [\"x\"], \"a\": \"low\"}}" },
        /* They stand beside it, for they may stand beside --job. */
        { "submit q --queue night --priority high --key k --delay 5s",
          "{\"prompt\": \"q\"}" },
    };

    (void)state;
    setenv("QUERN_HERE", "yes", 1);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct submission submission;
        struct err err = { 0 };

        print_message("%s\n", rows[i].line);
        assert_true(read_line(&submission, rows[i].line, NULL, &err));
        assert_job(submission.text, rows[i].job);
        submission_finish(&submission);
    }
}

static void cells_become_a_job(void **state)
{
    static const struct cells cells = { { "1", "\"2\"" }, 2 };
    struct submission submission;
    struct err err = { 0 };

    (void)state;
    assert_true(read_line(&submission, "exec --session lab", &cells, &err));
    assert_job(submission.text, "{\"kind\": \"code\", \"session\": \"lab\","
                                " \"cells\": [\"1\", \"\\\"2\\\"\"]}");
    submission_finish(&submission);
}

static void faults_name_the_option(void **state)
{
    static const struct {
        const char *line, *code, *said;
    } rows[] = {
        { "submit \xff", "bad_field", "prompt is not UTF-8" },
        { "submit q --system \xff", "bad_field", "system is not UTF-8" },
        { "submit q --metadata x", "bad_setting", "\"x\" is not KEY=VALUE" },
        { "submit q --metadata x=1 --metadata x=2", "bad_setting",
          "--metadata: \"x\" is given twice" },
        { "submit q --env =x", "bad_setting", "no name before \"=\"" },
        { "submit q --env A=secret --env A=secret", "bad_setting",
          "--env: \"A\" is given twice" },
        { "submit q --set x", "bad_setting", "\"x\" is not NAME=VALUE" },
        { "submit q --set x=\xff", "bad_setting", "is not UTF-8" },
        { "submit q --output-schema /none", "bad_field", "/none: No such" },
        { "submit --job /none", "bad_field", "/none: No such" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct submission submission;
        struct err err = { 0 };

        print_message("%s\n", rows[i].said);
        assert_false(read_line(&submission, rows[i].line, NULL, &err));
        assert_string_equal(err.code, rows[i].code);
        assert_non_null(strstr(err.text, rows[i].said));
        assert_null(strstr(err.text, "secret"));
        submission_finish(&submission);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_become_a_job),
        cmocka_unit_test(cells_become_a_job),
        cmocka_unit_test(faults_name_the_option),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
