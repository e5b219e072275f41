/* The form of every declared machine. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "schemas/message/machine.h"

enum { IDLE, ASKING, DONE, STATES };

struct lamp {
    struct machine machine;
    char story[256]; /* what was called, in order */
    bool stops;      /* before the next step */
    bool nests;      /* asking runs the machine from inside */
};

static void note(struct lamp *lamp, const char *word)
{
    size_t used = strlen(lamp->story);
    snprintf(lamp->story + used, sizeof(lamp->story) - used, "%s ", word);
}

/* As a callback of the owner does. */
static void land(struct lamp *lamp)
{
    lamp->machine.landed = true;
    machine_run(&lamp->machine);
}

static enum pace step_idle(void *owner)
{
    note(owner, "idle");
    return WAIT;
}

static enum pace enter_asking(void *owner)
{
    struct lamp *lamp = owner;
    note(lamp, "ask");
    if (lamp->nests)
        land(lamp);
    note(lamp, "asked");
    return WAIT;
}

static enum pace step_asking(void *owner)
{
    note(owner, "look");
    return WAIT;
}

static enum pace landed_asking(void *owner)
{
    struct lamp *lamp = owner;
    note(lamp, "landed");
    return machine_go(&lamp->machine, DONE);
}

static const struct machine_state states[] = {
    [IDLE] = { .name = "idle", .next = TO(ASKING), .step = step_idle },
    [ASKING] = { .name = "asking",
                 .next = TO(DONE) | TO(IDLE) | TO(ASKING),
                 .enter = enter_asking,
                 .step = step_asking,
                 .landed = landed_asking,
                 .limit_ms = 250 },
    [DONE] = { .name = "done" },
};

static void on_entered(void *owner)
{
    struct lamp *lamp = owner;
    note(lamp, machine_state_name(&lamp->machine));
}

static void before(void *owner)
{
    struct lamp *lamp = owner;
    if (lamp->stops && machine_may_go(&lamp->machine, DONE))
        machine_go(&lamp->machine, DONE);
}

static const struct machine_kind kind = { "a lamp", states, STATES, on_entered,
                                          before };

static struct lamp lamp;

static int setup(void **state)
{
    (void)state;
    memset(&lamp, 0, sizeof(lamp));
    machine_init(&lamp.machine, &kind, &lamp, IDLE);
    return 0;
}

static void test_steps_as_the_table_says(void **state)
{
    (void)state;
    machine_run(&lamp.machine);
    machine_go(&lamp.machine, ASKING);
    machine_run(&lamp.machine);
    machine_run(&lamp.machine);
    land(&lamp);
    assert_string_equal(lamp.story, "idle asking ask asked look landed done ");
    assert_string_equal(machine_state_name(&lamp.machine), "done");
}

static void test_a_state_begins_anew_each_time(void **state)
{
    (void)state;
    machine_go(&lamp.machine, ASKING);
    lamp.machine.landed = true;
    machine_go(&lamp.machine, ASKING);
    machine_run(&lamp.machine);
    assert_string_equal(lamp.story, "asking asking ask asked ");
    assert_int_equal(machine_limit_ms(&lamp.machine), 250);
}

static void test_a_run_inside_itself_goes_round_once_more(void **state)
{
    (void)state;
    lamp.nests = true;
    machine_go(&lamp.machine, ASKING);
    machine_run(&lamp.machine);
    assert_string_equal(lamp.story, "asking ask asked landed done ");
}

static void test_before_comes_first(void **state)
{
    (void)state;
    machine_go(&lamp.machine, ASKING);
    lamp.stops = true;
    machine_run(&lamp.machine);
    assert_string_equal(lamp.story, "asking done ");
}

static unsigned int traced[4];
static size_t trace_count;

static void trace(const struct machine *machine, unsigned int next)
{
    traced[trace_count++] = machine->state;
    traced[trace_count++] = next;
}

static void test_changes_are_traced(void **state)
{
    (void)state;
    machine_trace = trace;
    machine_go(&lamp.machine, ASKING);
    machine_go(&lamp.machine, IDLE);
    machine_trace = NULL;
    const unsigned int expected[] = { IDLE, ASKING, ASKING, IDLE };
    assert_int_equal(trace_count, 4);
    assert_memory_equal(traced, expected, sizeof(expected));
}

/* In a process of its own, whose last words are read. */
static void test_what_the_table_does_not_allow_aborts(void **state)
{
    (void)state;
    int ends[2], status;
    char words[128] = "";
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(ends[1], STDERR_FILENO);
        machine_go(&lamp.machine, DONE);
        _exit(0);
    }
    close(ends[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(read(ends[0], words, sizeof(words) - 1) > 0);
    close(ends[0]);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(words,
                        "a bug: a lamp may not go from \"idle\" to \"done\"\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_steps_as_the_table_says, setup),
        cmocka_unit_test_setup(test_a_state_begins_anew_each_time, setup),
        cmocka_unit_test_setup(test_a_run_inside_itself_goes_round_once_more,
                               setup),
        cmocka_unit_test_setup(test_before_comes_first, setup),
        cmocka_unit_test_setup(test_changes_are_traced, setup),
        cmocka_unit_test_setup(test_what_the_table_does_not_allow_aborts,
                               setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
