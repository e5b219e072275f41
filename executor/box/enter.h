/* enter.h - how a process gets into a box.
 *
 * A box is handed on as descriptors of its namespaces, in the order of enum
 * fork_fd. Whoever holds them and runs as the user that made the box can send
 * a child in: entering the user namespace first gives the rights that the
 * others ask for, so nobody outside needs any capability. walls_enter() takes
 * these rights away again. */
#ifndef EXECUTOR_BOX_ENTER_H
#define EXECUTOR_BOX_ENTER_H

#include <stdbool.h>
#include <sys/types.h>

#include "schemas/message/frame.h"

/* FORK_USER_NS to FORK_PID_NS. */
enum { BOX_NAMESPACES = FORK_CHANNEL };

/* FORK_DOORS to FORK_LAST_DOOR: one for each hierarchy of cgroups. */
enum { CGROUP_DOORS = FORK_WORKSPACE - FORK_DOORS };

struct namespace_kind {
    const char *name; /* in /proc/PID/ns */
    int type;         /* CLONE_NEW... */
};
extern const struct namespace_kind namespace_kinds[BOX_NAMESPACES];

/* The first process that enters a box has this pid inside, its init has 1. */
enum { BOX_RUNNER_PID = 2 };

/* Puts the caller into the cgroups of a box: from then on what it takes is
 * limited, and all that it starts. False: errno. */
bool cgroups_enter(const int doors[CGROUP_DOORS]);

/* The status of a child that could not enter: it said why on stderr. */
enum { BOX_ENTER_FAILED = 71 };

/* What the one user of a box is called inside. */
enum { BOX_USER = 1000 };

/* After entering a box's user namespace: becomes its user and group, which may
 * be another than the caller's. Only system calls; the caller has one thread.
 * False: errno. */
bool box_become_user(void);
/* ... and gives up the rights that entering gave, for code of ours that has no
 * use for them; walls_enter() does more. */
bool box_forget_rights(void);

/* fork(), with a child that is nobody's from its start: in a box, init reaps
 * it. Once it has returned in the child, the fork itself is over in the caller
 * as well. The caller's other children and what waits for them are not
 * disturbed; it may have other threads. */
pid_t orphan_fork(void);

/* fork(), with the child inside the box, at the box's root. To the caller it
 * is a child like any other: SIGCHLD, waitpid(). Gives its pid, 0 in the
 * child, -1 with errno. NULL: a plain fork, no box. The caller has one thread
 * and becomes a subreaper. */
pid_t box_fork(const int namespaces[BOX_NAMESPACES]);

#endif
