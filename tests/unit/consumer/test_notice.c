/* test_notice.c - what the next cell is told of how its session came to be, and
 * that what guest code says of variables is bounded and cleaned. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/python/notice.h"
#include "schemas/message/limits.h"

#define LONG                                                                   \
    "a reason that is as long as the reasons of broken pickles often are"

static void the_worst_of_its_parts_is_the_state(void **state)
{
    struct notice notice;

    (void)state;
    notice_init(&notice);
    assert_int_equal(notice.state, CELL_KEPT);
    notice_add(&notice, CELL_LOST, "variables are gone");
    notice_add(&notice, CELL_RESTORED, "files are %s", "there");
    assert_int_equal(notice.state, CELL_LOST);
    assert_true(
        view_is(buf_view(&notice.text), "variables are gone; files are there"));
    notice_finish(&notice);
}

/* names, the reason of all (NULL: each its own); what is said of them. */
static void names_come_before_reasons(void **state)
{
    static const char *const own[] = { "1 " LONG, "2 " LONG, "3 " LONG,
                                       "4 " LONG };
    static const struct {
        const char *what, *why;
        size_t count;
        bool cut;
        const char *said;
    } rows[] = {
        { "nothing is missing", "", 0, false, "" },
        { "there were some, of which nothing is known", "", 0, true,
          "not saved:  and more" },
        { "one", "a file", 1, false, "not saved: n0 (a file)" },
        { "no reason", "", 2, false, "not saved: n0, n1" },
        { "more than were told", "a file", 1, true,
          "not saved: n0 (a file) and more" },
        { "one reason for four", LONG, 4, false,
          "not saved: n0, n1, n2, n3 (" LONG ")" },
        { "three with reasons fit", NULL, 3, false,
          "not saved: n0 (1 " LONG "), n1 (2 " LONG "), n2 (3 " LONG ")" },
        { "of four all names are there", NULL, 4, false,
          "not saved: n0, n1, n2, n3" },
    };
    struct pair pairs[8];
    char names[8][24];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct list list = { pairs, rows[i].count };
        struct notice notice;

        for (size_t n = 0; n < rows[i].count; n++) {
            snprintf(names[n], sizeof(names[n]), "n%zu", n);
            pairs[n].key = view_of(names[n]);
            pairs[n].value = view_of(rows[i].why ? rows[i].why : own[n]);
        }
        notice_init(&notice);
        notice_add_names(&notice, "not saved", &list, rows[i].cut);
        if (!view_is(buf_view(&notice.text), rows[i].said))
            fail_msg("%s: %.*s", rows[i].what,
                     VIEW_ARG(buf_view(&notice.text)));
        notice_finish(&notice);
    }
}

static void names_that_do_not_fit_are_counted(void **state)
{
    struct pair pairs[MAX_MISSING];
    struct list list = { pairs, MAX_MISSING };
    struct notice notice;

    (void)state;
    for (size_t i = 0; i < MAX_MISSING; i++)
        pairs[i] = (struct pair){ VIEW("a_name"), VIEW("why") };
    notice_init(&notice);
    notice_add_names(&notice, "not saved", &list, false);
    assert_non_null(strstr(notice.text.data, "a_name, a_name and 97 more"));
    notice_finish(&notice);
}

static void files_without_a_blob_are_named_on_one_line(void **state)
{
    struct session_file files[] = {
        { .name = VIEW("there"), .blob = VIEW("0") },
        { .name = VIEW("big\n[file: x]"), .note = VIEW("too large") },
        { .name = VIEW("caf\xe9"), .note = VIEW("no room") },
    };
    struct list all = { files, 3 }, first = { files, 1 }, none = { 0 };
    struct notice notice;

    (void)state;
    notice_init(&notice);
    notice_add_files(&notice, "files not saved", &none);
    notice_add_files(&notice, "files not saved", &first);
    assert_int_equal(notice.state, CELL_KEPT);
    notice_add_files(&notice, "files not saved", &all);
    assert_true(view_is(buf_view(&notice.text),
                        "files not saved: big [file: x] (too large), "
                        "caf\xef\xbf\xbd (no room)"));
    notice_finish(&notice);
}

static void packages_have_no_reasons(void **state)
{
    struct view names[] = { VIEW("a==1"), VIEW("b==2") };
    struct list packages = { names, 2 };
    struct notice notice;

    (void)state;
    notice_init(&notice);
    notice_add_packages(&notice, "packages to install again", &packages);
    assert_true(view_is(buf_view(&notice.text),
                        "packages to install again: a==1, b==2"));
    notice_finish(&notice);
}

static void what_there_is_no_room_for_is_not_left_out_in_silence(void **state)
{
    struct notice notice;

    (void)state;
    for (int bytes = 1; bytes < 400; bytes++) {
        notice_init(&notice);
        for (int i = 0; i < 2000 / bytes; i++)
            notice_add(&notice, CELL_RESTORED, "%0*d", bytes, i);
        struct view text = buf_view(&notice.text);
        if (!buf_ok(&notice.text) || text.len > 700 || text.len < 400 ||
            !notice.full ||
            !view_is((struct view){ text.data + text.len - 13, 13 },
                     " ... and more"))
            fail_msg("%d bytes each: %.*s", bytes, VIEW_ARG(text));
        notice_add(&notice, CELL_LOST, "too late");
        assert_int_equal(notice.state, CELL_LOST);
        assert_int_equal(notice.text.len, text.len);
        notice_finish(&notice);
    }
}

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
        cmocka_unit_test(the_worst_of_its_parts_is_the_state),
        cmocka_unit_test(names_come_before_reasons),
        cmocka_unit_test(names_that_do_not_fit_are_counted),
        cmocka_unit_test(files_without_a_blob_are_named_on_one_line),
        cmocka_unit_test(packages_have_no_reasons),
        cmocka_unit_test(what_there_is_no_room_for_is_not_left_out_in_silence),
        cmocka_unit_test(reports_are_bounded_and_clean),
        cmocka_unit_test(too_many_names_are_cut),
        cmocka_unit_test(one_more_is_added),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
