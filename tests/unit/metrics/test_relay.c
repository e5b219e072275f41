/* test_relay.c - which numbers of another process are shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "schemas/metrics/metrics.h"
#include "schemas/metrics/relay.h"

#define HEAD(name, type)                                                       \
    "# HELP quern_" name " What it is.\n# TYPE quern_" name " " type "\n"

enum { SLOTS, METRICS };

static const struct metric table[METRICS] = {
    [SLOTS] = { .name = "slots", .type = METRIC_GAUGE, .help = "Slots." },
};

static const struct {
    const char *what;
    const char *text;
    bool shown;
} rows[] = {
    { "nothing", "", true },
    { "a family without samples", HEAD("x", "counter"), true },
    { "a gauge", HEAD("x", "gauge") "quern_x -1.5e+06\n", true },
    { "labels",
      HEAD("x", "gauge") "quern_x{a=\"b\\\"\\\\\\n\",c=\"\xc3\xbc\"} 1\n",
      true },
    { "a histogram",
      HEAD("x", "histogram") "quern_x_bucket{le=\"0.5\"} 1\n"
                             "quern_x_bucket{le=\"+Inf\"} 1\nquern_x_sum 0.25\n"
                             "quern_x_count 1\n",
      true },
    { "two families", HEAD("x", "gauge") "quern_x 1\n" HEAD("y", "gauge"),
      true },
    { "one of ours", HEAD("slots", "gauge") "quern_slots 1\n", false },
    { "a family twice", HEAD("x", "gauge") HEAD("x", "gauge"), false },
    { "the last line does not end", HEAD("x", "gauge") "quern_x 1", false },
    { "an empty line", HEAD("x", "gauge") "\nquern_x 1\n", false },
    { "another comment", "# EOF\n", false },
    { "a name of somebody else", "# HELP up Up.\n# TYPE up gauge\nup 1\n",
      false },
    { "a help without a type", "# HELP quern_x X.\n", false },
    { "a help without a sentence", "# HELP quern_x \n# TYPE quern_x gauge\n",
      false },
    { "a type without a help", "# TYPE quern_x gauge\n", false },
    { "the type of another", "# HELP quern_x X.\n# TYPE quern_y gauge\n",
      false },
    { "a type that there is not", "# HELP quern_x X.\n# TYPE quern_x summary\n",
      false },
    { "a sample before all", "quern_x 1\n", false },
    { "a sample of another family", HEAD("x", "gauge") "quern_y 1\n", false },
    { "a longer name", HEAD("x", "gauge") "quern_xy 1\n", false },
    { "a bucket of a gauge", HEAD("x", "gauge") "quern_x_bucket 1\n", false },
    { "no bucket of a histogram", HEAD("x", "histogram") "quern_x 1\n", false },
    { "no number", HEAD("x", "gauge") "quern_x one\n", false },
    { "no digits", HEAD("x", "gauge") "quern_x .\n", false },
    { "a number and more", HEAD("x", "gauge") "quern_x 1 2\n", false },
    { "a number cut off", HEAD("x", "gauge") "quern_x 1e\n", false },
    { "an open value", HEAD("x", "gauge") "quern_x{a=\"b} 1\n", false },
    { "a wrong escape", HEAD("x", "gauge") "quern_x{a=\"\\t\"} 1\n", false },
    { "a label without a name", HEAD("x", "gauge") "quern_x{=\"b\"} 1\n",
      false },
    { "no UTF-8", HEAD("x", "gauge") "quern_x{a=\"\xff\"} 1\n", false },
    { "a control character", "# HELP quern_x \x1b[1m\n# TYPE quern_x gauge\n",
      false },
};

static void what_may_be_shown(void **state)
{
    (void)state;
    metrics_declare(table, METRICS);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = { 0 };
        bool shown = relay_check(view_of(rows[i].text), &err);
        if (shown != rows[i].shown)
            fail_msg("%s: %s", rows[i].what, shown ? "shown" : err.text);
        assert_int_equal(shown, err.kind == ERR_NONE);
    }
    metrics_finish();
}

static void the_line_is_named(void **state)
{
    struct err err;
    (void)state;
    assert_false(relay_check(view_of(HEAD("x", "gauge") "quern_x\n"), &err));
    assert_string_equal(err.text,
                        "line 3 of the numbers is none that may be shown");
}

static void there_are_limits(void **state)
{
    CLEANUP(buf_finish) struct buf out;
    struct err err;
    (void)state;
    buf_init(&out, 1 << 20);
    for (int i = 0; i < RELAY_FAMILIES; i++)
        buf_printf(&out, "# HELP quern_%c%c X.\n# TYPE quern_%c%c gauge\n",
                   'a' + i / 26, 'a' + i % 26, 'a' + i / 26, 'a' + i % 26);
    assert_true(relay_check(buf_view(&out), &err));
    buf_add(&out, view_of(HEAD("one_more", "gauge")));
    assert_false(relay_check(buf_view(&out), &err));
    buf_clear(&out);
    buf_add(&out, view_of(HEAD("x", "gauge")));
    while (out.len <= RELAY_BYTES)
        buf_add(&out, VIEW("quern_x 1\n"));
    assert_false(relay_check(buf_view(&out), &err));
}

/* What metrics_write() writes of any table is taken by a process with another.
 */
static void what_we_write_may_be_shown(void **state)
{
    static const double bounds[] = { 0.005, 1e9, 0 };
    static const char *const words[] = { "a", "b", NULL };
    static const struct metric theirs[] = {
        { "x_seconds",
          METRIC_HISTOGRAM,
          "X: \"what\" it takes.",
          { { "word", words } },
          .buckets = bounds,
          .is_whole = true },
        { .name = "y_total",
          .type = METRIC_COUNTER,
          .help = "Y.",
          .labels = { { "name", NULL } } },
        { .name = "z", .type = METRIC_GAUGE, .help = "Z." },
    };
    CLEANUP(buf_finish) struct buf out;
    struct err err = { 0 };
    (void)state;
    buf_init(&out, 1 << 20);
    metrics_declare(theirs, 3);
    metrics_allow("name", VIEW("a\"b\\c\nd"));
    metric_add(1, 1e20, LABELS(VIEW("a\"b\\c\nd")));
    metric_observe(0, 0.1 + 0.2, LABELS(VIEW("a")));
    metric_set(2, -1.0 / 3e9, NO_LABELS);
    metrics_write(&out);
    metrics_declare(table, METRICS);
    if (!relay_check(buf_view(&out), &err))
        fail_msg("%s: %.*s", err.text, (int)out.len, out.data);
    metrics_finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_shown),
        cmocka_unit_test(the_line_is_named),
        cmocka_unit_test(there_are_limits),
        cmocka_unit_test(what_we_write_may_be_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
