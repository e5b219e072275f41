/* visit.c - something done as a box's user. */
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

static char stack[STACK_BYTES] __attribute__((aligned(64)));

struct visit {
    int user_namespace;
    void (*act)(void *context);
    void *context;
    bool done;
};

/* Only system calls before it acts: C's own setters would look for threads of
 * this process, and find the warden's. */
static int run(void *argument)
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
    sigfillset(&all); /* handlers are for the warden itself */
    sigprocmask(SIG_SETMASK, &all, &before);
    pid_t pid = clone(run, stack + STACK_BYTES,
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
