/* alarm.h - a timer that may be freed at any time.
 *
 * libuv closes its handles later, from the loop. An alarm does that by itself,
 * so its owner can be freed at once. After alarm_free() it does not ring. */
#ifndef SCHEMAS_ALARM_H
#define SCHEMAS_ALARM_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct alarm;
/* May free the alarm. */
typedef void alarm_ring(void *owner);

struct alarm *alarm_new(uv_loop_t *loop, alarm_ring *ring, void *owner);
/* Rings once, ms from now, from the loop; an earlier setting is forgotten. */
void alarm_set(struct alarm *alarm, uint64_t ms);
void alarm_stop(struct alarm *alarm);
bool alarm_is_set(const struct alarm *alarm);
void alarm_free(struct alarm *alarm); /* accepts NULL */

#endif
