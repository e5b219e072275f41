/* landlock.h - what a process may reach, in words of Landlock.
 *
 * The kernel's own names come with newer headers than we build with: these
 * are ours, for ABI 6. What a kernel does not know is left out. */
#ifndef EXECUTOR_BOX_LANDLOCK_H
#define EXECUTOR_BOX_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/message/err.h"

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_BLOCK = 1 << 11,
    FS_REFER = 1 << 13,     /* ABI 2 */
    FS_TRUNCATE = 1 << 14,  /* ABI 3 */
    FS_IOCTL_DEV = 1 << 15, /* ABI 5 */

    FS_ABI_1 = FS_REFER - 1,
    FS_READ = FS_READ_FILE | FS_READ_DIR,
    FS_RUN = FS_READ | FS_EXECUTE,
    FS_OWN = (FS_TRUNCATE << 1) - 1 - FS_EXECUTE - FS_MAKE_CHAR - FS_MAKE_BLOCK,
    FS_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE,
};

struct landlock_path {
    const char *path; /* need not be there */
    uint64_t access;
};

struct landlock_plan {
    const struct landlock_path *paths;
    size_t path_count;
    const uint16_t *ports; /* TCP, to connect to; ABI 4 */
    size_t port_count;
};

/* The ABI of this kernel's Landlock; 0: it has none. */
enum { LANDLOCK_SCOPES = 6 }; /* signals and abstract sockets, Linux 6.12 */
int landlock_abi(void);

/* Nothing but what the plan allows, for good; nor signals to others, nor
 * abstract sockets of others. A kernel without Landlock: true, and nothing. */
bool landlock_enter(const struct landlock_plan *plan, struct err *err);

#endif
