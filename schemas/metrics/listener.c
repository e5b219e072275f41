/* listener.c - libmicrohttpd, driven by libuv. */
#include "schemas/metrics/listener.h"

#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "schemas/service/alarm.h"
#include "schemas/settings/listen_place.h"

enum { CONNECTIONS = 8, IDLE_S = 10, CONNECTION_BYTES = 8 << 10, BACKLOG = 16 };

struct listener {
    struct listener_pages pages;
    struct MHD_Daemon *daemon;
    uv_poll_t poll;
    struct alarm *due; /* when libmicrohttpd wants to see its time-outs */
    char path[108];    /* of a unix socket, to be removed; "": there is none */
    unsigned int port;
};

/* ------------------------------------------------------------------- answers
 */

static enum MHD_Result answer(struct MHD_Connection *connection,
                              unsigned int status, const char *type,
                              struct view text)
{
    union { /* libmicrohttpd copies it, but does not say const */
        const char *text;
        void *bytes;
    } same = { text.data };
    struct MHD_Response *response = MHD_create_response_from_buffer(
        text.len, same.bytes, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL,
                            "no-store");
    enum MHD_Result queued = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result answer_metrics(const struct listener *listener,
                                      struct MHD_Connection *connection)
{
    CLEANUP(buf_finish) struct buf out;
    buf_init(&out, LISTENER_MOST_BYTES);
    listener->pages.write_metrics(listener->pages.owner, &out);
    if (!buf_ok(&out))
        return answer(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "text/plain",
                      VIEW("the metrics have more than 4 MiB\n"));
    return answer(connection, MHD_HTTP_OK, "text/plain; version=0.0.4",
                  buf_view(&out));
}

static enum MHD_Result answer_ready(const struct listener *listener,
                                    struct MHD_Connection *connection)
{
    CLEANUP(buf_finish) struct buf why;
    buf_init(&why, 4096);
    if (listener->pages.is_ready(listener->pages.owner, &why))
        return answer(connection, MHD_HTTP_OK, "text/plain", VIEW("ready\n"));
    buf_add(&why, VIEW("\n"));
    return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "text/plain",
                  buf_view(&why));
}

/* The signature is libmicrohttpd's. NOLINTNEXTLINE(*-function-size) */
static enum MHD_Result on_request(void *owner,
                                  struct MHD_Connection *connection,
                                  const char *path, const char *method,
                                  const char *version, const char *body,
                                  size_t *body_bytes, void **state)
{
    const struct listener *listener = owner;
    (void)version, (void)body, (void)state;
    if (*body_bytes > 0) { /* nobody reads it */
        *body_bytes = 0;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
        strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain",
                      VIEW("only GET and HEAD are answered here\n"));
    if (strcmp(path, "/metrics") == 0)
        return answer_metrics(listener, connection);
    if (strcmp(path, "/livez") == 0)
        return answer(connection, MHD_HTTP_OK, "text/plain", VIEW("live\n"));
    if (strcmp(path, "/readyz") == 0)
        return answer_ready(listener, connection);
    return answer(connection, MHD_HTTP_NOT_FOUND, "text/plain",
                  VIEW("/metrics, /livez and /readyz are answered here\n"));
}

/* ---------------------------------------------------------------------- loop
 */

static unsigned int connections(const struct listener *listener)
{
    return MHD_get_daemon_info(listener->daemon,
                               MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
        ->num_connections;
}

/* At its limit libmicrohttpd stops looking for connections, and begins again in
 * the run after the one in which one of them has ended: nothing else would call
 * for that run. */
static void run(struct listener *listener)
{
    MHD_UNSIGNED_LONG_LONG wait_ms;
    unsigned int before;
    do {
        before = connections(listener);
        MHD_run(listener->daemon);
    } while (connections(listener) != before);
    if (MHD_get_timeout(listener->daemon, &wait_ms) == MHD_YES)
        alarm_set(listener->due, wait_ms);
    else
        alarm_stop(listener->due);
}

static void on_due(void *owner)
{
    run(owner);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    run(poll->data);
}

/* ------------------------------------------------------------------- sockets
 */

static int fail(int fd, const char *place, struct err *err)
{
    err_set(err, ERR_REJECT, "cannot_listen", "cannot listen at %s: %s", place,
            strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

static int listen_unix(const struct listen_place *place, const char *text,
                       struct err *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, place->path, sizeof(place->path));
    struct sockaddr *name = (struct sockaddr *)&address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* A path that refuses was left by a process that has died. */
    if (fd >= 0 && connect(fd, name, sizeof(address)) < 0 &&
        errno == ECONNREFUSED)
        unlink(place->path);
    if (fd >= 0)
        close(fd);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, name, sizeof(address)) < 0 ||
        listen(fd, BACKLOG) < 0)
        return fail(fd, text, err);
    return fd;
}

static int listen_tcp(const struct listen_place *place, const char *text,
                      struct err *err)
{
    struct sockaddr_storage name = { 0 };
    int on = 1;
    if (uv_ip4_addr(place->address, place->port, (struct sockaddr_in *)&name))
        uv_ip6_addr(place->address, place->port, (struct sockaddr_in6 *)&name);
    int fd =
        socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
        bind(fd, (struct sockaddr *)&name, sizeof(name)) < 0 ||
        listen(fd, BACKLOG) < 0)
        return fail(fd, text, err);
    return fd;
}

static unsigned int port_of(int fd)
{
    struct sockaddr_storage name = { 0 };
    socklen_t size = sizeof(name);
    char port[8] = "";
    if (getsockname(fd, (struct sockaddr *)&name, &size) < 0 ||
        getnameinfo((struct sockaddr *)&name, size, NULL, 0, port, sizeof(port),
                    NI_NUMERICSERV) != 0)
        return 0;
    return (unsigned int)strtoul(port, NULL, 10);
}

struct listener *listener_open(uv_loop_t *loop, const char *place,
                               const struct listener_pages *pages,
                               struct err *err)
{
    struct listen_place where;
    const char *list = place;
    struct err wrong = { 0 };
    if (!listen_place_read(&list, &where, &wrong)) {
        if (err)
            *err = wrong;
        return NULL;
    }
    int fd = where.path[0] != '\0' ? listen_unix(&where, place, err)
                                   : listen_tcp(&where, place, err);
    if (fd < 0)
        return NULL;
    struct listener *listener = calloc(1, sizeof(*listener));
    if (!listener)
        abort();
    listener->pages = *pages;
    listener->port = where.path[0] != '\0' ? 0 : port_of(fd);
    memcpy(listener->path, where.path, sizeof(listener->path));
    listener->daemon = MHD_start_daemon(
        MHD_USE_EPOLL, 0, NULL, NULL, on_request, listener,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned int)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned int)IDLE_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)CONNECTION_BYTES, MHD_OPTION_END);
    if (!listener->daemon)
        abort();
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(listener->daemon, MHD_DAEMON_INFO_EPOLL_FD);
    uv_poll_init(loop, &listener->poll, info->epoll_fd);
    listener->poll.data = listener;
    uv_poll_start(&listener->poll, UV_READABLE, on_poll);
    listener->due = alarm_new(loop, on_due, listener);
    return listener;
}

unsigned int listener_port(const struct listener *listener)
{
    return listener->port;
}

static void on_closed(uv_handle_t *handle)
{
    struct listener *listener = handle->data;
    MHD_stop_daemon(listener->daemon);
    free(listener);
}

void listener_close(struct listener *listener)
{
    if (!listener)
        return;
    alarm_free(listener->due);
    if (listener->path[0] != '\0')
        unlink(listener->path);
    uv_close((uv_handle_t *)&listener->poll, on_closed);
}
