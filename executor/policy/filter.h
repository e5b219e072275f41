/* filter.h - the compiled list of system calls, for seccomp(2). */
#ifndef EXECUTOR_POLICY_FILTER_H
#define EXECUTOR_POLICY_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

extern struct sock_filter policy_filter[]; /* as struct sock_fprog wants it */
extern const size_t policy_filter_count;

#endif
