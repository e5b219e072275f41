/* clock.c - time, chance, and what else the consumer asks the system. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "schemas/service/alarm.h"
#include "schemas/service/log.h"
#include "tests/unit/queue/world.h"

enum { MOST_DUE = 4096, MOST_AT_ONCE = 5000, START_MS = 1000000 };

static struct {
    uint64_t now, order, random;
    struct due *heap[MOST_DUE + 1];
    size_t count, alarms, at_once;
} timeline;

uint64_t world_now(void)
{
    return timeline.now;
}

size_t clock_count(void)
{
    return timeline.count;
}

size_t clock_alarms(void)
{
    return timeline.alarms;
}

void clock_reset(uint64_t seed)
{
    memset(&timeline, 0, sizeof(timeline));
    timeline.now = START_MS;
    timeline.random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

/* ------------------------------------------------------------------ chance */

/* splitmix64 */
static uint64_t next_random(void)
{
    uint64_t x = timeline.random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t chance(uint64_t bound)
{
    return next_random() % bound;
}

bool odds(unsigned int percent)
{
    return chance(100) < percent;
}

uint64_t between(uint64_t least, uint64_t most)
{
    return least + chance(most - least + 1);
}

ssize_t getrandom(void *bytes, size_t len, unsigned int flags)
{
    (void)flags;
    for (size_t i = 0; i < len; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)next_random();
    return (ssize_t)len;
}

int rand(void)
{
    return (int)(next_random() & RAND_MAX);
}

/* -------------------------------------------------------------------- heap */

static bool is_before(const struct due *a, const struct due *b)
{
    return a->at < b->at || (a->at == b->at && a->order < b->order);
}

static void put(struct due *due, size_t place)
{
    timeline.heap[place] = due;
    due->place = place;
}

static void sink(struct due *due, size_t place)
{
    for (;;) {
        size_t child = 2 * place;
        if (child > timeline.count)
            break;
        if (child < timeline.count &&
            is_before(timeline.heap[child + 1], timeline.heap[child]))
            child++;
        if (!is_before(timeline.heap[child], due))
            break;
        put(timeline.heap[child], place);
        place = child;
    }
    put(due, place);
}

static void rise(struct due *due, size_t place)
{
    while (place > 1 && is_before(due, timeline.heap[place / 2])) {
        put(timeline.heap[place / 2], place);
        place /= 2;
    }
    put(due, place);
}

void due_stop(struct due *due)
{
    size_t place = due->place;
    if (place == 0)
        return;
    due->place = 0;
    struct due *last = timeline.heap[timeline.count--];
    if (last == due)
        return;
    if (place > 1 && is_before(last, timeline.heap[place / 2]))
        rise(last, place);
    else
        sink(last, place);
}

void due_set(struct due *due, uint64_t ms)
{
    due_stop(due);
    due->at = timeline.now + ms;
    due->order = ++timeline.order;
    if (timeline.count == MOST_DUE)
        broken("no busy loop", "more than %d things wait", MOST_DUE);
    rise(due, ++timeline.count);
}

static void ring(struct due *due)
{
    if (due->at > timeline.now)
        timeline.at_once = 0;
    timeline.now = due->at;
    if (timeline.at_once++ > MOST_AT_ONCE)
        broken("no busy loop", "more than %d steps in no time", MOST_AT_ONCE);
    world.events++;
    due->ring(due->owner);
}

void clock_run(uint64_t until)
{
    while (timeline.count > 0 && timeline.heap[1]->at <= until) {
        struct due *due = timeline.heap[1];
        due_stop(due);
        if (due->host != NULL && due->host->asleep_until > due->at) {
            due->at = due->host->asleep_until;
            rise(due, ++timeline.count);
        } else {
            ring(due);
        }
    }
    if (timeline.now < until)
        timeline.now = until;
}

/* ------------------------------------------------------------------ alarms */

struct alarm {
    struct due due;
    alarm_ring *ring;
    void *owner;
    struct host *host;
};

static void on_due(void *owner)
{
    struct alarm *alarm = owner;
    alarm->host->rings++;
    if (!alarm->host->dead)
        alarm->ring(alarm->owner);
}

struct alarm *alarm_new(uv_loop_t *loop, alarm_ring *ring_it, void *owner)
{
    struct alarm *alarm = calloc(1, sizeof(*alarm));
    if (alarm == NULL)
        abort();
    alarm->host = host_of(loop);
    alarm->due =
        (struct due){ .ring = on_due, .owner = alarm, .host = alarm->host };
    alarm->ring = ring_it;
    alarm->owner = owner;
    alarm->host->things++;
    timeline.alarms++;
    return alarm;
}

void alarm_set(struct alarm *alarm, uint64_t ms)
{
    if (ms > FAR)
        broken("no alarm is out of reach", "%llu ms", (unsigned long long)ms);
    due_set(&alarm->due, ms);
}

void alarm_stop(struct alarm *alarm)
{
    due_stop(&alarm->due);
}

bool alarm_is_set(const struct alarm *alarm)
{
    return alarm->due.place != 0;
}

void alarm_free(struct alarm *alarm)
{
    if (alarm == NULL)
        return;
    struct host *host = alarm->host;
    due_stop(&alarm->due);
    free(alarm);
    timeline.alarms--;
    host_drop(host);
}

/* --------------------------------------------------------------------- log */

void log_line(const char *what, const char *format, ...)
{
    (void)format;
    if (world.trace)
        world_tell("    log %s", what);
}

void log_job_line(const struct log_job *job, const char *what,
                  const char *format, ...)
{
    (void)format;
    if (world.trace)
        world_tell("    log %s %s", what, job->job);
}

/* ----------------------------------------------------------------- signals */

int uv_signal_init(uv_loop_t *loop, uv_signal_t *handle)
{
    handle->loop = loop;
    host_of(loop)->things++;
    return 0;
}

int uv_signal_start(uv_signal_t *handle, uv_signal_cb ring_it, int number)
{
    struct host *host = host_of(handle->loop);
    host->signals[host->signal_count++] =
        (struct signal_watch){ handle, ring_it, number };
    return 0;
}

/* Of the loop, soon. */
struct closing {
    struct due due;
    uv_handle_t *handle;
    uv_close_cb closed;
    struct host *host;
};

static void on_closing(void *owner)
{
    struct closing *closing = owner;
    struct host *host = closing->host;
    closing->closed(closing->handle);
    free(closing);
    host_drop(host);
}

void uv_close(uv_handle_t *handle, uv_close_cb closed)
{
    struct closing *closing = calloc(1, sizeof(*closing));
    if (closing == NULL)
        abort();
    closing->due = (struct due){ .ring = on_closing, .owner = closing };
    closing->handle = handle;
    closing->closed = closed;
    closing->host = host_of(handle->loop);
    closing->host->signal_count = 0;
    due_set(&closing->due, 0);
}

/* service.c blocks signals when it leaves: this process goes on. */
int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    (void)how;
    (void)set;
    (void)old;
    return 0;
}

/* ---------------------------------------------------------------- executor */

bool executor_is_off(const struct executor *executor)
{
    (void)executor;
    return false;
}

/* The pointer stands for its host. */
bool executor_is_ready(const struct executor *executor)
{
    return ((const struct host *)executor)->executor;
}

bool executor_is_away(const struct executor *executor,
                      struct executor_absence *absence)
{
    if (executor_is_ready(executor))
        return false;
    *absence = (struct executor_absence){ .word = "lost",
                                          .text = "lost",
                                          .since_ms = 1 };
    return true;
}
