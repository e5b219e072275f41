/* main.c - quern-box: makes boxes, as it is told; see box.h. */
#include <errno.h>
#include <grp.h>
#include <linux/sched.h>
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

static bool take_order(struct box_order *order, int fds[ORDER_FDS])
{
    size_t count = ORDER_FDS;
    fds[ORDER_POOL] = -1;
    return wire_receive(BOX_CHANNEL, order, sizeof(*order), fds, &count, 0) ==
               sizeof(*order) &&
           count == (order->user ? ORDER_FDS : ORDER_POOL);
}

/* The pool is owned by our user, who may do in it what root may on a host, with
 * the ids that are mapped. What that gives ends with clone_init(), but for the
 * new namespaces. Changing users has hidden our /proc from ourselves. */
static void become_user(uid_t user, int pool)
{
    gid_t group = user;
    if (setns(pool, CLONE_NEWUSER) < 0)
        box_die("pool of user ids");
    (void)setgroups(0, NULL); /* newgidmap may have forbidden it */
    if (setresgid(group, group, group) < 0 || setresuid(user, user, user) < 0 ||
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        box_die("user of the box");
}

static pid_t clone_init(void)
{
    struct clone_args args = { .flags = CLONE_PARENT };
    for (size_t i = 0; i < BOX_NAMESPACES; i++)
        if (wall_wanted(namespace_kinds[i].name))
            args.flags |= (unsigned int)namespace_kinds[i].type;
    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* In a process of its own: before anything of the box is made it goes into the
 * cgroups, where the file system counts too. */
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
    pid_t init = clone_init();
    if (init < 0)
        box_die("clone");
    if (init > 0)
        _exit(EXIT_SUCCESS);
    box_make(order, uid, gid);
    init_serve();
}

/* A box sees the arguments of its init, which is a copy of this process: the
 * path by which it was started is the host's. */
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
    sigfillset(&all); /* the end of the channel is the only one */
    sigprocmask(SIG_SETMASK, &all, NULL);
    signal(SIGCHLD, SIG_IGN);
    if (argc > 0)
        forget_path(argv[0]);
    syscall(SYS_close_range, BOX_CHANNEL + 1, ~0U, 0);
    while (take_order(&order, fds)) {
        if (fork() == 0)
            carry_out(&order, fds);
        for (size_t i = 0; i < ORDER_FDS; i++)
            close_fd(&fds[i]); /* that of a box that has no process tells it */
    }
    if (errno == ENOTSOCK || errno == EBADF) {
        fprintf(stderr, "quern-box is started by quern-executor\n");
        return 64;
    }
    return EXIT_SUCCESS;
}
