/* walls.c - walls that quern-reader puts around itself. */
#include "consumer/reader/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "schemas/message/buf.h"

static bool walls_fail(struct err *err, const char *what, int error)
{
    return err_set(err, ERR_RETRY, "no_walls", "quern-reader: %s: %s", what,
                   strerror(error));
}

/* ---------------------------------------------------------------- landlock */

/* struct landlock_ruleset_attr of ABI 6, and the bits below: the headers of
 * Debian 12 are older than many kernels. */
struct landlock_rules {
    uint64_t fs, net, scoped;
};

/* All rights that an ABI knows, so that all are refused. Bits as in
 * linux/landlock.h. */
static struct landlock_rules ruleset_of(long abi)
{
    struct landlock_rules all = { .fs = (1U << 13) - 1 };
    if (abi >= 2)
        all.fs |= 1U << 13; /* to move files */
    if (abi >= 3)
        all.fs |= 1U << 14; /* to truncate them */
    if (abi >= 4)
        all.net = 3; /* TCP, both ways */
    if (abi >= 5)
        all.fs |= 1U << 15; /* ioctl of devices */
    if (abi >= 6)
        all.scoped = 3; /* abstract sockets, signals */
    return all;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the attribute passes it */
static void cleanup_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Allows reading below a folder; one that does not exist needs no rule. */
static bool may_read(int ruleset, const char *folder)
{
    CLEANUP(cleanup_close) int fd = open(folder, O_PATH | O_CLOEXEC);
    struct landlock_path_beneath_attr rule = {
        .allowed_access = LANDLOCK_ACCESS_FS_READ_FILE,
        .parent_fd = fd,
    };
    return fd < 0 || syscall(SYS_landlock_add_rule, ruleset,
                             LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0;
}

bool walls_files(bool *closed, struct err *err)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
                       LANDLOCK_CREATE_RULESET_VERSION);
    *closed = abi > 0;
    if (!*closed)
        return true;
    struct landlock_rules all = ruleset_of(abi);
    CLEANUP(cleanup_close)
    int fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof(all), 0);
    if (fd < 0 || !may_read(fd, "/usr/lib") || !may_read(fd, "/usr/lib64") ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_landlock_restrict_self, fd, 0) != 0)
        return walls_fail(err, "landlock", errno);
    return true;
}

/* ----------------------------------------------------------------- seccomp */

static const int reads[] = {
    SCMP_SYS(read),
    SCMP_SYS(readv),
    SCMP_SYS(pread64),
    SCMP_SYS(lseek),
    SCMP_SYS(write),
    SCMP_SYS(writev),
    SCMP_SYS(close),
    SCMP_SYS(fstat),
    SCMP_SYS(newfstatat),
    SCMP_SYS(brk),
    SCMP_SYS(mmap),
    SCMP_SYS(munmap),
    SCMP_SYS(mremap),
    SCMP_SYS(mprotect), /* when iconv's converters are loaded */
    SCMP_SYS(madvise),
    SCMP_SYS(futex),
    SCMP_SYS(getrandom),
    SCMP_SYS(clock_gettime),
    SCMP_SYS(gettimeofday),
    SCMP_SYS(rt_sigaction),
    SCMP_SYS(rt_sigprocmask),
    SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack), /* of sanitizers, when a test tries */
    SCMP_SYS(getpid),
    SCMP_SYS(gettid),
    SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),
    SCMP_SYS(exit_group),
};

static const int opens[] = { SCMP_SYS(open), SCMP_SYS(openat) };

static int allow(scmp_filter_ctx filter, const int *calls, size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    return error;
}

bool walls_calls(bool files, struct err *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!filter)
        return walls_fail(err, "seccomp", ENOMEM);
    int error = allow(filter, reads, sizeof(reads) / sizeof(*reads));
    if (error == 0 && files)
        error = allow(filter, opens, sizeof(opens) / sizeof(*opens));
    if (error == 0)
        error = seccomp_load(filter);
    seccomp_release(filter);
    return error == 0 || walls_fail(err, "seccomp", -error);
}
