/* doctor_host.c - what is on this host: an executor, a model's address. */
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "producer/cli/doctor.h"
#include "schemas/message/frame.h"

enum { GREETING_S = 3, WELCOME_BYTES = 4096 };

static void cleanup_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

/* Where consumers of this host look for it too. */
static const char *executor_socket(void)
{
    const char *path = getenv("QUERN_EXECUTOR");

    return path ? path : "/run/quern/executor.sock";
}

static int executor_connect(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval patience = { .tv_sec = GREETING_S };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s",
             executor_socket());
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    cleanup_fd(&fd);
    return -1;
}

/* One whole frame, without its header; no bytes when there is none. */
static struct view receive_frame(int fd, char *bytes)
{
    struct view got = { bytes, 0 };
    struct err err;
    size_t total = 0;

    do {
        ssize_t len = recv(fd, bytes + got.len, WELCOME_BYTES - got.len, 0);

        if (len <= 0)
            return (struct view){ 0 };
        got.len += (size_t)len;
        if (!frame_length(got, WELCOME_BYTES, &total, &err))
            return (struct view){ 0 };
    } while (total == 0 || got.len < total);
    return (struct view){ bytes + FRAME_HEADER_BYTES,
                          total - FRAME_HEADER_BYTES };
}

/* The executor that runs here says which walls it has. False: none answers. */
static bool greet_executor(char *isolation, size_t size)
{
    CLEANUP(cleanup_fd) int fd = executor_connect();
    CLEANUP(buf_finish) struct buf out;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct frame frame = { .type = FRAME_HELLO };
    struct err err;
    char bytes[WELCOME_BYTES];
    struct view welcome;

    buf_init(&out, WELCOME_BYTES);
    if (fd < 0 || !frame_encode(&schema_frame, &frame, &out, &err) ||
        send(fd, out.data, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
        return false;
    welcome = receive_frame(fd, bytes);
    if (!message_decode(&schema_frame, welcome, &frame, &arena, &err) ||
        frame.type != FRAME_WELCOME)
        return false;
    snprintf(isolation, size, "%.*s", VIEW_ARG(frame.isolation));
    return true;
}

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

/* The end of what fd holds, as text. */
static void read_end(int fd, char *text, size_t size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    off_t start = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    ssize_t len = pread(fd, text, size - 1, start);

    while (len > 0 && text[len - 1] == '\n')
        len--;
    text[len > 0 ? len : 0] = '\0';
}

/* --check ends with the walls in force, */
static const char *walls_in(const char *said)
{
    const char *newline = strrchr(said, '\n');

    return newline ? newline + 1 : said;
}

/* or says under its name what is wrong, and then what to do about it. */
static const char *fault_in(char *said)
{
    static const char name[] = "quern-executor: ";
    char *fault = strstr(said, name);

    if (!fault)
        return walls_in(said);
    fault[strcspn(fault, "\n")] = '\0';
    return fault + strlen(name);
}

void check_executor(struct doctor *doctor)
{
    char path[PATH_MAX + 32];
    char said[4096];
    CLEANUP(cleanup_fd) int fd = memfd_create("check", MFD_CLOEXEC);
    int status;

    if (greet_executor(said, sizeof(said))) {
        find(doctor, FINE, "executor", NULL, "%s", said);
        return;
    }
    executor_path(path, sizeof(path));
    status = run_check(path, fd);
    read_end(fd, said, sizeof(said));
    if (status < 0)
        find(doctor, NOTE, "executor", NULL, "none on this host");
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        find(doctor, NOTE, "executor", "start it: quern-executor",
             "none answers at %s; its walls would be %s", executor_socket(),
             walls_in(said));
    else
        find(doctor, FAULT, "executor", "run quern-executor --check", "%s",
             fault_in(said));
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
