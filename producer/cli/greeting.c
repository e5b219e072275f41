/* greeting.c - hello, and welcome, over an executor's socket. */
#include "producer/cli/greeting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "producer/cli/cli.h"

const char *greeting_socket(void)
{
    const char *path = getenv("QUERN_EXECUTOR");

    return path ? path : "/run/quern/executor.sock";
}

static int greeting_connect(const char *path, uint64_t timeout_ms)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    struct timeval patience = { .tv_sec = (time_t)(timeout_ms / 1000),
                                .tv_usec =
                                    (suseconds_t)(timeout_ms % 1000 * 1000) };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close_fd(&fd);
    return fd;
}

/* Receives one frame; gives it without its header. Empty: none came, or it is
 * too large. */
static struct view receive_frame(int fd, char *bytes)
{
    struct view got = { bytes, 0 };
    struct err err;
    size_t total = 0;

    do {
        ssize_t len = recv(fd, bytes + got.len, GREETING_BYTES - got.len, 0);

        if (len <= 0)
            return (struct view){ 0 };
        got.len += (size_t)len;
        if (!frame_length(got, GREETING_BYTES, &total, &err))
            return (struct view){ 0 };
    } while (total == 0 || got.len < total);
    return (struct view){ bytes + FRAME_HEADER_BYTES,
                          total - FRAME_HEADER_BYTES };
}

bool greeting_exchange(const char *path, uint64_t timeout_ms,
                       struct frame *welcome, char *bytes, struct arena *arena,
                       int *fault)
{
    CLEANUP(close_fd) int fd = greeting_connect(path, timeout_ms);
    CLEANUP(buf_finish) struct buf out;
    const struct frame hello = { .type = FRAME_HELLO };
    struct err err;
    struct view answer;

    *fault = fd < 0 ? errno : 0;
    buf_init(&out, GREETING_BYTES);
    if (fd < 0 || !frame_encode(&schema_frame, &hello, &out, &err) ||
        send(fd, out.data, out.len, MSG_NOSIGNAL) != (ssize_t)out.len)
        return false;
    answer = receive_frame(fd, bytes);
    return message_decode(&schema_frame, answer, welcome, arena, &err) &&
           welcome->type == FRAME_WELCOME;
}
