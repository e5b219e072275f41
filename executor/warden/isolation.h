/* isolation.h - which walls this machine can put around a session. */
#ifndef EXECUTOR_WARDEN_ISOLATION_H
#define EXECUTOR_WARDEN_ISOLATION_H

#include "executor/warden/settings.h"

enum { ISOLATION_BYTES = 160 };

/* What every result says: "user pid ... cgroup, landlock 7, seccomp, rlimits;
 * memory by watchdog". */
void isolation_describe(const struct settings *settings,
                        char text[ISOLATION_BYTES]);

/* Below the level that the operator demands; err says what is missing. */
bool isolation_suffices(const struct settings *settings, struct err *err);

/* To stderr: why boxes cannot be made here, and what to do about it. */
void isolation_explain(const char *why);

#endif
