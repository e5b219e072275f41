/* A session and who asks it, in the world that fuzzing made: what lives in the
 * box does as it is told, and time goes when we say so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "executor/base/wire.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/world.h"

enum { RUN = 1, OTHER = 2 }; /* refs */

/* Writes down what it hears of a run: "display(text/plain) done(ok) ". */
static struct {
    struct peer peer; /* first */
    char heard[256], reason[512];
    uint64_t line, ms;
    size_t unread;    /* bytes */
    struct view ends; /* a session that ends when it is sent a file */
} consumer;

static struct view detail(const struct frame *frame)
{
    const struct pair *parts = frame->bundle.items;
    if (frame->type == FRAME_DISPLAY)
        return parts[0].key;
    if (frame->type == FRAME_DONE)
        return view_of(cell_status_names[frame->cell.status]);
    return frame->error.code;
}

static void end_another(void)
{
    for (size_t i = 0; i < SESSION_BUCKETS; i++)
        for (struct session *session = world.sessions.buckets[i]; session;
             session = session->next)
            if (view_is(consumer.ends, session->name)) {
                consumer.ends = (struct view){ 0 };
                sessions_remove(&world.sessions, session);
                return;
            }
}

/* What cannot be sent would end the connection of all sessions. */
static void hear(struct peer *peer, const struct frame *frame)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct err err = { 0 };
    size_t len = strlen(consumer.heard);
    (void)peer;
    buf_init(&bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    if (!frame_encode(&schema_frame, frame, &bytes, &err))
        fail_msg("a frame that cannot be sent: %s", err.text);
    if (frame->type == FRAME_CHUNK)
        end_another();
    if (frame->ref != RUN)
        return;
    consumer.line = frame->cell.line;
    consumer.ms = frame->cell.ms;
    snprintf(consumer.reason, sizeof(consumer.reason), "%.*s",
             VIEW_ARG(frame->cell.reason));
    snprintf(consumer.heard + len, sizeof(consumer.heard) - len, "%s(%.*s) ",
             frame_type_names[frame->type], VIEW_ARG(detail(frame)));
}

static size_t backlog(const struct peer *peer)
{
    (void)peer;
    return consumer.unread;
}

static void no_relief(struct peer *peer)
{
    (void)peer;
}

static void ask_of(struct view session, struct frame frame)
{
    CLEANUP(buf_finish) struct buf body;
    struct err err;
    frame.session = session;
    buf_init(&body, MAX_FRAME_BYTES);
    assert_true(message_encode(&schema_frame, &frame, &body, &err));
    struct peer_request *request =
        request_new(&consumer.peer, buf_view(&body), &err);
    assert_non_null(request);
    sessions_ask(&world.sessions, request);
}

static void ask(struct frame frame)
{
    ask_of(VIEW("s"), frame);
}

/* Its code runs until its guest, or the deadline, ends it. */
static void run_a_cell(void)
{
    ask((struct frame){ .type = FRAME_RUN,
                        .ref = RUN,
                        .call =
                            VIEW("as long as job, conversation and number of "
                                 "a call are together, and longer"),
                        .code = VIEW("wait") });
    world_settle();
    assert_non_null(guest_find(false));
}

static void end_the_cell(struct view missing)
{
    guest_say(
        guest_find(false),
        &(struct guest_frame){ .type = GUEST_DONE,
                               .nonce = world.nonces,
                               .status = missing.len > 0 ? CELL_ERROR : CELL_OK,
                               .missing = missing });
}

static int open_a_session(void **state)
{
    (void)state;
    world_begin();
    memset(&consumer, 0, sizeof(consumer));
    consumer.peer = (struct peer){ hear, backlog, no_relief, 0 };
    ask((struct frame){ .type = FRAME_OPEN, .ref = OTHER });
    world_settle();
    return 0;
}

static int end_the_world(void **state)
{
    (void)state;
    sessions_leave(&world.sessions, &consumer.peer);
    world_end();
    return 0;
}

/* ------------------------------------------------------------------- tests */

static void the_line_is_one_that_there_may_be(void **state)
{
    (void)state;
    static const struct {
        uint64_t said, told;
    } rows[] = {
        { 0, 0 },
        { 3, 3 },
        { MAX_CODE_BYTES, MAX_CODE_BYTES },
        { MAX_CODE_BYTES + 1, 0 },
        { UINT64_MAX, 0 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        end_the_world(state);
        open_a_session(state);
        run_a_cell();
        guest_trace(guest_find(false), 1, rows[i].said);
        world_advance((uint64_t)5 * WAITS_MS);
        assert_string_equal(consumer.heard, "done(timeout) ");
        assert_int_equal(consumer.line, rows[i].told);
    }
}

/* More than a socket takes at once. */
static void show(const struct list *bundle)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct err err;
    struct guest_frame frame = { .type = GUEST_DISPLAY,
                                 .nonce = world.nonces,
                                 .bundle = *bundle };
    buf_init(&bytes, MAX_FRAME_BYTES + FRAME_HEADER_BYTES);
    assert_true(frame_encode(&schema_guest_frame, &frame, &bytes, &err));
    for (struct view rest = buf_view(&bytes); rest.len > 0; world_settle()) {
        ssize_t sent =
            wire_send(guest_find(false)->channel, rest, NULL, 0, MSG_DONTWAIT);
        assert_true(sent > 0);
        rest.data += sent;
        rest.len -= (size_t)sent;
    }
}

static void a_display_fits_into_a_frame(void **state)
{
    static const struct {
        const char *name;
        size_t first, second; /* bytes of two parts */
        const char *heard;
    } rows[] = {
        { "small", 1, 1, "display(a/b) " },
        { "as large as may be", MAX_DISPLAY_BYTES - 1, 1, "display(a/b) " },
        { "a byte more", MAX_DISPLAY_BYTES, 1, "display(a/b) " },
        { "all that a guest can say", MAX_FRAME_BYTES - 128, 1,
          "display(c/d) " },
    };
    static char bytes[MAX_FRAME_BYTES];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct pair parts[] = {
            { VIEW("a/b"), { bytes, rows[i].first } },
            { VIEW("c/d"), { bytes, rows[i].second } },
        };
        end_the_world(state);
        open_a_session(state);
        run_a_cell();
        show(&(struct list){ parts, 2 });
        if (strcmp(consumer.heard, rows[i].heard) != 0)
            fail_msg("%s: %s", rows[i].name, consumer.heard);
    }
}

struct word { /* of the guest, that long after its cell was begun */
    uint64_t at_ms;
    int type, status;
};

static void say_word(const struct word *word)
{
    static const struct pair part = { VIEW_INIT("a/b"), VIEW_INIT("x") };
    guest_say(guest_find(false), &(struct guest_frame){
                                     .type = word->type,
                                     .nonce = world.nonces,
                                     .status = word->status,
                                     .bundle = { (void *)(uintptr_t)&part, 1 },
                                 });
}

/* The limit is a second, and a cell that obeys is told so at once. */
static const struct {
    const char *name;
    struct word words[4]; /* up to the first without type */
    const char *heard, *reason;
    uint64_t ms;
} drawers[] = {
    { "it does not obey", { { 0 } }, "done(timeout) ", "killed", 1300 },
    { "it obeys",
      { { 1100, GUEST_DONE, CELL_INTERRUPTED } },
      "done(timeout) ",
      "variables are kept",
      1100 },
    { "it obeys, and draws for longer than the grace",
      { { 1100, GUEST_DRAWING, 0 },
        { 2900, GUEST_DISPLAY, 0 },
        { 3000, GUEST_DONE, CELL_INTERRUPTED } },
      "display(a/b) done(timeout) ",
      "variables are kept",
      3000 },
    { "it obeys, draws for ever, and obeys again",
      { { 1100, GUEST_DRAWING, 0 }, { 4000, GUEST_DONE, CELL_INTERRUPTED } },
      "done(timeout) ",
      "variables are kept",
      4000 },
    { "it draws for ever, and does not obey",
      { { 1100, GUEST_DRAWING, 0 } },
      "done(timeout) ",
      "within 1000 ms of KeyboardInterrupt",
      4100 },
    { "it says time and again that it draws",
      { { 1100, GUEST_DRAWING, 0 },
        { 3050, GUEST_DRAWING, 0 },
        { 3200, GUEST_DRAWING, 0 } },
      "done(timeout) ",
      "killed",
      4100 },
    { "it draws when its time is over",
      { { 900, GUEST_DRAWING, 0 }, { 2900, GUEST_DONE, CELL_OK } },
      "done(ok) ",
      "",
      2900 },
    { "it lies, and goes on",
      { { 100, GUEST_DRAWING, 0 } },
      "done(timeout) ",
      "killed",
      4000 },
    { "it is killed with a figure open",
      { { 100, GUEST_FIGURE, 0 } },
      "done(timeout) ",
      "figures that it had not shown are lost",
      1300 },
};

static void what_is_drawn_has_its_time(void **state)
{
    for (size_t i = 0; i < sizeof(drawers) / sizeof(drawers[0]); i++) {
        const struct word *word = drawers[i].words;
        uint64_t now_ms = 0;
        end_the_world(state);
        open_a_session(state);
        run_a_cell();
        for (; word->type != 0; now_ms = word->at_ms, word++) {
            world_advance(word->at_ms - now_ms);
            say_word(word);
        }
        world_advance((uint64_t)9 * WAITS_MS);
        if (strcmp(consumer.heard, drawers[i].heard) != 0 ||
            consumer.ms != drawers[i].ms ||
            strstr(consumer.reason, drawers[i].reason) == NULL)
            fail_msg("%s: %s after %llu ms: %s", drawers[i].name,
                     consumer.heard, (unsigned long long)consumer.ms,
                     consumer.reason);
    }
}

/* Who is interrupted while it draws has no more time for that. */
static void an_interrupt_ends_the_drawing(void **state)
{
    static const struct word drawing = { .type = GUEST_DRAWING };
    (void)state;
    run_a_cell();
    say_word(&drawing);
    world_settle();
    ask((struct frame){ .type = FRAME_INTERRUPT, .ref = OTHER });
    world_advance((uint64_t)9 * WAITS_MS);
    assert_string_equal(consumer.heard, "done(interrupted) ");
    assert_int_equal(consumer.ms, 1000);
}

/* Not only one that runs can be interrupted: between its two runs, too. */
static void a_cell_that_is_to_run_again_is_interrupted(void **state)
{
    (void)state;
    world.packages = true;
    world.sessions.packages = (struct packages *)&world;
    run_a_cell();
    end_the_cell(VIEW("numpy"));
    world_settle();
    assert_true(installs_end(true));
    ask((struct frame){ .type = FRAME_INTERRUPT, .ref = OTHER });
    world_advance(WAITS_MS / 2); /* long before its deadline */
    assert_string_equal(consumer.heard, "restart() done(interrupted) ");
}

/* But one that is over is: the next one is not the one that was meant. */
static void an_interrupt_does_not_outlive_its_cell(void **state)
{
    (void)state;
    run_a_cell();
    end_the_cell((struct view){ 0 });
    ask((struct frame){ .type = FRAME_INTERRUPT, .ref = OTHER });
    world_settle();
    ask((struct frame){ .type = FRAME_RUN,
                        .ref = RUN,
                        .call = VIEW("next"),
                        .code = VIEW("wait") });
    world_advance(WAITS_MS / 2);
    assert_string_equal(consumer.heard, "done(ok) ");
    assert_non_null(guest_find(false));
}

/* Both names have the same bucket, and the one that waits for a box comes
 * after the one whose end tells it that there is none. */
static void open_two(struct view has)
{
    struct view waits = VIEW("waiting");
    ask((struct frame){ .type = FRAME_CLOSE, .ref = OTHER });
    world.boxless = true;
    ask_of(waits, (struct frame){ .type = FRAME_OPEN, .ref = OTHER });
    world.boxless = false;
    ask_of(has, (struct frame){ .type = FRAME_OPEN, .ref = OTHER });
    world.boxless = true;
    size_t together = 0;
    for (size_t i = 0; i < SESSION_BUCKETS; i++) {
        const struct session *first = world.sessions.buckets[i];
        together += first && view_is(has, first->name) && first->next &&
                    view_is(waits, first->next->name);
    }
    assert_int_equal(together, 1);
}

static void all_end_though_some_end_by_others(void **state)
{
    (void)state;
    open_two(VIEW("boxed511"));
    sessions_finish(&world.sessions);
    assert_int_equal(world.sessions.count, 0);
}

/* The first one sends a file to a consumer that lagged. While it does, the
 * second one ends, which the walk would visit next. */
static void a_walk_goes_on_though_the_next_one_has_ended(void **state)
{
    struct view has = VIEW("boxed511");
    (void)state;
    open_two(has);
    world_settle();
    ask_of(has, (struct frame){ .type = FRAME_PUT,
                                .ref = OTHER,
                                .name = VIEW("f"),
                                .data = VIEW("bytes"),
                                .last = true });
    world_settle();
    consumer.unread = PEER_HIGH_BYTES + 1;
    ask_of(has, (struct frame){
                    .type = FRAME_GET, .ref = OTHER, .name = VIEW("f") });
    world_settle();
    consumer.ends = VIEW("waiting");
    consumer.unread = 0;
    sessions_caught_up(&world.sessions);
    assert_int_equal(consumer.ends.len, 0); /* it was sent */
    assert_int_equal(world.sessions.count, 1);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, open_a_session, end_the_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_line_is_one_that_there_may_be),
        TEST(a_display_fits_into_a_frame),
        TEST(what_is_drawn_has_its_time),
        TEST(an_interrupt_ends_the_drawing),
        TEST(a_cell_that_is_to_run_again_is_interrupted),
        TEST(an_interrupt_does_not_outlive_its_cell),
        TEST(all_end_though_some_end_by_others),
        TEST(a_walk_goes_on_though_the_next_one_has_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
