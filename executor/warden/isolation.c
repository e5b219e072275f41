/* isolation.c - which walls this machine can put around a session. */
#include "executor/warden/isolation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "executor/box/walls.h"
#include "executor/proxy/hosts.h"
#include "executor/warden/loop.h"

/* "no network", or "network by proxy: pypi.org, .wikipedia.org". */
static void describe_network(const struct settings *settings, char *text,
                             size_t size)
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

static bool has(const struct walls *walls, enum controller controller)
{
    return cgroups_controllers(walls->cgroups) & 1U << controller;
}

/* "memory 2048 MiB, 64 processes, cpu by cgroup v2", as far as it goes. */
static void describe_limits(const struct settings *settings,
                            const struct walls *walls, char *text, size_t size)
{
    const struct session_limits *limits = &settings->limits;
    char processes[40] = "";
    if (has(walls, CONTROLLER_PIDS))
        snprintf(processes, sizeof(processes), ", %llu processes",
                 (unsigned long long)limits->processes);
    if (has(walls, CONTROLLER_MEMORY))
        snprintf(text, size, "memory %llu MiB%s%s by cgroup v%d",
                 (unsigned long long)limits->memory_bytes >> 20, processes,
                 has(walls, CONTROLLER_CPU) ? ", cpu" : "",
                 cgroups_version(walls->cgroups));
    else
        snprintf(text, size, "memory %llu MiB by %s",
                 (unsigned long long)limits->memory_bytes >> 20,
                 walls->proc ? "watchdog" : "rlimit of each process");
}

void isolation_describe(const struct settings *settings,
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
             "user pid mount net ipc uts cgroup, %s, seccomp, rlimits; %s; %s",
             landlock, limits, network);
}

static const char landlock_remedy[] =
    "this kernel has no Landlock (boot it with lsm=landlock,...)";
static const char proc_remedy[] =
    "boxes have no /proc, as parts of our own are masked; their memory cannot "
    "be watched";
static const char cgroup_remedy[] =
    "start it by its systemd unit (Delegate=yes), by systemd-run --scope -p "
    "Delegate=yes, or as root";

bool isolation_suffices(const struct settings *settings,
                        const struct walls *walls, struct err *err)
{
    bool memory = has(walls, CONTROLLER_MEMORY);
    if (!seccomp_available())
        return err_set(err, ERR_REJECT, "bad_setting",
                       "this kernel has no seccomp filters");
    if (settings->level >= LEVEL_WATCHED && walls->landlock == 0)
        return err_set(err, ERR_REJECT, "bad_setting", "--level: %s",
                       landlock_remedy);
    if (settings->level >= LEVEL_WATCHED && !memory && !walls->proc)
        return err_set(err, ERR_REJECT, "bad_setting", "--level: %s",
                       proc_remedy);
    if (settings->level >= LEVEL_FULL &&
        !(memory && has(walls, CONTROLLER_PIDS)))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--level full: no cgroups limit boxes: %s; %s",
                       cgroups_missing(walls->cgroups), cgroup_remedy);
    return true;
}

void isolation_advise(const struct settings *settings,
                      const struct walls *walls)
{
    bool memory = has(walls, CONTROLLER_MEMORY);
    if (settings->insecure)
        return;
    if (walls->landlock == 0)
        printf("  %s\n", landlock_remedy);
    if (!memory && !walls->proc)
        printf("  %s\n", proc_remedy);
    for (unsigned int i = 0; i < CONTROLLERS; i++)
        if (!has(walls, i))
            printf("  %s is not limited by a cgroup: %s; %s\n",
                   controller_names[i], cgroups_missing(walls->cgroups),
                   cgroup_remedy);
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
      "an AppArmor profile that allows userns to quern-box, or "
      "sysctl kernel.apparmor_restrict_unprivileged_userns=0" },
    { "/proc/sys/user/max_user_namespaces", 0,
      "sysctl user.max_user_namespaces=10000" },
};

static bool read_number(const char *path, long *number)
{
    FILE *file = fopen(path, "re");
    char text[32] = "";
    bool got = file && fgets(text, sizeof(text), file);
    if (file)
        fclose(file);
    *number = strtol(text, NULL, 10);
    return got;
}

void isolation_explain(const char *why)
{
    long number;
    bool found = false;
    fprintf(stderr, "quern-executor: code cannot be boxed here: %s\n", why);
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (read_number(switches[i].path, &number) &&
            number == switches[i].bad) {
            fprintf(stderr, "  %s is %ld: %s\n", switches[i].path, number,
                    switches[i].remedy);
            found = true;
        }
    if (!found)
        fprintf(stderr,
                "  In a container, allow it clone and unshare of user "
                "namespaces, mount and pivot_root (seccomp profile), and a "
                "/proc without masks.\n");
    fprintf(stderr, "  To try quern with code that you trust: --insecure.\n");
}
