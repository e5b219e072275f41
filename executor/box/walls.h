/* walls.h - what a process puts around itself before the first user byte.
 *
 *   rlimits      memory, processes, file size, open files, no core
 *   capabilities all gone, bounding set included; no_new_privs
 *   landlock     reads the system, writes its own folders, nothing else
 *   seccomp      the system calls of executor/policy/syscalls, no others
 *
 * The order matters: each may need what the next takes away. A kernel without
 * Landlock gets no such wall; the warden asks what there is and tells. */
#ifndef EXECUTOR_BOX_WALLS_H
#define EXECUTOR_BOX_WALLS_H

#include "schemas/message/err.h"
#include "schemas/message/frame.h"

/* All of them, for good. On failure the process must end: some may stand. */
bool walls_enter(const struct session_limits *limits, struct err *err);

/* One wall each. */
bool rlimits_set(const struct session_limits *limits, struct err *err);
bool caps_drop(struct err *err); /* and no_new_privs */
bool landlock_enter(struct err *err);
bool seccomp_enter(struct err *err);

/* Always true; in test builds false for the wall that the environment's
 * QUERN_WITHOUT_WALL names. */
bool wall_wanted(const char *name);

/* What this kernel has. The ABI of Landlock; 0: none. */
enum { LANDLOCK_SCOPES = 6 }; /* signals and abstract sockets, Linux 6.12 */
int landlock_abi(void);
bool seccomp_available(void);

#endif
