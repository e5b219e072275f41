/* A session's pipe: what is passed on, what is only counted, what is dropped.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/warden/output.h"

static struct fixture {
    uv_loop_t loop;
    struct output_pipe output;
    int end_of_pipe;    /* where a session writes */
    size_t heard;       /* bytes */
    char head[16];      /* the first of them */
    unsigned int turns; /* of on_bytes */
    uint64_t offset;    /* of what follows the maximum; and what it is */
    char end[OUTPUT_END_BYTES];
    size_t end_len;
} fixture;

static void hear(void *owner, struct view stream, uint64_t offset,
                 struct view bytes)
{
    struct fixture *f = owner;
    assert_true(view_is(stream, "stdout"));
    if (f->heard == OUTPUT_MAX_BYTES) {
        assert_in_range(bytes.len, 1, sizeof(f->end));
        memcpy(f->end, bytes.data, bytes.len);
        f->end_len = bytes.len;
        f->offset = offset;
        return;
    }
    assert_int_equal(offset, f->heard);
    size_t room = sizeof(f->head) - 1;
    for (size_t i = 0; i < bytes.len && f->heard + i < room; i++)
        f->head[f->heard + i] = bytes.data[i];
    f->heard += bytes.len;
    f->turns++;
}

static int make_pipe(void **state)
{
    int pair[2];
    fixture = (struct fixture){ .turns = 0 };
    *state = &fixture;
    if (uv_loop_init(&fixture.loop) < 0 || pipe2(pair, O_CLOEXEC) < 0)
        return -1;
    fixture.end_of_pipe = pair[1];
    output_init(&fixture.output, &fixture.loop, pair[0], VIEW("stdout"), hear,
                &fixture);
    return 0;
}

static int close_pipe(void **state)
{
    struct fixture *f = *state;
    if (f->end_of_pipe >= 0)
        close(f->end_of_pipe);
    output_finish(&f->output);
    output_finish(&f->output); /* a finished one is nothing to do */
    uv_run(&f->loop, UV_RUN_DEFAULT);
    return uv_loop_close(&f->loop);
}

static void say(const struct fixture *f, size_t len)
{
    char *bytes = malloc(len);
    memset(bytes, 'x', len);
    assert_int_equal(write(f->end_of_pipe, bytes, len), len);
    free(bytes);
}

static void what_was_written_comes_by_itself(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(write(f->end_of_pipe, "one\0two", 7), 7);
    uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->heard, 0); /* it does not listen yet */
    output_listen(&f->output, true);
    uv_run(&f->loop, UV_RUN_ONCE);
    assert_memory_equal(f->head, "one\0two", 7);
    assert_int_equal(f->output.written, 7);
}

static void a_drain_takes_all_that_is_there(void **state)
{
    struct fixture *f = *state;
    size_t sizes[] = { 1, 60000, 65536 };
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        f->heard = 0;
        output_restart(&f->output);
        say(f, sizes[i]);
        output_drain(&f->output);
        assert_int_equal(f->heard, sizes[i]);
    }
    output_drain(&f->output); /* nothing: it does not wait */
}

/* Code in a box may do that to its own pipe. */
static void a_pipe_that_was_made_larger_is_drained_to_its_end(void **state)
{
    enum { LARGE = 256 << 10 };
    struct fixture *f = *state;
    assert_in_range(fcntl(f->end_of_pipe, F_SETPIPE_SZ, LARGE), LARGE, 1 << 30);
    say(f, LARGE);
    output_drain(&f->output);
    assert_int_equal(f->heard, LARGE);
}

static void between_cells_nothing_is_passed_on(void **state)
{
    enum { LARGE = 256 << 10 };
    struct fixture *f = *state;
    assert_in_range(fcntl(f->end_of_pipe, F_SETPIPE_SZ, LARGE), LARGE, 1 << 30);
    say(f, LARGE);
    output_restart(&f->output);
    assert_int_equal(f->heard, 0);
    assert_int_equal(f->output.written, 0);
    say(f, 3);
    output_drain(&f->output);
    assert_string_equal(f->head, "xxx"); /* of the next cell only */
}

static void beyond_the_limit_bytes_are_only_counted(void **state)
{
    enum { PIECE = 48 << 10, PIECES = OUTPUT_MAX_BYTES / PIECE + 3 };
    struct fixture *f = *state;
    for (int i = 0; i < PIECES; i++) {
        say(f, PIECE);
        output_drain(&f->output);
    }
    assert_int_equal(f->heard, OUTPUT_MAX_BYTES);
    assert_int_equal(f->output.written, (uint64_t)PIECE * PIECES);
    output_restart(&f->output);
    f->heard = 0;
    say(f, 5);
    output_drain(&f->output);
    assert_int_equal(f->heard, 5); /* the next cell has its own */
}

/* The byte that stands at an offset of the stream. */
static char byte_at(uint64_t offset)
{
    return (char)('a' + offset % 23);
}

static void write_more(const struct fixture *f, uint64_t at, size_t len)
{
    char *bytes = malloc(len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = byte_at(at + i);
    assert_int_equal(write(f->end_of_pipe, bytes, len), len);
    free(bytes);
}

static void of_too_much_the_end_follows(void **state)
{
    enum { PIECE = 64 << 10, MAX = OUTPUT_MAX_BYTES, END = OUTPUT_END_BYTES };
    static const struct {
        size_t more, piece; /* beyond the maximum, in pieces */
        size_t told;
    } rows[] = {
        { 1, 1, 1 },
        { END, 1000, END },
        { END + 1, 700, END },
        { (size_t)3 * END + 5, END, END },
        { (size_t)2 * PIECE, PIECE, END },
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t at = 0, all = MAX + rows[i].more;
        f->heard = f->end_len = 0;
        while (at < all) {
            size_t piece = at < MAX ? PIECE : rows[i].piece;
            size_t len = all - at < piece ? (size_t)(all - at) : piece;
            write_more(f, at, len);
            output_drain(&f->output);
            at += len;
        }
        assert_int_equal(f->end_len, 0); /* it may not be the end yet */
        output_tell_end(&f->output);
        assert_int_equal(f->heard, MAX);
        assert_int_equal(f->end_len, rows[i].told);
        assert_int_equal(f->offset, all - rows[i].told);
        for (size_t n = 0; n < f->end_len; n++)
            assert_int_equal(f->end[n], byte_at(f->offset + n));
        output_restart(&f->output);
        f->end_len = 0;
        output_tell_end(&f->output); /* of the next cell there is none */
        assert_int_equal(f->end_len, 0);
    }
}

static void a_closed_pipe_does_not_keep_the_loop_busy(void **state)
{
    struct fixture *f = *state;
    output_listen(&f->output, true);
    say(f, 3);
    close(f->end_of_pipe);
    f->end_of_pipe = -1;
    for (int i = 0; i < 5; i++)
        uv_run(&f->loop, UV_RUN_NOWAIT);
    assert_int_equal(f->heard, 3);
    assert_int_equal(uv_loop_alive(&f->loop), 0);
    output_drain(&f->output);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_pipe, close_pipe)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_written_comes_by_itself),
        TEST(a_drain_takes_all_that_is_there),
        TEST(a_pipe_that_was_made_larger_is_drained_to_its_end),
        TEST(between_cells_nothing_is_passed_on),
        TEST(beyond_the_limit_bytes_are_only_counted),
        TEST(of_too_much_the_end_follows),
        TEST(a_closed_pipe_does_not_keep_the_loop_busy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
