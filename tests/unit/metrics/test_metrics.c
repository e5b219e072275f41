/* test_metrics.c - what is counted, and what is written of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/metrics/metrics.h"

enum { STARTED, FINISHED, PAUSED, WAIT, OPEN, CALLS, METRICS };

static const char *const outcomes[] = { "completed", "failed", NULL };
static const char *const walls[] = { "memory", "files", NULL };
static const double bounds[] = { 0.5, 1, 2.5, 0 };

static const struct metric table[METRICS] = {
    [STARTED] = { "jobs_started_total",
                  METRIC_COUNTER,
                  "Jobs that began.",
                  { { "queue", NULL } },
                  .buckets = NULL },
    [FINISHED] = { "jobs_finished_total",
                   METRIC_COUNTER,
                   "Jobs that ended.",
                   { { "queue", NULL }, { "outcome", outcomes } },
                   .buckets = NULL },
    [PAUSED] = { "paused",
                 METRIC_GAUGE,
                 "Whether it is paused.",
                 { { 0 } },
                 .buckets = NULL },
    [WAIT] = { "wait_seconds",
               METRIC_HISTOGRAM,
               "How long jobs waited.",
               { { 0 } },
               .buckets = bounds },
    [OPEN] = { "wall_up",
               METRIC_GAUGE,
               "Whether the wall stands.",
               { { "wall", walls } },
               .is_whole = true },
    [CALLS] = { "calls_total",
                METRIC_COUNTER,
                "Calls.",
                { { "queue", NULL }, { "outcome", outcomes } },
                .is_whole = true },
};

static int setup(void **state)
{
    (void)state;
    metrics_declare(table, METRICS);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    metrics_finish();
    return 0;
}

static void assert_written(const char *line)
{
    CLEANUP(buf_finish) struct buf out;
    buf_init(&out, 1 << 20);
    metrics_write(&out);
    buf_append(&out, "", 1);
    if (!strstr(out.data, line))
        fail_msg("no \"%s\" in:\n%s", line, out.data);
}

static void assert_not_written(const char *text)
{
    CLEANUP(buf_finish) struct buf out;
    buf_init(&out, 1 << 20);
    metrics_write(&out);
    buf_append(&out, "", 1);
    if (strstr(out.data, text))
        fail_msg("\"%s\" in:\n%s", text, out.data);
}

static void a_metric_without_labels_is_written_from_the_start(void **state)
{
    (void)state;
    assert_written("# HELP quern_paused Whether it is paused.\n"
                   "# TYPE quern_paused gauge\nquern_paused 0\n");
    assert_written("quern_wait_seconds_count 0\n");
}

static void a_whole_metric_is_written_without_other(void **state)
{
    (void)state;
    assert_written("quern_wall_up{wall=\"memory\"} 0\n"
                   "quern_wall_up{wall=\"files\"} 0\n");
    assert_not_written("other");
}

static void a_configured_value_of_a_whole_metric_is_written_as_0(void **state)
{
    (void)state;
    assert_not_written("quern_calls_total{");
    metrics_allow("queue", VIEW("default"));
    assert_written("quern_calls_total{queue=\"default\",outcome=\"completed\"} "
                   "0\nquern_calls_total{queue=\"default\",outcome=\"failed\"} "
                   "0\n");
    assert_not_written("other");
}

static void a_gauge_may_be_set_anew_as_a_whole(void **state)
{
    (void)state;
    metric_set(OPEN, 1, LABELS(VIEW("memory")));
    metric_zero(OPEN);
    metric_zero(FINISHED); /* nothing was counted: nothing is written */
    assert_written("quern_wall_up{wall=\"memory\"} 0\n");
    assert_not_written("quern_jobs_finished_total{");
}

static void a_series_is_written_once_it_is_touched(void **state)
{
    (void)state;
    metrics_allow("queue", VIEW("default"));
    assert_not_written("quern_jobs_finished_total{");
    metric_add(FINISHED, 2, LABELS(VIEW("default"), VIEW("failed")));
    metric_add(FINISHED, 1, LABELS(VIEW("default"), VIEW("failed")));
    assert_written(
        "quern_jobs_finished_total{queue=\"default\",outcome=\"failed\"} 3\n");
    assert_not_written(
        "quern_jobs_finished_total{queue=\"default\",outcome=\"completed\"");
}

static void a_value_that_nobody_configured_is_other(void **state)
{
    (void)state;
    metrics_allow("queue", VIEW("default"));
    metric_add(STARTED, 1, LABELS(VIEW("of a stranger")));
    metric_add(STARTED, 1, LABELS(VIEW("of another")));
    assert_written("quern_jobs_started_total{queue=\"other\"} 2\n");
    assert_not_written("stranger");
}

static void a_series_keeps_its_number_when_more_values_are_allowed(void **state)
{
    (void)state;
    metrics_allow("queue", VIEW("a"));
    metric_add(FINISHED, 7, LABELS(VIEW("a"), VIEW("failed")));
    metrics_allow("queue", VIEW("b"));
    metrics_allow("queue", VIEW("a"));
    metric_add(FINISHED, 1, LABELS(VIEW("b"), VIEW("failed")));
    assert_written("{queue=\"a\",outcome=\"failed\"} 7\n");
    assert_written("{queue=\"b\",outcome=\"failed\"} 1\n");
}

static void values_beyond_the_limit_are_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "queue-%zu", i);
        metrics_allow("queue", view_of(name));
        metric_add(STARTED, 1, LABELS(view_of(name)));
    }
    assert_written("{queue=\"queue-63\"} 1\n");
    assert_written("{queue=\"other\"} 936\n");
    assert_true(metrics_series() <= metrics_most_series());
    assert_not_written("queue-64");
}

static void buckets_add_up(void **state)
{
    (void)state;
    metric_observe(WAIT, 0.5, NO_LABELS);
    metric_observe(WAIT, 0.6, NO_LABELS);
    metric_observe(WAIT, 100, NO_LABELS);
    assert_written("quern_wait_seconds_bucket{le=\"0.5\"} 1\n"
                   "quern_wait_seconds_bucket{le=\"1\"} 2\n"
                   "quern_wait_seconds_bucket{le=\"2.5\"} 2\n"
                   "quern_wait_seconds_bucket{le=\"+Inf\"} 3\n"
                   "quern_wait_seconds_sum 101.1\n"
                   "quern_wait_seconds_count 3\n");
}

static void values_are_written_as_prometheus_reads_them(void **state)
{
    (void)state;
    metrics_allow("queue", VIEW("a\"b\\c\nd\xff\xc3\xbc"));
    metric_add(STARTED, 1, LABELS(VIEW("a\"b\\c\nd\xff\xc3\xbc")));
    assert_written("{queue=\"a\\\"b\\\\c\\nd?\xc3\xbc\"} 1\n");
}

static void nothing_is_counted_before_a_table_is_declared(void **state)
{
    (void)state;
    metrics_finish();
    metric_add(STARTED, 1, LABELS(VIEW("default")));
    metric_observe(WAIT, 1, NO_LABELS);
    assert_int_equal(metrics_series(), 0);
    metrics_declare(table, METRICS);
    metric_set(PAUSED, 1, NO_LABELS);
    assert_written("quern_paused 1\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_metric_without_labels_is_written_from_the_start),
        TEST(a_whole_metric_is_written_without_other),
        TEST(a_configured_value_of_a_whole_metric_is_written_as_0),
        TEST(a_gauge_may_be_set_anew_as_a_whole),
        TEST(a_series_is_written_once_it_is_touched),
        TEST(a_value_that_nobody_configured_is_other),
        TEST(a_series_keeps_its_number_when_more_values_are_allowed),
        TEST(values_beyond_the_limit_are_other),
        TEST(buckets_add_up),
        TEST(values_are_written_as_prometheus_reads_them),
        TEST(nothing_is_counted_before_a_table_is_declared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
