/* hierarchy.h - where this process stands among the cgroups of the machine.
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
    unsigned int controllers; /* bits; of version 2 its folder tells */
    char folder[PATH_MAX];    /* the cgroup that we are in */
};

/* Of the words in text, which are separated by characters of between. */
unsigned int controllers_read(const char *text, const char *between);

/* cgroup, mountinfo: as in /proc/self. Gives how many there are; a hierarchy
 * whose mount does not show our cgroup is left out. */
size_t hierarchies_find(FILE *cgroup, FILE *mountinfo,
                        struct hierarchy found[MAX_HIERARCHIES]);

#endif
