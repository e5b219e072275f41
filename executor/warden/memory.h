/* memory.h - how much memory a box takes. */
#ifndef EXECUTOR_WARDEN_MEMORY_H
#define EXECUTOR_WARDEN_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

/* The box's processes and its files (they are memory too) take more than
 * limit_bytes. What processes share is counted once. proc, workspace:
 * descriptors of these folders; without a /proc (-1) only files count. */
bool memory_exceeds(int proc, int workspace, uint64_t limit_bytes);

#endif
