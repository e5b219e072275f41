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

/* A wall that could be more, and how to get it. */
struct lack {
    char what[320];
    const char *remedy;
    bool demanded; /* nobody is served without it */
};
enum { MAX_LACKS = 4 };
size_t isolation_lacks(const struct settings *settings,
                       const struct walls *walls, struct lack lacks[MAX_LACKS]);

/* To stderr: why code cannot be boxed here, and what to do about it. Each
 * remedy is a line that begins with four blanks: quern doctor reads them. */
void isolation_explain(const struct err *why);

#endif
