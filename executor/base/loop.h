/* loop.h - libuv's polls and timers, with the life cycle that machines want.
 *
 * After free no callback comes, even when free is called in a callback; libuv
 * releases the memory in the loop's next turn. */
#ifndef EXECUTOR_BASE_LOOP_H
#define EXECUTOR_BASE_LOOP_H

#include <stdint.h>
#include <uv.h>

/* A descriptor that is waited for: a socket, a pipe or a pidfd. */
struct watch;
/* events: those that are wanted now. An error counts as all of them: read() or
 * write() tells more. */
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
/* Once, from now; in place of what was set before. 0: in the next turn. */
void alarm_set(struct loop_alarm *alarm, uint64_t after_ms);
void alarm_stop(struct loop_alarm *alarm);
void alarm_free(struct loop_alarm *alarm); /* accepts NULL */

/* calloc() that aborts: a process without memory must start again, in a state
 * that is known. */
void *allocate(size_t size);

/* Milliseconds of a clock that only goes forward. */
uint64_t clock_ms(void);

/* Nanoseconds since 1970 of the clock that files are timed by, which goes in
 * ticks of some milliseconds. */
int64_t clock_files_ns(void);

#endif
