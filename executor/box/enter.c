/* enter.c - fork() into the namespaces of a box. */
#include "executor/box/enter.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child, which has entered the user and the pid namespace. */
static void enter_rest(const int namespaces[BOX_NAMESPACES])
{
    static const struct {
        enum fork_fd which;
        int type;
        const char *name;
    } rest[] = {
        { FORK_NET_NS, CLONE_NEWNET, "net" },
        { FORK_IPC_NS, CLONE_NEWIPC, "ipc" },
        { FORK_UTS_NS, CLONE_NEWUTS, "uts" },
        { FORK_CGROUP_NS, CLONE_NEWCGROUP, "cgroup" },
        { FORK_MNT_NS, CLONE_NEWNS, "mnt" },
    };
    for (size_t i = 0; i < sizeof(rest) / sizeof(rest[0]); i++)
        if (setns(namespaces[rest[i].which], rest[i].type) < 0) {
            dprintf(STDERR_FILENO, "%s namespace: %s\n", rest[i].name,
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
        if (setns(namespaces[FORK_USER_NS], CLONE_NEWUSER) == 0 &&
            setns(namespaces[FORK_PID_NS], CLONE_NEWPID) == 0)
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
