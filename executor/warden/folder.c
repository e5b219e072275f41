/* folder.c - a folder on the host: a session's files when there is no box, and
 * packages. */
#include "executor/warden/folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/base/log.h"

enum {
    OPEN_FOLDERS = 16, /* descriptors that nftw() may use */
    MAX_ROUNDS = 64,   /* each opens folders that the one before found closed */
};

char *folder_make(int *fd)
{
    const char *parent = getenv("TMPDIR");
    char *path = NULL;
    if (asprintf(&path, "%s/quern-XXXXXX", parent ? parent : "/tmp") < 0)
        return NULL;
    if (mkdtemp(path)) {
        *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (*fd >= 0)
            return path;
    }
    free(path);
    return NULL;
}

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *place)
{
    (void)status;
    (void)place;
    if (type == FTW_DNR) /* a cell may have closed it; the next round looks */
        (void)!fchmodat(AT_FDCWD, path, S_IRWXU, AT_SYMLINK_NOFOLLOW);
    remove(path);
    return 0;
}

void folder_remove(char *path)
{
    if (!path)
        return;
    for (int i = 0; i < MAX_ROUNDS && access(path, F_OK) == 0; i++)
        nftw(path, remove_entry, OPEN_FOLDERS,
             FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    if (access(path, F_OK) == 0)
        log_line("folder.left", path, "it could not be removed");
    free(path);
}
