/* isolation.c - which walls this machine can put around a session, in words.
 *
 * Every result and every consumer gets these words, so they must not claim a
 * wall that is not there. */
#include "executor/warden/isolation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/base/loop.h"
#include "executor/box/box.h"
#include "executor/box/walls.h"
#include "executor/proxy/hosts.h"
#include "executor/warden/numbers.h"

/* "no network", or "network by proxy: pypi.org, .wikipedia.org". */
static void describe_network(const struct executor_settings *settings,
                             char *text, size_t size)
{
    static const char by_proxy[] = "network by proxy: ";
    CLEANUP(cleanup_free) struct hosts *hosts = allocate(sizeof(*hosts));
    snprintf(text, size, "no network");
    if (!settings->hosts ||
        !hosts_parse(hosts, view_of(settings->hosts), &(struct err){ 0 }))
        return;
    snprintf(text, size, by_proxy);
    hosts_describe(hosts, text + strlen(by_proxy), size - strlen(by_proxy));
}

static bool isolation_has(const struct walls *walls, enum controller controller)
{
    return cgroups_controllers(walls->cgroups) & 1U << controller;
}

/* "memory 2048 MiB, 64 processes, cpu by cgroup v2", as far as it goes. */
static void describe_limits(const struct executor_settings *settings,
                            const struct walls *walls, char *text, size_t size)
{
    const struct session_limits *limits = &settings->limits;
    char processes[40] = "";
    if (isolation_has(walls, CONTROLLER_PIDS))
        snprintf(processes, sizeof(processes), ", %llu processes",
                 (unsigned long long)limits->processes);
    if (isolation_has(walls, CONTROLLER_MEMORY))
        snprintf(text, size, "memory %llu MiB%s%s by cgroup v%d",
                 (unsigned long long)limits->memory_bytes >> 20, processes,
                 isolation_has(walls, CONTROLLER_CPU) ? ", cpu" : "",
                 cgroups_version(walls->cgroups));
    else
        snprintf(text, size, "memory %llu MiB by %s",
                 (unsigned long long)limits->memory_bytes >> 20,
                 walls->proc ? "watchdog" : "rlimit of each process");
}

/* By enum box_host_part. */
static const char *const host_parts[] = {
    [0] = "files and devices of its own",
    [BOX_HOST_FILES] = "the host's files, devices of its own",
    [BOX_HOST_DEVICES] = "files of its own, the host's devices",
    [BOX_HOST_FILES | BOX_HOST_DEVICES] = "the host's files and devices",
};

void isolation_describe(const struct executor_settings *settings,
                        const struct walls *walls, char text[ISOLATION_BYTES])
{
    char landlock[24] = "no landlock", limits[80], network[100];
    describe_network(settings, network, sizeof(network));
    if (walls->landlock > 0)
        snprintf(landlock, sizeof(landlock), "landlock %d", walls->landlock);
    if (settings->insecure) {
        snprintf(text, ISOLATION_BYTES,
                 "insecure: no box; %s, seccomp, rlimits of each process; %s",
                 landlock, network);
        return;
    }
    describe_limits(settings, walls, limits, sizeof(limits));
    snprintf(text, ISOLATION_BYTES,
             "user pid mount net ipc uts cgroup, %s, seccomp, rlimits; %s; "
             "%s; %s; %s",
             landlock,
             users_count(walls->users) > 0 ? "a user id for each box"
                                           : "one user id for all boxes",
             host_parts[walls->host & (BOX_HOST_FILES | BOX_HOST_DEVICES)],
             limits, network);
}

void isolation_count(const struct executor_settings *settings,
                     const struct walls *walls)
{
    bool boxed = !settings->insecure;
    const struct {
        const char *name;
        bool up;
    } rows[] = {
        { "box", boxed },
        { "seccomp", seccomp_available() },
        { "landlock", walls->landlock > 0 },
        { "watchdog", boxed && walls->proc },
        { "memory", boxed && isolation_has(walls, CONTROLLER_MEMORY) },
        { "processes", boxed && isolation_has(walls, CONTROLLER_PIDS) },
        { "cpu", boxed && isolation_has(walls, CONTROLLER_CPU) },
        { "own_users", boxed && users_count(walls->users) > 0 },
        { "own_files", boxed && !(walls->host & BOX_HOST_FILES) },
        { "own_devices", boxed && !(walls->host & BOX_HOST_DEVICES) },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        metric_set(NUMBER_WALLS, rows[i].up, LABELS(view_of(rows[i].name)));
}

static const char no_seccomp[] = "this kernel has no seccomp filters";
static const char seccomp_remedy[] =
    "use a kernel built with CONFIG_SECCOMP_FILTER; in a container, let "
    "seccomp() "
    "through";

struct lack_list {
    struct lack *lacks;
    size_t count;
};

__attribute__((format(printf, 4, 5))) static void lack(struct lack_list *list,
                                                       bool demanded,
                                                       const char *remedy,
                                                       const char *format, ...)
{
    struct lack *next = &list->lacks[list->count++];
    va_list args;
    va_start(args, format);
    vsnprintf(next->what, sizeof(next->what), format, args);
    va_end(args);
    next->remedy = remedy;
    next->demanded = demanded;
}

/* "not limited by a cgroup: memory, pids (Permission denied)". */
static void look_at_cgroups(const struct executor_settings *settings,
                            const struct walls *walls, struct lack_list *list)
{
    bool full = isolation_has(walls, CONTROLLER_MEMORY) &&
                isolation_has(walls, CONTROLLER_PIDS);
    char names[60] = "";
    size_t len = 0;
    for (unsigned int i = 0; i < CONTROLLERS; i++)
        if (!isolation_has(walls, i))
            len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
                                    len > 0 ? ", " : "", controller_names[i]);
    if (len > 0)
        lack(list, settings->level >= LEVEL_FULL && !full,
             "start it by its systemd unit (Delegate=yes), by systemd-run "
             "--scope -p Delegate=yes, or as root",
             "not limited by a cgroup: %s (%s)", names,
             cgroups_missing(walls->cgroups));
}

size_t isolation_lacks(const struct executor_settings *settings,
                       const struct walls *walls, struct lack lacks[MAX_LACKS])
{
    struct lack_list list = { lacks, 0 };
    bool watched = settings->level >= LEVEL_WATCHED;
    if (!seccomp_available())
        lack(&list, true, seccomp_remedy, "%s", no_seccomp);
    if (walls->landlock == 0)
        lack(&list, watched,
             "add landlock to the kernel's lsm= (cat /sys/kernel/security/lsm "
             "lists them), Linux 5.13 or later",
             "this kernel has no Landlock");
    if (settings->insecure) {
        lack(&list, settings->level > LEVEL_BOXED,
             "start it without --insecure", "code runs without a box");
        return list.count;
    }
    if (!isolation_has(walls, CONTROLLER_MEMORY) && !walls->proc)
        lack(&list, watched,
             "run it where nothing masks parts of /proc (container engines "
             "do: --security-opt systempaths=unconfined)",
             "boxes have no /proc: their memory cannot be watched");
    look_at_cgroups(settings, walls, &list);
    if (walls->host & BOX_HOST_FILES)
        lack(&list, false,
             "use Linux 5.11 or later with overlayfs, and mount nothing within "
             "/usr",
             "code in a box can lock the system's files for the host and other "
             "boxes");
    if (walls->host & BOX_HOST_DEVICES)
        lack(&list, false, "start it as root, or by its systemd unit",
             "code in a box can lock /dev/null, full, random and urandom for "
             "the host and other boxes");
    if (users_count(walls->users) == 0)
        lack(&list, false,
             "start it as root, or by its systemd unit, or give its user a "
             "range in /etc/subuid and /etc/subgid and install newuidmap "
             "(package uidmap)",
             "one user id for all boxes (%s)", users_lack(walls->users));
    return list.count;
}

/* The settings that keep user namespaces from ordinary users. */
static const struct {
    const char *path;
    long bad;
    const char *remedy;
} switches[] = {
    { "/proc/sys/kernel/unprivileged_userns_clone", 0,
      "sysctl kernel.unprivileged_userns_clone=1" },
    { "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1,
      "load the AppArmor profile deploy/apparmor/quern-box, or "
      "sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
    { "/proc/sys/user/max_user_namespaces", 0,
      "sysctl user.max_user_namespaces=10000" },
};

static bool isolation_read_number(const char *path, long *number)
{
    FILE *file = fopen(path, "re");
    char text[32] = "";
    bool got = file && fgets(text, sizeof(text), file);
    if (file)
        fclose(file);
    *number = strtol(text, NULL, 10);
    return got;
}

static void explain_no_box(void)
{
    long number;
    bool found = false;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (isolation_read_number(switches[i].path, &number) &&
            number == switches[i].bad) {
            fprintf(stderr, "    %s is %ld: %s\n", switches[i].path, number,
                    switches[i].remedy);
            found = true;
        }
    if (!seccomp_available()) {
        fprintf(stderr, "    %s: %s\n", no_seccomp, seccomp_remedy);
        found = true;
    }
    if (!found)
        fprintf(stderr,
                "    in a container, allow it clone and unshare of user "
                "namespaces, mount and pivot_root (seccomp profile), and a "
                "/proc without masks\n");
    fprintf(stderr, "    to try quern with code that you trust: --insecure\n");
}

void isolation_explain(const struct err *why)
{
    bool boxed = strcmp(why->code, "no_interpreter") == 0;
    fprintf(stderr, "quern-executor: %s: %s\n",
            boxed ? "no session can begin here" : "code cannot be boxed here",
            why->text);
    if (strcmp(why->code, "session_failed") == 0)
        explain_no_box();
}
