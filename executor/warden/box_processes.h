/* box_processes.h - which processes are in a box, as the box's own /proc says.
 * Processes may come and go during a walk. */
#ifndef EXECUTOR_WARDEN_BOX_PROCESSES_H
#define EXECUTOR_WARDEN_BOX_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Calls see() with each process of the box, its number as text, until see()
 * gives false. False: see() did, or there is no /proc to look at. proc:
 * box_proc(). */
bool box_processes_walk(int proc, bool (*see)(void *context, const char *pid),
                        void *context);

/* There is no process but init and those kept (0: nobody). A process that is
 * just being forked may be missed: only a sweep is certain. */
bool box_processes_is_only(int proc, const pid_t *kept, size_t count);

#endif
