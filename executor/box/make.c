/* make.c - what a box is made of: the list is box_make().
 *
 * This runs in the process that becomes the box's init, in namespaces that are
 * new and hold nobody else. No code of a session runs in the box before BOX_UP:
 * only then the warden has descriptors by which one could be sent in. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "executor/box/box.h"
#include "executor/box/walls.h"

static int fds[BOX_FDS]; /* for BOX_UP, in the order of enum box_fd */

static void send_word(const struct box_word *word, const int *sent,
                      size_t count)
{
    struct view bytes = { (const char *)word, sizeof(*word) };
    if (wire_send(BOX_CHANNEL, bytes, sent, count, 0) < 0)
        _exit(EXIT_FAILURE);
}

void box_die(const char *what)
{
    struct box_word word = { .kind = BOX_FAILED };
    snprintf(word.text, sizeof(word.text), "%s: %s", what, strerror(errno));
    send_word(&word, NULL, 0);
    _exit(EXIT_FAILURE);
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        box_die(path);
    close(fd);
}

/* The one user of the box is outside the one that makes it. No other id is
 * mapped: code in the box can become nobody else, and files of other users
 * belong to nobody there. An ordinary user may write gid_map only after
 * setgroups() was denied for good. */
static void map_user(uid_t uid, gid_t gid)
{
    char map[64];
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "%d %u 1\n", BOX_USER, uid);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%d %u 1\n", BOX_USER, gid);
    write_file("/proc/self/gid_map", map);
}

/* While the outer /proc is still there: the box may have none. Descriptors of
 * the namespaces are all that it takes to enter the box; the warden keeps them,
 * and code in the box cannot enter any: seccomp refuses setns(). For a
 * namespace that the box goes without, /dev/null stands. */
static void open_namespaces(bool own_cgroups)
{
    for (int i = 0; i < BOX_NAMESPACES; i++) {
        char path[32];
        if (i == FORK_CGROUP_NS && !own_cgroups)
            snprintf(path, sizeof(path), "/dev/null");
        else
            snprintf(path, sizeof(path), "/proc/self/ns/%s",
                     namespace_kinds[i].name);
        fds[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (fds[i] < 0)
            box_die(path);
    }
    fds[BOX_FD_INIT] = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fds[BOX_FD_INIT] < 0)
        box_die("pidfd");
}

/* Or uname() would tell the host's. */
static void set_names(void)
{
    if (sethostname("box", 3) < 0 || setdomainname("", 0) < 0)
        box_die("host name");
}

/* Init is of the same user as the code in its box. If it were dumpable, that
 * code could trace it, write to its memory and use its channel to the warden.
 * Without capabilities and behind seccomp, even an init that was taken over
 * could not mount anything or enter a namespace. */
static void harden(void)
{
    struct err err = { 0 };
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        box_die("dumpable");
    if (!caps_drop(&err) ||
        (wall_wanted("seccomp") && !seccomp_enter(&policy_offline, &err)))
        box_die(err.text);
}

/* Of the last two descriptors, door and /proc, either may be missing; then
 * those behind it move up. The warden knows whether there is a door. */
static void hand_over(int door, unsigned int host_parts)
{
    size_t count = BOX_FD_DOOR;
    fds[BOX_FD_WORKSPACE] = open("/workspace", O_RDONLY | O_CLOEXEC);
    if (fds[BOX_FD_WORKSPACE] < 0)
        box_die("/workspace");
    if (door >= 0)
        fds[count++] = door;
    int proc = open("/proc/self", O_PATH | O_CLOEXEC);
    if (proc >= 0) {
        close(proc);
        fds[count++] = open("/proc", O_RDONLY | O_CLOEXEC);
    }
    struct box_word word = { .kind = BOX_UP, .count = host_parts };
    send_word(&word, fds, count);
    for (size_t i = 0; i < count; i++)
        close(fds[i]);
}

/* In this order: maps first, because without them no file can be made in the
 * new root; the namespaces while the host's /proc can be seen; name and
 * loopback while there are capabilities; BOX_UP when all walls of init stand.
 */
void box_make(const struct box_order *order, bool own_cgroups, uid_t uid,
              gid_t gid)
{
    map_user(uid, gid);
    open_namespaces(own_cgroups);
    unsigned int host_parts = root_build(order);
    if (!own_cgroups && wall_wanted("cgroup"))
        host_parts |= BOX_HOST_CGROUPS;
    if (wall_wanted("uts"))
        set_names();
    int door = order->online ? door_open() : -1;
    harden();
    hand_over(door, host_parts);
}
