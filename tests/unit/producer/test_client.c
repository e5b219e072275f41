/* test_client.c - what libquern says without any Redis. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "producer/client/quern.h"
#include "schemas/message/limits.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct quern *open_nowhere(void)
{
    /* An hour: whoever waits for that server runs into the test's limit. */
    const struct quern_options options = { .url = "unix:///nowhere/r.sock",
                                           .timeout_ms = 3600000 };
    struct quern *quern = quern_open(&options, NULL);

    assert_non_null(quern);
    return quern;
}

static void settings_are_checked_when_opening(void **state)
{
    static const struct {
        const char *what;
        struct quern_options options;
    } rows[] = {
        { "a URL of another kind", { .url = "http://localhost" } },
        { "a port that is none", { .url = "redis://localhost:x" } },
        { "a prefix with braces", { .prefix = "a{b}" } },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct quern_error error = { 0 };

        print_message("%s\n", rows[i].what);
        assert_null(quern_open(&rows[i].options, &error));
        assert_int_equal(error.kind, QUERN_REJECT);
        assert_string_equal(error.code, "bad_setting");
    }
    quern_close(NULL);
}

static const char *const cells[MAX_CELLS + 1] = { "x" };
static const char *const paths[MAX_FILES + 1] = { "x" };
static const struct quern_file nameless = { .data = "x", .size = 1 };
static const struct quern_file outside = { .name = "../x" };
static const struct {
    const char *what;
    struct quern_job job;
    const char *code;
    const char *said;
} refused[] = {
    { "nothing to do", { 0 }, "missing_field", "prompt" },
    { "code without cells", { .kind = QUERN_CODE }, "missing_field", "cells" },
    { "an id of another shape",
      { .id = "17", .prompt = "q" },
      "bad_field",
      "id" },
    { "a prompt that is not UTF-8",
      { .prompt = "\xff" },
      "bad_field",
      "prompt" },
    { "more that is not JSON",
      { .more = "[{" },
      "bad_field",
      "more: not JSON: line 1" },
    { "more that is no object",
      { .prompt = "q", .more = "[]" },
      "bad_field",
      "more must be a JSON object" },
    { "a member that there is not",
      { .prompt = "q", .more = "{\"limits\": {\"max_turn\": 3}}" },
      "bad_field",
      "limits.max_turn is not a member of job_limits" },
    { "a member out of its range",
      { .prompt = "q", .more = "{\"limits\": {\"max_turns\": 257}}" },
      "bad_field",
      "limits.max_turns is 257, must be 0 to 256" },
    { "a prompt beside messages",
      { .prompt = "q",
        .more = "{\"messages\": [{\"role\": \"user\", \"content\": \"q\"}]}" },
      "bad_field",
      "prompt and messages exclude each other" },
    { "a session with a line end",
      { .prompt = "q", .session = "a\nb" },
      "bad_field",
      "session" },
    { "more cells than there may be",
      { .kind = QUERN_CODE, .cells = cells, .cell_count = MAX_CELLS + 1 },
      "too_large",
      "cells: 257, at most 256" },
    { "more files than there may be",
      { .prompt = "q", .files = &nameless, .file_count = MAX_FILES + 1 },
      "too_large",
      "files: 65, at most 64" },
    { "a file without a name",
      { .prompt = "q", .files = &nameless, .file_count = 1 },
      "bad_field",
      "is not a file name" },
    { "a file that leaves its folder",
      { .prompt = "q", .files = &outside, .file_count = 1 },
      "bad_field",
      "\"../x\" is not a file name" },
    { "an action without a session",
      { .kind = QUERN_SESSION },
      "missing_field",
      "session is required" },
    { "a get of nothing",
      { .kind = QUERN_SESSION, .session = "lab", .action = QUERN_GET },
      "missing_field",
      "names is required" },
    { "more files to get than there may be",
      { .kind = QUERN_SESSION,
        .session = "lab",
        .action = QUERN_GET,
        .paths = paths,
        .path_count = MAX_FILES + 1 },
      "too_large",
      "paths: 65, at most 64" },
    { "a fork onto itself",
      { .kind = QUERN_SESSION,
        .session = "lab",
        .action = QUERN_FORK,
        .to = "lab" },
      "bad_field",
      "the session itself" },
    { "an action that there is not",
      { .kind = QUERN_SESSION,
        .session = "lab",
        .action = (enum quern_action)99 },
      "bad_field",
      "action" },
};

static void jobs_are_refused_before_anything_is_sent(void **state)
{
    struct quern *quern = open_nowhere();

    (void)state;
    for (size_t i = 0; i < COUNT(refused); i++) {
        struct quern_error error = { 0 };
        struct quern_id id;

        print_message("%s\n", refused[i].what);
        assert_false(quern_submit(quern, &refused[i].job, &id, NULL, &error));
        print_message("  %s: %s\n", error.code, error.text);
        assert_string_equal(error.code, refused[i].code);
        assert_int_equal(error.kind, QUERN_REJECT);
        assert_non_null(strstr(error.text, refused[i].said));
    }
    quern_close(quern);
}

static void sessions_are_asked_for_by_name(void **state)
{
    static const struct {
        const char *tenant, *name;
        const char *said;
    } rows[] = {
        { NULL, "a\nb", "session is \"a?b\", must be 1 to 128 bytes of UTF-8" },
        { NULL, "", "session is \"\", must be" },
        { NULL, NULL, "session is \"\", must be" },
        { NULL, "\xff", "without control characters" },
        { "a\x7f", "lab", "tenant is \"a?\", must be" },
        { "", "lab", "tenant is \"\", must be" },
    };
    struct quern *quern = open_nowhere();
    struct quern_records records;
    struct quern_error error = { 0 };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct quern_record record;

        print_message("%s\n", rows[i].said);
        assert_false(quern_session(quern, rows[i].tenant, rows[i].name, &record,
                                   &error));
        assert_string_equal(error.code, "bad_field");
        assert_non_null(strstr(error.text, rows[i].said));
        assert_null(record.bytes);
    }
    assert_false(quern_sessions(quern, "a\nb", &records, &error));
    assert_string_equal(error.code, "bad_field");
    quern_records_finish(&records);
    quern_records_finish(NULL);
    quern_close(quern);
}

static void without_redis_every_call_says_so_at_once(void **state)
{
    static const char id[] = "019aa5c8-1b2c-7000-8123-0123456789ab";
    const struct quern_job job = { .prompt = "q" };
    struct quern *quern = open_nowhere();
    struct quern_error errors[8] = { 0 };
    struct quern_records records;
    struct quern_record record;
    struct quern_status status;
    enum quern_cancel_outcome outcome;
    struct quern_id given;
    char sha256[65];

    (void)state;
    assert_false(quern_submit(quern, &job, &given, NULL, &errors[0]));
    assert_string_equal(given.text, ""); /* it does not stand */
    assert_false(quern_get(quern, id, &status, &errors[1]));
    assert_false(quern_wait(quern, id, 60000, &status, &errors[2]));
    assert_false(quern_cancel(quern, id, NULL, &outcome, &errors[3]));
    assert_false(quern_blob_put(quern, NULL, "x", 1, sha256, &errors[4]));
    assert_false(quern_session(quern, NULL, "lab", &record, &errors[5]));
    assert_false(quern_sessions(quern, NULL, &records, &errors[6]));
    assert_false(quern_id_new(quern, NULL, &given, &errors[7]));
    for (size_t i = 0; i < COUNT(errors); i++) {
        assert_int_equal(errors[i].kind, QUERN_RETRY);
        assert_string_equal(errors[i].code, "redis_unavailable");
        assert_non_null(strstr(errors[i].text, "/nowhere/r.sock"));
    }
    quern_close(quern);
}

static void a_watch_without_redis_waits_as_long_as_it_is_told(void **state)
{
    static const char id[] = "019aa5c8-1b2c-7000-8123-0123456789ab";
    struct quern *quern = open_nowhere();
    struct quern_watch *watch = quern_watch_open(quern, id, 0, NULL);
    struct quern_event event;

    (void)state;
    assert_null(quern_watch_trouble(watch));
    assert_int_equal(quern_watch_next(watch, &event, 1, NULL), QUERN_NOTHING);
    assert_int_equal(quern_watch_next(watch, &event, 80, NULL), QUERN_NOTHING);
    assert_non_null(strstr(quern_watch_trouble(watch), "/nowhere/r.sock"));
    quern_watch_close(watch);
    quern_watch_close(NULL);
    quern_close(quern);
}

static void messages_become_json(void **state)
{
    struct quern_error error = { 0 };
    char *text = quern_json("\x82\xa1v\x01\xa1x\xc4\x01\xff", 9, &error);

    (void)state;
    assert_string_equal(text, "{\"v\":1,\"x\":{\"base64\":\"/w==\"}}");
    free(text);
    assert_null(quern_json("\xdd\xff\xff\xff\xff", 5, &error));
    assert_string_equal(error.code, "bad_message");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_are_checked_when_opening),
        cmocka_unit_test(jobs_are_refused_before_anything_is_sent),
        cmocka_unit_test(sessions_are_asked_for_by_name),
        cmocka_unit_test(without_redis_every_call_says_so_at_once),
        cmocka_unit_test(a_watch_without_redis_waits_as_long_as_it_is_told),
        cmocka_unit_test(messages_become_json),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
