/* doctor_host.c - checks of this host: does an executor answer, with which
 * walls; does anybody listen at the addresses of models. */
#include <errno.h>
#include <grp.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <netdb.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "producer/cli/doctor.h"
#include "producer/cli/greeting.h"
#include "schemas/message/frame.h"

enum { GREETING_MS = 3000 };

static void find_lacks(struct doctor *doctor, const struct list *lacks)
{
    const struct pair *lack = lacks->items;

    for (size_t i = 0; i < lacks->count; i++) {
        CLEANUP(cleanup_free) char *remedy = view_dup(lack[i].value);

        find(doctor, WARNING, "walls", remedy, "%.*s", VIEW_ARG(lack[i].key));
    }
}

static bool ask_executor(struct doctor *doctor, int *fault)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    char bytes[GREETING_BYTES];
    struct frame welcome;

    if (!greeting_exchange(greeting_socket(), GREETING_MS, &welcome, bytes,
                           &arena, fault))
        return false;
    find(doctor, FINE, "executor", NULL, "%.*s", VIEW_ARG(welcome.isolation));
    find_lacks(doctor, &welcome.lacks);
    return true;
}

void doctor_program(const char *name, char *path, size_t size)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (len > 0) {
        self[len] = '\0';
        snprintf(path, size, "%s/%s", dirname(self), name);
        if (access(path, X_OK) == 0)
            return;
    }
    snprintf(path, size, "%s", name);
}

int doctor_spawn(char *const *argv, int fd)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int fault, status = -1;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fd, STDERR_FILENO);
    fault = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!fault && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return fault ? -1 : status;
}

void doctor_read_end(int fd, char *text, size_t size)
{
    off_t end = lseek(fd, 0, SEEK_END);
    off_t start = end > (off_t)size - 1 ? end - (off_t)size + 1 : 0;
    ssize_t len = pread(fd, text, size - 1, start);

    while (len > 0 && text[len - 1] == '\n')
        len--;
    text[len > 0 ? len : 0] = '\0';
}

/* `quern-executor --check`, with the settings of this host's, if any: its level
 * is among them. */
static int run_check(int fd)
{
    char program[PATH_MAX + 32], check[] = "--check", config[] = "--config";
    const char *folder = doctor_settings_folder();
    CLEANUP(cleanup_free) char *file = NULL;

    if (asprintf(&file, "%s/executor.conf", folder) < 0)
        abort();
    bool has_file = access(file, R_OK) == 0;
    char *const argv[] = { program, check, has_file ? config : NULL, file,
                           NULL };
    doctor_program("quern-executor", program, sizeof(program));
    return doctor_spawn(argv, fd);
}

/* Finds the verdict in the output of --check: the last line that is not
 * indented names the walls, or "quern-executor: " begins what is wrong. Behind
 * it come what the walls lack (two blanks before each), and remedies (four
 * blanks). */
static char *verdict_in(char *said)
{
    static const char name[] = "quern-executor: ";
    char *fault = strstr(said, name);
    char *verdict = said;

    if (fault)
        return fault + strlen(name);
    for (char *line = said; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (*line != ' ')
            verdict = line;
    }
    return verdict;
}

/* Takes the first line of *rest, without blanks at its head; *rest NULL: there
 * was no further one. */
static char *doctor_next_line(char **rest)
{
    char *line = *rest;
    char *end = strchrnul(line, '\n');

    *rest = *end ? end + 1 : NULL;
    *end = '\0';
    return line + strspn(line, " ");
}

/* Takes the remedies at the head of *rest, and joins them in place, one a line;
 * NULL: there are none. */
static char *take_remedies(char **rest)
{
    char *remedies = *rest;
    char *end = remedies;

    while (*rest && strncmp(*rest, "    ", 4) == 0) {
        char *line = doctor_next_line(rest);
        size_t len = strlen(line);

        if (end > remedies)
            *end++ = '\n';
        memmove(end, line, len + 1);
        end += len;
    }
    return end > remedies ? remedies : NULL;
}

/* Why no executor answers at the socket, and what to do about it. */
struct diagnosis {
    const char *why, *remedy;
};

static struct diagnosis diagnose_silence(int fault)
{
    if (fault == ECONNREFUSED)
        return (struct diagnosis){ "nobody listens", "start it again: "
                                                     "quern-executor" };
    if (fault == 0)
        return (
            struct diagnosis){ "a process listens there, but does not answer",
                               "restart it: quern-executor" };
    return (struct diagnosis){ "none answers", "start it: quern-executor" };
}

/* No executor answered, and quern-executor --check was run: said is its output.
 * boxed: it could box code here. */
static void find_verdict(struct doctor *doctor, bool boxed, int fault,
                         char *said)
{
    struct diagnosis diagnosis = diagnose_silence(fault);
    char *rest = verdict_in(said);
    char *verdict = doctor_next_line(&rest);
    char *remedies = take_remedies(&rest);

    if (boxed)
        find(doctor, NOTE, "executor", diagnosis.remedy,
             "%s at %s; its walls would be %s", diagnosis.why,
             greeting_socket(), verdict);
    else
        find(doctor, FAULT, "executor",
             remedies ? remedies : "run quern-executor --check", "%s", verdict);
    while (rest && strncmp(rest, "  ", 2) == 0) {
        char *lack = doctor_next_line(&rest);

        find(doctor, WARNING, "walls", take_remedies(&rest), "%s", lack);
    }
}

/* The socket is there, and this user may not open it. */
static void find_closed_socket(struct doctor *doctor, int fault)
{
    struct stat stat_of = { 0 };
    bool seen = stat(greeting_socket(), &stat_of) == 0;
    const struct group *group = seen ? getgrgid(stat_of.st_gid) : NULL;
    char name[64], remedy[200];

    snprintf(name, sizeof(name), "%s", group ? group->gr_name : "quern");
    if (seen && !group)
        snprintf(name, sizeof(name), "%u", (unsigned int)stat_of.st_gid);
    snprintf(remedy, sizeof(remedy),
             "ask as root, or put this user into the socket's group (%s); or "
             "start quern-executor with --group, the group of its consumers",
             name);
    find(doctor, WARNING, "executor", remedy,
         "this user may not ask it: %s: %s (group %s, mode %04o)",
         greeting_socket(), strerror(fault), name,
         (unsigned int)stat_of.st_mode & 07777);
}

/* Asks the executor that runs here. When none answers, `quern-executor --check`
 * tells whether one could box code on this host: so a wrong socket and a host
 * without walls are told apart. */
void check_executor(struct doctor *doctor)
{
    char said[8192];
    CLEANUP(close_fd) int fd = -1;
    int status, fault;

    if (ask_executor(doctor, &fault))
        return;
    if (fault == EACCES || fault == EPERM) {
        find_closed_socket(doctor, fault);
        return;
    }
    fd = memfd_create("check", MFD_CLOEXEC);
    status = run_check(fd);
    doctor_read_end(fd, said, sizeof(said));
    if (status < 0)
        find(doctor, NOTE, "executor", NULL, "none on this host");
    else
        find_verdict(doctor, WIFEXITED(status) && WEXITSTATUS(status) == 0,
                     fault, said);
}

/* --- the model ------------------------------------------------------------ */

/* Splits "https://host:8443/v1" into host and port. False: it is no URL. */
static bool split_url(const char *url, char *host, size_t size,
                      const char **port, char *number, size_t number_size)
{
    const char *at = strstr(url, "://");
    bool tls = strncmp(url, "https", 5) == 0;
    const char *begin = at ? at + 3 : url;
    size_t len = strcspn(begin, "/?#");
    bool bracket = *begin == '[';
    const char *end = bracket ? memchr(begin, ']', len) : begin;
    const char *colon =
        end ? memchr(end, ':', len - (size_t)(end - begin)) : NULL;
    size_t name = colon ? (size_t)(colon - begin) : len;

    *port = tls ? "443" : "80";
    if (colon) {
        snprintf(number, number_size, "%.*s", (int)(len - name - 1), colon + 1);
        *port = number;
    }
    if (bracket && name >= 2)
        snprintf(host, size, "%.*s", (int)(name - 2), begin + 1);
    else
        snprintf(host, size, "%.*s", (int)name, begin);
    return at && *host;
}

/* 0: somebody takes connections there; else an errno. */
static int try_address(const struct addrinfo *address)
{
    CLEANUP(close_fd)
    int fd = socket(address->ai_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };
    int fault = 0;
    socklen_t size = sizeof(fault);

    if (fd < 0)
        return errno;
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    if (poll(&poll_fd, 1, GREETING_MS) <= 0)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) < 0 ? errno
                                                                   : fault;
}

/* NULL: somebody takes connections there. */
static const char *try_url(const char *url)
{
    const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
    struct addrinfo *all = NULL;
    char host[256], number[8];
    const char *port;
    int fault;

    if (!split_url(url, host, sizeof(host), &port, number, sizeof(number)))
        return "this is not the URL of an endpoint";
    fault = getaddrinfo(host, port, &hints, &all);
    if (fault)
        return gai_strerror(fault);
    fault = ETIMEDOUT;
    for (const struct addrinfo *at = all; at && fault; at = at->ai_next)
        fault = try_address(at);
    freeaddrinfo(all);
    return fault ? strerror(fault) : NULL;
}

static bool has_proxy(void)
{
    return getenv("https_proxy") || getenv("HTTPS_PROXY") ||
           getenv("http_proxy") || getenv("all_proxy") || getenv("ALL_PROXY");
}

/* The URL without its query, which may have keys. */
static struct view told_of(const char *url)
{
    return (struct view){ url, strcspn(url, "?") };
}

static void check_base_url(struct doctor *doctor, const char *url)
{
    struct view told = told_of(url ? url : "");
    const char *fault = url && *url && !has_proxy() ? try_url(url) : NULL;
    bool key = getenv("OPENAI_API_KEY") || getenv("OPENAI_API_KEY_FILE");

    if (fault) {
        find(doctor, WARNING, "model",
             "start it, or correct OPENAI_BASE_URL; consumers read theirs",
             "OPENAI_BASE_URL is %.*s, where nobody answers: %s",
             VIEW_ARG(told), fault);
        return;
    }
    find(doctor, url && key ? FINE : NOTE, "model", NULL,
         "OPENAI_BASE_URL is %s%.*s, OPENAI_API_KEY is %s (consumers read "
         "theirs)",
         url ? "" : "not set", VIEW_ARG(told), key ? "set" : "not set");
}

/* NULL: somebody takes connections there, or it stands behind a proxy. */
static const char *try_entry(const char *url)
{
    if (!url || !*url)
        return "this is not the URL of an endpoint";
    return has_proxy() ? NULL : try_url(url);
}

static void check_entries(struct doctor *doctor, json_t *file)
{
    size_t wrong = 0;
    const char *name;
    json_t *entry;

    json_object_foreach(file, name, entry) {
        const char *url = json_string_value(json_object_get(entry, "url"));
        const char *fault = try_entry(url);

        wrong += fault != NULL;
        if (fault)
            find(doctor, WARNING, "model",
                 "start it, or correct its url in that file; consumers read "
                 "theirs",
                 "%s of QUERN_MODELS is at %.*s, where nobody answers: %s",
                 name, VIEW_ARG(told_of(url ? url : "")), fault);
    }
    if (wrong == 0)
        find(doctor, FINE, "model", NULL,
             "QUERN_MODELS names %zu endpoint%s, and somebody listens at each",
             json_object_size(file), json_object_size(file) == 1 ? "" : "s");
}

static void check_models(struct doctor *doctor, const char *path)
{
    json_error_t error;
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);

    if (json_is_object(file))
        check_entries(doctor, file);
    else
        find(doctor, WARNING, "model",
             "correct the file, or QUERN_MODELS; consumers read theirs",
             "QUERN_MODELS is %s: %s", path,
             file ? "it is not a JSON object of endpoints" : error.text);
    json_decref(file);
}

/* Checks only that somebody listens: a request would cost money. Behind a proxy
 * not even that can be known. */
void check_model(struct doctor *doctor)
{
    const char *models = getenv("QUERN_MODELS");
    const char *url = getenv("OPENAI_BASE_URL");
    bool listed = models && *models;

    if (listed)
        check_models(doctor, models);
    if (!listed || url)
        check_base_url(doctor, url);
}
