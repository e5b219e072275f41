/* box.h - what the warden, quern-box and a box's init say to each other.
 *
 * quern-box is started with a SOCK_SEQPACKET socket as descriptor BOX_CHANNEL,
 * and ends when that is closed. For each struct box_order, with the descriptors
 * of enum order_fd, it makes a box in those cgroups.
 *
 * The box's init has a channel of its own. It sends one struct box_word: BOX_UP
 * with the descriptors of enum box_fd, or BOX_FAILED with the reason. From then
 * on it answers each BOX_SWEEP, and tells how processes ended that it was told
 * to keep. When its channel is closed it ends, and the box with it. Inits are
 * children of quern-box, and nobody has to wait for them; when quern-box dies,
 * they become the warden's.
 *
 * Only our own programs have these sockets. They are of one build, so messages
 * are structs as they are in memory.
 *
 *   warden              quern-box     a fork       init (pid 1 in the box)
 *     |-- box_order + fds ->|            |            |
 *     |                     |-- fork --->| cgroups    |
 *     |                     |            |-- clone -->| maps, root, hardening
 *     |                     |            `- exit      |
 *     |<---------------------------- BOX_UP + fds ----|
 *     |----------------------------- BOX_SWEEP ------>| stops, kills
 *     |<---------------------------- BOX_SWEPT -------|
 *     |<---------------------------- BOX_ENDED -------| one of those, if its
 *                                                       child */
#ifndef EXECUTOR_BOX_BOX_H
#define EXECUTOR_BOX_BOX_H

#include <linux/limits.h>
#include <stdint.h>

#include "executor/box/enter.h"

enum { BOX_CHANNEL = 3 };

/* The device files of a box, and where the warden has made some for a user. */
#define BOX_DEVICES                                                            \
    {                                                                          \
        "null", "full", "random", "urandom", NULL                              \
    }
#define BOX_DEVICES_FOLDER "/dev/boxes"
#define BOX_DEVICES_OF BOX_DEVICES_FOLDER "/%u"

/* What of a box is the host's own. Of files and devices: code in the box can
 * lock them (flock) for the host and all other boxes. Of cgroups: code sees
 * their names. */
enum box_host_part {
    BOX_HOST_FILES = 1,   /* this kernel has no overlays for ordinary users, or
                             something is mounted within the system's folders */
    BOX_HOST_DEVICES = 2, /* none were made for this user (devices.h) */
    BOX_HOST_CGROUPS = 4, /* only if order.outer: no namespace of cgroups */
};

struct box_order {
    uint64_t disk_bytes;     /* quota of /workspace, /tmp, /dev/shm together */
    uid_t user;              /* of the pool, for this box; 0: our own */
    bool online;             /* with a door to the proxy */
    bool outer;              /* there is a wall around us all, for which it may
                                go without a cgroup namespace */
    char packages[PATH_MAX]; /* a folder that the warden fills; or empty */
};

/* Descriptors that ride along with an order. The sender keeps its own. */
enum order_fd {
    ORDER_CHANNEL, /* the box's end of its channel to the warden */
    ORDER_DOORS,   /* of the cgroups that it enters */
    ORDER_POOL = ORDER_DOORS + CGROUP_DOORS, /* a user namespace; if user */
    ORDER_FDS,
};

enum box_word_kind {
    BOX_UP,
    BOX_FAILED,
    BOX_SWEEP, /* from the warden: those in keep stop, all others end */
    BOX_SWEPT, /* they have; count: how many the first round found */
    BOX_STUCK, /* some could not be ended */
    BOX_ENDED, /* pid, status: an orphan that was to be kept has ended */
};

enum { BOX_KEPT = 2 }; /* the interpreter and its snapshot */

struct box_word {
    int kind;
    unsigned int count;   /* BOX_SWEPT; BOX_UP: enum box_host_part, or'ed */
    pid_t keep[BOX_KEPT]; /* as the box sees them; 0: nobody */
    pid_t pid;
    int status;     /* of waitpid() */
    char text[120]; /* BOX_FAILED: a sentence */
};

/* Descriptors that ride along with BOX_UP. The namespaces come first, in the
 * order of enum fork_fd. */
enum box_fd {
    BOX_FD_INIT = BOX_NAMESPACES, /* pidfd: its death is the box's death */
    BOX_FD_WORKSPACE, /* a folder: its path is in no namespace but the box's */
    BOX_FD_DOOR, /* online only: listens on BOX_PROXY_PORT of its loopback */
    BOX_FD_PROC, /* left out where the kernel refuses a /proc */
    BOX_FDS,
};

/* make.c: makes the box that its caller is to be the init of, and sends BOX_UP.
 * own_cgroups: it has a cgroup namespace. uid, gid: the box's user, as the host
 * sees it. Failure ends the process. */
void box_make(const struct box_order *order, bool own_cgroups, uid_t uid,
              gid_t gid);

/* root.c: makes the box's file system and enters it; the working directory is
 * then the new root. The caller is in new user and mount namespaces. A call
 * that fails ends in box_die(). Gives enum box_host_part, or'ed. */
unsigned int root_build(const struct box_order *order);

/* door.c: brings up the box's own loopback; gives a socket that listens there,
 * which the caller owns. */
int door_open(void);

/* init.c: serves the warden until the socket closes; reaps. Never returns. */
void init_serve(void) __attribute__((noreturn));

/* make.c: tells the warden why there is no box ("what: errno's sentence"), and
 * ends the process. */
void box_die(const char *what) __attribute__((noreturn));

#endif
