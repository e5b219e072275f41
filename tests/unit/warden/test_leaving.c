/* A session that is closed, or has been idle for too long, when its code has
 * registered functions for its end: they run, and nobody is kept waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/limits.h"
#include "tests/fuzz/world.h"

enum { RUN = 1, OTHER = 2 }; /* refs */
enum { LEAVE_MS = 5000 };

/* Writes down the types of what it hears: "opened done ". */
static struct {
    struct peer peer; /* first */
    char heard[256];
    size_t left; /* sessions, when it has closed one */
} consumer;

static void hear(struct peer *peer, const struct frame *frame)
{
    size_t len = strlen(consumer.heard);
    (void)peer;
    snprintf(consumer.heard + len, sizeof(consumer.heard) - len, "%s ",
             frame_type_names[frame->type]);
}

static size_t no_backlog(const struct peer *peer)
{
    (void)peer;
    return 0;
}

static void no_relief(struct peer *peer)
{
    (void)peer;
}

static void ask(struct frame frame)
{
    CLEANUP(buf_finish) struct buf body;
    struct err err;
    frame.session = VIEW("s");
    buf_init(&body, MAX_FRAME_BYTES);
    assert_true(message_encode(&schema_frame, &frame, &body, &err));
    struct peer_request *request =
        request_new(&consumer.peer, buf_view(&body), &err);
    assert_non_null(request);
    sessions_ask(&world.sessions, request);
}

static void ask_for(int type)
{
    ask((struct frame){ .type = type, .ref = OTHER });
}

static void run(const char *call)
{
    ask((struct frame){ .type = FRAME_RUN,
                        .ref = RUN,
                        .call = view_of(call),
                        .code = VIEW("wait") });
}

static void end_cell(bool at_exit)
{
    guest_say(guest_find(false), &(struct guest_frame){ .type = GUEST_DONE,
                                                        .nonce = world.nonces,
                                                        .status = CELL_OK,
                                                        .at_exit = at_exit });
}

static int open_a_session(void **state)
{
    (void)state;
    world_begin();
    memset(&consumer, 0, sizeof(consumer));
    consumer.peer = (struct peer){ hear, no_backlog, no_relief, 0 };
    ask_for(FRAME_OPEN);
    run("first");
    world_settle();
    assert_non_null(guest_find(false));
    return 0;
}

static int end_the_world(void **state)
{
    (void)state;
    sessions_leave(&world.sessions, &consumer.peer);
    world_end();
    return 0;
}

/* Its cell has ended, and all that follows a cell. */
static void be_idle(bool at_exit)
{
    end_cell(at_exit);
    world_settle();
    consumer.heard[0] = '\0';
}

/* What its guest hears from now on it does not obey. */
static void close_in_silence(void)
{
    world.silent = true;
    ask_for(FRAME_CLOSE);
    world_settle();
    assert_int_equal(world.last_cells, 1);
    assert_int_equal(world.sessions.count, 1);
}

/* ------------------------------------------------------------------- tests */

static void functions_run_when_it_is_closed(void **state)
{
    (void)state;
    be_idle(true);
    ask_for(FRAME_CLOSE);
    world_settle();
    assert_int_equal(world.last_cells, 1);
    assert_int_equal(world.sessions.count, 0);
    assert_string_equal(consumer.heard, "ok ");
}

static void without_functions_it_ends_at_once(void **state)
{
    (void)state;
    be_idle(false);
    ask_for(FRAME_CLOSE);
    assert_int_equal(world.sessions.count, 0);
    assert_int_equal(world.last_cells, 0);
}

/* As the last cell left it. */
static void functions_that_were_taken_back_do_not_run(void **state)
{
    (void)state;
    be_idle(true);
    run("second");
    world_settle();
    be_idle(false);
    ask_for(FRAME_CLOSE);
    assert_int_equal(world.sessions.count, 0);
    assert_int_equal(world.last_cells, 0);
}

static void functions_run_when_it_was_idle_for_too_long(void **state)
{
    (void)state;
    be_idle(true);
    world_advance(world.settings.idle_ms - 1);
    assert_int_equal(world.last_cells, 0);
    world_advance(1);
    assert_int_equal(world.last_cells, 1);
    assert_int_equal(world.sessions.count, 0);
}

static void close_it(void *owner)
{
    (void)owner;
    ask_for(FRAME_CLOSE);
    consumer.left = world.sessions.count;
}

/* What follows a cell goes on when its outcome is told: the consumer need not
 * wait for that. */
static void functions_run_when_it_is_closed_after_its_cell(void **state)
{
    (void)state;
    struct loop_alarm *soon = alarm_new(&world.loop, close_it, NULL);
    alarm_set(soon, 0);
    end_cell(true);
    world_settle();
    alarm_free(soon);
    assert_string_equal(consumer.heard, "opened done ok ");
    assert_int_equal(consumer.left, 1);
    assert_int_equal(world.last_cells, 1);
    assert_int_equal(world.sessions.count, 0);
}

static void be_parking(void)
{
    world.silent = true;
    be_idle(true);
    world.silent = false;
    ask_for(FRAME_CLOSE);
    assert_int_equal(world.sessions.count, 1);
    assert_int_equal(world.last_cells, 0);
}

static void functions_run_when_a_snapshot_was_made_meanwhile(void **state)
{
    (void)state;
    be_parking();
    world_advance((uint64_t)2 * WAITS_MS);
    assert_int_equal(world.sessions.count, 0);
    assert_int_equal(world.last_cells, 1);
}

static void functions_do_not_run_when_that_takes_too_much(void **state)
{
    (void)state;
    be_idle(true); /* with a snapshot, to which it would go back */
    run("second");
    world_settle();
    world.hungry = true;
    be_parking();
    world_advance(60);
    world.hungry = false;
    world_advance((uint64_t)9 * WAITS_MS);
    assert_int_equal(world.sessions.count, 0);
    assert_int_equal(world.last_cells, 0);
}

static void functions_do_not_run_when_its_cell_is_ended(void **state)
{
    (void)state;
    be_idle(true);
    run("second");
    world_settle();
    ask_for(FRAME_CLOSE);
    assert_int_equal(world.sessions.count, 0);
    assert_int_equal(world.last_cells, 0);
}

/* Another process has taken its place, which has none. */
static void functions_go_with_their_process(void **state)
{
    (void)state;
    world.settings.snapshot_bytes = 0;
    be_idle(true);
    guest_die(guest_find(false));
    world_advance((uint64_t)9 * WAITS_MS);
    assert_non_null(guest_find(false));
    ask_for(FRAME_CLOSE);
    assert_int_equal(world.sessions.count, 0);
    assert_int_equal(world.last_cells, 0);
}

static void functions_that_hang_are_ended(void **state)
{
    (void)state;
    be_idle(true);
    close_in_silence();
    world_advance(LEAVE_MS - 1);
    assert_int_equal(world.sessions.count, 1);
    world_advance(1);
    assert_int_equal(world.sessions.count, 0);
}

static void functions_that_take_all_memory_are_ended(void **state)
{
    (void)state;
    be_idle(true);
    world.hungry = true;
    close_in_silence();
    world_advance(100);
    assert_int_equal(world.sessions.count, 0);
}

static void functions_that_end_the_process_end_the_session(void **state)
{
    (void)state;
    be_idle(true);
    close_in_silence();
    guest_die(guest_find(false));
    world_advance((uint64_t)2 * WAITS_MS);
    assert_int_equal(world.sessions.count, 0);
}

/* Nobody has asked for them, and nobody answers. */
static void what_functions_say_goes_nowhere(void **state)
{
    static const struct pair part = { VIEW_INIT("a/b"), VIEW_INIT("x") };
    static const int types[] = { GUEST_DISPLAY, GUEST_TOOL, GUEST_INSTALL,
                                 GUEST_FIGURE, GUEST_DRAWING };
    (void)state;
    be_idle(true);
    close_in_silence();
    guest_print(guest_find(false), VIEW("bye"));
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        guest_say(guest_find(false),
                  &(struct guest_frame){
                      .type = types[i],
                      .nonce = world.nonces,
                      .number = i + 1,
                      .name = VIEW("tool"),
                      .data = VIEW("{}"),
                      .bundle = { (void *)(uintptr_t)&part, 1 },
                  });
    world_settle();
    assert_int_equal(world.sessions.count, 1);
    end_cell(false);
    world_settle();
    assert_int_equal(world.sessions.count, 0);
    assert_string_equal(consumer.heard, "ok ");
}

static void its_name_is_free_at_once(void **state)
{
    (void)state;
    be_idle(true);
    close_in_silence();
    world.silent = false;
    ask_for(FRAME_OPEN);
    run("first"); /* as if it had never run */
    world_settle();
    assert_int_equal(world.sessions.count, 2);
    be_idle(false);
    world_advance(LEAVE_MS);
    assert_int_equal(world.sessions.count, 1);
    ask_for(FRAME_OPEN);
    assert_string_equal(consumer.heard, "opened ");
    ask_for(FRAME_CLOSE);
    assert_int_equal(world.sessions.count, 0);
}

/* Not when the functions have ended. */
static void who_waits_for_it_is_told_at_once(void **state)
{
    (void)state;
    world.silent = true;
    end_cell(true);
    world_settle();
    run("second");
    ask_for(FRAME_CLOSE);
    assert_string_equal(consumer.heard, "opened done failed ok ");
    assert_int_equal(world.sessions.count, 1);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_a_session, end_the_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(functions_run_when_it_is_closed),
        TEST(without_functions_it_ends_at_once),
        TEST(functions_that_were_taken_back_do_not_run),
        TEST(functions_run_when_it_was_idle_for_too_long),
        TEST(functions_run_when_it_is_closed_after_its_cell),
        TEST(functions_run_when_a_snapshot_was_made_meanwhile),
        TEST(functions_do_not_run_when_that_takes_too_much),
        TEST(functions_do_not_run_when_its_cell_is_ended),
        TEST(functions_go_with_their_process),
        TEST(functions_that_hang_are_ended),
        TEST(functions_that_take_all_memory_are_ended),
        TEST(functions_that_end_the_process_end_the_session),
        TEST(what_functions_say_goes_nowhere),
        TEST(its_name_is_free_at_once),
        TEST(who_waits_for_it_is_told_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
