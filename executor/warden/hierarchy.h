/* hierarchy.h - which cgroups of the machine this process is in.
 *
 * Version 2 has one hierarchy for all controllers, version 1 has several; a
 * machine may have both ("hybrid"). */
#ifndef EXECUTOR_WARDEN_HIERARCHY_H
#define EXECUTOR_WARDEN_HIERARCHY_H

#include <limits.h>
#include <stddef.h>
#include <stdio.h>

enum controller {
    CONTROLLER_MEMORY,
    CONTROLLER_PIDS,
    CONTROLLER_CPU,
    CONTROLLERS,
};
extern const char *const controller_names[CONTROLLERS];

enum { MAX_HIERARCHIES = CONTROLLERS + 1 };

struct hierarchy {
    int version;              /* 1 or 2 */
    unsigned int controllers; /* bits of enum controller; with version 2 none:
                                 cgroup.controllers in its folder tells */
    char folder[PATH_MAX];    /* the cgroup that we are in */
};

/* Bits of the controllers that text names; between: what separates words. */
unsigned int controllers_read(const char *text, const char *between);

/* cgroup, mountinfo: as in /proc/self. Gives how many there are; a hierarchy
 * whose mount does not show our cgroup is left out. */
size_t hierarchies_find(FILE *cgroup, FILE *mountinfo,
                        struct hierarchy found[MAX_HIERARCHIES]);

#endif
