/* landlock.c - which files may be touched, whatever the mounts say.
 *
 * A second opinion on the box's root: should a mount ever be wrong, the
 * system is still read-only and the rest unreachable. Newer kernels add TCP,
 * abstract sockets and signals to what is kept inside. */
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

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_BLOCK = 1 << 11,
    FS_REFER = 1 << 13,     /* ABI 2 */
    FS_TRUNCATE = 1 << 14,  /* ABI 3 */
    FS_IOCTL_DEV = 1 << 15, /* ABI 5 */

    FS_ABI_1 = FS_REFER - 1,
    FS_READ = FS_READ_FILE | FS_READ_DIR,
    FS_RUN = FS_READ | FS_EXECUTE,
    FS_OWN = (FS_TRUNCATE << 1) - 1 - FS_EXECUTE - FS_MAKE_CHAR - FS_MAKE_BLOCK,
    FS_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE,

    NET_TCP = 3,    /* ABI 4: bind, connect */
    SCOPE_BOTH = 3, /* ABI 6: abstract sockets, signals */
};

static const struct {
    const char *path;
    uint64_t access;
} rules[] = {
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

static struct ruleset ruleset_of(int abi)
{
    struct ruleset ruleset = { .fs = FS_ABI_1 };
    if (abi >= 2)
        ruleset.fs |= FS_REFER;
    if (abi >= 3)
        ruleset.fs |= FS_TRUNCATE;
    if (abi >= 4)
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

/* A path that is not there needs no rule. */
static bool add_rule(int ruleset_fd, const char *path, uint64_t access)
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

bool landlock_enter(struct err *err)
{
    int abi = landlock_abi();
    if (abi == 0)
        return true;
    struct ruleset ruleset = ruleset_of(abi);
    CLEANUP(cleanup_close) int fd = ruleset_open(&ruleset);
    if (fd < 0)
        return err_set(err, ERR_RETRY, "session_failed", "landlock ABI %d: %s",
                       abi, strerror(errno));
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (!add_rule(fd, rules[i].path, rules[i].access & ruleset.fs))
            return err_set(err, ERR_RETRY, "session_failed",
                           "landlock rule for %s: %s", rules[i].path,
                           strerror(errno));
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return err_set(err, ERR_RETRY, "session_failed", "landlock: %s",
                       strerror(errno));
    return true;
}
