/* walls.c - the list of walls, in the order in which they go up.
 *
 * The guest calls walls_enter() in each new session, after it has entered the
 * box and before any byte of a cell is read. */
#include "executor/box/walls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

#include "executor/box/landlock.h"

#ifdef QUERN_TESTING
#include <stdlib.h>

/* Test builds can leave walls out, to see that a test then fails. Read before
 * main() clears the environment. */
static char left_out[64]; /* ",seccomp,landlock," */

__attribute__((constructor)) static void read_left_out(void)
{
    const char *names = getenv("QUERN_WITHOUT_WALL");
    if (names)
        snprintf(left_out, sizeof(left_out), ",%s,", names);
}

bool wall_wanted(const char *name)
{
    char word[32];
    snprintf(word, sizeof(word), ",%s,", name);
    return !strstr(left_out, word);
}
#else
bool wall_wanted(const char *name)
{
    (void)name;
    return true;
}
#endif

/* The zygote is not dumpable, and its fork inherits that. But then the warden
 * could not read in /proc how much memory the session takes. It gives code in
 * the box nothing: all processes there are its own. */
static bool be_measurable(struct err *err)
{
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0 ||
           err_set(err, ERR_RETRY, "session_failed", "dumpable: %s",
                   strerror(errno));
}

/* Against Spectre: the processor does not read ahead of earlier stores (variant
 * 4), and other processes cannot train the indirect branches of this one
 * (variant 2). FORCE: code cannot switch it on again. Where processor or kernel
 * offer no switch, the call fails, and there is nothing to do. */
static void calm_speculation(void)
{
    static const unsigned long kinds[] = { PR_SPEC_STORE_BYPASS,
                                           PR_SPEC_INDIRECT_BRANCH };
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        (void)prctl(PR_SET_SPECULATION_CTRL, kinds[i], PR_SPEC_FORCE_DISABLE, 0,
                    0);
}

/* A second check beside the mounts of the box: if one of them is ever wrong,
 * the system is still read-only and the rest out of reach. With --insecure
 * there are no mounts, and this is the only wall around files. */
static const struct landlock_path paths[] = {
    /* Which names exist is no secret in the box: its root is made of these. */
    { "/", FS_READ_DIR },
    { "/usr", FS_RUN },
    { "/bin", FS_RUN },
    { "/sbin", FS_RUN },
    { "/lib", FS_RUN },
    { "/lib64", FS_RUN },
    { "/packages", FS_RUN },
    { "/etc", FS_READ },
    { "/proc", FS_READ },
    { "/var/cache/fontconfig", FS_READ },
    { "/dev/null", FS_READ_FILE | FS_WRITE_FILE },
    { "/dev/full", FS_READ_FILE | FS_WRITE_FILE },
    { "/dev/random", FS_READ_FILE },
    { "/dev/urandom", FS_READ_FILE },
    { "/dev/shm", FS_OWN },
    { "/tmp", FS_OWN },
    { "/workspace", FS_OWN },
};
static const uint16_t proxy_port = BOX_PROXY_PORT;

static bool landlock_session(bool online, struct err *err)
{
    struct landlock_plan plan = {
        .paths = paths,
        .path_count = sizeof(paths) / sizeof(paths[0]),
        .ports = &proxy_port,
        .port_count = online ? 1 : 0,
    };
    return landlock_enter(&plan, err);
}

/* Landlock and seccomp need the no_new_privs that caps_drop() sets. seccomp is
 * the last: it refuses the calls that put up the others. */
bool walls_enter(const struct session_limits *limits, bool online,
                 struct err *err)
{
    calm_speculation();
    return (!wall_wanted("rlimits") || rlimits_set(limits, err)) &&
           (!wall_wanted("caps") || caps_drop(err)) && be_measurable(err) &&
           (!wall_wanted("landlock") || landlock_session(online, err)) &&
           (!wall_wanted("seccomp") ||
            seccomp_enter(online ? &policy_online : &policy_offline, err));
}
