/* refusal.c - why code cannot be boxed here, and what to do about it.
 *
 * The kernel says only EPERM. Who refuses a step is found by what it left: a
 * switch of the kernel, a filter around us, the error's number. */
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "executor/box/walls.h"
#include "executor/warden/isolation.h"

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

static bool refusal_read_number(const char *path, long *number)
{
    FILE *file = fopen(path, "re");
    char text[32] = "";
    bool got = file && fgets(text, sizeof(text), file);
    if (file)
        fclose(file);
    *number = strtol(text, NULL, 10);
    return got;
}

/* By whom a step in making a box was refused, when no setting of the kernel
 * forbids boxes. Container engines put a filter of system calls around us,
 * which answers EPERM or ENOSYS; AppArmor and SELinux answer EACCES. */
static bool is_filtered(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[128];
    bool filtered = false;
    while (file && fgets(line, sizeof(line), file))
        filtered |= strcmp(line, "Seccomp:\t2\n") == 0;
    if (file)
        fclose(file);
    return filtered;
}

/* In a child, which ends with it. */
static bool can_unshare(int flags)
{
    int status = -1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(unshare(flags) == 0 ? 0 : 1);
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static const char *explain_refusal(const char *step)
{
    if (strstr(step, strerror(EACCES)))
        return "AppArmor or SELinux refuses it: allow userns, mount, umount "
               "and pivot_root in the container's profile (Docker, Podman: "
               "--security-opt apparmor=PROFILE, or label=disable; Kubernetes: "
               "appArmorProfile)";
    if (can_unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) &&
        !can_unshare(CLONE_NEWUSER | CLONE_NEWCGROUP))
        return "no cgroup namespace can be made here: within gVisor start it "
               "with --outer gvisor";
    if (is_filtered())
        return "a seccomp filter around it refuses it: give the container the "
               "profile deploy/container/seccomp.json (Docker, Podman: "
               "--security-opt seccomp=seccomp.json; Kubernetes: "
               "seccompProfile, type Localhost)";
    return "in a container, allow it clone and unshare of user namespaces, "
           "mount and pivot_root";
}

static void explain_no_box(const char *step)
{
    long number;
    bool found = false;
    for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++)
        if (refusal_read_number(switches[i].path, &number) &&
            number == switches[i].bad) {
            fprintf(stderr, "    %s is %ld: %s\n", switches[i].path, number,
                    switches[i].remedy);
            found = true;
        }
    if (!seccomp_available()) {
        fprintf(
            stderr,
            "    this kernel has no seccomp filters: use a kernel built with "
            "CONFIG_SECCOMP_FILTER; in a container, let seccomp() "
            "through\n");
        found = true;
    }
    if (!found)
        fprintf(stderr, "    %s\n", explain_refusal(step));
    fprintf(stderr, "    to try quern with code that you trust: --insecure\n");
}

void isolation_explain(const struct err *why)
{
    bool boxed = strcmp(why->code, "no_interpreter") == 0;
    fprintf(stderr, "quern-executor: %s: %s\n",
            boxed ? "no session can begin here" : "code cannot be boxed here",
            why->text);
    if (strcmp(why->code, "session_failed") == 0)
        explain_no_box(why->text);
}
