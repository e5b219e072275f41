/* isolation.h - which walls this machine can put around a session. */
#ifndef EXECUTOR_WARDEN_ISOLATION_H
#define EXECUTOR_WARDEN_ISOLATION_H

#include "executor/warden/cgroup.h"
#include "executor/warden/settings.h"

enum { ISOLATION_BYTES = 320 };

/* What was found. */
struct walls {
    int landlock; /* its ABI; 0: none */
    bool proc;    /* boxes have a /proc, where the watchdog looks */
    const struct cgroups *cgroups; /* NULL: none */
};

/* What every result says: "user pid ... cgroup, landlock 7, seccomp, rlimits;
 * memory 2048 MiB, 64 processes, cpu by cgroup v2; no network". */
void isolation_describe(const struct settings *settings,
                        const struct walls *walls, char text[ISOLATION_BYTES]);

/* The walls are at least what the operator demands; err: what is missing. */
bool isolation_suffices(const struct settings *settings,
                        const struct walls *walls, struct err *err);

/* To stdout: what could be more, and how to get it. */
void isolation_advise(const struct settings *settings,
                      const struct walls *walls);

/* To stderr: why boxes cannot be made here, and what to do about it. */
void isolation_explain(const char *why);

#endif
