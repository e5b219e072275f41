/* A box from inside: a child enters it, puts up its walls and tries. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/box/landlock.h"
#include "executor/box/walls.h"
#include "tests/unit/box/opened.h"

/* Runs body inside, gives its exit status; 128 and the signal when killed. */
static int inside(struct box *box, int (*body)(void))
{
    pid_t child = box_fork(box->fds);
    assert_true(child >= 0);
    if (child == 0) {
        /* The guest has nothing of ours open. */
        syscall(SYS_close_range, 3, ~0U, 0);
        struct session_limits limits = { .processes = 16 };
        struct err err;
        if (!walls_enter(&limits, false, &err)) {
            fprintf(stderr, "%s\n", err.text);
            _exit(126);
        }
        _exit(body());
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Each gives 0 when the box held, else what it got. */
static int fails_with(long result, int error)
{
    if (result >= 0)
        return 1;
    if (errno == error)
        return 0;
    fprintf(stderr, "errno %d (%s), expected %d\n", errno, strerror(errno),
            error);
    return 2;
}

static int is_second(void)
{
    return getpid() != BOX_RUNNER_PID;
}
static int is_user(void)
{
    return getuid() != 1000 || getgid() != 1000;
}

static int has_no_caps(void)
{
    return prctl(PR_CAPBSET_READ, 21, 0, 0, 0) != 0 ||
           prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1;
}

static int host_file(void)
{
    return fails_with(open("/etc/shadow", O_RDONLY), ENOENT) ||
           access("/sys", F_OK) == 0 || access("/root", F_OK) == 0 ||
           access("/home", F_OK) == 0;
}

static int system_is_read_only(void)
{
    return open("/usr/x", O_CREAT | O_WRONLY, 0600) >= 0 ||
           open("/x", O_CREAT | O_WRONLY, 0600) >= 0 ||
           open("/etc/passwd", O_WRONLY) >= 0;
}

static int workspace_is_writable(void)
{
    int fd = open("/workspace/x", O_CREAT | O_WRONLY, 0600);
    return fd < 0 || write(fd, "x", 1) != 1 ||
           open("/tmp/x", O_CREAT | O_WRONLY, 0600) < 0 ||
           open("/dev/shm/x", O_CREAT | O_WRONLY, 0600) < 0;
}

static int disk_is_bounded(void)
{
    static char page[4096];
    int fd = open("/workspace/big", O_CREAT | O_WRONLY, 0600);
    size_t total = 0;
    while (total < 2 * (size_t)DISK_BYTES &&
           write(fd, page, sizeof(page)) == sizeof(page))
        total += sizeof(page);
    return total > DISK_BYTES;
}

static int inodes_are_bounded(void)
{
    for (int i = 0; i < 100000; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/tmp/i%d", i);
        if (open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) < 0 &&
            errno != EMFILE)
            return errno != ENOSPC;
        if (mkdir(path, 0700) < 0 && errno != EEXIST)
            return errno != ENOSPC;
    }
    return 1;
}

static int inet(void)
{
    return fails_with(socket(AF_INET, SOCK_STREAM, 0), EACCES) ||
           fails_with(socket(AF_INET6, SOCK_DGRAM, 0), EACCES) ||
           fails_with(socket(AF_NETLINK, SOCK_RAW, 0), EACCES) ||
           fails_with(socket(AF_PACKET, SOCK_RAW, 0), EACCES) ||
           fails_with(socket(38 /* ALG */, SOCK_SEQPACKET, 0), EACCES) ||
           fails_with(socket(40 /* VSOCK */, SOCK_STREAM, 0), EACCES);
}

static int unix_pair(void)
{
    int pair[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
}

static int kill_init(void)
{
    kill(-1, SIGCONT);
    kill(1, SIGKILL);
    kill(1, SIGTERM);
    usleep(1000);
    return getppid() == 1;
}

static int abi; /* of Landlock: inside, nobody may ask */

static int signals(void)
{
    return abi >= 6 && fails_with(kill(1, 0), EPERM);
}

static int namespaces(void)
{
    return fails_with(unshare(CLONE_NEWUSER), EPERM) ||
           fails_with(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0),
                      EPERM) ||
           fails_with(syscall(SYS_clone3, NULL, 0), ENOSYS) ||
           fails_with(setns(0, 0), EPERM) ||
           fails_with(mount("x", "/tmp", "tmpfs", 0, ""), EPERM) ||
           fails_with(chroot("/tmp"), EPERM);
}

static int tracing(void)
{
    return fails_with(ptrace(PTRACE_TRACEME, 0, 0, 0), EPERM) ||
           fails_with(open("/proc/1/mem", O_RDWR), EACCES) ||
           fails_with(open("/proc/1/environ", O_RDONLY), EACCES) ||
           fails_with(syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0), EPERM);
}

static int surface(void)
{
    return fails_with(syscall(SYS_bpf, 0, 0, 0), EPERM) ||
           fails_with(syscall(SYS_keyctl, 0, 0, 0, 0, 0), EPERM) ||
           fails_with(syscall(SYS_io_uring_setup, 1, NULL), EPERM) ||
           fails_with(syscall(SYS_userfaultfd, 0), EPERM) ||
           fails_with(syscall(SYS_perf_event_open, 0, 0, 0, 0, 0), EPERM) ||
           fails_with(syscall(SYS_personality, 0x40000), ENOSYS) ||
           fails_with(syscall(SYS_memfd_create, "x", 0), EPERM) ||
           fails_with(syscall(9999), ENOSYS);
}

/* An int is 32 bits wide to the kernel: the upper half must not fool us. */
static int terminal_input(void)
{
    char c = 'x';
    return fails_with(syscall(SYS_ioctl, 0, TIOCSTI, &c), EPERM) ||
           fails_with(syscall(SYS_ioctl, 0, TIOCSTI | 1UL << 32, &c), EPERM);
}

static int devices_and_pipes(void)
{
    return fails_with(mknod("/workspace/d", S_IFCHR | 0600, 0x103), ENOSYS) ||
           mkfifo("/workspace/f", 0600) != 0;
}

static int exec_own(void)
{
    int fd = open("/workspace/prog", O_CREAT | O_WRONLY, 0700);
    if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10 || close(fd) < 0)
        return 3;
    return fails_with(execl("/workspace/prog", "prog", NULL), EACCES);
}

static int exec_system(void)
{
    execl("/bin/sh", "sh", "-c", "test \"$(id -u)\" = 1000", NULL);
    return 1;
}

static int fork_bomb(void)
{
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0) {
            pause();
            _exit(0);
        }
        if (child < 0)
            return i > 16;
    }
    return 1;
}

#if defined(__x86_64__)
static int foreign_calls(void)
{
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L));
    return result > 0;
}
static int x32_calls(void)
{
    return syscall(0x40000000 | SYS_getpid) > 0;
}
#endif

static const struct {
    const char *name;
    int (*body)(void);
    int status;
} rows[] = {
    { "the runner is the second process", is_second, 0 },
    { "there is one user", is_user, 0 },
    { "no capability is left", has_no_caps, 0 },
    { "the host's files are not there", host_file, 0 },
    { "the system is read-only", system_is_read_only, 0 },
    { "the workspace is writable", workspace_is_writable, 0 },
    { "the disk is bounded", disk_is_bounded, 0 },
    { "inodes are bounded", inodes_are_bounded, 0 },
    { "sockets are unix sockets", inet, 0 },
    { "unix sockets work", unix_pair, 0 },
    { "init cannot be killed", kill_init, 0 },
    { "init cannot even be asked for", signals, 0 },
    { "namespaces and mounts are refused", namespaces, 0 },
    { "tracing is refused", tracing, 0 },
    { "kernel surface is refused", surface, 0 },
    { "a terminal is not typed into", terminal_input, 0 },
    { "devices cannot be made, FIFOs can", devices_and_pipes, 0 },
    { "own files are not programs", exec_own, 0 },
    { "the system's programs run", exec_system, 0 },
    { "a fork bomb meets its limit", fork_bomb, 0 },
#if defined(__x86_64__)
    { "32-bit calls kill", foreign_calls, 128 + SIGSYS },
    { "x32 calls kill", x32_calls, 128 + SIGSYS },
#endif
};

static void boxes_hold(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct box box = box_open();
        int status = inside(&box, rows[i].body);
        box_close(&box);
        if (status != rows[i].status)
            fail_msg("%s: %d instead of %d", rows[i].name, status,
                     rows[i].status);
    }
}

static int drop_root(void **state)
{
    (void)state;
    abi = landlock_abi();
    return !become_nobody();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_hold),
    };
    return cmocka_run_group_tests(tests, drop_root, NULL);
}
