/* http_server.c - an HTTP/1.1 server on a libuv loop.
 *
 * A socket is freed in its close callback, and its connection with it: nothing
 * else frees either. The server's own handles are closed when the last socket
 * has gone; drained() is called by the last of them. */
#include "producer/gateway/http/http_server.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "producer/gateway/http/http_address.h"
#include "producer/gateway/http/http_connection.h"
#include "producer/gateway/http/http_tunnel.h"

enum { TICK_MS = 250, BACKLOG = 1024 };

union http_handle {
    uv_handle_t handle;
    uv_stream_t stream;
    uv_tcp_t tcp;
    uv_pipe_t pipe;
};

struct http_listener {
    union http_handle uv;
    struct http_server *server;
    struct http_listener *next;
    const struct http_tls *tls; /* NULL: none */
    bool is_tcp;
};

struct http_socket {
    union http_handle uv;
    struct http_server *server;
    struct http_connection *connection;
    struct http_tunnel *tunnel;     /* NULL: no TLS */
    struct http_socket *next, **at; /* all of the server */
    struct http_socket *stirred;    /* the next that wants a run */
    struct http_address *address;   /* NULL: a unix socket */
    bool is_stirred;
    bool is_finishing;
};

/* A part of some bytes that the kernel has not taken yet. */
struct http_write {
    uv_write_t write;
    struct http_bytes *bytes;
};

struct http_server {
    struct http_service service;
    uv_loop_t *loop;
    uv_timer_t tick;
    uv_idle_t idle;
    unsigned int handles; /* that libuv has: of the server and listeners */
    struct http_listener *listeners;
    struct http_socket *sockets;
    struct http_socket *stirred, **stirred_end;
    size_t count;
    struct http_addresses *addresses;
    struct http_tunnels *tunnels; /* NULL: nobody speaks TLS */
    bool is_draining;
    bool is_closing;
    uint64_t drain_ms; /* when sockets are cut */
    void (*drained)(void *owner);
    void *drained_owner;
    char read[HTTP_READ_BYTES];
};

static void *server_allocate(size_t size)
{
    void *memory = calloc(1, size);

    if (!memory)
        abort();
    return memory;
}

static void server_look_at_clock(struct http_server *server)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    server->service.date_s = now.tv_sec;
    server->service.now_ms = uv_now(server->loop);
}

/* ---------------------------------------------- the wire of http_connection */

static void on_socket_closed(uv_handle_t *handle);
static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf);

static void on_written(uv_write_t *write, int status)
{
    struct http_write *one = write->data;
    struct http_socket *socket = write->handle->data;

    http_bytes_free(one->bytes);
    free(one);
    if (uv_is_closing(&socket->uv.handle))
        return;
    server_look_at_clock(socket->server);
    if (status < 0)
        http_connection_lost(socket->connection, false);
    else if (socket->tunnel)
        http_tunnel_drained(socket->tunnel);
    else
        http_connection_drained(socket->connection);
}

static void socket_send(void *owner, struct http_bytes *bytes, struct view part)
{
    struct http_socket *socket = owner;
    uv_buf_t buf = { .len = part.len };

    if (uv_is_closing(&socket->uv.handle) || socket->is_finishing)
        return;
    /* libuv's buffers are of char * also where it only reads. */
    memcpy(&buf.base, &part.data, sizeof(buf.base));
    int sent = uv_try_write(&socket->uv.stream, &buf, 1);
    if (sent > 0) {
        buf.base += sent;
        buf.len -= (size_t)sent;
    }
    if (buf.len == 0)
        return;
    /* Also after an error of uv_try_write(): on_written() then tells of it. */
    struct http_write *one = server_allocate(sizeof(*one));
    one->write.data = one;
    one->bytes = http_bytes_take(bytes);
    if (uv_write(&one->write, &socket->uv.stream, &buf, 1, on_written) < 0) {
        http_bytes_free(one->bytes);
        free(one);
    }
}

static size_t socket_waiting(const void *owner)
{
    const struct http_socket *socket = owner;

    return uv_stream_get_write_queue_size(&socket->uv.stream);
}

static void on_allocate(uv_handle_t *handle, size_t wanted, uv_buf_t *buf)
{
    struct http_socket *socket = handle->data;

    (void)wanted;
    *buf = uv_buf_init(socket->server->read,
                       socket->tunnel ? TUNNEL_READ_BYTES : HTTP_READ_BYTES);
}

static void socket_read(void *owner, bool on)
{
    struct http_socket *socket = owner;

    if (on && !uv_is_closing(&socket->uv.handle))
        uv_read_start(&socket->uv.stream, on_allocate, on_read);
    else
        uv_read_stop(&socket->uv.stream);
}

static void on_finished(uv_shutdown_t *finish, int status)
{
    (void)status;
    free(finish);
}

static void socket_finish(void *owner)
{
    struct http_socket *socket = owner;

    if (socket->is_finishing || uv_is_closing(&socket->uv.handle))
        return;
    socket->is_finishing = true;
    uv_shutdown_t *finish = server_allocate(sizeof(*finish));
    if (uv_shutdown(finish, &socket->uv.stream, on_finished) < 0)
        free(finish);
}

static void on_idle(uv_idle_t *idle)
{
    struct http_server *server = idle->data;
    struct http_socket *socket = server->stirred, *next;

    uv_idle_stop(idle);
    server->stirred = NULL;
    server->stirred_end = &server->stirred;
    server_look_at_clock(server);
    /* Sockets are freed by the loop only: none of these can go meanwhile. */
    for (; socket; socket = next) {
        next = socket->stirred;
        socket->stirred = NULL;
        socket->is_stirred = false;
        http_connection_run(socket->connection);
    }
}

static void socket_soon(void *owner)
{
    struct http_socket *socket = owner;
    struct http_server *server = socket->server;

    if (socket->is_stirred || uv_is_closing(&socket->uv.handle))
        return;
    socket->is_stirred = true;
    *server->stirred_end = socket;
    server->stirred_end = &socket->stirred;
    uv_idle_start(&server->idle, on_idle);
}

static void socket_close(void *owner)
{
    struct http_socket *socket = owner;

    if (!uv_is_closing(&socket->uv.handle))
        uv_close(&socket->uv.handle, on_socket_closed);
}

static const struct http_wire wire = {
    .send = socket_send,
    .waiting = socket_waiting,
    .read = socket_read,
    .finish = socket_finish,
    .soon = socket_soon,
    .close = socket_close,
};

static void on_read(uv_stream_t *stream, ssize_t got, const uv_buf_t *buf)
{
    struct http_socket *socket = stream->data;
    struct view bytes = { buf->base, got > 0 ? (size_t)got : 0 };

    server_look_at_clock(socket->server);
    if (got > 0 && socket->tunnel)
        http_tunnel_feed(socket->tunnel, bytes);
    else if (got > 0)
        http_connection_feed(socket->connection, bytes);
    else if (got < 0 && socket->tunnel)
        http_tunnel_lost(socket->tunnel, got == UV_EOF);
    else if (got < 0)
        http_connection_lost(socket->connection, got == UV_EOF);
}

/* ------------------------------------------------------------------- ends */

static void on_server_closed(uv_handle_t *handle)
{
    struct http_server *server = handle->data;

    if (--server->handles == 0 && server->drained)
        server->drained(server->drained_owner);
}

static void on_listener_closed(uv_handle_t *handle)
{
    struct http_listener *listener = handle->data;
    struct http_server *server = listener->server;

    free(listener);
    if (--server->handles == 0 && server->drained)
        server->drained(server->drained_owner);
}

static void server_close_when_empty(struct http_server *server)
{
    if (!server->is_draining || server->is_closing || server->sockets)
        return;
    server->is_closing = true;
    uv_close((uv_handle_t *)&server->tick, on_server_closed);
    uv_close((uv_handle_t *)&server->idle, on_server_closed);
}

/* Takes the socket out of the list of those that want a run. */
static void socket_unstir(struct http_socket *socket)
{
    struct http_socket **at = &socket->server->stirred;

    if (!socket->is_stirred)
        return;
    while (*at != socket)
        at = &(*at)->stirred;
    *at = socket->stirred;
    if (!*at)
        socket->server->stirred_end = at;
}

static void on_socket_closed(uv_handle_t *handle)
{
    struct http_socket *socket = handle->data;
    struct http_server *server = socket->server;

    socket_unstir(socket);
    *socket->at = socket->next;
    if (socket->next)
        socket->next->at = socket->at;
    server->count--;
    http_address_give(server->addresses, socket->address);
    if (socket->connection)
        http_connection_free(socket->connection);
    http_tunnel_free(socket->tunnel);
    free(socket);
    server_close_when_empty(server);
}

static void on_tick(uv_timer_t *timer)
{
    struct http_server *server = timer->data;
    bool is_over =
        server->is_draining && uv_now(server->loop) >= server->drain_ms;

    server_look_at_clock(server);
    for (struct http_socket *socket = server->sockets; socket;
         socket = socket->next) {
        if (uv_is_closing(&socket->uv.handle))
            continue;
        if (is_over)
            http_connection_cut(socket->connection, HTTP_GONE_SERVER);
        http_connection_tick(socket->connection);
    }
}

/* ------------------------------------------------------------------ accepts */

/* The kernel takes at most so many bytes beyond what the peer's window has
 * room for: else it would keep megabytes for a follower that reads nothing. */
enum { UNSENT_BYTES = 64 << 10 };

static void socket_set_options(const struct http_server *server, uv_tcp_t *tcp)
{
    unsigned int stall = (unsigned int)server->service.limits.stall_ms;
    int fd, unsent = UNSENT_BYTES;

    uv_tcp_nodelay(tcp, 1);
    uv_tcp_keepalive(tcp, 1, server->service.limits.probe_s);
    if (uv_fileno((uv_handle_t *)tcp, &fd) < 0)
        return;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &stall, sizeof(stall));
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent,
                     sizeof(unsent));
}

/* False: there are too many connections, or this one has gone. */
static bool socket_is_welcome(struct http_socket *socket, bool is_tcp)
{
    struct http_server *server = socket->server;
    const struct http_limits *limits = &server->service.limits;
    struct sockaddr_storage peer = { 0 };
    char address[HTTP_ADDRESS_TEXT];
    int len = sizeof(peer);

    if (server->is_draining || server->count > limits->connections)
        return false;
    if (!is_tcp)
        return true;
    if (uv_tcp_getpeername(&socket->uv.tcp, (struct sockaddr *)&peer, &len) <
            0 ||
        !http_address_text(&peer, address))
        return false;
    socket->address = http_address_take(server->addresses, address);
    socket_set_options(server, &socket->uv.tcp);
    return socket->address->connections <= limits->connections_per_address;
}

static void socket_connect(struct http_socket *socket,
                           const struct http_tls *tls)
{
    struct http_server *server = socket->server;
    const char *address = socket->address ? socket->address->text : "";

    if (tls) {
        socket->tunnel = http_tunnel_new(server->tunnels, tls, &wire, socket);
        socket->connection = http_connection_new(
            &server->service, &http_tunnel_wire, socket->tunnel, address);
        http_tunnel_serve(socket->tunnel, socket->connection);
    } else {
        socket->connection =
            http_connection_new(&server->service, &wire, socket, address);
    }
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct http_listener *listener = stream->data;
    struct http_server *server = listener->server;
    struct http_socket *socket;

    if (status < 0)
        return;
    socket = server_allocate(sizeof(*socket));
    socket->server = server;
    if (listener->is_tcp)
        uv_tcp_init(server->loop, &socket->uv.tcp);
    else
        uv_pipe_init(server->loop, &socket->uv.pipe, 0);
    socket->uv.handle.data = socket;
    socket->next = server->sockets;
    socket->at = &server->sockets;
    if (socket->next)
        socket->next->at = &socket->next;
    server->sockets = socket;
    server->count++;
    if (uv_accept(stream, &socket->uv.stream) < 0 ||
        !socket_is_welcome(socket, listener->is_tcp)) {
        uv_close(&socket->uv.handle, on_socket_closed);
        return;
    }
    server_look_at_clock(server);
    socket_connect(socket, listener->tls);
    uv_read_start(&socket->uv.stream, on_allocate, on_read);
}

/* -------------------------------------------------------------- for the owner
 */

struct http_server *http_server_new(uv_loop_t *loop,
                                    const struct http_limits *limits,
                                    const struct http_handler *handler)
{
    struct http_server *server = server_allocate(sizeof(*server));

    server->loop = loop;
    server->service.limits = *limits;
    server->service.handler = *handler;
    server->stirred_end = &server->stirred;
    server->addresses = http_addresses_new();
    uv_timer_init(loop, &server->tick);
    uv_idle_init(loop, &server->idle);
    server->tick.data = server;
    server->idle.data = server;
    server->handles = 2;
    server_look_at_clock(server);
    uv_timer_start(&server->tick, on_tick, TICK_MS, TICK_MS);
    return server;
}

static struct http_listener *listener_new(struct http_server *server,
                                          bool is_tcp)
{
    struct http_listener *listener = server_allocate(sizeof(*listener));

    listener->server = server;
    listener->is_tcp = is_tcp;
    if (is_tcp)
        uv_tcp_init(server->loop, &listener->uv.tcp);
    else
        uv_pipe_init(server->loop, &listener->uv.pipe, 0);
    listener->uv.handle.data = listener;
    server->handles++;
    listener->next = server->listeners;
    server->listeners = listener;
    return listener;
}

static bool listener_open(struct http_listener *listener, int outcome,
                          const char *name, struct err *err)
{
    if (outcome == 0)
        outcome = uv_listen(&listener->uv.stream, BACKLOG, on_connection);
    if (outcome == 0)
        return true;
    listener->server->listeners = listener->next;
    uv_close(&listener->uv.handle, on_listener_closed);
    return err_set(err, ERR_RETRY, "cannot_listen", "cannot listen on %s: %s",
                   name, uv_strerror(outcome));
}

/* Removes a socket on which nobody listens, and nothing else: a connection to a
 * plain file is refused as well. */
static void remove_leftover(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct stat status;

    if (fd < 0)
        return;
    if (lstat(address->sun_path, &status) < 0 || !S_ISSOCK(status.st_mode)) {
        close(fd);
        return;
    }
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 &&
        errno == ECONNREFUSED)
        unlink(address->sun_path);
    close(fd);
}

bool http_server_listen_unix(struct http_server *server, const char *path,
                             struct err *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (strlen(path) >= sizeof(address.sun_path))
        return err_set(err, ERR_REJECT, "cannot_listen",
                       "the path %s of the socket has more than %zu bytes",
                       path, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    remove_leftover(&address);
    struct http_listener *listener = listener_new(server, false);
    int outcome = uv_pipe_bind(&listener->uv.pipe, path);
    return listener_open(listener, outcome, path, err);
}

static bool listen_tcp(struct http_server *server, const char *address,
                       uint16_t port, const struct http_tls *tls,
                       uint16_t *bound, struct err *err)
{
    struct sockaddr_storage name = { 0 };
    char place[HTTP_ADDRESS_TEXT + sizeof("[]:65535")];
    int len = sizeof(name);

    if (uv_ip4_addr(address, port, (struct sockaddr_in *)&name) < 0 &&
        uv_ip6_addr(address, port, (struct sockaddr_in6 *)&name) < 0)
        return err_set(err, ERR_REJECT, "cannot_listen",
                       "%s is not a numeric address", address);
    struct http_listener *listener = listener_new(server, true);
    listener->tls = tls;
    int outcome = uv_tcp_bind(&listener->uv.tcp, (struct sockaddr *)&name, 0);
    snprintf(place, sizeof(place),
             name.ss_family == AF_INET ? "%s:%u" : "[%s]:%u", address, port);
    if (!listener_open(listener, outcome, place, err))
        return false;
    uv_tcp_getsockname(&listener->uv.tcp, (struct sockaddr *)&name, &len);
    if (bound)
        *bound = ntohs(name.ss_family == AF_INET
                           ? ((struct sockaddr_in *)&name)->sin_port
                           : ((struct sockaddr_in6 *)&name)->sin6_port);
    return true;
}

bool http_server_listen_tcp(struct http_server *server, const char *address,
                            uint16_t port, uint16_t *bound, struct err *err)
{
    return listen_tcp(server, address, port, NULL, bound, err);
}

bool http_server_listen_tls(struct http_server *server, const char *address,
                            uint16_t port, const struct http_tls *tls,
                            uint16_t *bound, struct err *err)
{
    if (!server->tunnels)
        server->tunnels = http_tunnels_new();
    return listen_tcp(server, address, port, tls, bound, err);
}

size_t http_server_connections(const struct http_server *server)
{
    return server->count;
}

struct http_load http_server_load(const struct http_server *server)
{
    return (struct http_load){ .connections = server->count,
                               .streams = server->service.streams };
}

void http_server_drain(struct http_server *server, uint64_t grace_ms,
                       void (*drained)(void *owner), void *owner)
{
    struct http_listener *next;

    assert(!server->is_draining);
    server->is_draining = true;
    server->drain_ms = uv_now(server->loop) + grace_ms;
    server->drained = drained;
    server->drained_owner = owner;
    for (struct http_listener *one = server->listeners; one; one = next) {
        next = one->next;
        uv_close(&one->uv.handle, on_listener_closed);
    }
    server->listeners = NULL;
    for (struct http_socket *one = server->sockets; one; one = one->next)
        if (one->connection && !uv_is_closing(&one->uv.handle))
            http_connection_retire(one->connection);
    server_close_when_empty(server);
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    http_tunnels_free(server->tunnels);
    http_addresses_free(server->addresses);
    free(server);
}
