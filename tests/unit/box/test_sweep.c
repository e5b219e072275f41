/* test_sweep.c - what a cell leaves running is ended, and what is kept stands
 * still afterwards. */
#include <fcntl.h>
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
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/box/opened.h"

enum { ZOMBIES = 50, WAKERS = 100, PATIENCE_MS = 5000 };

/* Three daemons of a process that has ended. */
static void leave_daemons(const struct box *box)
{
    pid_t child = box_fork(box->fds);
    assert_true(child >= 0);
    for (int i = 0; i < 3 && child == 0; i++)
        if (fork() == 0) {
            setsid();
            if (fork() == 0)
                for (;;)
                    pause();
            _exit(0);
        }
    if (child == 0) {
        while (wait(NULL) > 0)
            ; /* each has left a daemon then */
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void strays_are_swept(void **state)
{
    (void)state;
    struct box box = box_open();
    leave_daemons(&box);
    assert_int_equal(box_sweep(&box, 0).count, 3);
    assert_int_equal(box_sweep(&box, 0).count, 0);
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
    leave_daemons(&box);
    assert_int_equal(
        prlimit(pid_of(box.fds[BOX_FD_INIT]), RLIMIT_NPROC, &few, NULL), 0);
    assert_in_range(box_sweep(&box, 0).count, 3, 4);
    box_close(&box);
}

/* ------------------------------------------------------------- what is kept */

/* Has a child whose end is told by SIGCONT, one after the other, and says so of
 * each. Without walls: these refuse such a child. The dead ones, which init
 * goes past first, keep a round busy while the child ends. */
_Noreturn static void wake_by_ends(int told)
{
    /* Its children would keep the box's channel open. */
    if (dup2(told, STDERR_FILENO + 1) < 0)
        _exit(1);
    told = STDERR_FILENO + 1;
    syscall(SYS_close_range, told + 1, ~0U, 0);
    for (int i = 0; i < ZOMBIES; i++)
        if (fork() == 0)
            _exit(0);
    for (;;) {
        pid_t child = (pid_t)syscall(SYS_clone, SIGCONT, 0, 0, 0, 0);
        while (child == 0)
            pause();
        if (child < 0 || write(told, "", 1) != 1 ||
            waitpid(child, NULL, __WALL) != child)
            _exit(1);
    }
}

static char state_of(pid_t pid)
{
    char path[32], text[256] = "";
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof(text), file));
    fclose(file);
    const char *name_end = strrchr(text, ')');
    assert_non_null(name_end);
    return name_end[2];
}

/* A signal takes a moment; one that was woken for good does not stop again. */
static bool comes_to_stand(pid_t pid)
{
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        if (state_of(pid) == 'T')
            return true;
        usleep(1000);
    }
    return false;
}

static void the_end_of_a_stray_wakes_nobody(void **state)
{
    (void)state;
    struct box box = box_open();
    int told[2];
    char byte;
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    pid_t kept = box_fork(box.fds);
    assert_true(kept >= 0);
    if (kept == 0)
        wake_by_ends(told[1]);
    bool stands = true;
    for (int i = 0; i < WAKERS && stands; i++) {
        assert_int_equal(read(told[0], &byte, 1), 1);
        box_sweep(&box, BOX_RUNNER_PID);
        stands = comes_to_stand(kept);
        kill(kept, SIGCONT);
    }
    close(told[0]);
    close(told[1]);
    kill(kept, SIGKILL);
    assert_int_equal(waitpid(kept, NULL, 0), kept);
    box_close(&box);
    assert_true(stands);
}

/* As container engines do with parts of /proc: the kernel then refuses a new
 * one. Only root can; in a process of its own. */
static bool mask_proc(void)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("/dev/null", "/proc/timer_list", NULL, MS_BIND, NULL) == 0;
}

static int drop_root(void **state)
{
    (void)state;
    return !become_nobody();
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
        cmocka_unit_test(strays_are_swept),
        cmocka_unit_test(strays_that_have_all_processes_are_swept),
        cmocka_unit_test(the_end_of_a_stray_wakes_nobody),
    };
    int masked = run_masked();
    return cmocka_run_group_tests(tests, drop_root, NULL) || masked;
}
