/* memory.h - how much memory a box takes. */
#ifndef EXECUTOR_WARDEN_MEMORY_H
#define EXECUTOR_WARDEN_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

/* What the box's processes and its files (they are memory too) take. What
 * processes share is counted once, but for a total within the limit, which may
 * be too high: to know better takes longer. proc, workspace: descriptors of
 * these folders; without a /proc (-1) only files count. */
uint64_t memory_taken(int proc, int workspace, uint64_t limit_bytes);

/* Resident memory of one process; pid: as the box sees it. */
uint64_t memory_of(int proc, pid_t pid);

#endif
