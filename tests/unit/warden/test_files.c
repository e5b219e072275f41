/* Files of a session from outside, and what a listing finds changed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "executor/base/loop.h"
#include "executor/warden/files.h"
#include "schemas/message/limits.h"

static char folder[] = "/tmp/quern-files-XXXXXX";
static int workspace;

static int make_workspace(void **state)
{
    (void)state;
    if (!mkdtemp(folder) || chdir(folder) < 0)
        return -1;
    workspace = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return workspace < 0;
}

static int empty_workspace(void **state)
{
    (void)state;
    return system("find . -mindepth 1 -delete"); /* NOLINT: our own folder */
}

static int remove_workspace(void **state)
{
    empty_workspace(state);
    close(workspace);
    return rmdir(folder);
}

static void write_file(const char *name, const char *text)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static bool put(const char *name, uint64_t offset, const char *data)
{
    struct err err;
    return files_put(workspace, view_of(name), offset, view_of(data), &err);
}

static bool readable(const char *name)
{
    struct err err;
    int fd;
    uint64_t bytes;
    if (!files_open(workspace, view_of(name), &fd, &bytes, &err))
        return false;
    close(fd);
    return true;
}

static void a_file_goes_in_and_out(void **state)
{
    (void)state;
    struct err err;
    char text[16] = "";
    int fd;
    uint64_t bytes;
    assert_true(put("a/b/c.txt", 0, "hello "));
    assert_true(put("a/b/c.txt", 6, "world"));
    assert_true(files_open(workspace, VIEW("a/b/c.txt"), &fd, &bytes, &err));
    assert_int_equal(bytes, 11);
    assert_int_equal(read(fd, text, sizeof(text)), 11);
    assert_string_equal(text, "hello world");
    close(fd);
    assert_true(put("a/b/c.txt", 0, "anew"));
    assert_true(files_open(workspace, VIEW("a/b/c.txt"), &fd, &bytes, &err));
    assert_int_equal(bytes, 4);
    close(fd);
}

static void what_leads_outside_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",     "/etc/passwd", "../x",   "a/../../x", "link",
        "up/x", "fifo",        "folder", "loop",      "magic/etc/passwd",
    };
    assert_int_equal(symlink("/etc/passwd", "link"), 0);
    assert_int_equal(symlink("..", "up"), 0);
    assert_int_equal(symlink("loop", "loop"), 0);
    assert_int_equal(symlink("/proc/self/root", "magic"), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(mkdir("folder", 0700), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (readable(names[i]))
            fail_msg("read: \"%s\"", names[i]);
        if (put(names[i], 0, "x"))
            fail_msg("written: \"%s\"", names[i]);
    }
    struct err err;
    assert_false(
        files_put(workspace, (struct view){ "a\0b", 3 }, 0, VIEW("x"), &err));
}

static void what_is_too_large_is_refused(void **state)
{
    (void)state;
    assert_false(put("large", MAX_FILE_BYTES, "x"));
    assert_false(put("large", UINT64_MAX, "x"));
    write_file("large", "");
    assert_int_equal(truncate("large", MAX_FILE_BYTES), 0);
    assert_true(readable("large"));
    assert_int_equal(truncate("large", MAX_FILE_BYTES + 1), 0);
    assert_false(readable("large"));
}

/* Another process makes the name now a file, now a link to a secret. */
static void swap_for_ever(void)
{
    for (;;) {
        rename("real", "name");
        rename("name", "real");
        rename("link", "name");
        rename("name", "link");
    }
}

static void a_swap_is_never_followed(void **state)
{
    (void)state;
    write_file("real", "mine");
    assert_int_equal(symlink("/etc/passwd", "link"), 0);
    pid_t child = fork();
    if (child == 0)
        swap_for_ever();
    unsigned int opened = 0;
    /* Longer, where the child had no turn so far. */
    for (int i = 0; i < 20000 || (opened == 0 && i < 20000000); i++) {
        struct err err;
        int fd;
        uint64_t bytes;
        if (!files_open(workspace, VIEW("name"), &fd, &bytes, &err))
            continue;
        opened++;
        assert_int_equal(bytes, 4);
        close(fd);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_not_equal(opened, 0);
}

static struct list changes_since(struct file_listing *before,
                                 struct arena *arena)
{
    struct file_listing after = { 0 };
    bool cut;
    listing_read(&after, workspace);
    struct list list = listing_changes(before, &after, arena, &cut);
    listing_finish(before);
    *before = after;
    return list;
}

static void assert_changes(struct file_listing *before, const char *expected)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    static const char *const signs[] = { "=", "+", "~", "-" };
    char got[256] = "";
    struct list list = changes_since(before, &arena);
    const struct workspace_file *files = list.items;
    for (size_t i = 0; i < list.count; i++)
        snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%.*s ",
                 signs[files[i].change], VIEW_ARG(files[i].name));
    assert_string_equal(got, expected);
}

static void changes_are_found(void **state)
{
    (void)state;
    struct file_listing before = { 0 };
    assert_changes(&before, "");
    write_file("b", "1");
    write_file("a", "1");
    assert_changes(&before, "+a +b ");
    assert_changes(&before, "");
    write_file("a", "22");
    mkdir("d", 0700);
    write_file("d/c", "1");
    assert_changes(&before, "~a +d/c ");
    unlink("b");
    rename("a", "z");
    assert_changes(&before, "-a -b +z ");
    write_file(".hidden", "1");
    mkdir("__pycache__", 0700);
    write_file("__pycache__/x.pyc", "1");
    assert_int_equal(symlink("z", "link"), 0);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_changes(&before, "");
    listing_finish(&before);
}

/* The time of its last change is not for code to set. */
static void other_bytes_are_found_though_its_times_were_put_back(void **state)
{
    (void)state;
    struct file_listing before = { 0 };
    struct stat was;
    write_file("a", "1");
    assert_changes(&before, "+a ");
    assert_int_equal(stat("a", &was), 0);
    usleep(20000); /* the clock of files is coarse */
    write_file("a", "2");
    struct timespec times[] = { was.st_atim, was.st_mtim };
    assert_int_equal(utimensat(AT_FDCWD, "a", times, 0), 0);
    assert_changes(&before, "~a ");
    listing_finish(&before);
}

static void a_listing_is_bounded(void **state)
{
    (void)state;
    char name[300];
    struct file_listing listing = { 0 };
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "%05d-%0200d", i, 0);
        write_file(name, "");
    }
    listing_read(&listing, workspace);
    assert_true(listing.cut);
    assert_in_range(listing.count, 1000, 4096);
    listing_finish(&listing);
}

/* The kernel tells the newest names first, or in no order at all: what is
 * beyond the bound is another part of them each time. */
static void of_too_many_files_only_what_is_sure_is_told(void **state)
{
    (void)state;
    char name[32];
    struct file_listing before = { 0 };
    for (int i = 0; i < 5000; i++) {
        snprintf(name, sizeof(name), "%d", i);
        write_file(name, "");
    }
    listing_read(&before, workspace);
    assert_true(before.cut);
    for (size_t i = 0; i < 100; i++) /* others come into sight */
        assert_int_equal(unlink(before.files[7 * i].name), 0);
    usleep(20000); /* the clock of files is coarse */
    write_file("result", "1");
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct list list = changes_since(&before, &arena);
    const struct workspace_file *files = list.items;
    for (size_t i = 0; i < list.count; i++)
        if (!view_is(files[i].name, "result") || files[i].change != FILE_NEW)
            fail_msg("%.*s: %d", VIEW_ARG(files[i].name), files[i].change);
    listing_finish(&before);
}

/* Lists so many files, gives each another name, and lists them again. */
static void list_and_rename(int count, int digits, struct file_listing *before,
                            struct file_listing *after)
{
    char name[300], other[300];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "a%0*d", digits, i);
        write_file(name, "");
    }
    listing_read(before, workspace);
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof(name), "a%0*d", digits, i);
        snprintf(other, sizeof(other), "b%0*d", digits, i);
        assert_int_equal(rename(name, other), 0);
    }
    listing_read(after, workspace);
    assert_false(before->cut || after->cut);
}

/* Both fit, what differs does not: 3000 of the one and 3000 of the other. */
static void too_many_changes_are_owned_up_to(void **state)
{
    (void)state;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct file_listing before = { 0 }, after = { 0 };
    bool cut = false;
    list_and_rename(3000, 1, &before, &after);
    struct list list = listing_changes(&before, &after, &arena, &cut);
    assert_int_equal(list.count, 4096);
    assert_true(cut);
    listing_changes(&after, &after, &arena, &cut);
    assert_false(cut);
    listing_finish(&before);
    listing_finish(&after);
}

/* The longest that there can be, deleted and made anew under other names. */
static void names_of_changes_fit_a_frame(void **state)
{
    (void)state;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct file_listing before = { 0 }, after = { 0 };
    size_t bytes = 0;
    bool cut = false;
    list_and_rename(2000, 240, &before, &after);
    struct list list = listing_changes(&before, &after, &arena, &cut);
    const struct workspace_file *files = list.items;
    for (size_t i = 0; i < list.count; i++)
        bytes += files[i].name.len;
    assert_true(cut);
    assert_in_range(bytes, 400 << 10, 512 << 10);
    listing_finish(&before);
    listing_finish(&after);
}

static void what_was_changed_just_now_is_fresh(void **state)
{
    static const int64_t ms = 1000000;
    static const struct {
        const char *what;
        int64_t ahead_ns;
        bool fresh;
    } rows[] = {
        { "a second ago", -1000 * ms, false },
        { "ahead of the clock, which goes in ticks", 15 * ms, true },
        { "before the clock was set back", 3600000 * ms, false },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct file_listing listing = { .newest_ns = clock_files_ns() +
                                                     rows[i].ahead_ns };
        if (listing_is_fresh(&listing) != rows[i].fresh)
            fail_msg("%s", rows[i].what);
    }
    struct file_listing nothing = { 0 };
    assert_false(listing_is_fresh(&nothing));
}

static void depth_is_bounded(void **state)
{
    (void)state;
    struct file_listing listing = { 0 };
    for (int i = 0; i < 40; i++) {
        write_file("f", "");
        assert_int_equal(mkdir("d", 0700), 0);
        assert_int_equal(chdir("d"), 0);
    }
    assert_int_equal(chdir(folder), 0);
    listing_read(&listing, workspace);
    assert_true(listing.cut);
    assert_int_equal(listing.count, 17);
    listing_finish(&listing);
}

/* As the warden is to the folders of a box: neither their owner nor root. */
static bool stranger_sees_all(void)
{
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        struct file_listing listing = { 0 };
        bool stranger = geteuid() != 0 || setresuid(61184, 61184, 61184) == 0;
        bool all = stranger && listing_read(&listing, workspace);
        listing_finish(&listing);
        _exit(all ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status == 0;
}

static void what_may_not_be_looked_at_is_owned_up_to(void **state)
{
    (void)state;
    mode_t closed = geteuid() == 0 ? 0700 : 0;
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(mkdir("d", 0755), 0);
    write_file("d/f", "");
    assert_true(stranger_sees_all());
    assert_int_equal(chmod("d", closed), 0);
    assert_false(stranger_sees_all());
    assert_int_equal(chmod("d", 0744), 0); /* names, but no more */
    if (geteuid() == 0)
        assert_false(stranger_sees_all());
    assert_int_equal(chmod("d", 0700), 0);
    assert_int_equal(chmod(".", closed), 0);
    assert_false(stranger_sees_all());
    assert_int_equal(chmod(".", 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_file_goes_in_and_out, empty_workspace),
        cmocka_unit_test_teardown(what_leads_outside_is_refused,
                                  empty_workspace),
        cmocka_unit_test_teardown(what_is_too_large_is_refused,
                                  empty_workspace),
        cmocka_unit_test_teardown(a_swap_is_never_followed, empty_workspace),
        cmocka_unit_test_teardown(changes_are_found, empty_workspace),
        cmocka_unit_test_teardown(
            other_bytes_are_found_though_its_times_were_put_back,
            empty_workspace),
        cmocka_unit_test_teardown(a_listing_is_bounded, empty_workspace),
        cmocka_unit_test_teardown(of_too_many_files_only_what_is_sure_is_told,
                                  empty_workspace),
        cmocka_unit_test_teardown(too_many_changes_are_owned_up_to,
                                  empty_workspace),
        cmocka_unit_test_teardown(names_of_changes_fit_a_frame,
                                  empty_workspace),
        cmocka_unit_test(what_was_changed_just_now_is_fresh),
        cmocka_unit_test_teardown(depth_is_bounded, empty_workspace),
        cmocka_unit_test_teardown(what_may_not_be_looked_at_is_owned_up_to,
                                  empty_workspace),
    };
    return cmocka_run_group_tests(tests, make_workspace, remove_workspace);
}
