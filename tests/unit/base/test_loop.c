/* A watch goes on telling, whatever has become of its descriptor. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/base/loop.h"

enum { PATIENCE_MS = 5000 };

struct reader {
    struct watch *watch;
    struct loop_alarm *alarm;
    char read[8]; /* what came, a byte at a time */
    size_t count;
    int error;
};

static void end(struct reader *reader)
{
    watch_free(reader->watch);
    alarm_free(reader->alarm);
}

static void on_readable(void *owner, int events)
{
    struct reader *reader = owner;
    (void)events;
    ssize_t got = recv(watch_fd(reader->watch), reader->read + reader->count, 1,
                       MSG_DONTWAIT);
    if (got > 0) {
        reader->count++;
        return;
    }
    reader->error = got < 0 ? errno : 0;
    end(reader);
}

static void on_late(void *owner)
{
    end(owner);
}

/* As a zygote does that has answered, and is killed before it has read what
 * it is asked next. */
static void what_came_before_an_error_is_read_and_then_the_error(void **state)
{
    (void)state;
    struct reader reader = { .error = -1 };
    uv_loop_t loop;
    int pair[2];
    uv_loop_init(&loop);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    reader.watch = watch_new(&loop, pair[0], on_readable, &reader);
    reader.alarm = alarm_new(&loop, on_late, &reader);
    watch_want(reader.watch, UV_READABLE);
    alarm_set(reader.alarm, PATIENCE_MS);

    assert_int_equal(write(pair[1], "ab", 2), 2);
    assert_int_equal(write(pair[0], "unread", 6), 6);
    close(pair[1]);
    uv_run(&loop, UV_RUN_DEFAULT);

    assert_int_equal(reader.count, 2);
    assert_int_equal(reader.error, ECONNRESET);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_came_before_an_error_is_read_and_then_the_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
