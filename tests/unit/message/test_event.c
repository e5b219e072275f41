/* test_event.c - which events, and which states, are the last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/event.h"

static const struct {
    const char *state;
    bool terminal;
} states[] = {
    { "scheduled", false }, { "queued", false },   { "in_progress", false },
    { "waiting", false },   { "completed", true }, { "incomplete", true },
    { "failed", true },     { "cancelled", true },
};

static void test_terminal_states_have_terminal_events(void **state)
{
    const int count = sizeof(states) / sizeof(states[0]);

    (void)state;
    for (int i = 0; i < count; i++) {
        CLEANUP(buf_finish) struct buf type = { .max = 64 };

        assert_string_equal(job_state_names[i], states[i].state);
        buf_printf(&type, "job.%s", states[i].state);
        if (job_state_is_terminal(i) != states[i].terminal ||
            event_is_terminal(buf_view(&type)) != states[i].terminal)
            fail_msg("%s", states[i].state);
    }
    assert_null(job_state_names[count]);
    assert_false(job_state_is_terminal(-1));
    assert_false(job_state_is_terminal(count));
}

static void test_other_events_are_not_terminal(void **state)
{
    static const char *const types[] = {
        "job.started",
        "job.lost",
        "job.retrying",
        "message.completed",
        "job.completed2",
        "job",
        "",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (event_is_terminal(view_of(types[i])))
            fail_msg("%s", types[i]);
    }
}

static void test_an_event_is_decoded(void **state)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf bytes = { .max = 1000 };
    struct event event = {
        .seq = 3,
        .type = VIEW("tool.output"),
        .data = { .text = VIEW("\xff"), .call = VIEW("1.0") },
    };
    struct err err;

    (void)state;
    assert_true(message_encode(&schema_event, &event, &bytes, NULL));
    assert_true(event_decode(&event, buf_view(&bytes), &arena, NULL));
    assert_int_equal(event.seq, 3);
    assert_true(view_is(event.data.text, "\xff"));
    event.seq = 0;
    assert_false(message_encode(&schema_event, &event, &bytes, &err));
    assert_string_equal(err.text, "seq is required");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terminal_states_have_terminal_events),
        cmocka_unit_test(test_other_events_are_not_terminal),
        cmocka_unit_test(test_an_event_is_decoded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
