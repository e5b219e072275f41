/* filter.h - the compiled lists of system calls, for seccomp(2). compile.c
 * makes them at build time, so that no process in a box has to parse a list. */
#ifndef EXECUTOR_POLICY_FILTER_H
#define EXECUTOR_POLICY_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

struct policy_filter {
    struct sock_filter *steps; /* as struct sock_fprog wants it */
    size_t count;
};

extern const struct policy_filter policy_offline; /* in a box */
extern const struct policy_filter policy_online;  /* ... that has a proxy */
extern const struct policy_filter policy_proxy;   /* quern-proxy itself */

#endif
