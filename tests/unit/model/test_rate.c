/* test_rate.c - what endpoints say of their limits, and who waits then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "consumer/model/breaker.h"

/* 2026-03-01T12:00:00Z */
static const uint64_t NOON_MS = 1772366400000;
static const uint64_t SECOND = 1000, MINUTE = 60 * 1000;

static void hear(struct rate_report *said, const char *name, const char *value)
{
    rate_hear(said, view_of(name), view_of(value), NOON_MS);
}

static void test_every_form_of_a_reset(void **state)
{
    static const struct {
        const char *text;
        uint64_t ms;
    } rows[] = {
        { "1s", 1000 },
        { "20ms", 20 },
        { "6m0s", 6 * 60000 },
        { "20m52.666s", 20 * 60000 + 52666 },
        { "17.563999999s", 17563 },
        { "1h2m3s", 3723000 },
        { "1d", 86400000 },
        { "1500us", 1 },
        { "1500\xc2\xb5s", 1 },
        { "2000000ns", 2 },
        { "7", 7000 },
        { "0.5", 500 },
        { "60", 60000 },
        { "2026-03-01T12:00:30Z", 30000 },
        { "2026-03-01T12:00:30.25Z", 30000 },
        { "2026-03-01T13:01:00+01:00", 60000 },
        { "2026-03-01T07:01:00-05:00", 60000 },
        { "1772366460", 60000 },
        { "1772366460000", 60000 },
        { " 5s ", 5000 },
        { "9999h", 7ULL * 86400 * 1000 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rate_report said = { 0 };
        hear(&said, "x-ratelimit-reset-requests", rows[i].text);
        if (said.count != 1 || said.limits[0].reset_ms != rows[i].ms)
            fail_msg("\"%s\": %llu ms, should be %llu", rows[i].text,
                     (unsigned long long)said.limits[0].reset_ms,
                     (unsigned long long)rows[i].ms);
    }
}

static void test_what_is_no_reset_is_passed_over(void **state)
{
    static const char *const rows[] = {
        "",
        " ",
        "soon",
        "-1",
        "-5s",
        "s",
        "5x",
        "1.2.3s",
        "1e5s",
        "0x10",
        "nan",
        "inf",
        "5s extra",
        "2026-03-01",
        "2026-03-01T12:00:30",
        "2026-03-01T12:00:30+1",
        "2026-03-01T12:00:30+ab:cd",
        "Sun, 01 Mar 2026 12:00:30 GMT",
        "1111111111111111111111111111111111111111111111111111111111111111",
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rate_report said = { 0 };
        hear(&said, "x-ratelimit-reset-requests", rows[i]);
        if (said.count != 0)
            fail_msg("\"%s\" is taken for %llu ms", rows[i],
                     (unsigned long long)said.limits[0].reset_ms);
    }
}

static void test_a_time_that_is_over(void **state)
{
    static const char *const rows[] = { "0", "0s", "2026-03-01T11:59:59Z",
                                        "1772366399", "1772366399000" };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rate_report said = { 0 };
        struct breaker breaker = { 0 };
        hear(&said, "x-ratelimit-remaining-requests", "0");
        hear(&said, "x-ratelimit-reset-requests", rows[i]);
        assert_int_equal(said.limits[0].reset_ms, 0);
        assert_int_equal(
            rate_take(&breaker.rate, &said, rate_sent(&breaker.rate), 5), 0);
        assert_int_equal(breaker_ask(&breaker, 5), 0);
    }
}

/* Nothing is left: how long everybody waits. */
static void test_every_name(void **state)
{
    static const struct {
        const char *left, *reset, *value;
        uint64_t ms;
    } rows[] = {
        { "x-ratelimit-remaining-requests", "x-ratelimit-reset-requests", "9s",
          9000 },
        { "X-RateLimit-Remaining-Tokens", "X-RateLimit-Reset-Tokens", "9s",
          9000 },
        { "anthropic-ratelimit-requests-remaining",
          "anthropic-ratelimit-requests-reset", "2026-03-01T12:00:09Z", 9000 },
        { "anthropic-ratelimit-tokens-remaining",
          "anthropic-ratelimit-tokens-reset", "2026-03-01T12:00:09Z", 9000 },
        { "anthropic-ratelimit-input-tokens-remaining",
          "anthropic-ratelimit-input-tokens-reset", "2026-03-01T12:00:09Z",
          9000 },
        { "anthropic-ratelimit-output-tokens-remaining",
          "anthropic-ratelimit-output-tokens-reset", "2026-03-01T12:00:09Z",
          9000 },
        { "x-ratelimit-remaining", "x-ratelimit-reset", "1772366409000", 9000 },
        { "ratelimit-remaining", "ratelimit-reset", "9", 9000 },
        { "x-ratelimit-remaining-requests-day",
          "x-ratelimit-reset-requests-day", "33011.382", RATE_MOST_MS },
        { "x-ratelimit-remaining-req-10-second", "server", "x", 10000 },
        { "x-ratelimit-remaining-tokens-minute", "server", "x", 60000 },
        { "x-ratelimit-remaining-tokens-month", "server", "x", 0 },
        { "x-ratelimit-remaining-input-images",
          "x-ratelimit-reset-input-images", "9s", 0 },
        { "x-ratelimit-remaining-tokens", "x-ratelimit-reset-requests", "9s",
          0 },
        { "remaining-requests", "reset-requests", "9s", 0 },
        { "x-ratelimit-remainingrequests", "x-ratelimit-resetrequests", "9s",
          0 },
        { "x-ratelimit-", "x-ratelimit--reset", "9s", 0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rate_report said = { 0 };
        struct breaker breaker = { 0 };
        hear(&said, rows[i].reset, rows[i].value); /* in any order */
        hear(&said, rows[i].left, "0");
        uint64_t wait =
            rate_take(&breaker.rate, &said, rate_sent(&breaker.rate), 100);
        if (wait != rows[i].ms)
            fail_msg("%s: %llu ms, should be %llu", rows[i].left,
                     (unsigned long long)wait, (unsigned long long)rows[i].ms);
        assert_int_equal(breaker_ask(&breaker, 100), rows[i].ms);
        assert_int_equal(breaker_ask(&breaker, 100 + rows[i].ms), 0);
    }
}

static void test_what_is_no_number_is_not_known(void **state)
{
    static const char *const rows[] = { "", "-1", "none", "unlimited" };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rate_report said = { 0 };
        struct breaker breaker = { 0 };
        hear(&said, "x-ratelimit-remaining-requests", rows[i]);
        hear(&said, "x-ratelimit-reset-requests", "9s");
        assert_int_equal(
            rate_take(&breaker.rate, &said, rate_sent(&breaker.rate), 0), 0);
        assert_int_equal(breaker_ask(&breaker, 0), 0);
    }
}

/* Both limits, by one answer to the request of that number. */
static uint64_t told(struct rate *rate, uint64_t number, const char *requests,
                     const char *tokens, uint64_t now_ms)
{
    struct rate_report said = { 0 };
    hear(&said, "x-ratelimit-remaining-requests", requests);
    hear(&said, "x-ratelimit-reset-requests", "1m0s");
    hear(&said, "x-ratelimit-remaining-tokens", tokens);
    hear(&said, "x-ratelimit-reset-tokens", "20s");
    return rate_take(rate, &said, number, now_ms);
}

static void test_as_many_go_as_are_left(void **state)
{
    struct breaker breaker = { 0 };
    (void)state;
    assert_int_equal(breaker_ask(&breaker, 0), 0);
    assert_int_equal(
        told(&breaker.rate, rate_sent(&breaker.rate), "2", "9000", 0), 0);
    assert_int_equal(breaker_ask(&breaker, 0), 0);
    assert_int_equal(breaker_ask(&breaker, 0), 0);
    assert_int_equal(breaker_ask(&breaker, 15 * SECOND), 45 * SECOND);
    assert_int_equal(breaker_ask(&breaker, MINUTE), 0);
}

static void test_those_on_their_way_count(void **state)
{
    struct breaker breaker = { 0 };
    (void)state;
    uint64_t first = rate_sent(&breaker.rate);
    rate_sent(&breaker.rate);
    rate_sent(&breaker.rate);
    assert_int_equal(told(&breaker.rate, first, "3", "9000", 0), 0);
    assert_int_equal(breaker_ask(&breaker, 0), 0);
    assert_int_equal(breaker_ask(&breaker, 0), MINUTE);
}

static void test_an_older_answer_says_nothing_new(void **state)
{
    struct breaker breaker = { 0 };
    (void)state;
    uint64_t first = rate_sent(&breaker.rate),
             second = rate_sent(&breaker.rate);
    assert_int_equal(told(&breaker.rate, second, "0", "9000", 0), MINUTE);
    assert_int_equal(told(&breaker.rate, first, "1", "9000", 5), 0);
    assert_int_equal(breaker_ask(&breaker, 5), MINUTE - 5);
}

static void test_a_request_takes_what_the_last_one_took(void **state)
{
    struct breaker breaker = { 0 };
    (void)state;
    assert_int_equal(
        told(&breaker.rate, rate_sent(&breaker.rate), "50", "999", 0), 0);
    struct rate_use use = { .input = 700, .output = 299 };
    assert_int_equal(rate_used(&breaker.rate, &use, SECOND), 0);
    use.output = 300;
    assert_int_equal(rate_used(&breaker.rate, &use, SECOND), 19 * SECOND);
    assert_int_equal(
        told(&breaker.rate, rate_sent(&breaker.rate), "50", "999", 0),
        20 * SECOND);
    assert_int_equal(
        told(&breaker.rate, rate_sent(&breaker.rate), "50", "2500", 0), 0);
    assert_int_equal(breaker_ask(&breaker, 0), 0);
    assert_int_equal(breaker_ask(&breaker, 0), 0);
    assert_int_equal(breaker_ask(&breaker, 0), 20 * SECOND);
}

/* A long conversation is nearly all cache reads. */
static void test_what_is_read_from_a_cache(void **state)
{
    static const struct {
        const char *left, *reset;
        struct rate_use use;
        uint64_t wait;
    } rows[] = {
        { "anthropic-ratelimit-input-tokens-remaining",
          "anthropic-ratelimit-input-tokens-reset",
          { 9000, 8500, 600, true },
          0 },
        { "anthropic-ratelimit-input-tokens-remaining",
          "anthropic-ratelimit-input-tokens-reset",
          { 9000, 7000, 600, true },
          9000 },
        { "anthropic-ratelimit-tokens-remaining",
          "anthropic-ratelimit-tokens-reset",
          { 9000, 8600, 600, true },
          0 },
        { "x-ratelimit-remaining-tokens",
          "x-ratelimit-reset-tokens",
          { 9000, 8600, 600, false },
          9000 },
        { "anthropic-ratelimit-input-tokens-remaining",
          "anthropic-ratelimit-input-tokens-reset",
          { 9000, 9001, 600, true },
          0 },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct rate_report said = { 0 };
        struct breaker breaker = { 0 };
        hear(&said, rows[i].left, "1000");
        hear(&said, rows[i].reset, "9s");
        assert_int_equal(
            rate_take(&breaker.rate, &said, rate_sent(&breaker.rate), 0), 0);
        if (rate_used(&breaker.rate, &rows[i].use, 0) != rows[i].wait)
            fail_msg(
                "%s, row %zu: %llu ms", rows[i].left, i,
                (unsigned long long)rate_used(&breaker.rate, &rows[i].use, 0));
    }
}

static void test_an_answer_without_limits_changes_nothing(void **state)
{
    struct rate_report nothing = { 0 };
    struct breaker breaker = { 0 };
    (void)state;
    told(&breaker.rate, rate_sent(&breaker.rate), "0", "9000", 0);
    assert_int_equal(
        rate_take(&breaker.rate, &nothing, rate_sent(&breaker.rate), 0), 0);
    assert_int_equal(breaker_ask(&breaker, 0), MINUTE);
}

static void test_more_limits_than_are_kept(void **state)
{
    struct rate_report said = { 0 };
    char name[64];
    (void)state;
    for (int i = 0; i < 3 * RATE_LIMITS; i++) {
        snprintf(name, sizeof(name), "x-ratelimit-remaining-tokens-%d", i);
        hear(&said, name, "0");
    }
    assert_int_equal(said.count, RATE_LIMITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_form_of_a_reset),
        cmocka_unit_test(test_what_is_no_reset_is_passed_over),
        cmocka_unit_test(test_a_time_that_is_over),
        cmocka_unit_test(test_every_name),
        cmocka_unit_test(test_what_is_no_number_is_not_known),
        cmocka_unit_test(test_as_many_go_as_are_left),
        cmocka_unit_test(test_those_on_their_way_count),
        cmocka_unit_test(test_an_older_answer_says_nothing_new),
        cmocka_unit_test(test_a_request_takes_what_the_last_one_took),
        cmocka_unit_test(test_what_is_read_from_a_cache),
        cmocka_unit_test(test_an_answer_without_limits_changes_nothing),
        cmocka_unit_test(test_more_limits_than_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
