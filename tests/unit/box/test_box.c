/* A box from inside: a child enters it, puts up its walls and tries. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
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

#include "executor/box/box.h"
#include "executor/box/walls.h"

enum { DISK_BYTES = 4 << 20 };

struct box {
    int channel;
    int fds[BOX_FDS];
    size_t count;
    pid_t init;
};

static struct box_word receive(int channel, int *fds, size_t *count)
{
    struct box_word word = { .kind = -1 };
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * BOX_FDS)];
    } control;
    struct iovec bytes = { &word, sizeof(word) };
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    assert_int_equal(recvmsg(channel, &message, MSG_CMSG_CLOEXEC),
                     sizeof(word));
    *count = 0;
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    if (rights) {
        *count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(fds, CMSG_DATA(rights), *count * sizeof(int));
    }
    return word;
}

/* It enters no cgroups: what it writes to the doors goes nowhere. */
static void send_order(int maker, int channel)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int) * ORDER_POOL)];
    } control = { 0 };
    struct box_order order = { .disk_bytes = DISK_BYTES };
    struct iovec bytes = { &order, sizeof(order) };
    struct msghdr message = {
        .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC), fds[ORDER_POOL];
    for (size_t i = 0; i < ORDER_POOL; i++)
        fds[i] = i == ORDER_CHANNEL ? channel : null;
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(fds));
    memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
    assert_int_equal(sendmsg(maker, &message, 0), sizeof(order));
    close(null);
}

static void open_pair(int pair[2])
{
    assert_int_equal(
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

static struct box box_open(void)
{
    struct box box = { 0 };
    int orders[2], pair[2];
    open_pair(orders);
    open_pair(pair);
    box.channel = pair[0];
    pid_t maker = fork();
    if (maker == 0) {
        dup2(orders[1], BOX_CHANNEL);
        execl(QUERN_BOX, "quern-box", NULL);
        _exit(127);
    }
    send_order(orders[0], pair[1]);
    close(pair[1]);
    close(orders[0]); /* what was ordered is made all the same */
    close(orders[1]);
    struct box_word word = receive(box.channel, box.fds, &box.count);
    if (word.kind != BOX_UP)
        fail_msg("no box: %s", word.text);
    assert_in_range(box.count, BOX_FD_DOOR, BOX_FDS);
    assert_int_equal(waitpid(maker, NULL, 0), maker);
    return box;
}

static void box_close(struct box *box)
{
    struct pollfd ended = { box->fds[BOX_FD_INIT], POLLIN, 0 };
    close(box->channel);
    assert_int_equal(poll(&ended, 1, -1), 1);
    for (size_t i = 0; i < box->count; i++)
        close(box->fds[i]);
}

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

static int leave_daemon(void)
{
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            setsid();
            if (fork() == 0)
                for (;;)
                    pause();
            _exit(0);
        }
    usleep(10000);
    return 0;
}

static void strays_are_swept(void **state)
{
    (void)state;
    struct box box = box_open();
    assert_int_equal(inside(&box, leave_daemon), 0);
    struct box_word word = { .kind = BOX_SWEEP };
    int fds[BOX_FDS];
    size_t count;
    assert_int_equal(send(box.channel, &word, sizeof(word), 0), sizeof(word));
    word = receive(box.channel, fds, &count);
    assert_int_equal(word.kind, BOX_SWEPT);
    assert_int_equal(word.count, 3);
    word.kind = BOX_SWEEP;
    assert_int_equal(send(box.channel, &word, sizeof(word), 0), sizeof(word));
    word = receive(box.channel, fds, &count);
    assert_int_equal(word.kind, BOX_SWEPT);
    assert_int_equal(word.count, 0);
    box_close(&box);
}

static pid_t pid_of(int pidfd)
{
    char path[48], line[64];
    pid_t pid = 0;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, "Pid:", 4) == 0)
            pid = (pid_t)strtol(line + 4, NULL, 10);
    fclose(file);
    assert_true(pid > 0);
    return pid;
}

/* Init cannot fork any more, which is how it learns of numbers where it has no
 * /proc, until some are ended. */
static void strays_that_have_all_processes_are_swept(void **state)
{
    (void)state;
    struct rlimit few = { 3, 3 };
    struct box box = box_open();
    assert_int_equal(inside(&box, leave_daemon), 0);
    assert_int_equal(
        prlimit(pid_of(box.fds[BOX_FD_INIT]), RLIMIT_NPROC, &few, NULL), 0);
    struct box_word word = { .kind = BOX_SWEEP };
    int fds[BOX_FDS];
    size_t count;
    assert_int_equal(send(box.channel, &word, sizeof(word), 0), sizeof(word));
    word = receive(box.channel, fds, &count);
    assert_int_equal(word.kind, BOX_SWEPT);
    assert_in_range(word.count, 3, 4);
    box_close(&box);
}

/* As container engines do with parts of /proc: the kernel then refuses a new
 * one. Only root can; in a process of its own. */
static bool mask_proc(void)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("/dev/null", "/proc/timer_list", NULL, MS_BIND, NULL) == 0;
}

/* As the warden does; root would be exempt from the limit on processes. */
static int drop_root(void **state)
{
    (void)state;
    abi = landlock_abi();
    return geteuid() == 0 &&
           (setgroups(0, NULL) < 0 || setresgid(61184, 61184, 61184) < 0 ||
            setresuid(61184, 61184, 61184) < 0);
}

static int run_masked(void)
{
    const struct CMUnitTest masked[] = {
        cmocka_unit_test(strays_are_swept),
        cmocka_unit_test(strays_that_have_all_processes_are_swept),
    };
    pid_t child = geteuid() == 0 ? fork() : -1;
    int status = 0;
    if (child == 0)
        exit(!mask_proc() || cmocka_run_group_tests(masked, drop_root, NULL));
    if (child > 0)
        waitpid(child, &status, 0);
    return status;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_hold),
        cmocka_unit_test(strays_are_swept),
        cmocka_unit_test(strays_that_have_all_processes_are_swept),
    };
    int masked = run_masked();
    return cmocka_run_group_tests(tests, drop_root, NULL) || masked;
}
