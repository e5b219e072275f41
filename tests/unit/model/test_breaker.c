/* test_breaker.c - when an endpoint is left alone, and when it is tried again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "consumer/model/breaker.h"

static struct breaker failed(unsigned times, uint64_t now)
{
    struct breaker breaker = { 0 };
    for (unsigned i = 0; i < times; i++)
        breaker_failed(&breaker, now);
    return breaker;
}

static void test_a_few_failures_are_borne(void **state)
{
    (void)state;
    struct breaker breaker = failed(BREAKER_FAILURES - 1, 1000);
    assert_int_equal(breaker_ask(&breaker, 1000), 0);
    assert_int_equal(breaker_ask(&breaker, 1000), 0);
    breaker_failed(&breaker, 1000);
    assert_int_equal(breaker_ask(&breaker, 1000), BREAKER_REST_MS);
}

static void test_one_probe(void **state)
{
    (void)state;
    struct breaker breaker = failed(BREAKER_FAILURES, 0);
    uint64_t now = BREAKER_REST_MS;
    assert_int_equal(breaker_ask(&breaker, now - 1), 1);
    assert_int_equal(breaker_ask(&breaker, now), 0);
    assert_true(breaker_ask(&breaker, now) > 0);
    assert_true(breaker_ask_kept(&breaker, now) > 0);
    breaker_dropped(&breaker); /* given up: another one may */
    assert_int_equal(breaker_ask(&breaker, now), 0);
    breaker_failed(&breaker, now);
    assert_int_equal(breaker_ask(&breaker, now), 2 * BREAKER_REST_MS);
    now += 2 * (uint64_t)BREAKER_REST_MS;
    assert_int_equal(breaker_ask(&breaker, now), 0);
    breaker_well(&breaker);
    assert_int_equal(breaker_ask(&breaker, now), 0);
    assert_int_equal(breaker_ask(&breaker, now), 0);
}

static void test_the_rest_is_bounded(void **state)
{
    (void)state;
    struct breaker breaker = failed(100000, 7);
    assert_int_equal(breaker_ask(&breaker, 7), BREAKER_MOST_MS);
}

static void test_a_wait_that_was_asked_for(void **state)
{
    (void)state;
    struct breaker breaker = { 0 };
    breaker_wait(&breaker, 100, 50);
    breaker_wait(&breaker, 100, 20); /* the longer one counts */
    assert_int_equal(breaker_ask(&breaker, 120), 30);
    assert_int_equal(breaker_ask_kept(&breaker, 120), 30);
    assert_int_equal(breaker_ask(&breaker, 150), 0);
    assert_int_equal(breaker.failures, 0);
}

/* It was made before, and says nothing of what was asked for since. */
static void test_a_wait_outlasts_a_reply(void **state)
{
    (void)state;
    struct breaker breaker = failed(2, 0);
    breaker_wait(&breaker, 0, 1000);
    breaker_well(&breaker);
    assert_int_equal(breaker.failures, 0);
    assert_int_equal(breaker_ask(&breaker, 400), 600);
    assert_int_equal(breaker_waits(&breaker, 400), 600);
    assert_int_equal(breaker_ask(&breaker, 1000), 0);
}

static void test_a_limit_that_is_used_up(void **state)
{
    (void)state;
    struct breaker breaker = { 0 };
    struct rate_report said = { 0 };
    rate_hear(&said, VIEW("x-ratelimit-remaining-requests"), VIEW("1"), 0);
    rate_hear(&said, VIEW("x-ratelimit-reset-requests"), VIEW("9s"), 0);
    assert_int_equal(
        rate_take(&breaker.rate, &said, rate_sent(&breaker.rate), 0), 0);
    assert_int_equal(breaker_ask_kept(&breaker, 0), 0); /* is not counted */
    assert_int_equal(breaker_ask(&breaker, 0), 0);
    assert_int_equal(breaker_ask(&breaker, 1000), 8000);
    assert_int_equal(breaker_ask_kept(&breaker, 1000), 0);
    assert_int_equal(breaker_waits(&breaker, 1000), 0); /* nobody asked */
    assert_int_equal(breaker_ask(&breaker, 9000), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_few_failures_are_borne),
        cmocka_unit_test(test_one_probe),
        cmocka_unit_test(test_the_rest_is_bounded),
        cmocka_unit_test(test_a_wait_that_was_asked_for),
        cmocka_unit_test(test_a_wait_outlasts_a_reply),
        cmocka_unit_test(test_a_limit_that_is_used_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
