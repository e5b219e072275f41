/* landlock.c - which files may be touched, whatever the mounts say.
 *
 * Newer kernels can also keep in TCP (ABI 4), abstract sockets and signals
 * (ABI 6). quern-proxy uses it, too. */
#include "executor/box/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/box/walls.h"
#include "schemas/message/buf.h"

/* Headers may be older than the kernel: the layout of ABI 6, our own names. */
struct ruleset {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
};

struct port_rule {
    uint64_t access;
    uint64_t port;
};

enum {
    NET_TCP = 3, /* ABI 4: bind, connect */
    NET_CONNECT = 2,
    RULE_PORT = 2,
    ABI_NET = 4,
    SCOPE_BOTH = 3, /* ABI 6: abstract sockets, signals */
};

/* NOLINTNEXTLINE(readability-non-const-parameter): the attribute passes it */
static void cleanup_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
                       LANDLOCK_CREATE_RULESET_VERSION);
    if (abi >= LANDLOCK_SCOPES && !wall_wanted("scopes"))
        return LANDLOCK_SCOPES - 1;
    return abi < 0 ? 0 : (int)abi;
}

/* All rights that this kernel knows are handled: what a plan does not allow is
 * refused. A right of a newer kernel would be an error. */
static struct ruleset ruleset_of(int abi)
{
    struct ruleset ruleset = { .fs = FS_ABI_1 };
    if (abi >= 2)
        ruleset.fs |= FS_REFER;
    if (abi >= 3)
        ruleset.fs |= FS_TRUNCATE;
    if (abi >= ABI_NET)
        ruleset.net = NET_TCP;
    if (abi >= 5)
        ruleset.fs |= FS_IOCTL_DEV;
    if (abi >= LANDLOCK_SCOPES)
        ruleset.scoped = SCOPE_BOTH;
    return ruleset;
}

/* The kernel refuses a struct longer than it knows unless the rest is zero. */
static int ruleset_open(const struct ruleset *ruleset)
{
    return (int)syscall(SYS_landlock_create_ruleset, ruleset, sizeof(*ruleset),
                        0);
}

/* A path that is not there, or that we may not reach, needs no rule. The kernel
 * refuses a rule with rights that the ruleset does not handle, hence the mask
 * in landlock_enter(). */
static bool add_path(int ruleset_fd, const char *path, uint64_t access)
{
    CLEANUP(cleanup_close) int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == EACCES;
    struct landlock_path_beneath_attr rule = {
        .allowed_access = access,
        .parent_fd = fd,
    };
    return syscall(SYS_landlock_add_rule, ruleset_fd,
                   LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

static bool add_port(int ruleset_fd, uint16_t port)
{
    struct port_rule rule = { .access = NET_CONNECT, .port = port };
    return syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PORT, &rule, 0) == 0;
}

static bool landlock_fail(struct err *err, const char *what)
{
    return err_set(err, ERR_RETRY, "session_failed", "landlock: %s: %s", what,
                   strerror(errno));
}

bool landlock_enter(const struct landlock_plan *plan, struct err *err)
{
    int abi = landlock_abi();
    if (abi == 0)
        return true;
    struct ruleset ruleset = ruleset_of(abi);
    CLEANUP(cleanup_close) int fd = ruleset_open(&ruleset);
    if (fd < 0)
        return landlock_fail(err, "rules");
    for (size_t i = 0; i < plan->path_count; i++)
        if (!add_path(fd, plan->paths[i].path,
                      plan->paths[i].access & ruleset.fs))
            return landlock_fail(err, plan->paths[i].path);
    for (size_t i = 0; i < plan->port_count && abi >= ABI_NET; i++)
        if (!add_port(fd, plan->ports[i]))
            return landlock_fail(err, "port");
    return syscall(SYS_landlock_restrict_self, fd, 0) == 0 ||
           landlock_fail(err, "restrict");
}
