/* Files of a cgroup: written whole, and read in whole lines. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/warden/cgroup_folder.h"

/* What there is room for, of what the file has. */
static const struct {
    const char *name;
    const char *file;
    size_t room; /* its end included */
    const char *read;
} rows[] = {
    { "all of it", "101\n202\n", 64, "101\n202\n" },
    { "all of it, just so", "101\n202\n", 9, "101\n202\n" },
    { "no half of a number: who has it would be killed", "101\n20275\n", 8,
      "101\n" },
    { "no number without its end", "101\n202\n", 8, "101\n" },
    { "a line that is longer than anything, cut", "memory pids\n", 7,
      "memory" },
    { "nothing", "", 8, "" },
};

/* In place of the C library's: what it fails with is nobody's reason. */
int close(int fd)
{
    int closed = (int)syscall(SYS_close, fd);
    errno = EBADF;
    return closed;
}

static char folder[] = "/tmp/quern-place-XXXXXX";
static int at;

static int make_folder(void **state)
{
    (void)state;
    at =
        mkdtemp(folder) ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    return at < 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlinkat(at, "file", 0);
    close(at);
    return rmdir(folder);
}

static void whole_lines_are_read(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char text[64];
        close(
            openat(at, "file", O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600));
        assert_true(cgroup_folder_write(at, "file", rows[i].file));
        assert_true(cgroup_folder_read(at, "file", text, rows[i].room));
        if (strcmp(text, rows[i].read) != 0)
            fail_msg("%s: \"%s\"", rows[i].name, text);
    }
}

static void what_is_not_there_is_not_read_or_made(void **state)
{
    (void)state;
    char text[8] = "before";
    assert_false(cgroup_folder_read(at, "nothing", text, sizeof(text)));
    assert_string_equal(text, "");
    assert_false(cgroup_folder_write(at, "nothing", "1"));
    assert_int_equal(faccessat(at, "nothing", F_OK, 0), -1);
}

static void the_reason_of_a_failure_outlives_the_end_of_its_file(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("/dev/full", at, "full"), 0);
    assert_false(cgroup_folder_write(at, "full", "1"));
    assert_int_equal(errno, ENOSPC);
    unlinkat(at, "full", 0);
}

static void a_hierarchy_that_is_not_there_is_told(void **state)
{
    struct hierarchy where = { .version = 1, .controllers = 1 };
    struct cgroup_folder place;
    struct err err = { 0 };
    (void)state;
    snprintf(where.folder, sizeof(where.folder), "%s/nothing", folder);
    assert_false(cgroup_folder_take(&place, &where, getuid(), getgid(), &err));
    assert_non_null(strstr(err.text, "nothing: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_lines_are_read),
        cmocka_unit_test(what_is_not_there_is_not_read_or_made),
        cmocka_unit_test(the_reason_of_a_failure_outlives_the_end_of_its_file),
        cmocka_unit_test(a_hierarchy_that_is_not_there_is_told),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
