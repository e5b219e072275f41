/* walls.c - the list of walls, in the order in which they go up. */
#include "executor/box/walls.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#ifdef QUERN_TESTING
#include <stdlib.h>

/* Test builds can leave a wall out, to see that a test then fails. Read before
 * main() clears the environment. */
static char left_out[32];

__attribute__((constructor)) static void read_left_out(void)
{
    const char *name = getenv("QUERN_WITHOUT_WALL");
    if (name)
        strncpy(left_out, name, sizeof(left_out) - 1);
}

bool wall_wanted(const char *name)
{
    return strcmp(left_out, name) != 0;
}
#else
bool wall_wanted(const char *name)
{
    (void)name;
    return true;
}
#endif

/* The warden may see how much memory is this process's own (a fork of the
 * zygote inherits that nobody may). In the box everybody is one user anyway. */
static bool be_measurable(struct err *err)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 ||
           err_set(err, ERR_RETRY, "session_failed", "dumpable: %s",
                   strerror(errno));
}

bool walls_enter(const struct session_limits *limits, struct err *err)
{
    return (!wall_wanted("rlimits") || rlimits_set(limits, err)) &&
           (!wall_wanted("caps") || caps_drop(err)) && be_measurable(err) &&
           (!wall_wanted("landlock") || landlock_enter(err)) &&
           (!wall_wanted("seccomp") || seccomp_enter(err));
}
