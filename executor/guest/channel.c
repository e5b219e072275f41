/* channel.c - frames over a socket, with descriptors that ride along. */
#include "executor/guest/channel.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schemas/message/limits.h"

void passengers_close(struct passengers *passengers)
{
    for (size_t i = 0; i < passengers->count; i++)
        close(passengers->fds[i]);
    passengers->count = 0;
}

static void board(struct msghdr *message, struct passengers *passengers)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c;
         c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        passengers->count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        memcpy(passengers->fds, CMSG_DATA(c), passengers->count * sizeof(int));
    }
}

/* Some of the bytes. Descriptors arrive with the first byte of their frame; the
 * kernel drops those that we leave no room for. */
static ssize_t receive(int fd, struct iovec part, struct passengers *passengers)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * FORK_FDS)];
        struct cmsghdr align;
    } control;
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    ssize_t n;

    if (passengers) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_LEN(sizeof(int) * FORK_FDS);
    }
    do
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    while (n < 0 && errno == EINTR);
    if (n >= 0 && passengers)
        board(&message, passengers);
    return n;
}

/* Appends exactly len bytes. False without an error: closed before the first
 * byte of a frame. */
static bool fill(int fd, struct buf *bytes, size_t len,
                 struct passengers *passengers, struct err *err)
{
    char *to = buf_reserve(bytes, len);

    if (!to)
        return err_set(err, ERR_REJECT, "too_large",
                       "a frame of more than %zu bytes", bytes->max);
    for (size_t done = 0; done < len;) {
        struct iovec rest = { to + done, len - done };
        ssize_t n = receive(fd, rest, passengers);
        if (n < 0)
            return err_set(err, ERR_RETRY, "internal", "channel: %s",
                           strerror(errno));
        if (n == 0)
            return bytes->len + done && err_set(err, ERR_RETRY, "internal",
                                                "channel: closed in a frame");
        done += (size_t)n;
        passengers = NULL;
    }
    bytes->len += len;
    return true;
}

bool channel_read(int fd, struct guest_frame *frame, struct buf *bytes,
                  struct arena *arena, struct passengers *passengers,
                  struct err *err)
{
    size_t total;
    struct view body;

    buf_clear(bytes);
    if (!fill(fd, bytes, FRAME_HEADER_BYTES, passengers, err) ||
        !frame_length(buf_view(bytes), MAX_FRAME_BYTES, &total, err) ||
        !fill(fd, bytes, total - FRAME_HEADER_BYTES, NULL, err))
        return false;
    body = (struct view){ bytes->data + FRAME_HEADER_BYTES,
                          total - FRAME_HEADER_BYTES };
    return message_decode(&schema_guest_frame, body, frame, arena, err);
}

static ssize_t send_some(int fd, struct iovec part, int passenger)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = { .bytes = { 0 } };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

    if (passenger >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &passenger, sizeof(int));
    }
    return sendmsg(fd, &message, MSG_NOSIGNAL);
}

bool channel_write(int fd, const struct guest_frame *frame, int passenger,
                   struct err *err)
{
    CLEANUP(buf_finish) struct buf out;

    buf_init(&out, FRAME_HEADER_BYTES + MAX_FRAME_BYTES);
    if (!frame_encode(&schema_guest_frame, frame, &out, err))
        return false;
    for (size_t sent = 0; sent < out.len;) {
        struct iovec rest = { out.data + sent, out.len - sent };
        ssize_t n = send_some(fd, rest, passenger);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_RETRY, "internal", "channel: %s",
                           strerror(errno));
        sent += (size_t)n;
        passenger = -1;
    }
    return true;
}
