/* cgroup_folder.h - the executor's folder in one hierarchy of cgroups. The
 * folder is locked: so a later executor knows which folders have no owner any
 * more, and removes them. */
#ifndef EXECUTOR_WARDEN_CGROUP_FOLDER_H
#define EXECUTOR_WARDEN_CGROUP_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "executor/warden/hierarchy.h"
#include "schemas/message/err.h"

struct cgroup_folder {
    int version;              /* of cgroups, 1 or 2 */
    unsigned int controllers; /* of its cgroups: bits of enum controller */
    int folder;               /* descriptor, locked while this executor lives */
    char name[24];            /* of the folder: our pid */
};

/* Makes the folder, gives it to that user, and removes those of executors that
 * are gone. With version 2 this process moves into a cgroup in it, as only
 * leaves may have processes. False without an error: the hierarchy has no
 * controller that we look for. */
bool cgroup_folder_take(struct cgroup_folder *place,
                        const struct hierarchy *hierarchy, uid_t uid, gid_t gid,
                        struct err *err);
/* Removes what boxes have left in it, and the folder, if our user may. */
void cgroup_folder_finish(struct cgroup_folder *place);

/* Files of a cgroup, read and written whole. name: a path beneath folder. Of a
 * file that is longer than size only whole lines are read: half a number would
 * be another number. text ends in NUL. */
bool cgroup_folder_write(int folder, const char *name, const char *text);
bool cgroup_folder_read(int folder, const char *name, char *text, size_t size);

#endif
