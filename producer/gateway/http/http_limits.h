/* http_limits.h - every bound of the HTTP server, and its default.
 *
 * Times are in milliseconds; the server looks at its connections four times a
 * second, so what is late is noticed up to 250 ms later. */
#ifndef PRODUCER_GATEWAY_HTTP_LIMITS_H
#define PRODUCER_GATEWAY_HTTP_LIMITS_H

#include <stddef.h>
#include <stdint.h>

/* The most that a request may have, whatever the limits say. */
enum {
    HTTP_MAX_HEAD = 16 << 10, /* bytes of request line and fields */
    HTTP_MAX_FIELDS = 100,
    HTTP_MAX_SEGMENTS = 32, /* of a path */
    HTTP_MAX_PAIRS = 64,    /* of a query */
    HTTP_READ_BYTES = 64 << 10,
};

struct http_limits {
    uint32_t connections;             /* in all */
    uint32_t connections_per_address; /* TCP only: unix sockets have one */
    uint64_t head_ms;                 /* from its first byte to its last */
    uint64_t body_grace_ms;           /* as slow as it likes */
    uint64_t body_bytes_per_s;        /* on average, after the grace */
    uint64_t keep_alive_ms;           /* between two requests */
    uint64_t linger_ms;   /* after an answer that ends the connection, what the
                             peer still sends is read and dropped */
    uint64_t stall_ms;    /* the peer takes none of the bytes that wait for it;
                             also TCP_USER_TIMEOUT */
    size_t queue_bytes;   /* that wait for a peer: a next request waits, and a
                             stream may be cut, see waiting_bytes */
    size_t waiting_bytes; /* that wait for all peers together: from then on a
                             stream that has more than queue_bytes is cut,
                             and an answer of more than that is refused */
    size_t collected_bytes; /* of all bodies that are collected at one time */
    uint32_t probe_s;       /* TCP keep-alive begins after such a silence */
};

#define HTTP_LIMITS_DEFAULT                                                    \
    {                                                                          \
        .connections = 12000, .connections_per_address = 2000,                 \
        .head_ms = 10000, .body_grace_ms = 10000, .body_bytes_per_s = 1024,    \
        .keep_alive_ms = 75000, .linger_ms = 2000, .stall_ms = 30000,          \
        .queue_bytes = 64 << 10, .waiting_bytes = 128 << 20,                   \
        .collected_bytes = 256 << 20, .probe_s = 60,                           \
    }

#endif
