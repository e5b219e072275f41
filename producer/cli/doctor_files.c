/* doctor_files.c - settings files, secrets and certificates of the services on
 * this host. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "producer/cli/doctor.h"
#include "schemas/message/buf.h"
#include "schemas/tls/pem.h"

enum { MAX_FILE = 1 << 16, ENDS_DAYS = 14, DAY_S = 86400 };

static const struct {
    const char *file, *program;
} files[] = {
    { "consumer.conf", "quern-consumer" },
    { "executor.conf", "quern-executor" },
    { "gateway.conf", "quern-gateway" },
    { "deliverer.conf", "quern-deliverer" },
};
enum { FILES = sizeof(files) / sizeof(files[0]) };

const char *doctor_settings_folder(void)
{
    const char *given = getenv("CONFIGURATION_DIRECTORY"); /* systemd's */

    return given && *given ? given : "/etc/quern";
}

static char *path_in_folder(const char *name)
{
    char *path = NULL;

    if (asprintf(&path, "%s/%s", doctor_settings_folder(), name) < 0)
        abort();
    return path;
}

/* All of a file that is not larger than a settings file may be, with a NUL at
 * its end; cleanup_free() it. NULL: errno says why. */
static char *doctor_read_file(const char *path, size_t *len)
{
    CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char *text = fd < 0 ? NULL : calloc(1, MAX_FILE + 1);
    ssize_t got = 0;

    *len = 0;
    while (text && *len < MAX_FILE &&
           (got = read(fd, text + *len, MAX_FILE - *len)) > 0)
        *len += (size_t)got;
    return text;
}

/* --- settings files ------------------------------------------------------- */

char *doctor_setting(const char *file, const char *variable)
{
    CLEANUP(cleanup_free) char *path = path_in_folder(file);
    size_t len;
    CLEANUP(cleanup_free) char *text = doctor_read_file(path, &len);
    char *rest = text, *line, *last = NULL;

    while ((line = strsep(&rest, "\n"))) {
        char *value = strchr(line, '=');
        struct view name = { line, value ? (size_t)(value - line) : 0 };

        if (!value || !view_is(view_trimmed(name), variable))
            continue;
        free(last);
        last = view_dup(view_trimmed(view_of(value + 1)));
    }
    return last;
}

/* Lets the program itself read its file, which has the table of its settings.
 * Returns whether the file is good. */
static bool check_settings_file(struct doctor *doctor, const char *program,
                                char *file)
{
    CLEANUP(close_fd) int fd = memfd_create("said", MFD_CLOEXEC);
    char path[PATH_MAX + 32], config[] = "--config", version[] = "--version";
    char *const argv[] = { path, config, file, version, NULL };
    char said[512], *text = said;
    size_t name = strlen(program);

    doctor_program(program, path, sizeof(path));
    int status = doctor_spawn(argv, fd);
    if (status == 0)
        return true;
    doctor_read_end(fd, said, sizeof(said));
    said[strcspn(said, "\n")] = '\0';
    if (strncmp(text, program, name) == 0 && text[name] == ':')
        text += name + 1 + strspn(text + name + 1, " ");
    if (status < 0)
        find(doctor, UNSEEN, "settings", NULL,
             "%s: %s is not here, which would read it", file, program);
    else if (strstr(said, "ermission denied"))
        find(doctor, UNSEEN, "settings", "ask as root", "%s", text);
    else
        find(doctor, WARNING, "settings",
             "correct the line: until then the service does not start, and one "
             "that runs keeps its settings",
             "%s", text);
    return false;
}

void check_settings(struct doctor *doctor)
{
    size_t there = 0, good = 0;

    for (size_t i = 0; i < FILES; i++) {
        CLEANUP(cleanup_free) char *path = path_in_folder(files[i].file);

        if (access(path, F_OK) != 0)
            continue;
        there++;
        good += check_settings_file(doctor, files[i].program, path);
    }
    if (there > 0 && good == there)
        find(doctor, FINE, "settings", NULL, "%zu file%s in %s, all good",
             there, there == 1 ? "" : "s", doctor_settings_folder());
}

/* --- secrets -------------------------------------------------------------- */

static void find_mode(struct doctor *doctor, const char *path, mode_t mode)
{
    char remedy[PATH_MAX + 64];

    snprintf(remedy, sizeof(remedy),
             "chmod 600 %s (Kubernetes: defaultMode 0400)", path);
    find(doctor, WARNING, "secrets", remedy, "%s: %s may read it (mode %04o)",
         path, mode & S_IROTH ? "every user" : "its group",
         (unsigned int)mode & 07777);
}

/* Returns whether something is wrong. */
static bool find_lines(struct doctor *doctor, const char *path,
                       const char *text, size_t len)
{
    size_t first = strcspn(text, "\n");

    while (len > first && strchr(" \t\r\n", text[len - 1]))
        len--;
    if (len > first)
        find(doctor, WARNING, "secrets",
             "write it in one line: printf %s SECRET > FILE",
             "%s: there is a newline inside, so that programs refuse it", path);
    else if (first == 0)
        find(doctor, WARNING, "secrets", "write the secret into it",
             "%s: it is empty", path);
    return len > first || first == 0;
}

/* Returns whether something is wrong. */
static bool check_secret(struct doctor *doctor, const char *path, bool may_lack)
{
    struct stat status;
    size_t len;

    if (stat(path, &status) != 0) {
        bool missing = errno == ENOENT && !may_lack;
        if (missing || errno != ENOENT)
            find(doctor, missing ? WARNING : UNSEEN, "secrets",
                 missing ? "write it, or take the variable out" : "ask as root",
                 "%s: %s", path, strerror(errno));
        return missing;
    }
    CLEANUP(cleanup_free) char *text = doctor_read_file(path, &len);
    if (!text)
        find(doctor, UNSEEN, "secrets", "ask as root", "%s: %s", path,
             strerror(errno));
    bool open = status.st_mode & (S_IRGRP | S_IROTH);
    if (open)
        find_mode(doctor, path, status.st_mode);
    /* An empty key is allowed: an endpoint may need none. */
    bool lines =
        text && (len > 0 || !may_lack) && find_lines(doctor, path, text, len);
    return open || lines;
}

/* Whether "NAME=value" names the file of a secret of ours. */
static const char *secret_of(const char *variable)
{
    const char *value = strchr(variable, '=');
    size_t len = value ? (size_t)(value - variable) : 0;
    bool ours = strncmp(variable, "QUERN_", 6) == 0 ||
                strncmp(variable, "REDIS_URL_", 10) == 0 ||
                strncmp(variable, "OPENAI_", 7) == 0;

    return ours && len > 5 && strncmp(value - 5, "_FILE", 5) == 0 ? value + 1
                                                                  : NULL;
}

void check_secrets(struct doctor *doctor)
{
    static const char *const names[] = { "redis_url", "openai_api_key",
                                         "gateway_redis_url",
                                         "deliverer_redis_url" };
    bool wrong = false;
    size_t count = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        CLEANUP(cleanup_free) char *path = path_in_folder(names[i]);
        count += access(path, F_OK) == 0;
        wrong = check_secret(doctor, path, true) || wrong;
    }
    for (char **variable = environ; *variable; variable++) {
        const char *path = secret_of(*variable);
        count += path != NULL;
        wrong = (path && check_secret(doctor, path, false)) || wrong;
    }
    if (count > 0 && !wrong)
        find(doctor, FINE, "secrets", NULL, "%zu file%s, closed to others",
             count, count == 1 ? "" : "s");
}

/* --- certificates --------------------------------------------------------- */

bool doctor_find_end(struct doctor *doctor, time_t ends, const char *remedy,
                     const char *what)
{
    time_t now = time(NULL);
    bool over = ends <= now;

    if (ends > now + (time_t)ENDS_DAYS * DAY_S)
        return true;
    find(doctor, over ? FAULT : WARNING, "certificates", remedy,
         "%s: the certificate %s %s%s", what, over ? "ended" : "ends in",
         term_age((uint64_t)(over ? now - ends : ends - now) * 1000),
         over ? " ago" : "");
    return false;
}

/* Returns whether it is good. */
static bool check_certificate(struct doctor *doctor, const char *path)
{
    struct err err = { 0 };
    time_t ends;

    if (!pem_read_end(path, &ends, &err)) {
        bool closed = strstr(err.text, "ermission denied");
        find(doctor, closed ? UNSEEN : WARNING, "certificates",
             closed ? "ask as root" : "write it whole: to a new file, then mv",
             "%s", err.text);
        return false;
    }
    return doctor_find_end(doctor, ends,
                           "renew it; programs read the file at their next "
                           "connection, the gateway at HUP",
                           path);
}

/* Of the environment, or of a settings file on this host. */
static void certificates_of(struct doctor *doctor, const char *variable,
                            size_t *count, size_t *good)
{
    const char *given = getenv(variable);

    if (given && *given) {
        ++*count;
        *good += check_certificate(doctor, given);
    }
    for (size_t i = 0; i < FILES; i++) {
        CLEANUP(cleanup_free)
        char *path = doctor_setting(files[i].file, variable);
        if (!path || !*path || (given && strcmp(path, given) == 0))
            continue;
        ++*count;
        *good += check_certificate(doctor, path);
    }
}

void check_certificates(struct doctor *doctor)
{
    size_t count = 0, good = 0;

    certificates_of(doctor, "QUERN_REDIS_TLS_CERTIFICATE", &count, &good);
    certificates_of(doctor, "QUERN_REDIS_TLS_CA", &count, &good);
    certificates_of(doctor, "QUERN_TLS_CERTIFICATE", &count, &good);
    if (count > 0 && count == good)
        find(doctor, FINE, "certificates", NULL,
             "%zu, good for %d days and more", count, ENDS_DAYS);
}
