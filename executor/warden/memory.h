/* memory.h - how much memory a box takes: by its cgroup, if it has one, else by
 * what its /proc and its file system say (the watchdog). */
#ifndef EXECUTOR_WARDEN_MEMORY_H
#define EXECUTOR_WARDEN_MEMORY_H

#include "executor/warden/boxes.h"

/* A cell begins. */
void memory_begin(const struct box *box);

/* The box takes more than it may: the kernel had to kill something in its
 * cgroup since the cell began; or, if it has none, *taken_bytes, which we see
 * of it, is beyond the limit. */
bool memory_exceeded(const struct box *box, uint64_t limit_bytes,
                     uint64_t *taken_bytes);
/* What the kernel has counted in this cell: the most memory at once, and the
 * processes that it had to kill. Cheap; 0 without a cgroup. */
uint64_t memory_peak_bytes(const struct box *box);
uint64_t memory_kills(const struct box *box);

/* What processes and files have now; memory that processes share may count once
 * for each. */
uint64_t memory_taken(const struct box *box);
/* Resident memory of one process; pid: as the box sees it. 0: not known. */
uint64_t memory_of(const struct box *box, pid_t pid);

#endif
