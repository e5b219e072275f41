/* spawn.h - starts another program of quern, with a channel to the warden. It
 * gets no other descriptor of the warden, and no environment but the given one.
 */
#ifndef EXECUTOR_WARDEN_SPAWN_H
#define EXECUTOR_WARDEN_SPAWN_H

#include <uv.h>

/* The program argv[0] gets: channel as descriptor 3, /dev/null as 0, our stderr
 * as 1 and 2, no environment. channel stays the caller's. Gives its pid, for
 * which the loop waits; -1: it could not start, and the log says why. */
int spawn(uv_loop_t *loop, char **argv, int channel);
/* The same, with an environment: "NAME=value", NULL at the end. */
int spawn_with(uv_loop_t *loop, const char *const *argv, int channel,
               char **environment);

#endif
