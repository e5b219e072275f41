/* settings.c - what the operator may set, and what follows from it. */
#include "executor/warden/settings.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/proxy/hosts.h"
#include "schemas/message/limits.h"
#include "schemas/service/log_row.h"
#include "schemas/settings/reload.h"

#define AT(member) offsetof(struct executor_settings, member)
#define MIB (UINT64_C(1) << 20)
#define TIB (UINT64_C(1) << 40)

enum { HOUR_MS = 3600 * 1000, FEWEST_UIDS = 16 };

const char *const profile_names[] = { "science", "bare", NULL };

const char *const level_names[] = { "boxed", "watched", "full", NULL };
_Static_assert(sizeof(level_names) / sizeof(level_names[0]) == LEVELS + 1,
               "level_names[] has their names");
static const char *const outer_names[] = { "none", "gvisor", NULL };
_Static_assert(OUTER_GVISOR == 1, "outer_names[] has their names");

bool profile_read(struct view name, enum profile *profile)
{
    for (int i = 0; i < PROFILES; i++)
        if (view_is(name, profile_names[i])) {
            *profile = (enum profile)i;
            return true;
        }
    return false;
}

/* ----------------------------------------------- settings of a form of theirs
 */

/* What a value must be, behind its name. */
static bool must(struct err *err, const char *what)
{
    return err_set(err, ERR_REJECT, "bad_setting", "must be %s", what);
}

static bool read_mode(void *place, const char *text, struct err *err)
{
    struct executor_settings *settings = place;
    char *rest;
    unsigned long mode = strtoul(text, &rest, 8);
    if (*text < '0' || *text > '7' || *rest || mode > 0777)
        return must(err, "octal, 0 to 0777");
    settings->mode = (unsigned int)mode;
    return true;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool read_packages(void *place, const char *text, struct err *err)
{
    struct executor_settings *settings = place;
    bool is_off = strcmp(text, "off") == 0;
    if (!is_off && strcmp(text, "index") != 0 &&
        !(text[0] == '/' && is_folder(text)))
        return must(err, "off, index, or a folder that is there, from / on");
    free(settings->packages);
    settings->packages = is_off ? NULL : view_dup(view_of(text));
    return true;
}

/* The list itself is read by the program that installs. */
static bool check_allow(const char *text, struct err *err)
{
    return !strchr(text, '/') || access(text, R_OK) == 0 ||
           must(err, "names, or a file that can be read");
}

static bool check_store(const char *text, struct err *err)
{
    return text[0] == '/' || must(err, "a folder, from / on");
}

/* A list has no slash, the path of a file has one. */
static bool read_hosts(const char *text, struct buf *list, struct err *err)
{
    char piece[4096];
    size_t got;
    if (!strchr(text, '/'))
        return buf_add(list, view_of(text));
    FILE *file = fopen(text, "re");
    if (!file)
        return err_set(err, ERR_REJECT, "bad_setting", "%s", strerror(errno));
    while ((got = fread(piece, 1, sizeof(piece), file)) > 0)
        buf_append(list, piece, got);
    fclose(file);
    return true;
}

static bool read_network(void *place, const char *text, struct err *err)
{
    struct executor_settings *settings = place;
    CLEANUP(cleanup_free) struct hosts *hosts = calloc(1, sizeof(*hosts));
    CLEANUP(buf_finish) struct buf list;
    struct err why = { .text = "no memory" };
    buf_init(&list, MAX_HOSTS_BYTES + 1);
    free(settings->hosts);
    settings->hosts = NULL;
    if (strcmp(text, "none") == 0)
        return true;
    if (!hosts || !read_hosts(text, &list, &why) ||
        !hosts_parse(hosts, buf_view(&list), &why))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "must be none, or hosts: %s", why.text);
    settings->hosts = view_dup(buf_view(&list));
    return true;
}

static bool read_uid(const char *text, const char **rest, uid_t *uid)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    *rest = end;
    *uid = (uid_t)number;
    return *text >= '0' && *text <= '9' && errno == 0 && number > 0 &&
           number <= MAX_BOX_UID;
}

static bool read_uid_range(void *place, const char *text, struct err *err)
{
    struct executor_settings *settings = place;
    const char *rest;
    struct uid_range range = { 0, 0 };
    bool is_auto = strcmp(text, "auto") == 0;
    settings->own_uids = strcmp(text, "off") != 0;
    settings->uids = range;
    if (!settings->own_uids || is_auto)
        return true;
    if (!read_uid(text, &rest, &range.first) || *rest != '-' ||
        !read_uid(rest + 1, &rest, &range.last) || *rest != '\0' ||
        range.last < range.first || range.last - range.first < FEWEST_UIDS - 1)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "must be auto, off, or FIRST-LAST: at least %d ids of 1 "
                       "to %d",
                       FEWEST_UIDS, MAX_BOX_UID);
    settings->uids = range;
    return true;
}

static bool read_cgroup(void *place, const char *text, struct err *err)
{
    struct executor_settings *settings = place;
    settings->cgroups = strcmp(text, "auto") == 0;
    return settings->cgroups || strcmp(text, "off") == 0 ||
           must(err, "auto or off");
}

/* ------------------------------------------------------------------ the table
 */

static const struct setting rows[] = {
    { .name = "executor",
      .group = "Who may ask",
      .type = SETTING_TEXT,
      .offset = AT(socket_path),
      .normal = "/run/quern/executor.sock",
      .value = "SOCKET",
      .about = "The unix socket on which consumers find this executor." },
    { .name = "mode",
      .type = SETTING_OF_READER,
      .read = read_mode,
      .normal = "0660",
      .value = "OCTAL",
      .about = "Who may open the socket: an octal mode, as for chmod." },
    { .name = "group",
      .type = SETTING_TEXT,
      .offset = AT(group),
      .normally = "the user's",
      .value = "NAME",
      .about = "The group of the socket." },
    { .name = "user",
      .type = SETTING_TEXT,
      .offset = AT(user),
      .normally = "quern, or 61184",
      .value = "NAME",
      .about = "The user that the executor becomes when root starts it." },

    { .name = "sessions",
      .group = "Sessions",
      .type = SETTING_NUMBER,
      .offset = AT(sessions),
      .min = 1,
      .max = 10000,
      .normal = "256",
      .about = "The most sessions at the same time." },
    { .name = "memory",
      .type = SETTING_SIZE,
      .offset = AT(limits.memory_bytes),
      .min = 64 * MIB,
      .max = TIB,
      .normal = "2G",
      .about = "The most memory of a session." },
    { .name = "disk",
      .type = SETTING_SIZE,
      .offset = AT(limits.disk_bytes),
      .min = MIB,
      .max = TIB,
      .normal = "256M",
      .about = "The most bytes of a session's files." },
    { .name = "processes",
      .type = SETTING_NUMBER,
      .offset = AT(limits.processes),
      .min = 4,
      .max = 4096,
      .normal = "64",
      .about = "The most processes of a session, threads included." },
    { .name = "cell-time",
      .type = SETTING_TIME,
      .offset = AT(cell_ms),
      .min = 100,
      .max = MAX_CELL_MS,
      .normal = "1m",
      .is_reloaded = true,
      .about = "The longest that a cell may run." },
    { .name = "tool-time",
      .type = SETTING_TIME,
      .offset = AT(tool_ms),
      .max = MAX_CELL_MS,
      .normal = "10m",
      .is_reloaded = true,
      .about = "How long a cell may wait for tools in all; this does not count "
               "as its running time." },
    { .name = "idle",
      .type = SETTING_TIME,
      .offset = AT(idle_ms),
      .min = 1000,
      .max = MAX_DEADLINE_MS,
      .normal = "20m",
      .is_reloaded = true,
      .about = "A session that has been idle for this time ends." },
    { .name = "snapshot",
      .type = SETTING_SIZE,
      .offset = AT(snapshot_bytes),
      .max = TIB,
      .normal = "512M",
      .about = "The largest snapshot of a session between two cells, to which "
               "it goes back when a cell is killed; 0: none." },

    { .name = "profile",
      .group = "Interpreters",
      .type = SETTING_CHOICE,
      .offset = AT(profile),
      .choices = profile_names,
      .normal = "science",
      .about = "The modules that Python has loaded before a session begins." },
    { .name = "ready",
      .type = SETTING_NUMBER,
      .offset = AT(ready),
      .max = 1000,
      .normal = "4",
      .about = "Interpreters that are kept ready for the next sessions." },
    { .name = "renew",
      .type = SETTING_TIME,
      .offset = AT(renew_ms),
      .min = 1000,
      .max = MAX_DEADLINE_MS,
      .normal = "1h",
      .about = "After this time Python is loaded anew, for new sessions." },
    { .name = "renew-forks",
      .type = SETTING_NUMBER,
      .offset = AT(renew_forks),
      .min = 1,
      .max = 1000000,
      .normal = "1000",
      .about = "After this many sessions Python is loaded anew, too." },

    { .name = "packages",
      .group = "Packages",
      .type = SETTING_OF_READER,
      .read = read_packages,
      .normal = "off",
      .value = "WHAT",
      .about = "The source of packages on demand: off, index (the one of pip's "
               "own settings), or a folder of wheels." },
    { .name = "packages-allow",
      .type = SETTING_TEXT,
      .offset = AT(packages_allow),
      .normally = "of a folder *",
      .value = "NAME,...",
      .check = check_allow,
      .about = "Packages that may be installed, besides dependencies: names, a "
               "file of names, or * for all." },
    { .name = "packages-store",
      .type = SETTING_TEXT,
      .offset = AT(packages_store),
      .normally = "$CACHE_DIRECTORY/packages, or in /var/tmp",
      .value = "FOLDER",
      .check = check_store,
      .about = "The folder of installed packages." },
    { .name = "packages-size",
      .type = SETTING_SIZE,
      .offset = AT(packages_bytes),
      .min = MIB,
      .max = TIB,
      .normal = "1G",
      .about = "The most bytes of packages in one session, unpacked." },

    { .name = "network",
      .group = "Network",
      .type = SETTING_OF_READER,
      .read = read_network,
      .normal = "none",
      .value = "HOST,...",
      .about =
          "Hosts that code may reach by HTTP(S): pypi.org, .wikipedia.org "
          "(with all below), host:8443 (only that port); or a file of them." },
    { .name = "traffic",
      .type = SETTING_SIZE,
      .offset = AT(traffic_bytes),
      .min = MIB,
      .max = TIB,
      .normal = "1G",
      .about = "The most bytes that a session may send and receive." },

    { .name = "level",
      .group = "Walls",
      .type = SETTING_CHOICE,
      .offset = AT(level),
      .choices = level_names,
      .normal = "boxed",
      .about = "The least level of walls: with fewer the executor refuses to "
               "start." },
    { .name = "outer",
      .type = SETTING_CHOICE,
      .offset = AT(outer),
      .choices = outer_names,
      .normal = "none",
      .about = "What surrounds this executor as a wall of its own: within "
               "gvisor boxes may lack Landlock and cgroup namespaces." },
    { .name = "cgroup",
      .type = SETTING_OF_READER,
      .read = read_cgroup,
      .normal = "auto",
      .value = "auto|off",
      .about = "Whether cgroups limit boxes; auto: if that is possible." },
    { .name = "uid-range",
      .type = SETTING_OF_READER,
      .read = read_uid_range,
      .normal = "auto",
      .value = "FIRST-LAST",
      .about = "User ids, one for each box; auto: those of /etc/subuid, or for "
               "root 1900000000-1900065535; off: one for all." },
    { .name = "insecure",
      .type = SETTING_SWITCH,
      .offset = AT(insecure),
      .is_flag_only = true,
      .about = "For development: no boxes, only those walls that work without "
               "one." },

    { .name = "check",
      .group = "Other",
      .type = SETTING_SWITCH,
      .offset = AT(check),
      .is_flag_only = true,
      .about = "Tests the walls, prints which hold, and ends." },
    LOG_LEVEL_ROW(AT(log_level)),
    { .name = "box",
      .type = SETTING_TEXT,
      .offset = AT(box_path),
      .normally = "beside this program, or in libexec",
      .value = "PATH",
      .is_flag_only = true,
      .about = "The program quern-box." },
    { .name = "guest",
      .type = SETTING_TEXT,
      .offset = AT(guest_path),
      .normally = "likewise",
      .value = "PATH",
      .is_flag_only = true,
      .about = "The program quern-guest." },
    { .name = "proxy",
      .type = SETTING_TEXT,
      .offset = AT(proxy_path),
      .normally = "likewise",
      .value = "PATH",
      .is_flag_only = true,
      .about = "The program quern-proxy." },
};

const struct setting_table settings_table = {
    .program = "quern-executor",
    .about = "Runs Python sessions in boxes, for quern-consumer.",
    .rows = rows,
    .count = sizeof(rows) / sizeof(rows[0]),
    .size = sizeof(struct executor_settings),
    .details = "It attacks a session of its own before it serves anybody, and "
               "does not start when a wall does not hold. TERM ends it.\n",
    .examples =
        "  quern-executor --executor /run/quern/executor.sock --memory 512M\n"
        "  quern-executor --check\n"
        "  quern-executor --document sample > executor.conf\n",
};

/* ------------------------------------------------------- what follows from it
 */

/* Beside our own executable, as in the build tree, or where it is installed;
 * never by PATH. *path: where the operator says that it is, or NULL. */
static bool settings_find_program(char **path, const char *name)
{
    static const char *const places[] = { ".", QUERN_LIBEXEC };
    char own[PATH_MAX / 2] = "";
    if (*path)
        return true;
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
        return false;
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char found[PATH_MAX];
        snprintf(found, sizeof(found), "%s/%s/%s", own, places[i], name);
        if (access(found, X_OK) == 0) {
            *path = view_dup(view_of(found));
            return true;
        }
    }
    fprintf(stderr, "quern-executor: there is no %s beside it\n", name);
    return false;
}

static bool find_programs(struct executor_settings *settings)
{
    return settings_find_program(&settings->box_path, "quern-box") &&
           settings_find_program(&settings->guest_path, "quern-guest") &&
           (!settings->hosts ||
            settings_find_program(&settings->proxy_path, "quern-proxy"));
}

/* Without a box nothing would keep code from going past the proxy, or from
 * installing what it likes. With an index to which anybody may add packages,
 * the operator must list those that are allowed. */
static bool check_together(const struct executor_settings *settings,
                           struct err *err)
{
    const char *packages = settings->packages;
    if (settings->insecure && (packages || settings->hosts))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--%s needs boxes, --insecure has none",
                       packages ? "packages" : "network");
    return !packages || settings->packages_allow ||
           strcmp(packages, "index") != 0 ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "--packages index needs --packages-allow");
}

bool settings_read(struct executor_settings *settings, char *const *argv,
                   int *status)
{
    enum setting_request request;
    struct err err;
    *settings = (struct executor_settings){ 0 };
    if (!setting_load(&settings_table, settings, argv, &request, &err) ||
        (request == SETTING_RUN && !check_together(settings, &err))) {
        fprintf(stderr, "quern-executor: %s\nSee quern-executor --help\n",
                err.text);
        *status = EX_USAGE;
        return false;
    }
    if (request != SETTING_RUN) {
        setting_print(&settings_table, request, QUERN_VERSION, stdout);
        *status = fflush(stdout) == 0 ? EX_OK : EX_IOERR;
        return false;
    }
    /* Without a box, RLIMIT_NPROC would count all processes of our user. */
    if (settings->insecure)
        settings->limits.processes = UINT32_MAX;
    *status = EX_UNAVAILABLE;
    return find_programs(settings);
}

void settings_reload(struct executor_settings *settings, char *const *argv)
{
    struct setting_changes changes;
    struct err err;
    if (!setting_reload(&settings_table, settings, argv, &changes, &err))
        log_line("settings.refused", NULL, "%s", err.text);
    else
        log_line("settings.reloaded", NULL,
                 "changed: %.*s; after a restart: "
                 "%.*s",
                 (int)changes.applied.len,
                 changes.applied.data ? changes.applied.data : "",
                 (int)changes.restart.len,
                 changes.restart.data ? changes.restart.data : "");
    log_set_least((enum log_severity)settings->log_level);
    setting_changes_finish(&changes);
}

void settings_finish(struct executor_settings *settings)
{
    setting_finish(&settings_table, settings);
    free(settings->packages);
    free(settings->hosts);
}
