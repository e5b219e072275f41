/* test_record.c - what the record of a session tells. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/python/record.h"
#include "schemas/message/limits.h"

#define JOB "019aa5c8-1b2c-7000-8000-000000000000"

static void read_record(struct session_memo *memo,
                        const struct session_record *record)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct err err;

    buf_init(&bytes, MAX_SESSION_BYTES);
    if (!message_encode(&schema_session_record, record, &bytes, &err) ||
        !memo_read(memo, buf_view(&bytes), &err))
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
        struct session_memo memo = { 0 };

        record.name = record.tenant = VIEW("x");
        record.generation = 1;
        read_record(&memo, &record);
        if (memo_is_open(&memo) != rows[i].open ||
            memo_is_saved_by(&memo, VIEW(JOB)) != rows[i].saved)
            fail_msg("%s", rows[i].what);
        memo_finish(&memo);
    }
}

/* Is what an executor has under the name the session of the record? */
static void who_has_it_in_memory(void **state)
{
    static const struct {
        const char *what, *record, *executor;
        bool has_record, is_it;
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
        struct session_memo memo = { 0 };

        if (rows[i].has_record)
            read_record(&memo, &record);
        if (memo_is_held_by(&memo, view_of(rows[i].executor)) != rows[i].is_it)
            fail_msg("%s", rows[i].what);
        memo_finish(&memo);
    }
}

static void there_is_no_record(void **state)
{
    struct session_memo memo = { 0 };
    struct err err;

    (void)state;
    assert_true(memo_read(&memo, VIEW(""), &err));
    assert_false(memo.exists);
    assert_false(memo_is_open(&memo));
    assert_false(memo_read(&memo, VIEW("\xc1"), &err));
    assert_false(memo.exists);
    memo_finish(&memo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_saved_it),
        cmocka_unit_test(there_is_no_record),
        cmocka_unit_test(who_has_it_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
