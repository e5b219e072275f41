/* make.c - what a box is made of: the list is box_make(). */
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

static int fds[BOX_FDS];

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

/* The one user of the box is outside the one that makes it. */
static void map_user(uid_t uid, gid_t gid)
{
    char map[64];
    write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof(map), "%d %u 1\n", BOX_USER, uid);
    write_file("/proc/self/uid_map", map);
    snprintf(map, sizeof(map), "%d %u 1\n", BOX_USER, gid);
    write_file("/proc/self/gid_map", map);
}

/* While the outer /proc is still there: the box may have none. */
static void open_namespaces(void)
{
    for (int i = 0; i < BOX_NAMESPACES; i++) {
        char path[32];
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

static void set_names(void)
{
    if (sethostname("box", 3) < 0 || setdomainname("", 0) < 0)
        box_die("host name");
}

/* Code in the box must get nothing by looking at, or at the memory of, its
 * init. */
static void harden(void)
{
    struct err err = { 0 };
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        box_die("dumpable");
    if (!caps_drop(&err) ||
        (wall_wanted("seccomp") && !seccomp_enter(&policy_offline, &err)))
        box_die(err.text);
}

/* Those of the last ones that there are move up. */
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

void box_make(const struct box_order *order, uid_t uid, gid_t gid)
{
    map_user(uid, gid);
    open_namespaces();
    unsigned int host_parts = root_build(order);
    if (wall_wanted("uts"))
        set_names();
    int door = order->online ? door_open() : -1;
    harden();
    hand_over(door, host_parts);
}
