/* http_server.h - an HTTP/1.1 server on a libuv loop: sockets for connections.
 *
 *   listeners ──accept──▶ sockets ──bytes──▶ http_connection ──▶ the handler
 *   (unix, TCP, TLS)         ▲ bounded in all, and per address
 *                            └── of TLS: an http_tunnel between
 *
 * One read buffer serves all connections. A connection that is one too many is
 * closed without a word, before anything of it is read. */
#ifndef PRODUCER_GATEWAY_HTTP_SERVER_H
#define PRODUCER_GATEWAY_HTTP_SERVER_H

#include <uv.h>

#include "producer/gateway/http/http_request.h"
#include "producer/gateway/http/http_tls.h"

struct http_server;

/* Copies limits and handler; borrows the loop. */
struct http_server *http_server_new(uv_loop_t *loop,
                                    const struct http_limits *limits,
                                    const struct http_handler *handler);

/* path: of a unix socket; a socket that is left over there is replaced, if
 * nobody listens on it. */
bool http_server_listen_unix(struct http_server *server, const char *path,
                             struct err *err);
/* address: a numeric one, v4 or v6; port 0: any. Returns the port in *bound,
 * which may be NULL. */
bool http_server_listen_tcp(struct http_server *server, const char *address,
                            uint16_t port, uint16_t *bound, struct err *err);
/* The same, for TLS alone. Borrows tls, until http_server_free(). */
bool http_server_listen_tls(struct http_server *server, const char *address,
                            uint16_t port, const struct http_tls *tls,
                            uint16_t *bound, struct err *err);

size_t http_server_connections(const struct http_server *server);

struct http_load {
    size_t connections;
    size_t streams; /* that have not ended */
};
struct http_load http_server_load(const struct http_server *server);

/* Accepts nobody any more, closes idle connections, lets requests and streams
 * end within grace_ms, then cuts them (HTTP_GONE_SERVER) and calls drained; not
 * inside of this call. To be called once. */
void http_server_drain(struct http_server *server, uint64_t grace_ms,
                       void (*drained)(void *owner), void *owner);
/* After drained was called; accepts NULL. May be called in drained. */
void http_server_free(struct http_server *server);

#endif
