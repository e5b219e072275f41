/* visit.c - something done as a box's user.
 *
 * The warden stands still meanwhile (CLONE_VFORK), so what is done must not
 * wait for code in the box. */
#include "executor/warden/visit.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/box/enter.h"

enum { STACK_BYTES = 512 << 10 };

/* The passing process needs a stack of its own, as it shares our memory. There
 * is one visit at a time. */
static char stack[STACK_BYTES] __attribute__((aligned(64)));

struct visit {
    int user_namespace;
    void (*act)(void *context);
    void *context;
    bool done;
};

/* Only system calls before it acts: the C library's setuid() looks for the
 * threads of this process, and would find the warden's. Before anything is
 * done, the capabilities are gone that entering the namespace gave: a file that
 * leads elsewhere must meet no more rights than the box's user has. */
static int visit_run(void *argument)
{
    struct visit *task = argument;
    if (setns(task->user_namespace, CLONE_NEWUSER) == 0 && box_become_user() &&
        box_forget_rights()) {
        task->act(task->context);
        task->done = true;
    }
    return 0; /* that ends the process, not ours */
}

bool visit(const struct box *box, void (*act)(void *context), void *context)
{
    if (!box_has_own_user(box)) {
        act(context);
        return true;
    }
    struct visit task = {
        .user_namespace = box_namespaces(box)[FORK_USER_NS],
        .act = act,
        .context = context,
    };
    sigset_t all, before;
    sigfillset(&all); /* a handler would run as the box's user, in our memory */
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = clone(visit_run, stack + STACK_BYTES,
                      CLONE_VM | CLONE_VFORK | CLONE_FILES, &task);
    int error = errno;
    while (pid > 0 && waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
        ;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (!task.done)
        log_line("box.unvisited", NULL, "%s",
                 pid < 0 ? strerror(error) : "its user is out of reach");
    return task.done;
}
