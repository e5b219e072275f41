/* test_frame.c - frames: length, body, and streams cut anywhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/frame.h"
#include "schemas/message/limits.h"

static void test_lengths(void **state)
{
    size_t total = 7;

    (void)state;
    assert_true(frame_length(VIEW(""), 100, &total, NULL));
    assert_int_equal(total, 0);
    assert_true(frame_length(VIEW("\0\0\0"), 100, &total, NULL));
    assert_int_equal(total, 0);
    assert_true(frame_length(VIEW("\0\0\0\x64"), 100, &total, NULL));
    assert_int_equal(total, 104);
    assert_false(frame_length(VIEW("\0\0\0\x65"), 100, &total, NULL));
    assert_false(frame_length(VIEW("\0\0\0\0"), 100, &total, NULL));
    assert_false(frame_length(VIEW("\xff\xff\xff\xff"), 100, &total, NULL));
    assert_true(
        frame_length(VIEW("\0\x01\x02\x03xyz"), MAX_FRAME_BYTES, &total, NULL));
    assert_int_equal(total, 0x010203 + 4);
}

static void test_two_frames_in_one_stream(void **state)
{
    CLEANUP(buf_finish) struct buf out;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct pair bundle[] = {
        { VIEW("text/plain"), VIEW("<Figure>") },
        { VIEW("image/png"), VIEW("\x89PNG\0\xff") },
    };
    struct frame display = {
        .type = FRAME_DISPLAY,
        .ref = UINT64_MAX,
        .call = VIEW("1.0"),
        .bundle = { bundle, 2 },
    };
    struct frame done = {
        .type = FRAME_DONE,
        .cell = { .status = CELL_TIMEOUT, .state = CELL_ROLLED_BACK },
    };
    struct frame read;
    const struct pair *pairs;
    size_t total;

    (void)state;
    buf_init(&out, MAX_FRAME_BYTES);
    assert_true(frame_encode(&schema_frame, &display, &out, NULL));
    assert_true(frame_encode(&schema_frame, &done, &out, NULL));

    assert_true(frame_length(buf_view(&out), MAX_FRAME_BYTES, &total, NULL));
    assert_true(message_decode(&schema_frame,
                               (struct view){ out.data + 4, total - 4 }, &read,
                               &arena, NULL));
    assert_int_equal(read.type, FRAME_DISPLAY);
    assert_true(read.ref == UINT64_MAX);
    assert_int_equal(read.bundle.count, 2);
    pairs = read.bundle.items;
    assert_true(view_equal(pairs[1].key, bundle[1].key));
    assert_true(view_equal(pairs[1].value, bundle[1].value));

    buf_drop(&out, total);
    assert_true(frame_length(buf_view(&out), MAX_FRAME_BYTES, &total, NULL));
    assert_int_equal(total, out.len);
    assert_true(message_decode(&schema_frame,
                               (struct view){ out.data + 4, total - 4 }, &read,
                               &arena, NULL));
    assert_int_equal(read.cell.status, CELL_TIMEOUT);
    assert_int_equal(read.cell.state, CELL_ROLLED_BACK);
}

static void test_a_frame_that_fails_leaves_nothing(void **state)
{
    CLEANUP(buf_finish) struct buf out;
    struct frame good = { .type = FRAME_OK };
    struct frame bad = { .type = 99 };
    struct err err = { 0 };
    size_t len;

    (void)state;
    buf_init(&out, 64);
    assert_true(frame_encode(&schema_frame, &good, &out, NULL));
    len = out.len;
    assert_false(frame_encode(&schema_frame, &bad, &out, &err));
    assert_string_equal(err.code, "bad_field");
    assert_string_equal(err.text, "type is 99, must be 0 to 24");
    assert_int_equal(out.len, len);

    good.data = VIEW("more than sixty-four bytes, more than sixty-four bytes,"
                     "more than sixty-four bytes");
    assert_false(frame_encode(&schema_frame, &good, &out, &err));
    assert_string_equal(err.code, "too_large");
    assert_int_equal(out.len, len);
}

static void test_a_frame_says_its_type(void **state)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct frame frame;
    struct err err = { 0 };

    (void)state;
    assert_false(message_decode(&schema_frame, VIEW("\x81\xa1v\x01"), &frame,
                                &arena, &err));
    assert_string_equal(err.text, "type is required");
    assert_true(message_decode(&schema_frame,
                               VIEW("\x82\xa1v\x01\xa4type\xa5hello"), &frame,
                               &arena, &err));
    assert_int_equal(frame.type, FRAME_HELLO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_two_frames_in_one_stream),
        cmocka_unit_test(test_a_frame_that_fails_leaves_nothing),
        cmocka_unit_test(test_a_frame_says_its_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
