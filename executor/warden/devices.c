/* devices.c - device files for boxes, in a /dev of the executor's own. */
#include "executor/warden/devices.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/box/box.h"

enum {
    MEMORY_DEVICES = 1, /* a major number */
    PATH_BYTES = 80,
};

/* As mem(4) and the kernel's list of devices number them. */
static const struct {
    const char *name;
    unsigned int minor;
} own[] = { { "null", 3 },
            { "zero", 5 },
            { "full", 7 },
            { "random", 8 },
            { "urandom", 9 } };

static const char *const box_devices[] = BOX_DEVICES;

static bool make_device(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(own[i].name, name) == 0) {
            int len = snprintf(path, sizeof(path), "%s/%s", folder, name);
            return len > 0 && (size_t)len < sizeof(path) &&
                   mknod(path, S_IFCHR | 0666,
                         makedev(MEMORY_DEVICES, own[i].minor)) == 0;
        }
    return false;
}

/* What our own processes need of /dev. */
static bool make_ours(void)
{
    bool made = mkdir("/dev/shm", 01777) == 0 &&
                symlink("/proc/self/fd", "/dev/fd") == 0 &&
                symlink("/proc/self/fd/0", "/dev/stdin") == 0 &&
                symlink("/proc/self/fd/1", "/dev/stdout") == 0 &&
                symlink("/proc/self/fd/2", "/dev/stderr") == 0;
    for (size_t i = 0; made && i < sizeof(own) / sizeof(own[0]); i++)
        made = make_device("/dev", own[i].name);
    return made;
}

static bool make_set(uid_t user)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof(folder), BOX_DEVICES_OF, (unsigned int)user);
    bool made = mkdir(folder, 0755) == 0;
    for (size_t i = 0; made && box_devices[i]; i++)
        made = make_device(folder, box_devices[i]);
    return made;
}

static bool devices_fill(const struct users *users)
{
    bool made = make_ours() && mkdir(BOX_DEVICES_FOLDER, 0755) == 0;
    for (size_t i = 0; made && i < users_count(users); i++)
        made = make_set(users_at(users, i));
    return made;
}

/* In a mount namespace of our own. MS_SLAVE: what the host mounts later is
 * still seen here, but nothing of ours there. If it fails, the host's /dev
 * stays. */
void devices_make(const struct users *users)
{
    if (users_count(users) == 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
        mount("quern", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC,
              "mode=0755,size=1m,nr_inodes=0") < 0)
        return;
    mode_t before = umask(0);
    if (!devices_fill(users)) {
        log_line("executor.devices", NULL, "boxes have the host's: %s",
                 strerror(errno));
        umount2("/dev", MNT_DETACH);
    }
    umask(before);
}
