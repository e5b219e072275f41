/* channel.c - frames over a socket, with descriptors that ride along. */
#include "executor/guest/channel.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "executor/base/wire.h"
#include "schemas/message/limits.h"

void frame_fds_close(struct frame_fds *frame_fds)
{
    for (size_t i = 0; i < frame_fds->count; i++)
        close(frame_fds->fds[i]);
    frame_fds->count = 0;
}

/* Some of the bytes. Descriptors arrive with the first byte of their frame, so
 * only the first call for a frame takes any; others that come are dropped by
 * the kernel. */
static ssize_t receive(int fd, void *to, size_t len,
                       struct frame_fds *frame_fds)
{
    size_t count;
    ssize_t n;

    do {
        count = frame_fds ? FORK_FDS : 0;
        n = wire_receive(fd, to, len, frame_fds ? frame_fds->fds : NULL, &count,
                         0);
    } while (n < 0 && errno == EINTR);
    if (frame_fds)
        frame_fds->count = count;
    return n;
}

/* Appends exactly len bytes. False without an error: closed before the first
 * byte of a frame. */
static bool channel_fill(int fd, struct buf *bytes, size_t len,
                         struct frame_fds *frame_fds, struct err *err)
{
    char *to = buf_reserve(bytes, len);

    if (!to)
        return err_set(err, ERR_REJECT, "too_large",
                       "a frame of more than %zu bytes", bytes->max);
    for (size_t done = 0; done < len;) {
        ssize_t n = receive(fd, to + done, len - done, frame_fds);
        if (n < 0)
            return err_set(err, ERR_RETRY, "internal", "channel: %s",
                           strerror(errno));
        if (n == 0)
            return bytes->len + done && err_set(err, ERR_RETRY, "internal",
                                                "channel: closed in a frame");
        done += (size_t)n;
        frame_fds = NULL;
    }
    bytes->len += len;
    return true;
}

bool channel_read(int fd, struct guest_frame *frame, struct buf *bytes,
                  struct arena *arena, struct frame_fds *frame_fds,
                  struct err *err)
{
    size_t total;
    struct view body;

    buf_clear(bytes);
    if (!channel_fill(fd, bytes, FRAME_HEADER_BYTES, frame_fds, err) ||
        !frame_length(buf_view(bytes), MAX_FRAME_BYTES, &total, err) ||
        !channel_fill(fd, bytes, total - FRAME_HEADER_BYTES, NULL, err))
        return false;
    body = (struct view){ bytes->data + FRAME_HEADER_BYTES,
                          total - FRAME_HEADER_BYTES };
    return message_decode(&schema_guest_frame, body, frame, arena, err);
}

bool channel_write(int fd, const struct guest_frame *frame, int sent_fd,
                   struct err *err)
{
    CLEANUP(buf_finish) struct buf out;

    buf_init(&out, FRAME_HEADER_BYTES + MAX_FRAME_BYTES);
    if (!frame_encode(&schema_guest_frame, frame, &out, err))
        return false;
    for (size_t sent = 0; sent < out.len;) {
        struct view rest = { out.data + sent, out.len - sent };
        ssize_t n = wire_send(fd, rest, &sent_fd, sent_fd >= 0, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_RETRY, "internal", "channel: %s",
                           strerror(errno));
        sent += (size_t)n;
        sent_fd = -1;
    }
    return true;
}
