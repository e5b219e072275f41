/* test_reader.c - the processes that read documents, and how they end. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "consumer/tools/reader.h"

enum { READERS = 2, LOOK_US = 5000, LOOKS = 4000 };

/* A program that stands for quern-reader: it closes its output, and ends when
 * there is a file "go". */
static const char program[] = "#!/bin/sh\n"
                              "exec 1>&-\n"
                              "echo >%s/closed-$$\n"
                              "until [ -e %s/go ]; do sleep 0.01; done\n";

static struct {
    char folder[64], path[80];
    uv_loop_t loop;
    struct tool_host host;
    struct reader *readers[READERS]; /* NULL: told, or cancelled */
    unsigned int told, signals;
} test;

/* In place of the C library's: the children may be waited for already, so a
 * signal by number would be for whoever has the number now. Visible, so that
 * libuv finds it. */
__attribute__((visibility("default"))) int kill(pid_t pid, int signal)
{
    (void)pid;
    (void)signal;
    test.signals++;
    return 0;
}

static void write_program(void)
{
    snprintf(test.folder, sizeof(test.folder), "/tmp/quern-reader-XXXXXX");
    assert_non_null(mkdtemp(test.folder));
    snprintf(test.path, sizeof(test.path), "%s/reader", test.folder);
    FILE *file = fopen(test.path, "we");
    assert_non_null(file);
    fprintf(file, program, test.folder, test.folder);
    fclose(file);
    assert_int_equal(chmod(test.path, 0700), 0);
}

static void remove_folder(void)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", test.folder);
    assert_int_equal(system(command), 0);
}

/* How many programs there are that have closed their output; with ended, those
 * of them that have ended and were not waited for. */
static unsigned int count(bool ended)
{
    unsigned int found = 0;
    DIR *folder = opendir(test.folder);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder));) {
        siginfo_t info = { 0 };
        int pid;
        if (sscanf(entry->d_name, "closed-%d", &pid) != 1)
            continue;
        if (ended)
            waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
        found += !ended || info.si_pid == pid;
    }
    closedir(folder);
    return found;
}

static void wait_for(bool ended)
{
    for (int i = 0; i < LOOKS && count(ended) < READERS; i++) {
        if (!ended)
            uv_run(&test.loop, UV_RUN_NOWAIT);
        usleep(LOOK_US);
    }
    assert_int_equal(count(ended), READERS);
}

/* The first one that is told needs no other any more. */
static void on_done(void *owner, struct view json, const struct err *why)
{
    struct reader **own = owner;
    (void)json;
    assert_int_equal(why->kind, ERR_REJECT); /* it has said nothing */
    test.told++;
    *own = NULL;
    for (size_t i = 0; i < READERS; i++) {
        reader_cancel(test.readers[i]);
        test.readers[i] = NULL;
    }
}

static void a_reader_that_was_waited_for_gets_no_signal(void **state)
{
    const struct document document = { .url = "", .type = "" };
    char go[96];
    (void)state;
    memset(&test, 0, sizeof(test));
    write_program();
    assert_int_equal(uv_loop_init(&test.loop), 0);
    test.host.loop = &test.loop;
    test.host.reader = test.path;
    for (size_t i = 0; i < READERS; i++)
        test.readers[i] =
            reader_start(&test.host, &document, on_done, &test.readers[i]);
    wait_for(false);
    for (int i = 0; i < 10; i++)
        uv_run(&test.loop, UV_RUN_NOWAIT); /* it sees the ends of all outputs */
    snprintf(go, sizeof(go), "%s/go", test.folder);
    FILE *file = fopen(go, "we");
    assert_non_null(file);
    fclose(file);
    wait_for(true);
    uv_run(&test.loop, UV_RUN_DEFAULT);
    assert_int_equal(test.told, 1);
    assert_int_equal(test.signals, 0);
    assert_int_equal(test.host.readers.running, 0);
    assert_int_equal(uv_loop_close(&test.loop), 0);
    remove_folder();
}

static void on_told(void *owner, struct view json, const struct err *why)
{
    (void)owner;
    (void)json;
    assert_string_equal(why->text, "quern-reader could not be started: "
                                   "No such file or directory");
    test.told++;
}

static void a_reader_that_is_not_there_is_told(void **state)
{
    const struct document document = { .url = "", .type = "" };
    (void)state;
    memset(&test, 0, sizeof(test));
    assert_int_equal(uv_loop_init(&test.loop), 0);
    test.host.loop = &test.loop;
    snprintf(test.path, sizeof(test.path), "/nowhere/quern-reader");
    test.host.reader = test.path;
    reader_start(&test.host, &document, on_told, NULL);
    uv_run(&test.loop, UV_RUN_DEFAULT);
    assert_int_equal(test.told, 1);
    assert_int_equal(uv_loop_close(&test.loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_that_is_not_there_is_told),
        cmocka_unit_test(a_reader_that_was_waited_for_gets_no_signal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
