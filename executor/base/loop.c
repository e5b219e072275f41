/* loop.c - libuv's polls and timers.
 *
 * A handle of libuv may be freed only in its close callback, so watch and alarm
 * are allocated on their own and freed there. */
#include "executor/base/loop.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct watch {
    uv_poll_t poll;
    int fd;
    int wanted; /* by the owner: UV_READABLE, UV_WRITABLE */
    int polled; /* by libuv: at least what is wanted */
    watch_callback *callback;
    void *owner;
};

struct loop_alarm {
    uv_timer_t timer;
    alarm_callback *callback;
    void *owner;
};

void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        abort();
    return memory;
}

uint64_t clock_ms(void)
{
    return uv_hrtime() / 1000000;
}

int64_t clock_files_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void on_poll(uv_poll_t *poll, int status, int events);

static void listen_to(struct watch *watch, int events)
{
    if (watch->polled == events)
        return;
    watch->polled = events;
    if (events)
        uv_poll_start(&watch->poll, events, on_poll);
    else
        uv_poll_stop(&watch->poll);
}

/* An error on the descriptor is for whoever reads it: read() tells more. But
 * what came before the error is read first, and libuv has stopped polling: it
 * has to look again, or nobody would ever hear of the error. */
static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct watch *watch = poll->data;
    if (status < 0) {
        watch->polled = 0;
        events = UV_READABLE | UV_WRITABLE;
    }
    listen_to(watch, watch->wanted);
    events &= watch->wanted;
    if (events)
        watch->callback(watch->owner, events);
}

struct watch *watch_new(uv_loop_t *loop, int fd, watch_callback *callback,
                        void *owner)
{
    struct watch *watch = allocate(sizeof(*watch));
    watch->fd = fd;
    watch->callback = callback;
    watch->owner = owner;
    watch->poll.data = watch;
    if (uv_poll_init(loop, &watch->poll, fd) < 0)
        abort(); /* all of ours are sockets, pipes and pidfds */
    return watch;
}

/* What is not wanted any more is taken back when it comes, if it does: most is
 * wanted again before that, and each change is a system call. */
void watch_want(struct watch *watch, int events)
{
    watch->wanted = events;
    if (events & ~watch->polled)
        listen_to(watch, events);
}

int watch_fd(const struct watch *watch)
{
    return watch->fd;
}

void watch_free(struct watch *watch)
{
    if (!watch)
        return;
    uv_close((uv_handle_t *)&watch->poll, on_closed);
    close(watch->fd);
}

static void on_timer(uv_timer_t *timer)
{
    struct loop_alarm *alarm = timer->data;
    alarm->callback(alarm->owner);
}

struct loop_alarm *alarm_new(uv_loop_t *loop, alarm_callback *callback,
                             void *owner)
{
    struct loop_alarm *alarm = allocate(sizeof(*alarm));
    alarm->callback = callback;
    alarm->owner = owner;
    alarm->timer.data = alarm;
    uv_timer_init(loop, &alarm->timer);
    return alarm;
}

/* libuv counts from the time at which this turn of the loop began: a long
 * callback would shorten the alarm. */
void alarm_set(struct loop_alarm *alarm, uint64_t after_ms)
{
    uv_update_time(alarm->timer.loop);
    uv_timer_start(&alarm->timer, on_timer, after_ms, 0);
}

void alarm_stop(struct loop_alarm *alarm)
{
    uv_timer_stop(&alarm->timer);
}

void alarm_free(struct loop_alarm *alarm)
{
    if (alarm)
        uv_close((uv_handle_t *)&alarm->timer, on_closed);
}
