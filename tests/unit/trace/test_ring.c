/* The ring of finished spans: order, and both of its bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/trace/ring.h"

static size_t add_number(struct ring *ring, unsigned int number)
{
    char text[16];
    snprintf(text, sizeof(text), "%u", number);
    return ring_add(ring, view_of(text));
}

static void the_newest_stay_in_order(void **state)
{
    struct ring ring = { 0 };
    CLEANUP(buf_finish) struct buf out;
    size_t dropped = 0;
    (void)state;
    for (unsigned int i = 0; i < RING_SPANS + 3; i++)
        dropped += add_number(&ring, i);
    assert_int_equal(dropped, 3);
    assert_int_equal(ring.count, RING_SPANS);
    buf_init(&out, 100);
    assert_int_equal(ring_take(&ring, &out, 3), 3);
    assert_true(view_is(buf_view(&out), "3,4,5"));
    assert_int_equal(ring_clear(&ring), RING_SPANS - 3);
    assert_int_equal(ring.bytes, 0);
    ring_finish(&ring);
}

static void bytes_have_a_bound(void **state)
{
    enum { LEN = 64 << 10 };
    struct ring ring = { 0 };
    char *span = calloc(1, LEN);
    (void)state;
    for (unsigned int i = 0; i < RING_BYTES / LEN; i++)
        assert_int_equal(ring_add(&ring, (struct view){ span, LEN }), 0);
    assert_int_equal(ring.bytes, RING_BYTES);
    assert_int_equal(ring_add(&ring, (struct view){ span, 1 }), 1);
    assert_true(ring.bytes <= RING_BYTES);
    free(span);
    ring_finish(&ring);
}

static void only_what_fits_is_taken(void **state)
{
    struct ring ring = { 0 };
    CLEANUP(buf_finish) struct buf out;
    (void)state;
    for (unsigned int i = 10; i < 15; i++)
        add_number(&ring, i);
    buf_init(&out, 9); /* head, and "10,11" */
    buf_add(&out, VIEW("head"));
    assert_int_equal(ring_take(&ring, &out, 100), 2);
    assert_true(view_is(buf_view(&out), "head10,11"));
    assert_int_equal(ring.count, 3);
    ring_finish(&ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_newest_stay_in_order),
        cmocka_unit_test(bytes_have_a_bound),
        cmocka_unit_test(only_what_fits_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
