/* http_connection.h - one connection of HTTP/1.1: bytes in, requests and bytes
 * out. It knows no sockets, so that TLS fits between, and a fuzzer in front.
 *
 *             a byte              head is whole
 *     idle ──────────▶ head ─┬─────────────────▶ answering ──▶ streaming
 *      ▲                     ▼                    ▲   │            │
 *      │                 deciding ──▶ body ───────┘   │            │
 *      │                     │          │             │            │
 *      ├─────────────────────┼──────────┼─────────────┴────────────┤
 *      │  kept alive         ▼          ▼      to be closed        ▼
 *      │                   lingering: answered; input is dropped until the
 *      └ ─ ─ ─ ─ ─ ─ ─ ─       │      peer closes, or for linger_ms
 *                              ▼
 *                            closed     from every state
 *
 * Requests are answered in their order. Bytes behind a request wait (at most
 * one read of HTTP_READ_BYTES) and reading stops until it is answered. So the
 * going away of a peer that pipelines is seen only then; of all others, at
 * once. A peer that closes its half is taken as gone, since a peer that closes
 * both looks the same. An idle connection that ends while bytes of its last
 * answer wait goes to lingering. */
#ifndef PRODUCER_GATEWAY_HTTP_CONNECTION_H
#define PRODUCER_GATEWAY_HTTP_CONNECTION_H

#include "producer/gateway/http/http_request.h"

/* What carries the bytes; all functions but close may be called at any time
 * before close, and none of them calls back. */
struct http_wire {
    /* Sends part, which lies in bytes; takes a reference of its own. */
    void (*send)(void *owner, struct http_bytes *bytes, struct view part);
    size_t (*waiting)(const void *owner); /* bytes not yet with the kernel */
    void (*read)(void *owner, bool on);   /* it begins on */
    void (*finish)(void *owner);          /* after what waits, close our half */
    void (*soon)(void *owner); /* let the loop call http_connection_run() */
    /* At once. Once. The owner frees the connection, but not inside of it. */
    void (*close)(void *owner);
};

/* What all connections of a server share. */
struct http_service {
    struct http_limits limits;
    struct http_handler handler;
    uint64_t now_ms;  /* a clock that only goes forward; its owner sets it */
    int64_t date_s;   /* since 1970, for Date */
    size_t collected; /* bytes of bodies, until their answers */
    size_t waiting;   /* bytes for all peers, as counted last */
    size_t streams;   /* that have not ended */
};

struct http_connection;

/* Borrows everything; address: of the peer, "" of a unix socket. */
struct http_connection *http_connection_new(struct http_service *service,
                                            const struct http_wire *wire,
                                            void *owner, const char *address);
void http_connection_free(struct http_connection *connection); /* closed only */

void http_connection_feed(struct http_connection *connection,
                          struct view bytes);
/* The peer has closed its half: what waits is still sent. Or it is gone. */
void http_connection_lost(struct http_connection *connection, bool is_half);
void http_connection_drained(struct http_connection *connection);
/* What was noted since is done; calls back. */
void http_connection_run(struct http_connection *connection);
/* Looks at the clock; to be called several times a second. */
void http_connection_tick(struct http_connection *connection);
/* Closes when idle, else after the answer. */
void http_connection_retire(struct http_connection *connection);
/* Closes at once. */
void http_connection_cut(struct http_connection *connection,
                         enum http_gone why);

#endif
