/* isolation.c - which walls this machine can put around a session, in words.
 *
 * Every result and every consumer gets these words, so they must not claim a
 * wall that is not there. */
#include "executor/warden/isolation.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
             "%suser pid mount net ipc uts%s, %s, seccomp, rlimits; %s; %s; "
             "%s; %s",
             settings->outer == OUTER_GVISOR ? "within gvisor: " : "",
             walls->host & BOX_HOST_CGROUPS ? "" : " cgroup", landlock,
             users_count(walls->users) > 0 ? "a user id for each box"
                                           : "one user id for all boxes",
             host_parts[walls->host & (BOX_HOST_FILES | BOX_HOST_DEVICES)],
             limits, network);
}

void isolation_count(const struct executor_settings *settings,
                     const struct walls *walls)
{
    bool boxed = !settings->insecure;
    bool memory = isolation_has(walls, CONTROLLER_MEMORY);
    const struct {
        const char *name;
        bool up;
    } rows[] = {
        { "box", boxed },
        { "seccomp", seccomp_available() },
        { "landlock", walls->landlock > 0 },
        { "watchdog", boxed && (memory || walls->proc) },
        { "memory", boxed && memory },
        { "processes", boxed && isolation_has(walls, CONTROLLER_PIDS) },
        { "cpu", boxed && isolation_has(walls, CONTROLLER_CPU) },
        { "own_users", boxed && users_count(walls->users) > 0 },
        { "own_files", boxed && !(walls->host & BOX_HOST_FILES) },
        { "own_devices", boxed && !(walls->host & BOX_HOST_DEVICES) },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        metric_set(NUMBER_WALLS, rows[i].up, LABELS(view_of(rows[i].name)));
}

/* The first pid namespace of a kernel: only a container is in another one. */
static bool is_container(void)
{
    char name[32] = "";
    return readlink("/proc/self/ns/pid", name, sizeof(name) - 1) > 0 &&
           strcmp(name, "pid:[4026531836]") != 0;
}

/* How to get a wall: what to do on a host, and what to give a container (NULL:
 * the same). */
struct remedy {
    const char *host, *container;
};

static const struct remedy seccomp_remedy = {
    "use a kernel built with CONFIG_SECCOMP_FILTER",
    "a kernel built with CONFIG_SECCOMP_FILTER, and let seccomp() through",
};
static const struct remedy landlock_remedy = {
    "add landlock to the kernel's lsm= (cat /sys/kernel/security/lsm lists "
    "them), Linux 5.13 or later",
    "a host with Linux 5.13 or later and landlock in its lsm=, and a seccomp "
    "profile that lets landlock_create_ruleset through "
    "(deploy/container/seccomp.json)",
};
static const struct remedy proc_remedy = {
    "run it where nothing masks parts of /proc",
    "show the container all of /proc: Docker, Podman: --security-opt "
    "systempaths=unconfined; Kubernetes: procMount: Unmasked with "
    "hostUsers: false",
};
static const struct remedy cgroup_remedy = {
    "start it by its systemd unit (Delegate=yes), by systemd-run --scope -p "
    "Delegate=yes, or as root",
    "let the container write its own cgroup (version 2): Docker 28: "
    "--security-opt writable-cgroups=true; Podman: --security-opt "
    "unmask=/sys/fs/cgroup; containerd: cgroup_writable",
};
static const struct remedy linux_remedy = {
    .host = "run it on Linux itself, without --outer"
};
static const struct remedy processes_remedy = {
    .host = "limit those of the container: --pids-limit, or podPidsLimit"
};
static const struct remedy files_remedy = {
    .host = "use Linux 5.11 or later with overlayfs, and mount nothing within "
            "/usr"
};
static const struct remedy devices_remedy = {
    "start it as root, or by its systemd unit",
    "one executor a container, or capabilities that no container should have: "
    "root with SETUID, SETGID, SYS_ADMIN, SYS_PTRACE and MKNOD",
};
static const struct remedy users_remedy = {
    "start it as root, or by its systemd unit, or give its user a range in "
    "/etc/subuid and /etc/subgid and install newuidmap (package uidmap)",
    "one executor a container, or capabilities that no container should have: "
    "root with SETUID, SETGID, SYS_ADMIN and SYS_PTRACE",
};
static const struct remedy box_remedy = { .host =
                                              "start it without --insecure" };

struct lack_list {
    struct lack *lacks;
    size_t count;
    bool container;
};

__attribute__((format(printf, 4, 5))) static void lack(struct lack_list *list,
                                                       enum box_level level,
                                                       struct remedy remedy,
                                                       const char *format, ...)
{
    struct lack *next = &list->lacks[list->count++];
    va_list args;
    va_start(args, format);
    vsnprintf(next->what, sizeof(next->what), format, args);
    va_end(args);
    next->remedy =
        list->container && remedy.container ? remedy.container : remedy.host;
    next->level = level;
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
        lack(list, full ? LEVELS : LEVEL_FULL,
             settings->outer ? linux_remedy : cgroup_remedy,
             "not limited by a cgroup: %s (%s)", names,
             settings->outer ? "gVisor's count, but do not limit"
                             : cgroups_missing(walls->cgroups));
}

static void look_at_host_parts(unsigned int host, struct lack_list *list)
{
    if (host & BOX_HOST_CGROUPS)
        lack(list, LEVELS, linux_remedy,
             "boxes have no cgroup namespace: code sees the names of cgroups");
    if (host & BOX_HOST_FILES)
        lack(list, LEVELS, files_remedy,
             "code in a box can lock the system's files for the host and other "
             "boxes");
    if (host & BOX_HOST_DEVICES)
        lack(list, LEVELS, devices_remedy,
             "code in a box can lock /dev/null, full, random and urandom for "
             "the host and other boxes");
}

size_t isolation_lacks(const struct executor_settings *settings,
                       const struct walls *walls, struct lack lacks[MAX_LACKS])
{
    struct lack_list list = { lacks, 0, is_container() };
    if (!seccomp_available())
        lack(&list, LEVEL_BOXED, seccomp_remedy,
             "this kernel has no seccomp filters");
    if (walls->landlock == 0)
        lack(&list, settings->outer ? LEVELS : LEVEL_WATCHED,
             settings->outer ? linux_remedy : landlock_remedy,
             "this kernel has no Landlock");
    if (settings->insecure) {
        lack(&list, LEVEL_WATCHED, box_remedy, "code runs without a box");
        return list.count;
    }
    if (!isolation_has(walls, CONTROLLER_MEMORY) && !walls->proc)
        lack(&list, LEVEL_WATCHED, proc_remedy,
             "boxes have no /proc: their memory cannot be watched");
    look_at_cgroups(settings, walls, &list);
    if (settings->outer == OUTER_GVISOR)
        lack(&list, LEVELS, processes_remedy,
             "within gVisor the processes of a box are not limited, it can end "
             "itself, and it may lose its variables between cells");
    look_at_host_parts(walls->host, &list);
    if (users_count(walls->users) == 0)
        lack(&list, LEVELS, users_remedy, "one user id for all boxes (%s)",
             users_lack(walls->users));
    return list.count;
}

const char *isolation_level(const struct executor_settings *settings,
                            const struct lack *lacks, size_t count)
{
    enum box_level above = LEVELS;
    for (size_t i = 0; i < count; i++)
        if (lacks[i].level < above)
            above = lacks[i].level;
    return settings->insecure || above == LEVEL_BOXED ? "none"
                                                      : level_names[above - 1];
}
