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
#include "schemas/settings/spell.h"
#include "schemas/tls/pem.h"

enum { MAX_FILE = 1 << 16, MAX_NAMES = 256, ENDS_DAYS = 14, DAY_S = 86400 };

static const struct {
    const char *file, *program;
} files[] = {
    { "consumer.env", "quern-consumer" },
    { "executor.env", "quern-executor" },
    { "gateway.env", "quern-gateway" },
    { "deliverer.env", "quern-deliverer" },
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

/* --- lines of settings files ---------------------------------------------- */

/* The next line VARIABLE=value of *rest, cut in two; NULL: there is none.
 * *number: of the line. */
static char *next_setting(char **rest, unsigned int *number, char **value)
{
    while (*rest) {
        char *line = strsep(rest, "\n");
        char *end;

        ++*number;
        line += strspn(line, " \t");
        end = line + strlen(line);
        while (end > line && strchr(" \t\r", end[-1]))
            *--end = '\0';
        *value = strchr(line, '=');
        if (*line == '#' || !*value)
            continue;
        *(*value)++ = '\0';
        end = line + strlen(line);
        while (end > line && strchr(" \t", end[-1]))
            *--end = '\0';
        *value += strspn(*value, " \t\"'");
        (*value)[strcspn(*value, "\"'")] = '\0';
        return line;
    }
    return NULL;
}

char *doctor_setting(const char *file, const char *variable)
{
    CLEANUP(cleanup_free) char *path = path_in_folder(file);
    size_t len;
    CLEANUP(cleanup_free) char *text = doctor_read_file(path, &len);
    char *rest = text, *name, *value, *last = NULL;
    unsigned int number = 0;

    while ((name = next_setting(&rest, &number, &value)))
        if (strcmp(name, variable) == 0) {
            free(last);
            last = strdup(value);
        }
    return last;
}

/* --- names that nobody knows ---------------------------------------------- */

/* The variables of a program's settings. */
struct doctor_names {
    char *text; /* what it prints as a sample; names point into it */
    const char *list[MAX_NAMES + 1];
    size_t count;
};

/* Lines of a sample are "#VARIABLE=default". */
static void names_add(struct doctor_names *names)
{
    char *rest = names->text;

    while (rest && names->count < MAX_NAMES) {
        char *line = strsep(&rest, "\n");
        size_t len = strspn(line + (*line == '#'),
                            "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");

        line += *line == '#';
        if (len > 0 && line[len] == '=') {
            line[len] = '\0';
            names->list[names->count++] = line;
        }
    }
}

/* Asks the program itself, which has the table. False: it is not here. */
static bool names_read(struct doctor_names *names, const char *program)
{
    CLEANUP(close_fd) int fd = memfd_create("sample", MFD_CLOEXEC);
    char path[PATH_MAX + 32], document[] = "--document", sample[] = "sample";
    char *const argv[] = { path, document, sample, NULL };

    *names = (struct doctor_names){ .text = calloc(1, MAX_FILE) };
    if (!names->text)
        abort();
    doctor_program(program, path, sizeof(path));
    if (doctor_spawn(argv, fd) != 0)
        return false;
    doctor_read_end(fd, names->text, MAX_FILE);
    names_add(names);
    return names->count > 0;
}

/* NAME_FILE of a name is known, too. */
static bool names_have(const struct doctor_names *names, const char *name)
{
    size_t len = strlen(name);
    bool from_file = len > 5 && strcmp(name + len - 5, "_FILE") == 0;

    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->list[i], name) == 0 ||
            (from_file && strlen(names->list[i]) == len - 5 &&
             strncmp(names->list[i], name, len - 5) == 0))
            return true;
    return false;
}

/* Whether a name that the program does not know was meant for it. Other
 * variables (no_proxy) are for libraries. */
static const char *names_meant(const struct doctor_names *names,
                               const char *name)
{
    const char *near = spell_nearest(names->list, view_of(name));
    bool ours = strncmp(name, "QUERN_", strlen("QUERN_")) == 0;

    if (ours)
        return near ? near : "";
    return near && spell_distance(name, strlen(name), near) <= 2 ? near : NULL;
}

static void doctor_find_name(struct doctor *doctor, const char *path,
                             unsigned int number, const char *name,
                             const char *near)
{
    find(doctor, WARNING, "settings",
         "correct the line, then restart the service: a variable that no "
         "program knows is passed over",
         "%s:%u: there is no setting \"%.60s\"%s%s%s", path, number, name,
         *near ? "; did you mean " : "", near, *near ? "?" : "");
}

/* Returns how many settings the file has that its program does not know. */
static size_t check_settings_file(struct doctor *doctor, const char *path,
                                  char *text, const char *program)
{
    struct doctor_names names;
    char *rest = text, *name, *value;
    unsigned int number = 0;
    size_t unknown = 0;

    if (!names_read(&names, program)) {
        find(doctor, UNSEEN, "settings", NULL,
             "%s: %s is not here, which would say its settings", path, program);
        free(names.text);
        return 0;
    }
    while ((name = next_setting(&rest, &number, &value))) {
        const char *near =
            names_have(&names, name) ? NULL : names_meant(&names, name);

        unknown += near != NULL;
        if (near)
            doctor_find_name(doctor, path, number, name, near);
    }
    free(names.text);
    return unknown;
}

void check_settings(struct doctor *doctor)
{
    size_t read = 0, unknown = 0;

    for (size_t i = 0; i < FILES; i++) {
        CLEANUP(cleanup_free) char *path = path_in_folder(files[i].file);
        size_t len;
        CLEANUP(cleanup_free) char *text = doctor_read_file(path, &len);

        if (!text && errno != ENOENT)
            find(doctor, UNSEEN, "settings", "ask as root", "%s: %s", path,
                 strerror(errno));
        if (!text)
            continue;
        read++;
        unknown += check_settings_file(doctor, path, text, files[i].program);
    }
    if (read > 0 && unknown == 0)
        find(doctor, FINE, "settings", NULL,
             "%zu file%s in %s, every name is known", read,
             read == 1 ? "" : "s", doctor_settings_folder());
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
