/* files.c - reads and writes files of a session from outside.
 *
 * Without open_beneath() code could put a link at "report.csv" to a file of the
 * host, and the warden would give that away, or write to it. Without O_NONBLOCK
 * a pipe under that name would stop the warden, and with it all sessions. */
#include "executor/warden/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "executor/box/walls.h"
#include "schemas/message/limits.h"

static int open_beneath(int workspace, const char *path, int flags)
{
    struct open_how how = {
        .flags = (unsigned int)(flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK |
                                O_NOCTTY),
        .mode = flags & O_CREAT ? 0644 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
                   RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    if (!wall_wanted("files")) {
        how.flags &= ~(unsigned int)O_NOFOLLOW;
        how.resolve = 0;
    }
    return (int)syscall(SYS_openat2, workspace, path, &how, sizeof(how));
}

static bool files_refuse(struct err *err, const char *path, const char *why)
{
    return err_set(err, ERR_REJECT, "bad_field", "file \"%.80s\": %s", path,
                   why);
}

/* What the kernel says, in words of ours where its own would not help. */
static bool refuse_errno(struct err *err, int workspace, const char *path)
{
    struct statfs space;
    char full[96];
    switch (errno) {
    case ELOOP:
        return files_refuse(err, path,
                            "it is a symbolic link, or lies behind one");
    case EXDEV:
        return files_refuse(err, path, "it lies outside of the workspace");
    case ENXIO:
        return files_refuse(err, path, "it is no regular file");
    case ENOSPC:
        if (fstatfs(workspace, &space) < 0)
            return files_refuse(err, path, "the session's disk is full");
        snprintf(full, sizeof(full),
                 "the session's disk is full, %llu MiB or %llu files: delete "
                 "some",
                 (unsigned long long)space.f_blocks *
                         (unsigned long long)space.f_bsize >>
                     20,
                 (unsigned long long)space.f_files);
        return files_refuse(err, path, full);
    default:
        break;
    }
    return files_refuse(err, path, strerror(errno));
}

static bool copy_path(struct view name, char path[PATH_MAX], struct err *err)
{
    if (name.len == 0 || name.len >= PATH_MAX ||
        memchr(name.data, '\0', name.len))
        return err_set(err, ERR_REJECT, "bad_field",
                       "a file's name of %zu bytes: must be 1 to %d, none of "
                       "them NUL",
                       name.len, PATH_MAX - 1);
    memcpy(path, name.data, name.len);
    path[name.len] = '\0';
    return true;
}

/* Of the open file: what the name leads to may have changed since. */
static bool regular(int fd, struct stat *status)
{
    return fstat(fd, status) == 0 && S_ISREG(status->st_mode);
}

/* The folders above path. Each is made in a folder that was opened beneath the
 * workspace: mkdir() with the whole path would follow links. */
static bool make_folders(int workspace, char *path)
{
    for (char *end = path; (end = strchr(end, '/')); end++) {
        *end = '\0';
        CLEANUP(close_fd) int folder = -1;
        char *last = strrchr(path, '/');
        const char *base = last ? last + 1 : path;
        if (last)
            *last = '\0';
        folder =
            open_beneath(workspace, last ? path : ".", O_RDONLY | O_DIRECTORY);
        if (last)
            *last = '/';
        bool made = folder >= 0 &&
                    (mkdirat(folder, base, 0755) == 0 || errno == EEXIST);
        *end = '/';
        if (!made)
            return false;
    }
    return true;
}

bool files_put(int workspace, struct view name, uint64_t offset,
               struct view data, struct err *err)
{
    char path[PATH_MAX];
    struct stat status;
    if (!copy_path(name, path, err))
        return false;
    if (offset > MAX_FILE_BYTES || data.len > MAX_FILE_BYTES - offset)
        return err_set(err, ERR_REJECT, "too_large",
                       "file \"%.80s\": more than %d bytes", path,
                       MAX_FILE_BYTES);
    if (offset == 0 && !make_folders(workspace, path))
        return refuse_errno(err, workspace, path);
    CLEANUP(close_fd)
    int fd =
        open_beneath(workspace, path, O_WRONLY | (offset == 0 ? O_CREAT : 0));
    if (fd < 0)
        return refuse_errno(err, workspace, path);
    if (!regular(fd, &status))
        return files_refuse(err, path,
                            "it is there already and no regular file");
    if (offset == 0 && ftruncate(fd, 0) < 0)
        return refuse_errno(err, workspace, path);
    while (data.len > 0) {
        ssize_t written = pwrite(fd, data.data, data.len, (off_t)offset);
        if (written <= 0)
            return refuse_errno(err, workspace, path);
        data.data += written;
        data.len -= (size_t)written;
        offset += (uint64_t)written;
    }
    return true;
}

bool files_open(int workspace, struct view name, int *fd, uint64_t *bytes,
                struct err *err)
{
    char path[PATH_MAX];
    struct stat status;
    if (!copy_path(name, path, err))
        return false;
    CLEANUP(close_fd) int opened = open_beneath(workspace, path, O_RDONLY);
    if (opened < 0)
        return refuse_errno(err, workspace, path);
    if (!regular(opened, &status))
        return files_refuse(err, path, "it is no regular file");
    if (status.st_size > MAX_FILE_BYTES)
        return err_set(err, ERR_REJECT, "too_large",
                       "file \"%.80s\": %lld bytes, at most %d", path,
                       (long long)status.st_size, MAX_FILE_BYTES);
    *fd = take_fd(&opened);
    *bytes = (uint64_t)status.st_size;
    return true;
}
