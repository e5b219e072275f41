/* Calls are remembered, and told again to whoever asks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "executor/warden/call.h"

/* Writes down what it hears: "7:output(abc) 7:done ". */
struct listener {
    struct peer peer;
    char heard[512];
};

static void hear(struct peer *peer, const struct frame *frame)
{
    struct listener *listener = (struct listener *)peer;
    size_t len = strlen(listener->heard);
    snprintf(listener->heard + len, sizeof(listener->heard) - len,
             frame->data.len ? "%llu:%s(%.*s) " : "%llu:%s ",
             (unsigned long long)frame->ref, frame_type_names[frame->type],
             VIEW_ARG(view_head(frame->data, 24)));
}

static size_t no_backlog(const struct peer *peer)
{
    (void)peer;
    return 0;
}

static struct listener listener_make(void)
{
    return (struct listener){ .peer = { .send = hear, .backlog = no_backlog } };
}

static void say_output(struct session_call *call, struct view data)
{
    struct frame frame = {
        .type = FRAME_OUTPUT,
        .stream = VIEW("stdout"),
        .data = data,
    };
    call_say(call, &frame);
}

static void say_done(struct session_call *call)
{
    struct frame frame = { .type = FRAME_DONE };
    call_say(call, &frame);
}

static void a_call_is_told_as_it_goes(void **state)
{
    (void)state;
    struct session_calls calls = { 0 };
    struct listener one = listener_make();
    struct session_call *call = calls_add(&calls, VIEW("c1"));
    call_attach(call, &one.peer, 7);
    say_output(call, VIEW("abc"));
    say_done(call);
    assert_string_equal(one.heard, "7:output(abc) 7:done ");
    calls_finish(&calls);
}

static void who_comes_later_hears_it_all(void **state)
{
    (void)state;
    struct session_calls calls = { 0 };
    struct listener one = listener_make(), two = listener_make(),
                    three = listener_make();
    struct session_call *call = calls_add(&calls, VIEW("c1"));
    call_attach(call, &one.peer, 7);
    say_output(call, VIEW("abc"));
    call_attach(call, &two.peer, 8);
    say_output(call, VIEW("def"));
    say_done(call);
    call_attach(calls_find(&calls, VIEW("c1")), &three.peer, 9);
    assert_string_equal(one.heard, "7:output(abc) 7:failed ");
    assert_string_equal(two.heard, "8:output(abc) 8:output(def) 8:done ");
    assert_string_equal(three.heard, "9:output(abc) 9:output(def) 9:done ");
    calls_finish(&calls);
}

static void nobody_needs_to_listen(void **state)
{
    (void)state;
    struct session_calls calls = { 0 };
    struct listener one = listener_make();
    struct session_call *call = calls_add(&calls, VIEW("c1"));
    call_attach(call, &one.peer, 7);
    calls_leave(&calls, &one.peer);
    say_output(call, VIEW("abc"));
    say_done(call);
    assert_string_equal(one.heard, "");
    call_attach(call, &one.peer, 8);
    assert_string_equal(one.heard, "8:output(abc) 8:done ");
    calls_finish(&calls);
}

static void only_what_is_done_is_forgotten(void **state)
{
    (void)state;
    struct session_calls calls = { 0 };
    struct listener one = listener_make();
    struct session_call *call = calls_add(&calls, VIEW("c1"));
    say_output(call, VIEW("abc"));
    calls_forget(&calls, VIEW("c1"));
    assert_int_not_equal(call->frames.len, 0);
    assert_ptr_equal(calls_find(&calls, VIEW("c1")), call);
    say_done(call);
    assert_true(calls_forget(&calls, VIEW("c1")));
    assert_int_equal(call->frames.len, 0);
    call_attach(call, &one.peer, 7);
    assert_string_equal(one.heard, "7:done ");
    assert_false(calls_forget(&calls, VIEW("c2")));
    calls_finish(&calls);
}

static void the_oldest_are_dropped(void **state)
{
    (void)state;
    struct session_calls calls = { 0 };
    struct session_call *running = calls_add(&calls, VIEW("running"));
    for (int i = 0; i < 100; i++) {
        char id[16];
        snprintf(id, sizeof(id), "c%d", i);
        say_done(calls_add(&calls, view_of(id)));
    }
    assert_int_equal(calls_find(&calls, VIEW("c50"))->frames.len, 0);
    assert_int_not_equal(calls_find(&calls, VIEW("c99"))->frames.len, 0);
    assert_int_not_equal(calls_find(&calls, VIEW("c70"))->frames.len, 0);
    assert_ptr_equal(calls_find(&calls, VIEW("running")), running);
    calls_finish(&calls);
}

/* Writes down what of a stream is missing: "0-5 8-9 ". */
struct follower {
    struct listener listener;
    uint64_t end;
};

static void follow(struct peer *peer, const struct frame *frame)
{
    struct follower *follower = (struct follower *)peer;
    char *heard = follower->listener.heard;
    if (frame->type != FRAME_OUTPUT)
        return;
    if (frame->offset != follower->end)
        snprintf(heard + strlen(heard),
                 sizeof(follower->listener.heard) - strlen(heard), "%llu-%llu ",
                 (unsigned long long)follower->end,
                 (unsigned long long)frame->offset);
    follower->end = frame->offset + frame->data.len;
}

static void say_at(struct session_call *call, uint64_t offset, struct view data)
{
    call_say(call, &(struct frame){ .type = FRAME_OUTPUT,
                                    .stream = VIEW("stdout"),
                                    .offset = offset,
                                    .data = data });
}

/* 50 MiB, and then a little: whoever comes later hears what there was room for,
 * and sees by the offsets what is missing. */
static void of_too_much_it_can_be_seen_what_is_missing(void **state)
{
    (void)state;
    enum { PIECES = 200, PIECE = MAX_CHUNK_BYTES };
    struct session_calls calls = { 0 };
    struct follower late = { .listener = listener_make() };
    struct session_call *call = calls_add(&calls, VIEW("c1"));
    char *piece = calloc(1, PIECE);
    char expected[64];
    late.listener.peer.send = follow;
    for (uint64_t i = 0; i < PIECES; i++)
        say_at(call, i * PIECE, (struct view){ piece, PIECE });
    free(piece);
    assert_in_range(call->frames.len, 23 << 20, 25 << 20);
    say_at(call, (uint64_t)PIECES * PIECE, VIEW("end"));
    say_done(call);
    call_attach(call, &late.listener.peer, 9);
    snprintf(expected, sizeof(expected), "%d-%d ", 95 * PIECE, PIECES * PIECE);
    assert_string_equal(late.listener.heard, expected);
    assert_int_equal(late.end, PIECES * PIECE + 3);
    calls_finish(&calls);
}

static void hear_type(struct peer *peer, const struct frame *frame)
{
    struct listener *listener = (struct listener *)peer;
    snprintf(listener->heard, sizeof(listener->heard), "%s",
             frame_type_names[frame->type]);
}

/* Else who asks again would wait for ever. */
static void the_end_is_kept_whatever_came_before(void **state)
{
    (void)state;
    struct session_calls calls = { 0 };
    struct listener one = listener_make();
    struct session_call *call = calls_add(&calls, VIEW("c1"));
    char *bytes = calloc(1, MAX_PICTURE_BYTES);
    struct frame done = { .type = FRAME_DONE,
                          .picture = { bytes, MAX_PICTURE_BYTES } };
    for (int i = 0; i < 200; i++) /* 50 MiB */
        say_output(call, (struct view){ bytes, MAX_CHUNK_BYTES });
    call_say(call, &done);
    free(bytes);
    one.peer.send = hear_type;
    call_attach(call, &one.peer, 9);
    assert_string_equal(one.heard, "done");
    calls_finish(&calls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_is_told_as_it_goes),
        cmocka_unit_test(who_comes_later_hears_it_all),
        cmocka_unit_test(nobody_needs_to_listen),
        cmocka_unit_test(only_what_is_done_is_forgotten),
        cmocka_unit_test(the_oldest_are_dropped),
        cmocka_unit_test(of_too_much_it_can_be_seen_what_is_missing),
        cmocka_unit_test(the_end_is_kept_whatever_came_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
