/* main.c - quern-box: makes boxes, as the warden orders; see box.h.
 *
 * The warden is trusted, and nothing else is read here: no code of a session
 * runs in this process or can send to it. For each order it forks: the fork
 * enters the cgroups of the box and becomes its user, and then clones the box's
 * init into new namespaces. */
#include <errno.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "executor/box/box.h"
#include "executor/box/walls.h"

/* The pool rides along only if the box gets a user of it. False: the channel is
 * closed, or what came is no order; then quern-box ends. */
static bool take_order(struct box_order *order, int fds[ORDER_FDS])
{
    size_t count = ORDER_FDS;
    fds[ORDER_POOL] = -1;
    return wire_receive(BOX_CHANNEL, order, sizeof(*order), fds, &count, 0) ==
               sizeof(*order) &&
           count == (order->user ? ORDER_FDS : ORDER_POOL);
}

/* Our user owns the pool: so whoever enters it has every capability there, and
 * may become any of the ids that are mapped into it. After clone_init() these
 * capabilities are gone: init has capabilities in the box's own user namespace
 * only. A change of user clears the dumpable flag, which makes /proc/self
 * root's: it is set again, because map_user() must write there. */
static void become_user(uid_t user, int pool)
{
    gid_t group = user;
    if (setns(pool, CLONE_NEWUSER) < 0)
        box_die("pool of user ids");
    (void)setgroups(0, NULL); /* fails where newgidmap has forbidden it */
    if (setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0 ||
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        box_die("user of the box");
}

/* Every namespace that a box has. */
static unsigned long namespace_flags(void)
{
    unsigned long flags = 0;
    for (size_t i = 0; i < BOX_NAMESPACES; i++)
        if (wall_wanted(namespace_kinds[i].name))
            flags |= (unsigned long)namespace_kinds[i].type;
    return flags;
}

/* Init is a child of quern-box, as its maker ends at once (CLONE_PARENT). It is
 * not known to the warden by its number: BOX_UP brings its pidfd. By clone(),
 * not clone3(): only of the former can a container's seccomp see the flags. */
static pid_t clone_init(unsigned long flags)
{
    return (pid_t)syscall(SYS_clone, CLONE_PARENT | flags, NULL, NULL, NULL, 0);
}

/* In a process of its own. The order of steps matters: first the cgroups, so
 * that all memory of the box is charged to it, its file system included, and as
 * our own user, since that of the box may not write to them. Then the user, so
 * that the new user namespace is made by, and owned by, the box's user. No
 * descriptor but the channel to the warden goes into the box. */
static void carry_out(const struct box_order *order, const int fds[ORDER_FDS])
{
    signal(SIGCHLD, SIG_DFL); /* init looks after those in the box */
    if (dup2(fds[ORDER_CHANNEL], BOX_CHANNEL) < 0)
        _exit(EXIT_FAILURE);
    if (!cgroups_enter(fds + ORDER_DOORS))
        box_die("cgroup");
    if (order->user)
        become_user(order->user, fds[ORDER_POOL]);
    uid_t uid = geteuid();
    gid_t gid = getegid();
    syscall(SYS_close_range, BOX_CHANNEL + 1, ~0U, 0);
    unsigned long flags = namespace_flags();
    pid_t init = clone_init(flags);
    if (init < 0 && order->outer) {
        flags &= ~(unsigned long)CLONE_NEWCGROUP;
        init = clone_init(flags);
    }
    if (init < 0)
        box_die("clone");
    if (init > 0)
        _exit(EXIT_SUCCESS);
    box_make(order, flags & CLONE_NEWCGROUP, uid, gid);
    init_serve();
}

/* Code in a box can read the arguments of its init, which is a copy of this
 * process. They must not tell a path of the host. */
static void forget_path(char *started_as)
{
    static const char name[] = "quern-box";
    size_t len = strlen(started_as);
    memset(started_as, 0, len);
    memcpy(started_as, name, len < sizeof(name) ? len : sizeof(name));
}

int main(int argc, char **argv)
{
    static struct box_order order;
    int fds[ORDER_FDS];
    sigset_t all;
    /* Only the end of its channel ends it: a signal to the whole process group
     * (Ctrl-C) must not, while the warden still ends its sessions. */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGCHLD, SIG_IGN); /* children need not be waited for */
    if (argc > 0)
        forget_path(argv[0]);
    syscall(SYS_close_range, BOX_CHANNEL + 1, ~0U, 0);
    while (take_order(&order, fds)) {
        if (fork() == 0)
            carry_out(&order, fds);
        for (size_t i = 0; i < ORDER_FDS; i++)
            /* The box's channel, too: when no process has it any more, the
             * warden sees that the box was not made. */
            close_fd(&fds[i]);
    }
    if (errno == ENOTSOCK || errno == EBADF) {
        fprintf(stderr, "quern-box is started by quern-executor\n");
        return 64;
    }
    return EXIT_SUCCESS;
}
