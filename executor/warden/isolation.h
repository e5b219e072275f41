/* isolation.h - which walls this machine can put around a session. */
#ifndef EXECUTOR_WARDEN_ISOLATION_H
#define EXECUTOR_WARDEN_ISOLATION_H

#include "executor/warden/cgroup.h"
#include "executor/warden/settings.h"
#include "executor/warden/users.h"
#include "schemas/message/limits.h"

enum { ISOLATION_BYTES = 448 };

/* What was found when the first box was made. Borrows the last two. */
struct walls {
    int landlock;      /* its ABI; 0: none */
    bool proc;         /* boxes have a /proc, where the watchdog looks */
    unsigned int host; /* enum box_host_part: what of boxes is the host's own */
    const struct cgroups *cgroups; /* NULL: none */
    const struct users *users;
};

/* What every result says: "user pid ... cgroup, landlock 7, seccomp, rlimits;
 * a user id for each box; files and devices of its own; memory 2048 MiB, 64
 * processes, cpu by cgroup v2; no network". */
void isolation_describe(const struct executor_settings *settings,
                        const struct walls *walls, char text[ISOLATION_BYTES]);

/* The same as numbers. */
void isolation_count(const struct executor_settings *settings,
                     const struct walls *walls);

/* A wall that is missing or weaker than it could be, and how to get it. */
struct lack {
    char what[MAX_NAME_BYTES + 1]; /* a key of the welcome frame */
    const char *remedy;
    enum box_level level; /* is not reached without it; LEVELS: all are */
};
enum { MAX_LACKS = 8 };
size_t isolation_lacks(const struct executor_settings *settings,
                       const struct walls *walls, struct lack lacks[MAX_LACKS]);

/* The name of the level that is reached; "none": code runs without a box. */
const char *isolation_level(const struct executor_settings *settings,
                            const struct lack *lacks, size_t count);

/* -------- refusal.c */

/* To stderr: why code cannot be boxed here, and what to do about it. Each
 * remedy is a line that begins with four blanks: quern doctor reads them. */
void isolation_explain(const struct err *why);

#endif
