/* place.c - one request over HTTP, with an end in time. */
#include "producer/cli/place.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "producer/client/handle.h"
#include "schemas/settings/listen_place.h"

enum { PIECE = 64 << 10 };

/* One request on its way. */
struct place_call {
    const char *place;
    uint64_t timeout_ms, until; /* by clock_ms() */
    int fd;
};

static bool place_fail(const struct place_call *call, int number,
                       struct err *err)
{
    return err_set(err, ERR_RETRY, "no_answer", "%s: %s", call->place,
                   strerror(number));
}

static bool await(const struct place_call *call, short events, struct err *err)
{
    struct pollfd wanted = { .fd = call->fd, .events = events };
    uint64_t now = clock_ms();
    int left = now < call->until ? (int)(call->until - now) : 0;
    int ready = poll(&wanted, 1, left);

    if (ready < 0)
        return place_fail(call, errno, err);
    return ready > 0 ||
           err_set(err, ERR_RETRY, "no_answer", "%s: no answer within %llu ms",
                   call->place, (unsigned long long)call->timeout_ms);
}

static bool place_connect(struct place_call *call,
                          const struct listen_place *place, struct err *err)
{
    union {
        struct sockaddr any;
        struct sockaddr_un path;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } name = { .any = { 0 } };
    socklen_t size = sizeof(name.path);
    int fault = 0;
    socklen_t fault_size = sizeof(fault);

    if (place->path[0] != '\0') {
        name.path.sun_family = AF_UNIX;
        memcpy(name.path.sun_path, place->path, sizeof(place->path));
    } else if (inet_pton(AF_INET, place->address, &name.v4.sin_addr) == 1) {
        name.v4.sin_family = AF_INET;
        name.v4.sin_port = htons(place->port);
        size = sizeof(name.v4);
    } else {
        inet_pton(AF_INET6, place->address, &name.v6.sin6_addr);
        name.v6.sin6_family = AF_INET6;
        name.v6.sin6_port = htons(place->port);
        size = sizeof(name.v6);
    }
    call->fd = socket(name.any.sa_family,
                      SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (call->fd < 0)
        return place_fail(call, errno, err);
    if (connect(call->fd, &name.any, size) == 0)
        return true;
    if (errno != EINPROGRESS)
        return place_fail(call, errno, err);
    if (!await(call, POLLOUT, err))
        return false;
    if (getsockopt(call->fd, SOL_SOCKET, SO_ERROR, &fault, &fault_size) < 0)
        fault = errno;
    return fault == 0 || place_fail(call, fault, err);
}

/* It fits into what a fresh socket takes at once. */
static bool place_send(const struct place_call *call, const char *path,
                       struct err *err)
{
    CLEANUP(buf_finish) struct buf text;

    buf_init(&text, 1024);
    buf_printf(&text,
               "GET %s HTTP/1.1\r\nHost: quern\r\nConnection: close\r\n\r\n",
               path);
    ssize_t sent = send(call->fd, text.data, text.len, MSG_NOSIGNAL);
    return sent == (ssize_t)text.len ||
           place_fail(call, sent < 0 ? errno : EIO, err);
}

/* Receives a piece. False: err says why not; *is_end: nothing comes any more.
 */
static bool place_receive(const struct place_call *call, struct buf *bytes,
                          bool *is_end, struct err *err)
{
    char *room = buf_reserve(bytes, PIECE);
    ssize_t n;

    if (!room)
        return err_set(err, ERR_RETRY, "no_answer",
                       "%s: its answer has more than %d bytes", call->place,
                       PLACE_MOST_BYTES);
    if (!await(call, POLLIN, err))
        return false;
    n = recv(call->fd, room, PIECE, 0);
    if (n < 0 && errno != EAGAIN)
        return place_fail(call, errno, err);
    *is_end = n == 0;
    bytes->len += n > 0 ? (size_t)n : 0;
    return true;
}

static bool place_ask(struct place_call *call, const char *path,
                      struct buf *bytes, struct place_answer *answer,
                      struct err *err)
{
    enum place_reading reading = PLACE_MORE;
    bool is_end = false;

    if (!place_send(call, path, err))
        return false;
    while (reading == PLACE_MORE) {
        if (!place_receive(call, bytes, &is_end, err))
            return false;
        reading = place_read(buf_view(bytes), is_end, answer, err);
    }
    return reading == PLACE_WHOLE || err_prefix(err, "%s", call->place);
}

bool place_get(const char *place, const char *path, uint64_t timeout_ms,
               struct buf *bytes, struct place_answer *answer, struct err *err)
{
    struct place_call call = { .place = place,
                               .timeout_ms = timeout_ms,
                               .until = clock_after(timeout_ms),
                               .fd = -1 };
    struct listen_place where;
    struct err wrong = { 0 };
    const char *list = place;
    bool good;

    if (!listen_place_read(&list, &where, &wrong) || *list != '\0') {
        if (wrong.kind == ERR_NONE)
            err_set(&wrong, ERR_REJECT, "bad_setting",
                    "\"%.100s\" must be one place", place);
        *err = wrong;
        return false;
    }
    good = place_connect(&call, &where, err) &&
           place_ask(&call, path, bytes, answer, err);
    if (call.fd >= 0)
        close(call.fd);
    return good;
}
