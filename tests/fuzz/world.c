/* world.c - time and descriptors in a world of our own: loop.c's functions. */
#include "tests/fuzz/world.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"

enum { MOST_TURNS = 20000 }; /* more is a loop without an end */

struct world world;

struct loop_alarm {
    struct loop_alarm *next;
    uint64_t due_ms; /* 0: it is not set */
    alarm_callback *callback;
    void *owner;
};

struct watch {
    struct watch *next;
    int fd;
    int events;
    watch_callback *callback;
    void *owner;
};

static struct loop_alarm *alarms;
static struct watch *watches;
static uint64_t now_ms = 1000;

void log_line(const char *what, const char *who, const char *format, ...)
{
    (void)what;
    (void)who;
    (void)format;
}

void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    MUST(memory != NULL);
    return memory;
}

uint64_t clock_ms(void)
{
    return now_ms;
}

/* All files are old. */
int64_t clock_files_ns(void)
{
    return INT64_MAX;
}

ssize_t getrandom(void *bytes, size_t len, unsigned int flags)
{
    (void)flags;
    MUST(len == sizeof(world.nonces));
    world.nonces++;
    memcpy(bytes, &world.nonces, len);
    return (ssize_t)len;
}

/* ------------------------------------------------------------------ alarms */

struct loop_alarm *alarm_new(uv_loop_t *loop, alarm_callback *callback,
                             void *owner)
{
    struct loop_alarm *alarm = allocate(sizeof(*alarm));
    (void)loop;
    *alarm = (struct loop_alarm){ alarms, 0, callback, owner };
    alarms = alarm;
    return alarm;
}

void alarm_set(struct loop_alarm *alarm, uint64_t after_ms)
{
    alarm->due_ms = now_ms + after_ms;
}

void alarm_stop(struct loop_alarm *alarm)
{
    alarm->due_ms = 0;
}

void alarm_free(struct loop_alarm *alarm)
{
    struct loop_alarm **link = &alarms;
    while (alarm && *link != alarm)
        link = &(*link)->next;
    if (alarm)
        *link = alarm->next;
    free(alarm);
}

/* The one that is due first, at the latest then. */
static struct loop_alarm *next_alarm(uint64_t until_ms)
{
    struct loop_alarm *first = NULL;
    for (struct loop_alarm *alarm = alarms; alarm; alarm = alarm->next)
        if (alarm->due_ms > 0 && alarm->due_ms <= until_ms &&
            (!first || alarm->due_ms < first->due_ms))
            first = alarm;
    return first;
}

static bool ring(uint64_t until_ms)
{
    struct loop_alarm *alarm = next_alarm(until_ms);
    if (!alarm)
        return false;
    if (alarm->due_ms > now_ms)
        now_ms = alarm->due_ms;
    alarm->due_ms = 0;
    alarm->callback(alarm->owner);
    return true;
}

/* ----------------------------------------------------------------- watches */

struct watch *watch_new(uv_loop_t *loop, int fd, watch_callback *callback,
                        void *owner)
{
    struct watch *watch = allocate(sizeof(*watch));
    (void)loop;
    MUST(fd >= 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0); /* as libuv does */
    *watch = (struct watch){ watches, fd, 0, callback, owner };
    watches = watch;
    return watch;
}

void watch_want(struct watch *watch, int events)
{
    watch->events = events;
}

int watch_fd(const struct watch *watch)
{
    return watch->fd;
}

void watch_free(struct watch *watch)
{
    struct watch **link = &watches;
    if (!watch)
        return;
    while (*link != watch)
        link = &(*link)->next;
    *link = watch->next;
    close(watch->fd);
    free(watch);
}

/* One of them, if any is ready: its callback may free all others. */
static bool look(void)
{
    for (struct watch *watch = watches; watch; watch = watch->next) {
        struct pollfd ready = { .fd = watch->fd };
        if (watch->events & UV_READABLE)
            ready.events |= POLLIN;
        if (watch->events & UV_WRITABLE)
            ready.events |= POLLOUT;
        if (!ready.events || poll(&ready, 1, 0) <= 0)
            continue;
        int events = (ready.revents & POLLOUT ? UV_WRITABLE : 0) |
                     (ready.revents & ~POLLOUT ? UV_READABLE : 0);
        watch->callback(watch->owner, events & watch->events);
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------- turns */

static void settle(uint64_t until_ms)
{
    int turns = 0;
    bool moves = true;
    while (moves) {
        MUST(turns++ < MOST_TURNS);
        uv_run(&world.loop, UV_RUN_NOWAIT);
        moves = look() || guests_listen() || ring(until_ms);
    }
    uv_run(&world.loop, UV_RUN_NOWAIT);
}

void world_settle(void)
{
    settle(now_ms);
}

void world_advance(uint64_t ms)
{
    uint64_t until_ms = now_ms + ms;
    settle(until_ms);
    now_ms = until_ms;
}

void world_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    MUST(uv_loop_init(&world.loop) == 0);
    world.settings = (struct executor_settings){
        .profile = PROFILE_BARE,
        .limits = { 1 << 30, 1 << 28, 64 },
        .sessions = 4,
        .snapshot_bytes = 1 << 20,
        .cell_ms = WAITS_MS,
        .tool_ms = 2 * WAITS_MS,
        .idle_ms = 60 * WAITS_MS,
    };
    world.sessions = (struct sessions){
        .loop = &world.loop,
        .settings = &world.settings,
    };
    for (size_t i = 0; i < GUESTS; i++)
        world.guests[i] = (struct guest){ .channel = -1 };
    world.nonces = world.births = world.last_cells = 0;
    world.hungry = world.dirty = world.silent = world.packages = false;
    world.boxless = false;
}

void world_end(void)
{
    sessions_finish(&world.sessions);
    MUST(world.sessions.count == 0);
    guests_finish();
    world_settle();
    MUST(!alarms && !watches);
    MUST(uv_loop_close(&world.loop) == 0);
}

bool frame_take(struct buf *heard, const struct schema *schema, void *frame,
                struct arena *arena)
{
    struct err err;
    size_t total;
    MUST(frame_length(buf_view(heard), MAX_FRAME_BYTES, &total, &err));
    if (total == 0 || total > heard->len)
        return false;
    struct view body = { heard->data + FRAME_HEADER_BYTES,
                         total - FRAME_HEADER_BYTES };
    body = arena_copy(arena, body);
    MUST(message_decode(schema, body, frame, arena, &err));
    buf_drop(heard, total);
    return true;
}
