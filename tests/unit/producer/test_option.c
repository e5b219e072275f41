/* test_option.c - the command line, read by its table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "producer/cli/cli.h"
#include "producer/cli/member.h"
#include "producer/cli/option.h"
#include "schemas/json/convert.h"
#include "schemas/message/job.h"

#define AN_ID "01890000-0000-7000-8000-000000000001"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Cuts a command line at its spaces; the first word is the verb. */
static bool parse(struct options *options, const char *text, struct err *err)
{
    static char line[256];
    char *argv[32];
    char *rest = line;
    int argc = 0;

    snprintf(line, sizeof(line), "%s", text);
    *options = (struct options){ 0 };
    while (rest)
        argv[argc++] = strsep(&rest, " ");
    return options_parse(options, argv[0], argc - 1, argv + 1, err);
}

/* What an option of a job was read to: its member, as JSON. */
static char *member_of(const struct options *options, const char *path)
{
    const json_t *at = options->submit.members;
    const char *rest = path;
    size_t len = strcspn(rest, ".");

    for (; rest[len]; len = strcspn(rest, ".")) {
        at = json_object_getn(at, rest, len);
        rest += len + 1;
    }
    at = json_object_get(at, rest);
    return at ? json_dumps(at, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
}

static void assert_member(const struct options *options, const char *path,
                          const char *json)
{
    char *text = member_of(options, path);

    assert_non_null(text);
    assert_string_equal(text, json);
    free(text);
}

static void values_arrive_however_they_are_written(void **state)
{
    static const char *const lines[] = {
        "run --session lab --json question",
        "run question --session=lab --json",
        "run -s lab question --json",
        "run -slab --json -- question",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(lines); i++) {
        struct options options;
        struct err err = { 0 };

        print_message("%s\n", lines[i]);
        assert_true(parse(&options, lines[i], &err));
        assert_member(&options, "session", "\"lab\"");
        assert_true(options.json);
        assert_int_equal(options.word_count, 1);
        assert_string_equal(options.words[0], "question");
        options_finish(&options);
    }
}

static void numbers_have_units(void **state)
{
    static const struct {
        const char *line, *member, *number;
    } rows[] = {
        { "run --deadline 500ms", "limits.deadline_ms", "500" },
        { "run --deadline 30s", "limits.deadline_ms", "30000" },
        { "run --deadline 5m", "limits.deadline_ms", "300000" },
        { "run --deadline 2h", "limits.deadline_ms", "7200000" },
        { "run --deadline 7d", "limits.deadline_ms", "604800000" },
        { "run --memory 64K", "limits.memory_bytes", "65536" },
        { "run --memory 512M", "limits.memory_bytes", "536870912" },
        { "run --memory 2G", "limits.memory_bytes", "2147483648" },
        { "run --max-turns 12", "limits.max_turns", "12" },
        { "run --max-total-tokens 90000", "limits.max_total_tokens", "90000" },
        { "run --max-cost 2", "limits.max_cost", "2000000" },
        { "run --max-cost 0.05", "limits.max_cost", "50000" },
        { "run --max-cost 12.345678", "limits.max_cost", "12345678" },
        { "run --max-cost 1.", "limits.max_cost", "1000000" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct options options;
        struct err err = { 0 };

        print_message("%s\n", rows[i].line);
        assert_true(parse(&options, rows[i].line, &err));
        assert_member(&options, rows[i].member, rows[i].number);
        options_finish(&options);
    }
}

static void options_of_a_job_are_its_members(void **state)
{
    static const struct {
        const char *line, *member, *json;
    } rows[] = {
        { "run --mode codeact", "mode", "\"codeact\"" },
        { "run --tool a --tool b", "tools", "[\"a\",\"b\"]" },
        { "run --max-turns 3 --cell-time 5s", "limits",
          "{\"max_turns\":3,\"cell_ms\":5000}" },
        { "run --model a --model b", "model", "\"b\"" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct options options;
        struct err err = { 0 };

        print_message("%s\n", rows[i].line);
        assert_true(parse(&options, rows[i].line, &err));
        assert_member(&options, rows[i].member, rows[i].json);
        options_finish(&options);
    }
}

/* Some value that is within the bounds of its row. */
static const char *value_for(const struct option *option)
{
    static const char *const values[] = {
        [OPTION_TEXT] = "x",  [OPTION_TEXTS] = "x",   [OPTION_COUNT] = "3",
        [OPTION_TIME] = "5s", [OPTION_BYTES] = "64M", [OPTION_COST] = "0.05",
        [OPTION_FLAG] = NULL,
    };
    const char *const *choices = option_choices(option);

    return choices ? choices[1] : values[option_type(option)];
}

/* The table is walked, so an option that is added is tested. */
static void every_member_of_a_job_that_is_an_option_arrives(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct options options = { 0 };
        struct err err = { 0 };
        struct job job;

        if (option->type != OPTION_MEMBER)
            continue;
        print_message("--%s\n", option->name);
        assert_true(option_set(&options, option, option->name,
                               value_for(option), &err));
        json_object_set_new(options.submit.members, "id", json_string(AN_ID));

        bool good = json_to_message(&schema_job, options.submit.members, &job,
                                    &arena, NULL, &err);

        assert_string_equal(good ? "" : err.text, "");
        json_t *read = json_from_message(&schema_job, &job);

        json_object_del(read, "v");
        json_object_del(read, "kind");
        assert_true(json_equal(read, options.submit.members));
        json_decref(read);
        options_finish(&options);
    }
}

static void faults_are_told(void **state)
{
    static const struct {
        const char *line;
        const char *said;
    } rows[] = {
        { "run --sesion lab",
          "there is no option --sesion; did you mean --session?" },
        { "run --sess=lab", "--sess=lab; did you mean --session?" },
        { "run --qeue lab", "--qeue; did you mean --queue?" },
        { "run --xyzzy lab", "there is no option --xyzzy" },
        { "run -x", "there is no option -x" },
        { "get --session lab", "there is no option --session" },
        { "get --deadline 5s", "there is no option --deadline" },
        { "run --session", "--session needs a value: NAME" },
        { "run --json=yes", "--json takes no value" },
        { "run --deadline soon", "--deadline is \"soon\", must be a time" },
        { "run --deadline 30", "must have a unit: 30ms, 30s or 30m" },
        { "run --deadline -1", "\"-1\", must be a time" },
        { "run --deadline 1w", "\"1w\", must be a time" },
        { "run --deadline 8d", "\"8d\", must be a time from 0 to 7d" },
        { "run --memory 99999999999G", "must be a size" },
        { "run --memory 512", "must have a unit: 512B, 512K or 512M" },
        { "run --max-turns 257", "\"257\", must be a number from 0 to 256" },
        { "run --max-turns 1k", "\"1k\", must be a number" },
        { "run --max-turns 18446744073709551616", "must be a number" },
        { "run --max-cost 0.0000001", "must be an amount of dollars" },
        { "run --max-cost 0", "\"0\", must be an amount of dollars" },
        { "run --max-cost $1", "must be an amount of dollars" },
        { "run --max-cost 1000000000000", "must be an amount of dollars" },
        { "run --max-cost 1.2.3", "must be an amount of dollars" },
        { "run --max-cost .5", "must be an amount of dollars" },
        { "run --priority urgent", "\"urgent\", must be normal, high or low" },
        { "run --mode mad", "\"mad\", must be tools or codeact" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct options options;
        struct err err = { 0 };

        print_message("%s\n", rows[i].line);
        assert_false(parse(&options, rows[i].line, &err));
        assert_int_equal(err.kind, ERR_REJECT);
        assert_string_equal(err.code, "bad_setting");
        assert_non_null(strstr(err.text, rows[i].said));
        options_finish(&options);
    }
}

/* Verbs of two words are one name in the table. */
static void an_option_of_a_group_is_not_one_of_its_namesake(void **state)
{
    static const struct {
        const char *verb, *option;
        bool known;
    } rows[] = {
        { "session get", "--deadline=5s", true },
        { "get", "--deadline=5s", false },
        { "session ls", "--tenant=acme", true },
        { "session ls", "--out=here", false },
        { "session ls", "--json", true },
        { "session files", "--out=here", false },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct options options = { 0 };
        struct err err = { 0 };
        char option[32];
        char *argv[] = { option };

        print_message("%s %s\n", rows[i].verb, rows[i].option);
        snprintf(option, sizeof(option), "%s", rows[i].option);
        assert_int_equal(options_parse(&options, rows[i].verb, 1, argv, &err),
                         rows[i].known);
        options_finish(&options);
    }
}

/* Counted past what is kept, so that a verb can say which is too much. */
static void words_are_counted_to_the_last(void **state)
{
    struct options options = { 0 };
    struct err err = { 0 };
    char word[] = "x";
    char *argv[MAX_WORDS + 5];

    (void)state;
    for (size_t i = 0; i < COUNT(argv); i++)
        argv[i] = word;
    assert_true(options_parse(&options, "run", (int)COUNT(argv), argv, &err));
    assert_int_equal(options.word_count, COUNT(argv));
    assert_ptr_equal(options.words[MAX_WORDS - 1], word);
}

static void too_many_of_one_are_refused(void **state)
{
    struct options options = { 0 };
    struct err err = { 0 };
    char flag[] = "-f", file[] = "x";
    char *argv[2 * MAX_TEXTS + 2];

    (void)state;
    for (size_t i = 0; i < COUNT(argv); i += 2) {
        argv[i] = flag;
        argv[i + 1] = file;
    }
    assert_true(options_parse(&options, "run", 2 * MAX_TEXTS, argv, &err));
    assert_int_equal(options.submit.files.count, MAX_TEXTS);
    options = (struct options){ 0 };
    assert_false(options_parse(&options, "run", 2 * MAX_TEXTS + 2, argv, &err));
    assert_non_null(strstr(err.text, "more than 64"));
}

/* As many as the table of jobs allows. */
static void too_many_of_a_list_of_the_job_are_refused(void **state)
{
    struct options options = { 0 };
    struct err err = { 0 };
    char flag[] = "--tool", name[] = "x";
    char *argv[2 * MAX_TOOLS + 2];

    (void)state;
    for (size_t i = 0; i < COUNT(argv); i += 2) {
        argv[i] = flag;
        argv[i + 1] = name;
    }
    assert_true(options_parse(&options, "run", 2 * MAX_TOOLS, argv, &err));
    assert_false(options_parse(&options, "run", 2, argv, &err));
    assert_string_equal(err.text, "--tool: more than 64 of them");
    options_finish(&options);
}

static bool of_one_verb(const struct option *a, const struct option *b)
{
    for (size_t i = 0; i < verb_count; i++)
        if (option_is_of(a, verbs[i].name) && option_is_of(b, verbs[i].name))
            return true;
    return false;
}

static void the_table_is_sound(void **state)
{
    (void)state;
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];
        enum option_type type = option_type(option);

        print_message("--%s\n", option->name);
        assert_true(option->about || option->type == OPTION_MEMBER);
        assert_true((type == OPTION_FLAG) == !option->value ||
                    (option->type == OPTION_MEMBER && member_value(type)));
        assert_true((type == OPTION_CHOICE) == !!option_choices(option));
        assert_true(!option->member ||
                    field_find(&schema_job, option->member) != NULL);
        assert_true(!option->verbs || option->verbs[0] == ',');
        assert_true(!option->verbs ||
                    option->verbs[strlen(option->verbs) - 1] == ',');
        for (size_t j = 0; j < i; j++) {
            assert_true(strcmp(option->name, option_table[j].name) != 0 ||
                        !of_one_verb(option, &option_table[j]));
            assert_false(option->letter &&
                         option->letter == option_table[j].letter);
        }
    }
}

/* Writes a settings file and names it by QUERN_CONFIG. */
static void write_settings(const char *text)
{
    static char path[] = "/tmp/quern-settings-XXXXXX";
    static int fd = -1;

    if (fd < 0)
        fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, text, strlen(text), 0), strlen(text));
    setenv("QUERN_CONFIG", path, 1);
}

static int remove_settings(void **state)
{
    (void)state;
    unlink(getenv("QUERN_CONFIG"));
    unsetenv("QUERN_CONFIG");
    unsetenv("QUERN_OUT");
    return 0;
}

static void flags_win_over_environment_over_file(void **state)
{
    static const struct {
        const char *verb, *line, *environment, *file, *out;
    } rows[] = {
        { "run", "run --out flag", "env", "QUERN_OUT = file\n", "flag" },
        { "run", "run", "env", "QUERN_OUT = file\n", "env" },
        { "run", "run", "", "QUERN_OUT = file\n", "file" },
        { "run", "run", "", "# none\n\n  QUERN_OUT=file # two  ",
          "file # two" },
        { "run", "run", "", "QUERN_TENANT = other\n", NULL },
        { "submit", "submit", "env", "QUERN_OUT = file\n", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct options options;
        struct err err = { 0 };

        print_message("%s: %s: %s\n", rows[i].line, rows[i].environment,
                      rows[i].file);
        setenv("QUERN_OUT", rows[i].environment, 1);
        write_settings(rows[i].file);
        assert_true(parse(&options, rows[i].line, &err));
        assert_true(options_settle(&options, rows[i].verb, &err));
        if (rows[i].out)
            assert_string_equal(options.out, rows[i].out);
        else
            assert_null(options.out);
        options_finish(&options);
    }
}

static void faults_of_the_file_name_the_line(void **state)
{
    static const struct {
        const char *file, *said;
    } rows[] = {
        { "QUERN_OUT = a\nQUERN_UOT = b\n",
          ":2: there is no setting \"QUERN_UOT\"; did you mean QUERN_OUT?" },
        { "QUERN_JSON = yes\n", ":1: there is no setting \"QUERN_JSON\"" },
        { "\n\nout\n", ":3: \"out\" is not a line of the form" },
        { "QUERN_PRIORITY = top\n",
          ":1: QUERN_PRIORITY is \"top\", must be normal, high or low" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct options options = { 0 };
        struct err err = { 0 };

        print_message("%s\n", rows[i].file);
        write_settings(rows[i].file);
        assert_false(options_settle(&options, "run", &err));
        assert_non_null(strstr(err.text, rows[i].said));
        options_finish(&options);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_arrive_however_they_are_written),
        cmocka_unit_test(numbers_have_units),
        cmocka_unit_test(options_of_a_job_are_its_members),
        cmocka_unit_test(every_member_of_a_job_that_is_an_option_arrives),
        cmocka_unit_test(faults_are_told),
        cmocka_unit_test(an_option_of_a_group_is_not_one_of_its_namesake),
        cmocka_unit_test(words_are_counted_to_the_last),
        cmocka_unit_test(too_many_of_one_are_refused),
        cmocka_unit_test(too_many_of_a_list_of_the_job_are_refused),
        cmocka_unit_test(the_table_is_sound),
        cmocka_unit_test(flags_win_over_environment_over_file),
        cmocka_unit_test(faults_of_the_file_name_the_line),
    };

    return cmocka_run_group_tests(tests, NULL, remove_settings);
}
