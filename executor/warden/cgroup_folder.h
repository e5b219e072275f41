/* cgroup_folder.h - a folder of our own in one hierarchy of cgroups. */
#ifndef EXECUTOR_WARDEN_CGROUP_FOLDER_H
#define EXECUTOR_WARDEN_CGROUP_FOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "executor/warden/hierarchy.h"
#include "schemas/message/err.h"

struct cgroup_folder {
    int version;
    unsigned int controllers; /* that its cgroups have */
    int folder;               /* locked: it is not left over */
    char name[24];            /* of it */
};

/* Makes the folder, gives it to that user, and removes those of executors that
 * are gone. Of version 2 we move into a cgroup in it, as only leaves may have
 * processes. False, and no error: there is nothing that we look for. */
bool cgroup_folder_take(struct cgroup_folder *place,
                        const struct hierarchy *hierarchy, uid_t uid, gid_t gid,
                        struct err *err);
/* What boxes have left in it is removed, and it, if that is still ours to do.
 */
void cgroup_folder_finish(struct cgroup_folder *place);

/* Files of a cgroup that are read and written whole. name: beneath folder. Of
 * one that is longer than size, whole lines: half a number is another one. */
bool cgroup_folder_write(int folder, const char *name, const char *text);
bool cgroup_folder_read(int folder, const char *name, char *text, size_t size);

#endif
