/* wire.c - bytes and descriptors over unix sockets.
 *
 * Hostile code can send descriptors, too: each that arrives is given to the
 * caller or closed here, and none is inherited by programs that we start. */
#include "executor/base/wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union fd_control {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int) * WIRE_FDS)];
};

/* sendmsg() does not write what it is given, but its type does not say so. */
static void *unconst(const void *bytes)
{
    union {
        const void *in;
        void *out;
    } pointer = { .in = bytes };
    return pointer.out;
}

ssize_t wire_send(int fd, struct view bytes, const int *fds, size_t count,
                  int flags)
{
    union fd_control control = { 0 };
    struct iovec part = { unconst(bytes.data), bytes.len };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (count > 0) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
        struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
        memcpy(CMSG_DATA(rights), fds, sizeof(int) * count);
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL | flags);
}

/* Padding is room to the kernel: one more may have come than was asked for. */
static size_t take_rights(const struct cmsghdr *rights, int *fds, size_t room)
{
    size_t count = (rights->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    const unsigned char *data = CMSG_DATA(rights);
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, data + i * sizeof(int), sizeof(int));
        if (i < room)
            fds[i] = fd;
        else
            close(fd);
    }
    return count < room ? count : room;
}

ssize_t wire_receive(int fd, void *bytes, size_t len, int *fds, size_t *count,
                     int flags)
{
    union fd_control control;
    struct iovec part = { bytes, len };
    struct msghdr message = {
        .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = CMSG_SPACE(sizeof(int) * *count),
    };
    size_t room = *count;
    if (room == 0)
        message.msg_controllen = 0;
    *count = 0;
    ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | flags);
    struct cmsghdr *rights = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
    if (rights && rights->cmsg_type == SCM_RIGHTS)
        *count = take_rights(rights, fds, room);
    return got;
}

bool wire_pair(int type, int pair[2])
{
    return socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) == 0;
}

int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

void close_fd(int *fd)
{
    int before = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = before;
}
