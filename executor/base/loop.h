/* loop.h - libuv's polls and timers, with the life cycle that machines want.
 *
 * Both live on the heap and are gone for their owner at once: after free no
 * callback comes, though libuv lets go of the memory a turn later. */
#ifndef EXECUTOR_BASE_LOOP_H
#define EXECUTOR_BASE_LOOP_H

#include <stdint.h>
#include <uv.h>

/* A descriptor that is waited for. */
struct watch;
typedef void watch_callback(void *owner, int events);

/* Takes fd. Waits for nothing yet. */
struct watch *watch_new(uv_loop_t *loop, int fd, watch_callback *callback,
                        void *owner);
/* UV_READABLE, UV_WRITABLE, or both; 0: nothing. */
void watch_want(struct watch *watch, int events);
int watch_fd(const struct watch *watch);
/* Closes the descriptor. Accepts NULL. */
void watch_free(struct watch *watch);

struct loop_alarm;
typedef void alarm_callback(void *owner);

struct loop_alarm *alarm_new(uv_loop_t *loop, alarm_callback *callback,
                             void *owner);
void alarm_set(struct loop_alarm *alarm,
               uint64_t after_ms); /* once, from now */
void alarm_stop(struct loop_alarm *alarm);
void alarm_free(struct loop_alarm *alarm); /* accepts NULL */

/* calloc() that aborts: a warden without memory must start again. */
void *allocate(size_t size);

/* Milliseconds of a clock that only goes forward. */
uint64_t clock_ms(void);

/* Nanoseconds since 1970 of the clock that files are timed by, which goes in
 * ticks of some milliseconds. */
int64_t clock_files_ns(void);

#endif
