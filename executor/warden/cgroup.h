/* cgroup.h - what the kernel limits for a whole box: memory, with what waits in
 * sockets and pipes, processes, and its share of the processors.
 *
 *   OUR CGROUP                   where we were started
 *     quern                      of all executors there
 *       4711                     of this one; locked while it lives
 *         warden                 version 2: we and the zygote
 *         1  2  3 ...            a box each
 *
 * What a killed executor has left is removed by the next one. A box enters by
 * itself, by writing to the descriptors that it is given, before it runs
 * anything that is not ours. The kernel may take ten milliseconds for that: so
 * the warden does not do it. */
#ifndef EXECUTOR_WARDEN_CGROUP_H
#define EXECUTOR_WARDEN_CGROUP_H

#include <sys/types.h>

#include "executor/box/enter.h"
#include "executor/warden/hierarchy.h"

struct cgroups;
struct cgroup;

/* Takes what it can get; while we are still root, for the user that we are
 * about to become. Never NULL: where there is nothing, cgroups_missing() says
 * why, and boxes are limited by other means. */
struct cgroups *cgroups_new(uid_t uid, gid_t gid);
/* Removes those of boxes. Accepts NULL, as the next three do. */
void cgroups_free(struct cgroups *cgroups);
/* Bits of enum controller. */
unsigned int cgroups_controllers(const struct cgroups *cgroups);
int cgroups_version(const struct cgroups *cgroups); /* 0, 1 or 2 */
/* Why there is not more; "": there is everything. */
const char *cgroups_missing(const struct cgroups *cgroups);

/* For one box, with these limits. NULL: err says why, or its kind is ERR_NONE,
 * where there are no cgroups. */
struct cgroup *cgroup_new(struct cgroups *cgroups,
                          const struct session_limits *limits, struct err *err);
/* Everything in it has ended, or is about to: it is removed when it can be.
 * Accepts NULL. */
void cgroup_free(struct cgroup *cgroup);
/* Lowers its limits; memory with swap. Accepts NULL. */
bool cgroup_limit(struct cgroup *cgroup, const struct session_limits *limits,
                  struct err *err);
/* The descriptors by which one enters, which the caller closes: of /dev/null
 * where there is nothing to enter. False: no descriptors are left. */
bool cgroup_doors(const struct cgroup *cgroup, int doors[CGROUP_DOORS]);

/* Its memory is limited; if not (or NULL), nothing below may be called. */
bool cgroup_has_memory(const struct cgroup *cgroup);
/* A cell begins. */
void cgroup_begin(struct cgroup *cgroup);
/* How many processes were killed in this cell, as there was no memory left. */
uint64_t cgroup_kills(const struct cgroup *cgroup);
/* The most in this cell; before Linux 6.12 with version 2: in this session. */
uint64_t cgroup_peak_bytes(const struct cgroup *cgroup);

#endif
