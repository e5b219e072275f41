/* spawn.h - starts a program of ours. */
#ifndef EXECUTOR_WARDEN_SPAWN_H
#define EXECUTOR_WARDEN_SPAWN_H

#include <stdbool.h>
#include <uv.h>

/* The program argv[0] gets: channel as descriptor 3, nothing as 0, our stderr
 * as 1 and 2, no environment. on_end (may be NULL) comes once, when it has
 * ended and was waited for. Logs why it could not start. */
bool spawn(uv_loop_t *loop, char **argv, int channel,
           void (*on_end)(void *owner), void *owner);

#endif
