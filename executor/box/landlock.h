/* landlock.h - what a process may reach, in words of Landlock.
 *
 * The names that the kernel gives these rights come with newer headers than we
 * build with. So they have names of ours here, with the kernel's values, up to
 * ABI 6. Rights that the running kernel does not know are left out. */
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
    /* Sets for plans. FS_OWN: all but to execute and to make devices. */
    FS_READ = FS_READ_FILE | FS_READ_DIR,
    FS_RUN = FS_READ | FS_EXECUTE,
    FS_OWN = (FS_TRUNCATE << 1) - 1 - FS_EXECUTE - FS_MAKE_CHAR - FS_MAKE_BLOCK,
    /* What a rule for a file, not a folder, may hold. */
    FS_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE,
};

/* For a folder: it and all beneath. */
struct landlock_path {
    const char *path; /* need not be there */
    uint64_t access;  /* FS_..., or'ed */
};

/* Borrowed for the call. */
struct landlock_plan {
    const struct landlock_path *paths;
    size_t path_count;
    const uint16_t *ports; /* TCP, to connect to; ABI 4 */
    size_t port_count;
};

/* The first ABI that keeps in signals and abstract sockets: Linux 6.12. */
enum { LANDLOCK_SCOPES = 6 };

/* The ABI of this kernel's Landlock; 0: it has none. */
int landlock_abi(void);

/* From now on this thread and its children reach nothing but what the plan
 * allows; with LANDLOCK_SCOPES, they can neither signal processes outside nor
 * connect to their abstract sockets. Nobody can undo it. no_new_privs must be
 * set (caps_drop()). On a kernel without Landlock it does nothing and gives
 * true. */
bool landlock_enter(const struct landlock_plan *plan, struct err *err);

#endif
