/* folder.c - where a session's files are when there is no box. */
#include "executor/warden/folder.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPEN_FOLDERS = 16 };

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
    (void)type;
    (void)place;
    remove(path);
    return 0;
}

void folder_remove(char *path)
{
    if (!path)
        return;
    nftw(path, remove_entry, OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    free(path);
}
