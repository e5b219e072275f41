/* doctor_host.c - what is on this host: an executor, a model's address. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "producer/cli/doctor.h"

/* Beside this program, else somewhere in PATH. */
static void executor_path(char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (len > 0) {
        self[len] = '\0';
        snprintf(path, size, "%s/quern-executor", dirname(self));
        if (access(path, X_OK) == 0)
            return;
    }
    snprintf(path, size, "quern-executor");
}

/* Runs path --check, its words going to fd; the wait status, -1 when there is
 * no such program. */
static int run_check(char *path, int fd)
{
    char check[] = "--check";
    char *argv[] = { path, check, NULL };
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int fault, status = -1;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
    fault = posix_spawnp(&pid, path, &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!fault && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return fault ? -1 : status;
}

/* The last line of what fd holds: --check ends with the walls in force, or with
 * what is wrong. */
static const char *last_line(int fd, char *text, size_t size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    off_t start = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    ssize_t len = pread(fd, text, size - 1, start);
    char *newline;

    while (len > 0 && text[len - 1] == '\n')
        len--;
    text[len > 0 ? len : 0] = '\0';
    newline = strrchr(text, '\n');
    return newline ? newline + 1 : text;
}

void check_executor(struct doctor *doctor)
{
    char path[PATH_MAX + 32];
    char said[4096];
    int fd = memfd_create("check", MFD_CLOEXEC);
    int status;

    executor_path(path, sizeof(path));
    status = run_check(path, fd);
    if (status < 0)
        find(doctor, NOTE, "executor", NULL, "none on this host");
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        find(doctor, FINE, "executor", NULL, "%s",
             last_line(fd, said, sizeof(said)));
    else
        find(doctor, FAULT, "executor", "run quern-executor --check", "%s",
             last_line(fd, said, sizeof(said)));
    close(fd);
}

void check_model(struct doctor *doctor)
{
    const char *url = getenv("OPENAI_BASE_URL");
    bool key = getenv("OPENAI_API_KEY") || getenv("OPENAI_API_KEY_FILE");

    find(doctor, url && key ? FINE : NOTE, "model", NULL,
         "OPENAI_BASE_URL is %s%s, OPENAI_API_KEY is %s (consumers read "
         "theirs)",
         url ? "" : "not set", url ? url : "", key ? "set" : "not set");
}
