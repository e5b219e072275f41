/* enter.c - fork() into the namespaces of a box.
 *
 * The zygote does this for each session, and a runner forks its snapshot in the
 * same way, without namespaces. */
#include "executor/box/enter.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* "0" is the writer itself. A door of a hierarchy that is not there is open on
 * /dev/null. */
bool cgroups_enter(const int doors[CGROUP_DOORS])
{
    for (size_t i = 0; i < CGROUP_DOORS; i++)
        if (write(doors[i], "0", 1) != 1)
            return false;
    return true;
}

/* Not by setresuid() of the C library: that looks for the threads of the
 * process, and in a child that shares the memory of the warden (visit.c) it
 * would find the warden's. */
bool box_become_user(void)
{
    return syscall(SYS_setresgid, BOX_USER, BOX_USER, BOX_USER) == 0 &&
           syscall(SYS_setresuid, BOX_USER, BOX_USER, BOX_USER) == 0;
}

bool box_forget_rights(void)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
    return syscall(SYS_capset, &header, none) == 0;
}

/* Of cgroups a box may have none (box_order.outer). */
static bool stands_for_none(enum fork_fd which, int fd)
{
    struct stat status;
    return which == FORK_CGROUP_NS && fstat(fd, &status) == 0 &&
           S_ISCHR(status.st_mode);
}

static bool enter_one(const int namespaces[BOX_NAMESPACES], enum fork_fd which)
{
    const struct namespace_kind *namespace = &namespace_kinds[which];
    return !wall_wanted(namespace->name) ||
           stands_for_none(which, namespaces[which]) ||
           setns(namespaces[which], namespace->type) == 0;
}

/* In the child, which has entered the user and the pid namespace: the others
 * need the capabilities that the user namespace has given. A child that could
 * not enter one of them must not live: it would run code outside of a wall. */
static void enter_rest(const int namespaces[BOX_NAMESPACES])
{
    for (enum fork_fd i = FORK_USER_NS + 1; i < FORK_PID_NS; i++)
        if (!enter_one(namespaces, i)) {
            dprintf(STDERR_FILENO, "%s namespace: %s\n",
                    namespace_kinds[i].name, strerror(errno));
            _exit(BOX_ENTER_FAILED);
        }
}

/* The user namespace first: without its capabilities no other can be entered.
 * Entering a pid namespace changes nothing for the caller; its next child is in
 * there. */
static bool enter_first(const int namespaces[BOX_NAMESPACES])
{
    return !namespaces || (enter_one(namespaces, FORK_USER_NS) &&
                           enter_one(namespaces, FORK_PID_NS));
}

/* A passing process enters the namespaces, if any, forks there and ends. It
 * shares our memory (vfork), so that the memory is copied once, not twice: what
 * it writes to child and error, we read. We stand still until it has ended, and
 * so its child is an orphan when this returns. */
static pid_t fork_in_passing(const int namespaces[BOX_NAMESPACES])
{
    volatile pid_t child = -1;
    volatile int error = 0;
    /* NOLINTBEGIN(clang-analyzer-security.insecureAPI.vfork,
     * clang-analyzer-unix.Vfork): it forks at once. */
    pid_t passing = vfork();
    if (passing < 0)
        return -1;
    if (passing == 0) {
        if (enter_first(namespaces))
            child = fork();
        if (child == 0)
            return 0; /* in the child, whose memory is a copy */
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

/* A pid namespace holds the children of whoever enters it, and entering takes
 * rights that only the box's user namespace gives, from which there is no way
 * back. So it is done in passing, and the child comes back to us as the
 * subreaper. */
pid_t box_fork(const int namespaces[BOX_NAMESPACES])
{
    if (!namespaces)
        return fork();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return -1;
    pid_t child = fork_in_passing(namespaces);
    if (child == 0)
        enter_rest(namespaces);
    return child;
}

/* In the child. fork() of the C library holds locks in the passing process,
 * whose memory is our parent's: if a sweep ended it before fork() has let go of
 * them, our parent would wait for them for ever. So the child does not show
 * itself to the warden before the passing process has ended. */
static void wait_for_passing(void)
{
    pid_t passing = getppid();
    int fd = passing > 1 ? (int)syscall(SYS_pidfd_open, passing, 0) : -1;
    if (fd < 0)
        return; /* it is gone */
    struct pollfd ended = { .fd = fd, .events = POLLIN };
    while (poll(&ended, 1, -1) < 0 && errno == EINTR)
        ;
    close(fd);
}

/* The end of the passing process is no news for the caller's own handler, which
 * may be one that a cell has installed. */
pid_t orphan_fork(void)
{
    struct sigaction quiet = { .sa_handler = SIG_DFL }, before;
    sigaction(SIGCHLD, &quiet, &before);
    pid_t child = fork_in_passing(NULL);
    int error = errno;
    if (child == 0)
        wait_for_passing();
    sigaction(SIGCHLD, &before, NULL);
    errno = error;
    return child;
}
