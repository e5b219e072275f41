/* box_processes.h - who is in a box, as its own /proc says. */
#ifndef EXECUTOR_WARDEN_BOX_PROCESSES_H
#define EXECUTOR_WARDEN_BOX_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls see() with each process of the box, its number as text, until that
 * says false. False: that, or nobody can say; proc: box_proc(), -1 for none. */
bool box_processes_walk(int proc, bool (*see)(void *context, const char *pid),
                        void *context);

/* There is nobody but its init and those kept; 0 is nobody. Who is just being
 * forked is not seen: only a sweep is certain. */
bool box_processes_is_only(int proc, const pid_t *kept, size_t count);

#endif
