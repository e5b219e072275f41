/* settings.c - reads the command line of quern-executor. */
#include "executor/warden/settings.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "executor/proxy/hosts.h"
#include "schemas/message/limits.h"

enum {
    CELL_MS = 60 * 1000,
    TOOL_MS = 10 * 60 * 1000,
    IDLE_MS = 20 * 60 * 1000,
    READY = 4,
    RENEW_MS = 60 * 60 * 1000,
    RENEW_FORKS = 1000,
    FEWEST_UIDS = 16,
};

const char *const profile_names[] = { "science", "bare", NULL };

static const char usage_text[] =
    "usage: quern-executor [flags]\n"
    "Runs Python sessions in boxes, for quern-consumer.\n"
    "\n"
    "  --socket PATH    where consumers connect ($QUERN_EXECUTOR, or\n"
    "                   /run/quern/executor.sock)\n"
    "  --mode OCTAL     of the socket (0660)\n"
    "  --group NAME     of the socket (the user's)\n"
    "  --user NAME      whom root becomes (quern, or 61184)\n"
    "  --sessions N     at once (256)\n"
    "  --memory MIB     of a session (2048)\n"
    "  --disk MIB       of a session (256)\n"
    "  --processes N    of a session, threads included (64)\n"
    "  --snapshot MIB   kept of a session between cells, so that one which is\n"
    "                   killed costs nothing else; 0: none (512)\n"
    "  --cell-ms MS     longest run of a cell (60000)\n"
    "  --tool-ms MS     for which a cell may wait for tools beside (600000)\n"
    "  --idle-ms MS     then a session ends (1200000)\n"
    "  --profile NAME   what Python has loaded: science, bare (science)\n"
    "  --ready N        interpreters that wait for a session (4)\n"
    "  --renew-ms MS    then Python is loaded anew, for new sessions "
    "(3600000)\n"
    "  --renew-forks N  likewise, after so many sessions (1000)\n"
    "  --packages WHAT  that a session lacks: off, index (pip's own settings\n"
    "                   say which), or a folder of wheels (off)\n"
    "  --packages-allow LIST  names with commas, a file of them, or * (for a\n"
    "                   folder: *); what they need comes along\n"
    "  --packages-store FOLDER  for what is installed\n"
    "                   ($CACHE_DIRECTORY/packages, or in /var/tmp)\n"
    "  --packages-mib MIB  of a session, unpacked (1024)\n"
    "  --network LIST   hosts that code may reach, as HTTP goes: pypi.org,\n"
    "                   .wikipedia.org (and all below), host:8443 (not 80 and\n"
    "                   443); with a slash: the file that lists them (none)\n"
    "  --traffic MIB    of a session over the network, in all (1024)\n"
    "  --level NAME     refuse to start with fewer walls: boxed, watched, "
    "full\n"
    "                   (boxed)\n"
    "  --cgroup NAME    limit boxes by cgroups: auto, off (auto)\n"
    "  --uid-range FIRST-LAST  user ids of boxes, one each; off: the "
    "executor's\n"
    "                   own for all (of its user in /etc/subuid; as root, or\n"
    "                   with CAP_SETUID, else 1900000000-1900065535)\n"
    "  --box PATH       quern-box (beside this program, or in libexec)\n"
    "  --guest PATH     quern-guest (likewise)\n"
    "  --proxy PATH     quern-proxy (likewise)\n"
    "  --insecure       for development: no boxes, what walls there are\n"
    "  --check          test the walls, print what there is, end\n"
    "  --version, --help\n";

enum option_value {
    OPTION_SOCKET = 256,
    OPTION_MODE,
    OPTION_GROUP,
    OPTION_USER,
    OPTION_SESSIONS,
    OPTION_MEMORY,
    OPTION_DISK,
    OPTION_PROCESSES,
    OPTION_SNAPSHOT,
    OPTION_CELL_MS,
    OPTION_TOOL_MS,
    OPTION_IDLE_MS,
    OPTION_PROFILE,
    OPTION_READY,
    OPTION_RENEW_MS,
    OPTION_RENEW_FORKS,
    OPTION_PACKAGES,
    OPTION_PACKAGES_ALLOW,
    OPTION_PACKAGES_STORE,
    OPTION_PACKAGES_MIB,
    OPTION_NETWORK,
    OPTION_TRAFFIC,
    OPTION_LEVEL,
    OPTION_CGROUP,
    OPTION_UID_RANGE,
    OPTION_BOX,
    OPTION_GUEST,
    OPTION_PROXY,
    OPTION_INSECURE,
    OPTION_CHECK,
    OPTION_VERSION,
    OPTION_HELP,
};

static const struct option options[] = {
    { "socket", required_argument, NULL, OPTION_SOCKET },
    { "mode", required_argument, NULL, OPTION_MODE },
    { "group", required_argument, NULL, OPTION_GROUP },
    { "user", required_argument, NULL, OPTION_USER },
    { "sessions", required_argument, NULL, OPTION_SESSIONS },
    { "memory", required_argument, NULL, OPTION_MEMORY },
    { "disk", required_argument, NULL, OPTION_DISK },
    { "processes", required_argument, NULL, OPTION_PROCESSES },
    { "snapshot", required_argument, NULL, OPTION_SNAPSHOT },
    { "cell-ms", required_argument, NULL, OPTION_CELL_MS },
    { "tool-ms", required_argument, NULL, OPTION_TOOL_MS },
    { "idle-ms", required_argument, NULL, OPTION_IDLE_MS },
    { "profile", required_argument, NULL, OPTION_PROFILE },
    { "ready", required_argument, NULL, OPTION_READY },
    { "renew-ms", required_argument, NULL, OPTION_RENEW_MS },
    { "renew-forks", required_argument, NULL, OPTION_RENEW_FORKS },
    { "packages", required_argument, NULL, OPTION_PACKAGES },
    { "packages-allow", required_argument, NULL, OPTION_PACKAGES_ALLOW },
    { "packages-store", required_argument, NULL, OPTION_PACKAGES_STORE },
    { "packages-mib", required_argument, NULL, OPTION_PACKAGES_MIB },
    { "network", required_argument, NULL, OPTION_NETWORK },
    { "traffic", required_argument, NULL, OPTION_TRAFFIC },
    { "level", required_argument, NULL, OPTION_LEVEL },
    { "cgroup", required_argument, NULL, OPTION_CGROUP },
    { "uid-range", required_argument, NULL, OPTION_UID_RANGE },
    { "box", required_argument, NULL, OPTION_BOX },
    { "guest", required_argument, NULL, OPTION_GUEST },
    { "proxy", required_argument, NULL, OPTION_PROXY },
    { "insecure", no_argument, NULL, OPTION_INSECURE },
    { "check", no_argument, NULL, OPTION_CHECK },
    { "version", no_argument, NULL, OPTION_VERSION },
    { "help", no_argument, NULL, OPTION_HELP },
    { NULL, 0, NULL, 0 },
};

/* The numbers: where they go, what they are multiplied with, their bounds. */
static const struct number {
    enum option_value option;
    size_t offset;
    unsigned int shift;
    uint64_t least, most;
} numbers[] = {
    { OPTION_SESSIONS, offsetof(struct settings, sessions), 0, 1, 10000 },
    { OPTION_MEMORY, offsetof(struct settings, limits.memory_bytes), 20, 64,
      1 << 20 },
    { OPTION_DISK, offsetof(struct settings, limits.disk_bytes), 20, 1,
      1 << 20 },
    { OPTION_PROCESSES, offsetof(struct settings, limits.processes), 0, 4,
      4096 },
    { OPTION_SNAPSHOT, offsetof(struct settings, snapshot_bytes), 20, 0,
      1 << 20 },
    { OPTION_PACKAGES_MIB, offsetof(struct settings, packages_bytes), 20, 1,
      1 << 20 },
    { OPTION_TRAFFIC, offsetof(struct settings, traffic_bytes), 20, 1,
      1 << 20 },
    { OPTION_CELL_MS, offsetof(struct settings, cell_ms), 0, 100, MAX_CELL_MS },
    { OPTION_TOOL_MS, offsetof(struct settings, tool_ms), 0, 0, MAX_CELL_MS },
    { OPTION_IDLE_MS, offsetof(struct settings, idle_ms), 0, 1000,
      MAX_DEADLINE_MS },
    { OPTION_READY, offsetof(struct settings, ready), 0, 0, 1000 },
    { OPTION_RENEW_MS, offsetof(struct settings, renew_ms), 0, 1000,
      MAX_DEADLINE_MS },
    { OPTION_RENEW_FORKS, offsetof(struct settings, renew_forks), 0, 1,
      1000000 },
};

/* Says what is wrong with a flag's value, and what would be right. */
static bool refuse(int option, const char *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static bool refuse(int option, const char *text, const char *format, ...)
{
    const struct option *row = options;
    va_list arguments;
    while (row->val != option)
        row++;
    fprintf(stderr, "quern-executor: --%s is \"%s\", must be ", row->name,
            text);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

static const struct number *find_number(int option)
{
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if ((int)numbers[i].option == option)
            return &numbers[i];
    return NULL;
}

static bool read_number(struct settings *settings, const struct number *row,
                        const char *text)
{
    char *rest;
    errno = 0;
    uint64_t value = strtoull(text, &rest, 10);
    if (errno || *rest || *text < '0' || *text > '9' || value < row->least ||
        value > row->most)
        return refuse((int)row->option, text, "%llu to %llu",
                      (unsigned long long)row->least,
                      (unsigned long long)row->most);
    value <<= row->shift;
    memcpy((char *)settings + row->offset, &value, sizeof(value));
    return true;
}

bool profile_read(struct view name, enum profile *profile)
{
    for (int i = 0; i < PROFILES; i++)
        if (view_is(name, profile_names[i])) {
            *profile = (enum profile)i;
            return true;
        }
    return false;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool read_packages(struct settings *settings, const char *text)
{
    settings->packages = strcmp(text, "off") == 0 ? NULL : text;
    return !settings->packages || strcmp(text, "index") == 0 ||
           (text[0] == '/' && is_folder(text)) ||
           refuse(OPTION_PACKAGES, text,
                  "off, index, or a folder that is there, from / on");
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

static bool read_network(struct settings *settings, const char *text)
{
    CLEANUP(cleanup_free) struct hosts *hosts = calloc(1, sizeof(*hosts));
    CLEANUP(buf_finish) struct buf list;
    struct err err = { .text = "no memory" };
    buf_init(&list, MAX_HOSTS_BYTES + 1);
    free(settings->hosts);
    settings->hosts = NULL;
    if (strcmp(text, "none") == 0)
        return true;
    if (!hosts || !read_hosts(text, &list, &err) ||
        !hosts_parse(hosts, buf_view(&list), &err))
        return refuse(OPTION_NETWORK, text, "none, or hosts: %s", err.text);
    settings->hosts = view_dup(buf_view(&list));
    return true;
}

static bool read_level(struct settings *settings, const char *text)
{
    static const char *const levels[] = {
        [LEVEL_BOXED] = "boxed",
        [LEVEL_WATCHED] = "watched",
        [LEVEL_FULL] = "full",
    };
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
        if (strcmp(text, levels[i]) == 0) {
            settings->level = (enum level)i;
            return true;
        }
    return false;
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

static bool read_uid_range(struct settings *settings, const char *text)
{
    const char *rest;
    struct uid_range range = { 0, 0 };
    settings->own_uids = strcmp(text, "off") != 0;
    settings->uids = range;
    if (!settings->own_uids)
        return true;
    if (!read_uid(text, &rest, &range.first) || *rest != '-' ||
        !read_uid(rest + 1, &rest, &range.last) || *rest != '\0' ||
        range.last < range.first || range.last - range.first < FEWEST_UIDS - 1)
        return refuse(OPTION_UID_RANGE, text,
                      "off, or FIRST-LAST: at least %d ids of 1 to %d",
                      FEWEST_UIDS, MAX_BOX_UID);
    settings->uids = range;
    return true;
}

static bool read_value(struct settings *settings, int option, char *text)
{
    const struct number *number = find_number(option);
    char *rest;
    switch (option) {
    case OPTION_SOCKET:
        settings->socket_path = text;
        return true;
    case OPTION_GROUP:
        settings->group = text;
        return true;
    case OPTION_USER:
        settings->user = text;
        return true;
    case OPTION_PROFILE:
        return profile_read(view_of(text), &settings->profile) ||
               refuse(option, text, "science or bare");
    case OPTION_PACKAGES:
        return read_packages(settings, text);
    case OPTION_PACKAGES_ALLOW:
        settings->packages_allow = text;
        return !strchr(text, '/') || access(text, R_OK) == 0 ||
               refuse(option, text, "names, or a file that can be read");
    case OPTION_PACKAGES_STORE:
        settings->packages_store = text;
        return text[0] == '/' || refuse(option, text, "a folder, from / on");
    case OPTION_NETWORK:
        return read_network(settings, text);
    case OPTION_UID_RANGE:
        return read_uid_range(settings, text);
    case OPTION_LEVEL:
        return read_level(settings, text) ||
               refuse(option, text, "boxed, watched or full");
    case OPTION_CGROUP:
        settings->cgroups = strcmp(text, "auto") == 0;
        return settings->cgroups || strcmp(text, "off") == 0 ||
               refuse(option, text, "auto or off");
    case OPTION_MODE:
        settings->mode = (unsigned int)strtoul(text, &rest, 8);
        return (*text && *rest == '\0' && settings->mode <= 0777) ||
               refuse(option, text, "octal, 0 to 0777");
    default:
        return number && read_number(settings, number, text);
    }
}

/* Beside our own executable, as in the build tree, or where it is installed. */
static char *find_program(const char *given, const char *name)
{
    static const char *const places[] = { ".", QUERN_LIBEXEC };
    char own[PATH_MAX / 2] = "";
    if (given)
        return strdup(given);
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0)
        return NULL;
    *strrchr(own, '/') = '\0';
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s/%s", own, places[i], name);
        if (access(path, X_OK) == 0)
            return strdup(path);
    }
    fprintf(stderr, "quern-executor: there is no %s beside it\n", name);
    return NULL;
}

/* Without a box nothing would keep code from going past the proxy. */
static bool find_proxy(struct settings *settings, const char *proxy)
{
    if (!settings->hosts)
        return true;
    if (settings->insecure) {
        fputs("quern-executor: --network needs boxes, --insecure has none\n",
              stderr);
        return false;
    }
    settings->proxy_path = find_program(proxy, "quern-proxy");
    return settings->proxy_path;
}

static bool finish_reading(struct settings *settings, const char *box,
                           const char *guest, const char *proxy)
{
    const char *variable = getenv("QUERN_EXECUTOR");
    if (!settings->socket_path)
        settings->socket_path =
            variable && *variable ? variable : "/run/quern/executor.sock";
    settings->box_path = find_program(box, "quern-box");
    settings->guest_path = find_program(guest, "quern-guest");
    return settings->box_path && settings->guest_path &&
           find_proxy(settings, proxy);
}

/* Which packages, must be said where anybody may add some. */
static bool packages_make_sense(const struct settings *settings)
{
    if (!settings->packages)
        return true;
    if (settings->insecure)
        fputs("quern-executor: --packages needs boxes, --insecure has none\n",
              stderr);
    else if (!settings->packages_allow &&
             strcmp(settings->packages, "index") == 0)
        fputs("quern-executor: --packages index needs --packages-allow\n",
              stderr);
    else
        return true;
    return false;
}

static bool bad_usage(int *status)
{
    fputs("See quern-executor --help\n", stderr);
    *status = EX_USAGE;
    return false;
}

bool settings_read(struct settings *settings, int argc, char **argv,
                   int *status)
{
    const char *box = NULL, *guest = NULL, *proxy = NULL;
    int option;
    *settings = (struct settings){
        .mode = 0660,
        .limits = { .memory_bytes = (uint64_t)2 << 30,
                    .disk_bytes = 256 << 20,
                    .processes = 64 },
        .sessions = 256,
        .cell_ms = CELL_MS,
        .tool_ms = TOOL_MS,
        .snapshot_bytes = 512 << 20,
        .packages_bytes = 1 << 30,
        .traffic_bytes = 1 << 30,
        .idle_ms = IDLE_MS,
        .ready = READY,
        .renew_ms = RENEW_MS,
        .renew_forks = RENEW_FORKS,
        .cgroups = true,
        .own_uids = true,
    };
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (option == OPTION_HELP)
            return *status = fputs(usage_text, stdout) < 0, false;
        else if (option == OPTION_VERSION)
            return *status = puts("quern-executor " QUERN_VERSION) < 0, false;
        else if (option == OPTION_CHECK)
            settings->check = true;
        else if (option == OPTION_INSECURE)
            settings->insecure = true;
        else if (option == OPTION_BOX)
            box = optarg;
        else if (option == OPTION_GUEST)
            guest = optarg;
        else if (option == OPTION_PROXY)
            proxy = optarg;
        else if (option == '?' || !read_value(settings, option, optarg))
            return bad_usage(status);
    if (optind < argc) {
        fprintf(stderr, "quern-executor: %s: takes flags only\n", argv[optind]);
        return bad_usage(status);
    }
    /* Without a box the kernel counts all that our user runs. */
    if (settings->insecure)
        settings->limits.processes = UINT32_MAX;
    if (!packages_make_sense(settings))
        return bad_usage(status);
    if (!settings->packages_allow)
        settings->packages_allow = "*"; /* a folder is a list itself */
    *status = EX_UNAVAILABLE;
    return finish_reading(settings, box, guest, proxy);
}

void settings_finish(struct settings *settings)
{
    free(settings->box_path);
    free(settings->guest_path);
    free(settings->proxy_path);
    free(settings->hosts);
}
