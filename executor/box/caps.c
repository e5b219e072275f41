/* caps.c - gives up every capability, and the ways to get them back.
 *
 * A process that has entered a box has every capability in its user namespace:
 * it could mount, and configure the network. no_new_privs makes setuid programs
 * and file capabilities void for it and all its children. */
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/box/walls.h"

/* Dropping from the bounding set takes CAP_SETPCAP. A process that has none to
 * begin with (EPERM) cannot gain from the set once no_new_privs is set. */
static bool drop_bounding(void)
{
    for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0;
         cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EPERM)
            return false;
    return true;
}

bool caps_drop(struct err *err)
{
    struct __user_cap_header_struct header = {
        .version = _LINUX_CAPABILITY_VERSION_3,
    };
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };
    if (!drop_bounding() ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
        syscall(SYS_capset, &header, none) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_set(err, ERR_RETRY, "session_failed", "capabilities: %s",
                       strerror(errno));
    return true;
}
