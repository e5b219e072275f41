/* walls.h - what a process puts around itself before it reads the first byte of
 * a user's code.
 *
 *   speculation  none past stores, nor where others steer it
 *   rlimits      memory, processes, file size, open files, no core
 *   capabilities all gone, bounding set included; no_new_privs
 *   landlock     reads the system, writes its own folders, nothing else
 *   seccomp      the system calls of executor/policy/syscalls, no others
 *
 * The order matters: each may need what the next takes away. On a kernel
 * without Landlock that wall is missing; the warden asks what there is, and
 * every result names it. */
#ifndef EXECUTOR_BOX_WALLS_H
#define EXECUTOR_BOX_WALLS_H

#include "executor/policy/filter.h"
#include "schemas/message/err.h"
#include "schemas/message/frame.h"

/* Where the warden's proxy listens in boxes that have one. */
enum { BOX_PROXY_PORT = 3128 };

/* All of them, for good. False: the process must end, because some walls are
 * missing. limits: 0 is the default of rlimit.c. online: it may connect to the
 * proxy of its box. */
bool walls_enter(const struct session_limits *limits, bool online,
                 struct err *err);

/* One wall each; landlock.h has its own. */
/* rlimit.c */
bool rlimits_set(const struct session_limits *limits, struct err *err);
bool caps_drop(struct err *err); /* and no_new_privs */
bool seccomp_enter(const struct policy_filter *filter, struct err *err);

/* Always true; in test builds false for the walls that the environment's
 * QUERN_WITHOUT_WALL names, with commas between them: those of this file, one
 * a namespace, what the root is made of (readonly, overlay, devices, proc,
 * quota), and those of the warden (users, watchdog, deadline, freeze, sweep,
 * nonce, bounds, images, files). */
bool wall_wanted(const char *name);

/* Whether this kernel has it; for Landlock: landlock_abi(). */
bool seccomp_available(void);

#endif
