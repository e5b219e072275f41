/* test_known.c - what is known of a session, and what guest code says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/python/known.h"
#include "schemas/message/limits.h"

#define JOB "019aa5c8-1b2c-7000-8000-000000000000"

static void read_record(struct known *known,
                        const struct session_record *record)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct err err;

    buf_init(&bytes, MAX_SESSION_BYTES);
    if (!message_encode(&schema_session_record, record, &bytes, &err) ||
        !known_read(known, buf_view(&bytes), &err))
        fail_msg("%s", err.text);
}

static void who_has_saved_it(void **state)
{
    static const struct {
        const char *what;
        struct session_record record;
        bool open, saved;
    } rows[] = {
        { "held, and never saved", { .job = VIEW_INIT(JOB) }, true, false },
        { "saved by the job",
          { .job = VIEW_INIT(JOB), .updated_ms = 1 },
          true,
          true },
        { "saved by another",
          { .job = VIEW_INIT("019aa5c8-1b2c-7000-8000-000000000001"),
            .updated_ms = 1 },
          true,
          false },
        { "closed", { .closed = true }, false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct session_record record = rows[i].record;
        struct known known = { 0 };

        record.name = record.tenant = VIEW("x");
        record.generation = 1;
        read_record(&known, &record);
        if (known_is_open(&known) != rows[i].open ||
            known_is_saved_by(&known, VIEW(JOB)) != rows[i].saved)
            fail_msg("%s", rows[i].what);
        known_finish(&known);
    }
}

/* What an executor has had under its name, and what is known: is it that? */
static void who_has_it_in_memory(void **state)
{
    static const struct {
        const char *what, *record, *executor;
        bool known, is_it;
    } rows[] = {
        { "the one that is named", "host/1.2", "host/1.2", true, true },
        { "one left behind elsewhere", "host/1.2", "other/1.9", true, false },
        { "an older one of the same executor", "host/1.2", "host/1.1", true,
          false },
        { "a fork, which nobody has used", "", "host/1.2", true, false },
        { "one whose record has expired", "", "host/1.2", false, false },
        { "an executor that names none", "", "", true, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct session_record record = { .name = VIEW("x"),
                                         .tenant = VIEW("x"),
                                         .generation = 1,
                                         .holder = view_of(rows[i].record) };
        struct known known = { 0 };

        if (rows[i].known)
            read_record(&known, &record);
        if (known_is_held_by(&known, view_of(rows[i].executor)) !=
            rows[i].is_it)
            fail_msg("%s", rows[i].what);
        known_finish(&known);
    }
}

static void nothing_is_known(void **state)
{
    struct known known = { 0 };
    struct err err;

    (void)state;
    assert_true(known_read(&known, VIEW(""), &err));
    assert_false(known.there);
    assert_false(known_is_open(&known));
    assert_false(known_read(&known, VIEW("\xc1"), &err));
    assert_false(known.there);
    known_finish(&known);
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
    struct picture_report report;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        picture_report_read(&report, view_of(rows[i].json), &arena);
        if (report.left.count != rows[i].left ||
            report.packages.count != rows[i].packages ||
            report.cut != rows[i].cut)
            fail_msg("%s: %zu left, %zu packages", rows[i].json,
                     report.left.count, report.packages.count);
    }
    picture_report_read(&report,
                        VIEW("{\"left\": {\"a\\nb\": \"c\\u001b[31md\\te\"}}"),
                        &arena);
    const struct pair *left = report.left.items;
    assert_true(view_is(left[0].key, "a b"));
    assert_true(view_is(left[0].value, "c [31md e"));
}

static void too_many_names_are_cut(void **state)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf json;
    struct picture_report report;

    (void)state;
    buf_init(&json, 1 << 20);
    buf_printf(&json, "{\"left\": {");
    for (int i = 0; i < MAX_MISSING + 1; i++)
        buf_printf(&json, "%s\"n%d\": \"%0300d\"", i == 0 ? "" : ", ", i, i);
    buf_printf(&json, "}}");
    picture_report_read(&report, buf_view(&json), &arena);
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
        cmocka_unit_test(who_has_saved_it),
        cmocka_unit_test(nothing_is_known),
        cmocka_unit_test(reports_are_bounded_and_clean),
        cmocka_unit_test(too_many_names_are_cut),
        cmocka_unit_test(one_more_is_added),
        cmocka_unit_test(who_has_it_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
