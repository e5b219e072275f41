/* cgroup_folder.c - a folder of our own in one hierarchy of cgroups.
 *
 * A folder is locked (flock) as long as its executor lives, and the folder
 * above it while somebody makes or removes one. */
#include "executor/warden/cgroup_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "schemas/message/buf.h"

enum {
    TRIES = 100, /* one second in all, for what takes others a moment */
    TRY_US = 10000,
};

static const char everybody[] = "quern", leaf[] = "warden";

static int open_folder(int at, const char *name)
{
    return openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

bool cgroup_folder_write(int folder, const char *name, const char *text)
{
    CLEANUP(close_fd) int fd = openat(folder, name, O_WRONLY | O_CLOEXEC);
    ssize_t written = -1;
    /* A write to a limit of memory fails while a signal is pending. */
    do
        written = fd < 0 ? -1 : write(fd, text, strlen(text));
    while (fd >= 0 && written < 0 && errno == EINTR);
    if (written >= 0 && written < (ssize_t)strlen(text))
        errno = EIO;
    return written == (ssize_t)strlen(text);
}

bool cgroup_folder_read(int folder, const char *name, char *text, size_t size)
{
    CLEANUP(close_fd) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);
    text[got < 0 ? 0 : got] = '\0';
    if (got == (ssize_t)size - 1 && strrchr(text, '\n'))
        strrchr(text, '\n')[1] = '\0';
    return got >= 0;
}

/* --------------------------------------------------------------- removing */

/* Since Linux 5.14, version 2 has a file for that. */
static void kill_processes(int cgroup)
{
    char text[4096];
    if (cgroup_folder_write(cgroup, "cgroup.kill", "1") ||
        !cgroup_folder_read(cgroup, "cgroup.procs", text, sizeof(text)))
        return;
    char *save = NULL;
    for (char *word = strtok_r(text, "\n", &save); word;
         word = strtok_r(NULL, "\n", &save)) {
        pid_t pid = (pid_t)strtol(word, NULL, 10);
        if (pid > 1 && pid != getpid())
            kill(pid, SIGKILL);
    }
}

/* A cgroup that has no others in it. */
static bool remove_leaf(int at, const char *name)
{
    for (int i = 0; i < TRIES; i++) {
        if (unlinkat(at, name, AT_REMOVEDIR) == 0 || errno != EBUSY)
            return true;
        CLEANUP(close_fd) int cgroup = open_folder(at, name);
        kill_processes(cgroup);
        usleep(TRY_US);
    }
    return false;
}

typedef void visit(int at, const char *name);

static void visit_folders(int folder, visit *each)
{
    int fd = fcntl(folder, F_DUPFD_CLOEXEC, 0);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        close_fd(&fd);
        return;
    }
    rewinddir(stream);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            each(folder, entry->d_name);
    closedir(stream);
}

static void remove_box(int at, const char *name)
{
    if (strcmp(name, leaf) != 0)
        (void)remove_leaf(at, name);
}

/* If the lock can be had, the executor that made it is gone: the kernel lets go
 * of a lock when its holder ends. */
static void remove_left_over(int at, const char *name)
{
    CLEANUP(close_fd) int folder = open_folder(at, name);
    if (folder < 0 || flock(folder, LOCK_EX | LOCK_NB) < 0)
        return;
    visit_folders(folder, remove_box);
    (void)remove_leaf(folder, leaf);
    (void)remove_leaf(at, name);
}

/* ----------------------------------------------------------------- making */

static bool cgroup_folder_fail(struct err *err, const struct hierarchy *where,
                               const char *what)
{
    return err_set(err, ERR_REJECT, "bad_setting", "%s%s: %s", where->folder,
                   what, strerror(errno));
}

/* Goes on without the lock after a second: somebody who keeps it must not keep
 * the executor from starting. */
static void lock(int folder)
{
    for (int i = 0; i < TRIES && flock(folder, LOCK_EX | LOCK_NB) < 0; i++)
        usleep(TRY_US);
}

static bool cgroup_folder_give(int folder, uid_t uid, gid_t gid)
{
    static const char *const names[] = { "cgroup.procs",
                                         "cgroup.subtree_control" };
    if (fchown(folder, uid, gid) < 0)
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (fchownat(folder, names[i], uid, gid, AT_SYMLINK_NOFOLLOW) < 0 &&
            errno != ENOENT)
            return false;
    return true;
}

/* Enables controllers for the cgroups in folder. */
static bool hand_on(int folder, unsigned int controllers)
{
    char text[64] = "";
    size_t len = 0;
    for (unsigned int i = 0; i < CONTROLLERS; i++)
        if (controllers & 1U << i)
            len += (size_t)snprintf(text + len, sizeof(text) - len, "+%s ",
                                    controller_names[i]);
    return cgroup_folder_write(folder, "cgroup.subtree_control", text);
}

/* From the top, since a cgroup of version 2 that hands on controllers may have
 * no processes: first we leave it. The warden's weight makes the processor
 * serve it before all boxes together. */
static bool cgroup_folder_settle(const struct cgroup_folder *place, int base,
                                 int all, const struct hierarchy *where,
                                 struct err *err)
{
    CLEANUP(close_fd) int own = -1;
    if (mkdirat(place->folder, leaf, 0755) < 0 ||
        (own = open_folder(place->folder, leaf)) < 0 ||
        !cgroup_folder_write(own, "cgroup.procs", "0"))
        return cgroup_folder_fail(err, where, "/quern");
    if (!hand_on(base, place->controllers)) {
        bool busy = errno == EBUSY;
        cgroup_folder_fail(err, where, "/cgroup.subtree_control");
        if (busy)
            err_set(err, ERR_REJECT, "bad_setting",
                    "%s has other processes than quern-executor",
                    where->folder);
        (void)cgroup_folder_write(base, "cgroup.procs", "0");
        return false;
    }
    if (!hand_on(all, place->controllers) ||
        !hand_on(place->folder, place->controllers))
        return cgroup_folder_fail(err, where, "/quern/cgroup.subtree_control");
    (void)cgroup_folder_write(own, "cpu.weight", "10000");
    return true;
}

static bool stands(const struct cgroup_folder *place, int all)
{
    struct stat ours, there;
    return fstat(place->folder, &ours) == 0 &&
           fstatat(all, place->name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
           ours.st_ino == there.st_ino;
}

/* Before it is locked, another executor may take it for a left-over and remove
 * it: then it does not stand any more, and is made again. And the name, our
 * pid, may be taken by an executor in a container, which numbers processes on
 * its own. */
static bool make_own(struct cgroup_folder *place, int all)
{
    for (int i = 0; i < TRIES; i++) {
        int len =
            snprintf(place->name, sizeof(place->name), "%d", (int)getpid());
        if (i > 0)
            snprintf(place->name + len, sizeof(place->name) - (size_t)len,
                     "-%d", i);
        if (mkdirat(all, place->name, 0755) < 0 && errno != EEXIST)
            return false;
        place->folder = open_folder(all, place->name);
        if (place->folder >= 0 &&
            flock(place->folder, LOCK_EX | LOCK_NB) == 0 && stands(place, all))
            return true;
        close_fd(&place->folder);
    }
    return false;
}

static bool cgroup_folder_make(struct cgroup_folder *place, int base, int all,
                               const struct hierarchy *where, uid_t uid,
                               gid_t gid, struct err *err)
{
    if (!make_own(place, all))
        return cgroup_folder_fail(err, where, "/quern");
    if ((place->version == 2 &&
         !cgroup_folder_settle(place, base, all, where, err)) ||
        (!cgroup_folder_give(place->folder, uid, gid) &&
         !cgroup_folder_fail(err, where, "/quern"))) {
        close_fd(&place->folder);
        remove_left_over(all, place->name);
        return false;
    }
    return true;
}

bool cgroup_folder_take(struct cgroup_folder *place,
                        const struct hierarchy *where, uid_t uid, gid_t gid,
                        struct err *err)
{
    char text[256];
    CLEANUP(close_fd) int base = open_folder(AT_FDCWD, where->folder);
    *place = (struct cgroup_folder){ .version = where->version,
                                     .controllers = where->controllers,
                                     .folder = -1 };
    if (base < 0)
        return cgroup_folder_fail(err, where, "");
    if (place->version == 2 &&
        cgroup_folder_read(base, "cgroup.controllers", text, sizeof(text)))
        place->controllers = controllers_read(text, " \n");
    if (!place->controllers)
        return false;
    bool made = mkdirat(base, everybody, 0755) == 0;
    if (!made && errno != EEXIST)
        return cgroup_folder_fail(err, where, "");
    CLEANUP(close_fd) int all = open_folder(base, everybody);
    if (all < 0 || (made && fchown(all, uid, gid) < 0))
        return cgroup_folder_fail(err, where, "/quern");
    lock(all);
    visit_folders(all, remove_left_over);
    return cgroup_folder_make(place, base, all, where, uid, gid, err);
}

void cgroup_folder_finish(struct cgroup_folder *place)
{
    CLEANUP(close_fd) int all = open_folder(place->folder, "..");
    visit_folders(place->folder, remove_box);
    /* Before its lock is let go of: an executor in another container, whose
     * process has the same number, could take the folder in between. */
    if (all >= 0)
        (void)unlinkat(all, place->name, AT_REMOVEDIR);
    close_fd(&place->folder);
}
