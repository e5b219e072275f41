/* enter.c - fork() into the namespaces of a box. */
#include "executor/box/enter.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct {
    int type;
    const char *path;
} table[BOX_NAMESPACES] = {
    [FORK_USER_NS] = { CLONE_NEWUSER, "/proc/self/ns/user" },
    [FORK_MNT_NS] = { CLONE_NEWNS, "/proc/self/ns/mnt" },
    [FORK_NET_NS] = { CLONE_NEWNET, "/proc/self/ns/net" },
    [FORK_IPC_NS] = { CLONE_NEWIPC, "/proc/self/ns/ipc" },
    [FORK_UTS_NS] = { CLONE_NEWUTS, "/proc/self/ns/uts" },
    [FORK_CGROUP_NS] = { CLONE_NEWCGROUP, "/proc/self/ns/cgroup" },
    [FORK_PID_NS] = { CLONE_NEWPID, "/proc/self/ns/pid" },
};

static bool is_ours(int fd, const char *path)
{
    struct stat theirs, ours;
    return fstat(fd, &theirs) == 0 && stat(path, &ours) == 0 &&
           theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
}

static bool enter(const int namespaces[BOX_NAMESPACES], int which)
{
    return is_ours(namespaces[which], table[which].path) ||
           setns(namespaces[which], table[which].type) == 0;
}

/* In the child. The mounts come last: behind them is another /proc. */
static void enter_rest(const int namespaces[BOX_NAMESPACES])
{
    static const int order[] = { FORK_NET_NS, FORK_IPC_NS, FORK_UTS_NS,
                                 FORK_CGROUP_NS, FORK_MNT_NS };
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
        if (!enter(namespaces, order[i])) {
            dprintf(STDERR_FILENO, "setns %s: %s\n", table[order[i]].path,
                    strerror(errno));
            _exit(BOX_ENTER_FAILED);
        }
}

/* A pid namespace holds the children of whoever enters it, and entering takes
 * rights that only the box's user namespace gives, from which there is no way
 * back. So a passing process enters both and forks there. It shares our memory
 * (vfork), so that the memory is copied once, not twice; the child is
 * orphaned when it ends and comes back to us as the subreaper. */
pid_t box_fork(const int namespaces[BOX_NAMESPACES])
{
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return -1;
    volatile pid_t child = -1;
    volatile int error = 0;
    pid_t passing = vfork();
    if (passing < 0)
        return -1;
    if (passing == 0) {
        if (enter(namespaces, FORK_USER_NS) && enter(namespaces, FORK_PID_NS))
            child = fork();
        if (child == 0) {
            enter_rest(namespaces);
            return 0;
        }
        error = errno;
        _exit(0);
    }
    while (waitpid(passing, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = error;
    return child;
}
