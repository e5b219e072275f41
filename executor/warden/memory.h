/* memory.h - how much memory a box takes. */
#ifndef EXECUTOR_WARDEN_MEMORY_H
#define EXECUTOR_WARDEN_MEMORY_H

#include "executor/warden/boxes.h"

/* A cell begins. */
void memory_begin(const struct box *box);

/* The box takes more than it may: the kernel had to kill something in its
 * cgroup; or, if it has none, what we see of it is too much: *taken_bytes. */
bool memory_exceeded(const struct box *box, uint64_t limit_bytes,
                     uint64_t *taken_bytes);
/* What the kernel has counted, cheaply; 0 where it does not count. The most in
 * this cell, and the processes that it had to kill. */
uint64_t memory_peak_bytes(const struct box *box);
uint64_t memory_kills(const struct box *box);

/* What processes and files have now; shared memory may count several times. */
uint64_t memory_taken(const struct box *box);
/* Resident memory of one process; pid: as the box sees it. */
uint64_t memory_of(const struct box *box, pid_t pid);

#endif
