/* test_log_event.c - the table of events, its sentences, and how many lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/service/log_event.h"

static void rows_are_sorted_and_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < log_event_count; i++) {
        if (i > 0)
            assert_true(strcmp(log_events[i - 1].what, log_events[i].what) < 0);
        assert_ptr_equal(log_event_find(log_events[i].what), &log_events[i]);
    }
    assert_null(log_event_find("nothing.of_that_name"));
}

/* "name=value;..." */
static bool member_of(const void *owner, const char *name, struct buf *out)
{
    const char *text = owner;
    size_t len = strlen(name);
    for (; *text != '\0'; text += strcspn(text, ";") + 1)
        if (strncmp(text, name, len) == 0 && text[len] == '=')
            return buf_append(out, text + len + 1,
                              strcspn(text, ";") - len - 1);
    return false;
}

static const struct {
    const char *sentence, *members, *said;
} sentences[] = {
    { "It runs.", "", "It runs." },
    { "{a} of {b}.", "a=1;b=2;", "1 of 2." },
    { "{a} of {b}.", "a=1;", "1 of ." },
    { "It failed[: {why}].", "why=late;", "It failed: late." },
    { "It failed[: {why}].", "why=;", "It failed." },
    { "It failed[: {why}].", "", "It failed." },
    { "at [{path}][{host}, port {port}]", "path=/x;", "at /x" },
    { "at [{path}][{host}, port {port}]", "host=h;port=1;", "at h, port 1" },
    { "{a}", "a={b};b=1;", "{b}" }, /* a value is no sentence */
};

static void a_sentence_has_the_members_in_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++) {
        struct log_event event = { "x", SEVERITY_INFO, sentences[i].sentence };
        CLEANUP(buf_finish) struct buf out;
        buf_init(&out, 1000);
        log_event_say(&event, &out, member_of, sentences[i].members);
        buf_append(&out, "", 1);
        assert_string_equal(out.data, sentences[i].said);
    }
}

static void a_warning_that_comes_again_and_again_is_left_out(void **state)
{
    const struct log_event *event = log_event_find("redis.lost");
    uint64_t left_out, now_ms = 1000000;
    (void)state;
    for (int i = 0; i < LOG_MOST; i++)
        assert_true(log_event_is_due(event, now_ms, &left_out));
    for (int i = 0; i < 7; i++)
        assert_false(
            log_event_is_due(event, now_ms + LOG_SPAN_MS - 1, &left_out));
    assert_true(log_event_is_due(event, now_ms + LOG_SPAN_MS, &left_out));
    assert_int_equal(left_out, 7);
    assert_true(log_event_is_due(event, now_ms + LOG_SPAN_MS, &left_out));
    assert_int_equal(left_out, 0);
    assert_int_equal(log_lines(SEVERITY_WARNING), LOG_MOST + 2);
}

static void lines_of_jobs_are_never_left_out(void **state)
{
    const struct log_event *event = log_event_find("job.finished");
    uint64_t left_out;
    (void)state;
    for (int i = 0; i < 10 * LOG_MOST; i++)
        assert_true(log_event_is_due(event, 5, &left_out));
}

static void lesser_ones_than_the_least_are_not_written(void **state)
{
    uint64_t left_out;
    (void)state;
    assert_false(log_event_is_due(log_event_find("executor"), 5, &left_out));
    log_set_least(SEVERITY_DEBUG);
    assert_true(log_event_is_due(log_event_find("executor"), 5, &left_out));
    log_set_least(SEVERITY_ERROR);
    assert_false(log_event_is_due(log_event_find("mcp.away"), 5, &left_out));
    assert_true(log_event_is_due(log_event_find("claim.stuck"), 5, &left_out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sorted_and_found),
        cmocka_unit_test(a_sentence_has_the_members_in_it),
        cmocka_unit_test(a_warning_that_comes_again_and_again_is_left_out),
        cmocka_unit_test(lines_of_jobs_are_never_left_out),
        cmocka_unit_test(lesser_ones_than_the_least_are_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
