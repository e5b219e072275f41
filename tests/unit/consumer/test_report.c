/* test_report.c - what guest code says of variables is bounded and cleaned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/python/report.h"
#include "schemas/message/limits.h"

/* Guest code writes this. */
static void reports_are_bounded_and_clean(void **state)
{
    static const struct {
        const char *json;
        size_t left, packages;
        bool cut;
    } rows[] = {
        { "", 0, 0, false },
        { "[]", 0, 0, false },
        { "{\"left\": [1], \"packages\": {\"a\": 1}}", 0, 0, false },
        { "{\"left\": {\"a\": \"why\", \"b\": 1, \"\": \"c\"}}", 1, 0, true },
        { "{\"packages\": [\"a==1\", 2], \"cut\": true}", 0, 1, true },
        { "{\"left\": {\"a\\u0000\": \"why\"}}", 0, 0, false },
        { "{\"left\": {\"a\\t\": \"why\", \"a\\n\": \"why\"}}", 1, 0, true },
    };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct variables_report report;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        report_read(&report, view_of(rows[i].json), &arena);
        if (report.left.count != rows[i].left ||
            report.packages.count != rows[i].packages ||
            report.cut != rows[i].cut)
            fail_msg("%s: %zu left, %zu packages", rows[i].json,
                     report.left.count, report.packages.count);
    }
    report_read(&report, VIEW("{\"left\": {\"a\\nb\": \"c\\u001b[31md\\te\"}}"),
                &arena);
    const struct pair *left = report.left.items;
    assert_true(view_is(left[0].key, "a b"));
    assert_true(view_is(left[0].value, "c [31md e"));
}

static void too_many_names_are_cut(void **state)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf json;
    struct variables_report report;

    (void)state;
    buf_init(&json, 1 << 20);
    buf_printf(&json, "{\"left\": {");
    for (int i = 0; i < MAX_MISSING + 1; i++)
        buf_printf(&json, "%s\"n%d\": \"%0300d\"", i == 0 ? "" : ", ", i, i);
    buf_printf(&json, "}}");
    report_read(&report, buf_view(&json), &arena);
    assert_int_equal(report.left.count, MAX_MISSING);
    assert_true(report.cut);
}

static void one_more_is_added(void **state)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct list missing = { 0 };
    char name[16];

    (void)state;
    for (int i = 0; i < MAX_MISSING + 2; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        missing_add(&missing, name, "why", &arena);
    }
    missing_add(&missing, "n0", "another reason", &arena);
    missing_add(&missing, "n129", "why", &arena);
    const struct pair *pairs = missing.items;
    assert_int_equal(missing.count, MAX_MISSING);
    assert_true(view_is(pairs[0].key, "n1"));
    assert_true(view_is(pairs[MAX_MISSING - 2].key, "n0"));
    assert_true(view_is(pairs[MAX_MISSING - 1].key, "n129"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_are_bounded_and_clean),
        cmocka_unit_test(too_many_names_are_cut),
        cmocka_unit_test(one_more_is_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
