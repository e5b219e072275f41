/* enter.c - fork() into the namespaces of a box. */
#include "executor/box/enter.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/box/walls.h"

const struct namespace_kind namespace_kinds[BOX_NAMESPACES] = {
    [FORK_USER_NS] = { "user", CLONE_NEWUSER },
    [FORK_MNT_NS] = { "mnt", CLONE_NEWNS },
    [FORK_NET_NS] = { "net", CLONE_NEWNET },
    [FORK_IPC_NS] = { "ipc", CLONE_NEWIPC },
    [FORK_UTS_NS] = { "uts", CLONE_NEWUTS },
    [FORK_CGROUP_NS] = { "cgroup", CLONE_NEWCGROUP },
    [FORK_PID_NS] = { "pid", CLONE_NEWPID },
};

static bool enter_one(const int namespaces[BOX_NAMESPACES], enum fork_fd which)
{
    const struct namespace_kind *namespace = &namespace_kinds[which];
    return !wall_wanted(namespace->name) ||
           setns(namespaces[which], namespace->type) == 0;
}

/* In the child, which has entered the user and the pid namespace. */
static void enter_rest(const int namespaces[BOX_NAMESPACES])
{
    for (enum fork_fd i = FORK_USER_NS + 1; i < FORK_PID_NS; i++)
        if (!enter_one(namespaces, i)) {
            dprintf(STDERR_FILENO, "%s namespace: %s\n",
                    namespace_kinds[i].name, strerror(errno));
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
    if (!namespaces)
        return fork();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return -1;
    volatile pid_t child = -1;
    volatile int error = 0;
    /* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,
     * clang-analyzer-unix.Vfork): we are one thread, and it forks at once. */
    pid_t passing = vfork();
    if (passing < 0)
        return -1;
    if (passing == 0) {
        if (enter_one(namespaces, FORK_USER_NS) &&
            enter_one(namespaces, FORK_PID_NS))
            child = fork();
        if (child == 0) {
            enter_rest(namespaces);
            return 0;
        }
        error = errno;
        _exit(0);
    }
    /* NOLINTEND(clang-analyzer-security.insecureAPI.vfork,
     * clang-analyzer-unix.Vfork) */
    while (waitpid(passing, NULL, 0) < 0 && errno == EINTR)
        ;
    errno = error;
    return child;
}
