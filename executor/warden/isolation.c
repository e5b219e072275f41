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

void isolation_describe(const struct settings *settings, bool proc,
                        char text[ISOLATION_BYTES])
{
    int abi = landlock_abi();
    char landlock[24] = "no landlock", network[100];
    describe_network(settings, network, sizeof(network));
    if (abi > 0)
        snprintf(landlock, sizeof(landlock), "landlock %d", abi);
    if (settings->insecure) {
        snprintf(text, ISOLATION_BYTES,
                 "insecure: no box; %s, seccomp, rlimits of each process; %s",
                 landlock, network);
        return;
    }
    snprintf(text, ISOLATION_BYTES,
             "user pid mount net ipc uts cgroup, %s, seccomp, rlimits; "
             "memory %llu MiB by %s; %s",
             landlock, (unsigned long long)settings->limits.memory_bytes >> 20,
             proc ? "watchdog" : "rlimit of each process", network);
}

bool isolation_suffices(const struct settings *settings, bool proc,
                        struct err *err)
{
    if (!seccomp_available())
        return err_set(err, ERR_REJECT, "bad_setting",
                       "this kernel has no seccomp filters");
    if (settings->level == LEVEL_FULL && landlock_abi() == 0)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--level full: this kernel has no Landlock (boot it "
                       "with lsm=landlock,...)");
    if (settings->level == LEVEL_FULL && !proc)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--level full: boxes have no /proc, as parts of our "
                       "own are masked; memory cannot be watched");
    return true;
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
