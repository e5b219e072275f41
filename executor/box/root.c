/* root.c - the file system of a box.
 *
 *   /                 tmpfs, read-only once built
 *   /usr /bin /lib... the system's, read-only, no devices, no setuid: an
 *                     overlay, so that each box has inodes of its own to lock
 *   /etc              a handful of files, copied
 *   /dev              null full random urandom, made for this box by the warden
 *                     where it could; a shared mapping of zero would be memory
 *                     that nobody counts
 *   /proc             processes of the box only (subset=pid), nothing to tune
 *   /opt/bin          python, as scripts call it
 *   /packages         a folder of the warden's, read-only: what is installed
 *                     on demand appears in it
 *   /mnt/data         /workspace, as models know it from other interpreters
 *   /workspace /tmp /dev/shm   one tmpfs: one quota of bytes and inodes
 *
 * There is no /sys, /home, /root, /run, and of /var only the cache of fonts.
 *
 * A tmpfs over the host's /tmp becomes the new root. It is filled by paths
 * relative to the working directory while the host's files can still be seen,
 * and then takes their place (pivot_root). All mounts are in the box's own
 * namespace and made private first, so that none of them reaches the host. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/box/box.h"
#include "executor/box/walls.h"

enum {
    MAX_INODES = 32768,   /* of a session's files: an inode is kernel memory */
    ROOT_BYTES = 4 << 20, /* of the root itself: what is copied into it */
    COPY_BYTES = 1 << 20, /* of one file; what is longer is cut */
};

static const char new_root[] = "/tmp";
static const char empty_layer[] = "empty";
static unsigned int host_parts; /* enum box_host_part, or'ed */

/* What of the system a box sees, read-only. A symbolic link at the top (/bin)
 * stays one; what the host does not have the box does not have. */
static const char *const system_paths[] = {
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/etc/alternatives", /* BLAS, LAPACK */
    "/etc/fonts",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/matplotlibrc",
    "/etc/mime.types",
    "/etc/ssl/certs", /* whom to trust: of use where there is a proxy */
    "/var/cache/fontconfig",
};

static const char *const devices[] = BOX_DEVICES;

/* Files of /etc that are not the host's: they would name its users and
 * neighbours. */
static const struct {
    const char *path;
    const char *text;
} made_up[] = {
    { "etc/passwd", "user:x:1000:1000::/workspace:/bin/sh\n" },
    { "etc/group", "user:x:1000:\n" },
    { "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n" },
    { "etc/hosts", "127.0.0.1 localhost\n" },
};

/* What code may write to. */
static const struct {
    const char *path;
    const char *inside; /* of the one tmpfs, while the box is made */
    mode_t mode;
} own[] = {
    /* For all to read: it is mounted in the box only, where all are one user,
     * and the warden, which has a descriptor of it, lists it from outside. */
    { "workspace", "space/workspace", 0755 },
    { "tmp", "space/tmp", 01777 },
    { "dev/shm", "space/shm", 01777 },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void make_dir(const char *path)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        box_die(path);
}

/* Every folder above path, which is relative. */
static void make_parents(const char *path)
{
    char parent[PATH_MAX];
    for (const char *end = path; (end = strchr(end, '/')); end++) {
        snprintf(parent, sizeof(parent), "%.*s", (int)(end - path), path);
        make_dir(parent);
    }
}

static void make_file(const char *path, const char *text)
{
    make_parents(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        box_die(path);
    close(fd);
}

/* The same in both languages. */
static const struct {
    unsigned long long attribute;
    unsigned long flag;
} mount_flags[] = {
    { MOUNT_ATTR_RDONLY, MS_RDONLY },
    { MOUNT_ATTR_NOSUID, MS_NOSUID },
    { MOUNT_ATTR_NODEV, MS_NODEV },
    { MOUNT_ATTR_NOEXEC, MS_NOEXEC },
};

static void remount(const char *path, unsigned long long attributes)
{
    unsigned long flags = MS_REMOUNT | MS_BIND;
    for (size_t i = 0; i < COUNT(mount_flags); i++)
        if (attributes & mount_flags[i].attribute)
            flags |= mount_flags[i].flag;
    if (mount(NULL, path, NULL, flags, NULL) < 0)
        box_die(path);
}

/* gVisor does not have the call: there one mount is changed at a time. */
static bool can_set_flags(void)
{
    return syscall(SYS_mount_setattr, -1, NULL, 0, NULL, 0) == 0 ||
           errno != ENOSYS;
}

static void set_flags(const char *path, unsigned int flags,
                      unsigned long long attributes)
{
    struct mount_attr attr = { .attr_set = attributes };
    if (!can_set_flags())
        remount(path, attributes);
    else if (syscall(SYS_mount_setattr, AT_FDCWD, path, flags, &attr,
                     sizeof(attr)) < 0)
        box_die(path);
}

/* A bind mount takes flags only afterwards, and MS_REC brings along what is
 * mounted below: so the flags are set on all of it, and nothing is brought
 * along where that cannot be done. Nothing runs in the box meanwhile. */
static void bind_path(const char *from, const char *to,
                      unsigned long long attributes)
{
    unsigned long below = can_set_flags() ? MS_REC : 0;
    if (mount(from, to, NULL, MS_BIND | below, NULL) < 0)
        box_die(from);
    if (wall_wanted("readonly"))
        set_flags(to, AT_RECURSIVE, attributes);
}

/* Locks and times belong to an inode, and an overlay has inodes of its own for
 * the files below: without it, code could lock a file of the system for the
 * whole host. An overlay without a layer to write to needs two layers to read:
 * the second is empty. userxattr: it keeps its notes in attributes that an
 * ordinary user may read. The kernel refuses an overlay of a folder in which
 * something else is mounted, as it could uncover what lies beneath. */
static bool overlay(const char *from, const char *to)
{
    char options[PATH_MAX];
    snprintf(options, sizeof(options), "lowerdir=%s:%s/%s,userxattr", from,
             new_root, empty_layer);
    return wall_wanted("overlay") &&
           mount("system", to, "overlay",
                 MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOATIME, options) == 0;
}

/* Where there are no overlays, the host's own folder is bound, read-only, and
 * the warden is told. */
static void add_folder(const char *path, const char *inside)
{
    make_dir(inside);
    if (wall_wanted("readonly") && overlay(path, inside))
        return;
    host_parts |= BOX_HOST_FILES;
    bind_path(path, inside,
              MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

/* A copy is the box's own inode; files of /etc are small enough. */
static void copy_file(const char *path, const char *inside)
{
    int from = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (from < 0)
        return; /* the host does not let everybody read it */
    int to = open(inside, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (to < 0)
        box_die(inside);
    for (size_t left = COPY_BYTES; left > 0;) {
        ssize_t copied = sendfile(to, from, NULL, left);
        if (copied < 0)
            box_die(inside);
        if (copied == 0)
            break;
        left -= (size_t)copied;
    }
    close(from);
    close(to);
}

static void add_system(const char *path)
{
    const char *inside = path + 1;
    struct stat status;
    if (lstat(path, &status) < 0)
        return;
    make_parents(inside);
    if (S_ISLNK(status.st_mode) && !strchr(inside, '/')) {
        char target[PATH_MAX] = { 0 };
        if (readlink(path, target, sizeof(target) - 1) < 0 ||
            symlink(target, inside) < 0)
            box_die(path);
        return;
    }
    if (stat(path, &status) < 0)
        return;
    if (S_ISDIR(status.st_mode))
        add_folder(path, inside);
    else if (S_ISREG(status.st_mode))
        copy_file(path, inside);
}

/* A device that is mounted read-only can still be written to, but nobody can
 * set its times. It has to be bound: nobody can make a device file in a user
 * namespace. Without those made for this user, the box gets the host's. */
static void add_device(const char *name, uid_t user)
{
    char made[64], host[32];
    snprintf(made, sizeof(made), BOX_DEVICES_OF "/%s", (unsigned int)user,
             name);
    snprintf(host, sizeof(host), "/dev/%s", name);
    bool is_own =
        user != 0 && wall_wanted("devices") && access(made, F_OK) == 0;
    if (!is_own)
        host_parts |= BOX_HOST_DEVICES;
    make_file(host + 1, "");
    bind_path(is_own ? made : host, host + 1,
              MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
}

static void add_devices(uid_t user)
{
    for (size_t i = 0; devices[i]; i++)
        add_device(devices[i], user);
    static const char *const links[][2] = {
        { "/proc/self/fd", "dev/fd" },
        { "/proc/self/fd/0", "dev/stdin" },
        { "/proc/self/fd/1", "dev/stdout" },
        { "/proc/self/fd/2", "dev/stderr" },
    };
    for (size_t i = 0; i < COUNT(links); i++)
        if (symlink(links[i][0], links[i][1]) < 0)
            box_die(links[i][1]);
}

/* Code of models starts "python", and Debian has no program of that name.
 * /opt/bin is last in PATH: where the host has a "python", that is taken. */
static void add_python(void)
{
    make_parents("opt/bin/python");
    if (symlink("/usr/bin/python3", "opt/bin/python") < 0)
        box_die("opt/bin/python");
}

/* See the head of this file. */
static void add_data(void)
{
    make_parents("mnt/data");
    if (symlink("/workspace", "mnt/data") < 0)
        box_die("mnt/data");
}

/* One tmpfs for all that can be written to, so that one quota holds for the
 * sum. No program that code writes there can be started. Its own root is
 * unmounted in the end: code sees only the three folders. */
static void add_own(uint64_t disk_bytes)
{
    char options[96];
    bool bounded = wall_wanted("quota");
    snprintf(options, sizeof(options), "size=%llu,nr_inodes=%d,mode=0755",
             bounded ? (unsigned long long)disk_bytes : 0,
             bounded ? MAX_INODES : 0);
    make_dir("space");
    if (mount("space", "space", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              options) < 0)
        box_die("tmpfs");
    for (size_t i = 0; i < COUNT(own); i++) {
        make_dir(own[i].path);
        make_dir(own[i].inside);
        if (chmod(own[i].inside, own[i].mode) < 0 ||
            mount(own[i].inside, own[i].path, NULL, MS_BIND, NULL) < 0)
            box_die(own[i].path);
    }
    if (umount2("space", MNT_DETACH) < 0 || rmdir("space") < 0)
        box_die("space");
}

/* In a container, parts of /proc are covered. The kernel then refuses a new
 * /proc, which would show these parts (EPERM): the box has none. subset=pid
 * leaves out all that is not about processes, above all /proc/sys. */
static void add_proc(void)
{
    make_dir("proc");
    if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              wall_wanted("proc") ? "subset=pid" : NULL) < 0 &&
        errno != EPERM)
        box_die("proc");
}

/* pivot_root(2), "pivot_root(".", ".")": the old root lies over the new one,
 * and is then unmounted. From here on no path leads to the host's files. The
 * new root is closed for writing last, because all of the above wrote to it. */
static void enter_root(void)
{
    if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 ||
        chdir("/") < 0)
        box_die("pivot_root");
    set_flags("/", 0,
              MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
                  MOUNT_ATTR_NOEXEC);
}

/* Before anything is mounted that could hide the folder, as it may lie in /tmp.
 * -1: there is none. */
static int open_packages(const char *folder)
{
    if (!folder[0])
        return -1;
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        box_die(folder);
    return fd;
}

/* Read-only for the box. The warden fills it from outside, and what it adds
 * later appears here, too. */
static void add_packages(int fd)
{
    char path[32];
    if (fd < 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    make_dir("packages");
    bind_path(path, "packages",
              MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
    close(fd);
}

unsigned int root_build(const struct box_order *order)
{
    char options[32];
    snprintf(options, sizeof(options), "size=%d,mode=0755", ROOT_BYTES);
    umask(022);
    int packages_fd = open_packages(order->packages);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("root", new_root, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0 ||
        chdir(new_root) < 0)
        box_die("root");
    make_dir(empty_layer);
    for (size_t i = 0; i < COUNT(system_paths); i++)
        add_system(system_paths[i]);
    for (size_t i = 0; i < COUNT(made_up); i++)
        make_file(made_up[i].path, made_up[i].text);
    add_devices(order->user);
    add_python();
    if (rmdir(empty_layer) < 0)
        box_die(empty_layer);
    add_packages(packages_fd);
    add_own(order->disk_bytes);
    add_data();
    add_proc();
    enter_root();
    return host_parts;
}
