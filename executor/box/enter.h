/* enter.h - how a process gets into a box.
 *
 * A box is handed on as descriptors of its namespaces, in the order of enum
 * fork_fd. Whoever holds them and is the box's user, or owns the pool that this
 * user is of, can send a child in. The user namespace is entered first: it
 * gives the capabilities that the others ask for, so nobody outside needs any.
 * walls_enter() takes them away again. */
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

/* One of them may be open on /dev/null: that of cgroups, in a box without. */

/* The first process that enters a box has this pid inside, its init has 1. */
enum { BOX_RUNNER_PID = 2 };

/* Puts the caller into the cgroups of a box: from then on what it takes is
 * limited, and all that it starts. Before it becomes the box's user, which may
 * not write there. doors are borrowed. False: errno. */
bool cgroups_enter(const int doors[CGROUP_DOORS]);

/* Exit status of a child that could not enter: why is on stderr. */
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

/* fork(), with a child that is an orphan from its start: in a box, init waits
 * for it. When it returns in the child, it has returned in the caller as well,
 * or is about to without taking a lock. The caller's other children, and what
 * waits for them, are not disturbed; it may have other threads. */
pid_t orphan_fork(void);

/* fork(), with the child inside the box, at the box's root, with capabilities
 * in it but without walls. To the caller it is a child like any other: SIGCHLD,
 * waitpid(). Gives its pid, 0 in the child, -1 with errno. NULL: a plain fork,
 * no box. The caller has one thread and becomes a subreaper. */
pid_t box_fork(const int namespaces[BOX_NAMESPACES]);

#endif
