/* isolation.h - which walls this machine can put around a session. */
#ifndef EXECUTOR_WARDEN_ISOLATION_H
#define EXECUTOR_WARDEN_ISOLATION_H

#include "executor/warden/settings.h"

enum { ISOLATION_BYTES = 256 };

/* What every result says: "user pid ... cgroup, landlock 7, seccomp, rlimits;
 * memory 2048 MiB by watchdog; no network". proc: boxes have a /proc, where the
 * watchdog looks; else memory is limited for each process only. */
void isolation_describe(const struct settings *settings, bool proc,
                        char text[ISOLATION_BYTES]);

/* The walls are at least what the operator demands; err: what is missing. */
bool isolation_suffices(const struct settings *settings, bool proc,
                        struct err *err);

/* To stderr: why boxes cannot be made here, and what to do about it. */
void isolation_explain(const char *why);

#endif
