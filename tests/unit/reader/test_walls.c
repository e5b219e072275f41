/* What somebody could do who had taken over quern-reader: a child puts up its
 * walls, or none of them, and tries. */
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "consumer/reader/walls.h"

/* OPENS: with CALLS, files may be opened. */
enum { FILES = 1, CALLS = 2, OPENS = 4, FAILED = 255 };

typedef bool deed(void);

/* Zero: it could be done; or why not. */
static int outcome(deed *tried, unsigned walls)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct err err;
        bool closed = false;
        if (walls & FILES && (!walls_files(&closed, &err) || !closed))
            _exit(FAILED);
        if (walls & CALLS && !walls_calls((walls & OPENS) != 0, &err))
            _exit(FAILED);
        errno = 0;
        _exit(tried() ? 0 : errno);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_not_equal(WEXITSTATUS(status), FAILED);
    return WEXITSTATUS(status);
}

static bool reads_a_file(void)
{
    return open("/etc/passwd", O_RDONLY) >= 0;
}

static bool looks_around(void)
{
    return open("/usr/lib", O_RDONLY | O_DIRECTORY) >= 0;
}

static bool writes_a_file(void)
{
    return open("/tmp", O_TMPFILE | O_RDWR, 0600) >= 0;
}

static bool reads_its_parent(void)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
    return open(path, O_RDONLY) >= 0;
}

static bool makes_a_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool binds(void)
{
    struct sockaddr_in any = { .sin_family = AF_INET };
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    return fd >= 0 && bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0;
}

static bool makes_a_process(void)
{
    pid_t child = fork();
    if (child == 0)
        _exit(0);
    return child > 0 && waitpid(child, NULL, 0) == child;
}

static bool becomes_another(void)
{
    char *const none[] = { NULL };
    execve("/bin/true", none, none);
    return false;
}

static bool signals_its_parent(void)
{
    return kill(getppid(), SIGCONT) == 0;
}

static bool is_traced(void)
{
    return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool reads_a_charset(void)
{
    iconv_t converter = iconv_open("UTF-8", "EUC-KR");
    char in[] = "\xb0\xa1", out[8];
    char *from = in, *to = out;
    size_t left = 2, room = sizeof(out);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): iconv's own */
    return converter != (iconv_t)-1 &&
           iconv(converter, &from, &left, &to, &room) == 0 && left == 0;
}

static bool takes_memory(void)
{
    return mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

/* Behind the first walls it can be done, behind the others it cannot. */
struct row {
    const char *what;
    deed *tried;
    unsigned able, unable;
    int why;
};

static const struct row files[] = {
    { "reads a file", reads_a_file, 0, FILES, EACCES },
    { "writes a file", writes_a_file, 0, FILES, EACCES },
    { "looks around", looks_around, 0, FILES, EACCES },
    /* Where there is no Landlock. */
    { "opens a file", reads_a_file, CALLS | OPENS, CALLS, EPERM },
    { "reads its parent", reads_its_parent, 0, FILES, EACCES },
};
static const struct row others[] = {
    { "makes a socket", makes_a_socket, 0, CALLS, EPERM },
    { "binds", binds, 0, CALLS, EPERM },
    { "signals its parent", signals_its_parent, 0, CALLS, EPERM },
    { "is traced", is_traced, 0, CALLS, EPERM },
};
static const struct row births[] = {
    { "makes a process", makes_a_process, 0, CALLS, EPERM },
    { "becomes another", becomes_another, 0, CALLS, EPERM },
};

static void check(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        print_message("%s\n", rows[i].what);
        assert_int_equal(outcome(rows[i].tried, rows[i].able), 0);
        assert_int_equal(outcome(rows[i].tried, rows[i].unable), rows[i].why);
    }
}

static void test_files_are_out_of_reach(void **state)
{
    (void)state;
    check(files, sizeof(files) / sizeof(files[0]));
}

static void test_nobody_can_be_reached(void **state)
{
    (void)state;
    check(others, sizeof(others) / sizeof(others[0]));
}

static void test_nothing_is_started(void **state)
{
    (void)state;
    check(births, sizeof(births) / sizeof(births[0]));
}

static void test_it_can_read_all_the_same(void **state)
{
    (void)state;
    assert_int_equal(outcome(reads_a_charset, FILES | CALLS | OPENS), 0);
    assert_int_equal(outcome(takes_memory, FILES | CALLS | OPENS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_are_out_of_reach),
        cmocka_unit_test(test_nobody_can_be_reached),
        cmocka_unit_test(test_nothing_is_started),
        cmocka_unit_test(test_it_can_read_all_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
