/* seccomp.c - the system calls of a list in executor/policy and no others.
 *
 * The filter was compiled from that list when quern was built (policy/). It
 * holds for the calling thread and what it forks: callers have one thread. A
 * later filter can only forbid more. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/box/walls.h"
#include "executor/policy/filter.h"

/* A kernel that takes filters looks for one at NULL. It is not asked for its
 * actions, as gVisor does not answer that. */
bool seccomp_available(void)
{
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) < 0 &&
           errno == EFAULT;
}

bool seccomp_enter(const struct policy_filter *filter, struct err *err)
{
    struct sock_fprog program = {
        .len = (unsigned short)filter->count,
        .filter = filter->steps,
    };
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return err_set(err, ERR_RETRY, "session_failed", "seccomp: %s",
                       strerror(errno));
    return true;
}
