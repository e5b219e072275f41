/* policy.h - parses one line of a list of system calls in executor/policy. */
#ifndef EXECUTOR_POLICY_POLICY_H
#define EXECUTOR_POLICY_POLICY_H

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>

enum { POLICY_CONDITIONS = 6, POLICY_ERROR_BYTES = 160 };

/* Where a line holds: in every box, or in those without, or with, a proxy. */
enum policy_place { POLICY_ANYWHERE, POLICY_OFFLINE, POLICY_ONLINE };

struct policy_rule {
    enum policy_place place;
    int call;            /* negative: not on this architecture */
    unsigned int action; /* SCMP_ACT_ALLOW or SCMP_ACT_ERRNO() */
    unsigned int count;
    struct scmp_arg_cmp conditions[POLICY_CONDITIONS];
    /* "a0 & 0xff != 2": the filter cannot say that, so it stands there as ==,
     * and here is its number, from 1. 0: none. */
    unsigned int differs;
};

enum policy_line { POLICY_RULE, POLICY_NOTHING, POLICY_WRONG };

/* POLICY_NOTHING: empty, or a comment alone. POLICY_WRONG: error says why.
 * The line is changed while it is read. */
enum policy_line policy_parse(char *line, struct policy_rule *rule,
                              char error[POLICY_ERROR_BYTES]);

#endif
