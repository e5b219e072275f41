/* box.h - what the warden and a box's init say to each other.
 *
 * quern-box DISK_BYTES [online] [PACKAGES] is started with a SOCK_SEQPACKET
 * socket as descriptor BOX_CHANNEL, in which BOX_MAKE waits, with CGROUP_DOORS
 * descriptors. It makes a box in those cgroups, whose init then sends one
 * struct box_word of kind BOX_UP with the descriptors of enum box_fd, or
 * BOX_FAILED with the reason. From then on it answers BOX_SWEEP, says how those
 * ended that it was told to keep, and ends, and the box with it, when the
 * socket is closed.
 *
 *   warden            quern-box            init (pid 1 in the box)
 *     | exec, BOX_MAKE -->|                  |
 *     |                   |---- clone ------>| maps, root, hardening
 *     |                   `- exit            |
 *     |<---------------- BOX_UP + fds -------|
 *     |----------------- BOX_SWEEP --------->| stops some, kills the others
 *     |<---------------- BOX_SWEPT ----------|
 *     |<---------------- BOX_ENDED ----------| one of those, if its child */
#ifndef EXECUTOR_BOX_BOX_H
#define EXECUTOR_BOX_BOX_H

#include "executor/box/enter.h"

enum { BOX_CHANNEL = 3 };

enum box_word_kind {
    BOX_MAKE,
    BOX_UP,
    BOX_FAILED,
    BOX_SWEEP, /* from the warden: those to keep stop, the others end */
    BOX_SWEPT, /* count: how many there were */
    BOX_STUCK, /* some could not be ended: count of the rounds */
    BOX_ENDED, /* pid, status: one that was to be kept, and an orphan */
};

enum { BOX_KEPT = 2 }; /* the interpreter and its snapshot */

struct box_word {
    int kind;
    unsigned int count;
    pid_t keep[BOX_KEPT]; /* as the box sees them; 0: nobody */
    pid_t pid;
    int status;     /* of waitpid() */
    char text[120]; /* BOX_FAILED: a sentence */
};

/* Descriptors that ride along with BOX_UP. The namespaces come first, in the
 * order of enum fork_fd. */
enum box_fd {
    BOX_FD_INIT = BOX_NAMESPACES, /* pidfd: its death is the box's death */
    BOX_FD_WORKSPACE,
    BOX_FD_DOOR, /* online only: listens on BOX_PROXY_PORT of its loopback */
    BOX_FD_PROC, /* left out where the kernel refuses a /proc */
    BOX_FDS,
};

/* Inside, root_build() makes the file system and enters it; the working
 * directory is the new root. packages: a folder that the warden fills, or
 * NULL. Failing calls end in box_die(). */
void root_build(unsigned long long disk_bytes, const char *packages);

/* Brings up the box's own loopback; gives a socket that listens there. */
int door_open(void);

/* Serves the warden until the socket closes; reaps. Never returns. */
void init_serve(void) __attribute__((noreturn));

/* Tells the warden why there is no box: "what: errno's sentence". */
void box_die(const char *what) __attribute__((noreturn));

#endif
