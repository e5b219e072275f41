/* alarm.c - a timer that may be freed at any time. */
#include "schemas/service/alarm.h"

#include <stdlib.h>

struct alarm {
    uv_timer_t timer;
    alarm_ring *ring;
    void *owner;
};

static void on_timer(uv_timer_t *timer)
{
    struct alarm *alarm = timer->data;
    alarm->ring(alarm->owner);
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

struct alarm *alarm_new(uv_loop_t *loop, alarm_ring *ring, void *owner)
{
    struct alarm *alarm = calloc(1, sizeof(*alarm));
    if (!alarm)
        abort();
    uv_timer_init(loop, &alarm->timer);
    alarm->timer.data = alarm;
    alarm->ring = ring;
    alarm->owner = owner;
    return alarm;
}

void alarm_set(struct alarm *alarm, uint64_t ms)
{
    /* libuv counts from its own, possibly old, idea of now. */
    uv_update_time(alarm->timer.loop);
    uv_timer_start(&alarm->timer, on_timer, ms, 0);
}

void alarm_stop(struct alarm *alarm)
{
    uv_timer_stop(&alarm->timer);
}

bool alarm_is_set(const struct alarm *alarm)
{
    return uv_is_active((const uv_handle_t *)&alarm->timer);
}

void alarm_free(struct alarm *alarm)
{
    if (alarm)
        uv_close((uv_handle_t *)&alarm->timer, on_closed);
}
