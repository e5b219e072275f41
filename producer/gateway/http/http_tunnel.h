/* http_tunnel.h - TLS between a socket and a connection of HTTP.
 *
 *     socket ──sealed bytes──▶ http_tunnel ──bytes──▶ http_connection
 *            ◀──sealed bytes──             ◀──bytes──
 *              a wire, below                a wire, above
 *
 * It has no sockets: it uses the wire of one, and is a wire for a connection,
 * so that a test can run it in memory.
 *
 * Bytes are sealed when the wire below has nothing waiting, and else wait as
 * they are, shared with all other connections that send them. Only the end of
 * TLS (close_notify) is an end: a socket that ends without it is a lost one,
 * and a connection that is cut does not send it. A peer that breaks the rules
 * of TLS is cut, after an alert; one that speaks HTTP without TLS gets a 400.
 *
 * Bounds: a peer's side of a handshake has at most TUNNEL_MAX_HANDSHAKE bytes,
 * and no message of it may say that it is longer. While bytes wait for a peer,
 * TLS itself (alerts, new keys) answers with at most TUNNEL_MAX_REPLIES bytes;
 * then the peer is cut. How long a handshake may take is the connection's
 * matter: it waits for the first byte of a request. */
#ifndef PRODUCER_GATEWAY_HTTP_TUNNEL_H
#define PRODUCER_GATEWAY_HTTP_TUNNEL_H

#include "producer/gateway/http/http_connection.h"
#include "producer/gateway/http/http_tls.h"

enum {
    /* The most that may be fed at once, so that with the rest of a record it is
     * no more than HTTP_READ_BYTES when opened. */
    TUNNEL_READ_BYTES = HTTP_READ_BYTES - (16 << 10),
    TUNNEL_MAX_HANDSHAKE = 16 << 10,
    TUNNEL_MAX_REPLIES = 4 << 10,
};

struct http_tunnel;
struct http_tunnels; /* what all tunnels of a loop share */

struct http_tunnels *http_tunnels_new(void);
void http_tunnels_free(struct http_tunnels *tunnels); /* accepts NULL */

/* Borrows tunnels and the wire below with its owner. */
struct http_tunnel *http_tunnel_new(struct http_tunnels *tunnels,
                                    const struct http_tls *tls,
                                    const struct http_wire *below, void *owner);
void http_tunnel_free(struct http_tunnel *tunnel); /* accepts NULL */

/* The wire above; its owner is the tunnel. */
extern const struct http_wire http_tunnel_wire;
/* Borrows the connection, which has the wire above. To be called once, before
 * all that follows. */
void http_tunnel_serve(struct http_tunnel *tunnel,
                       struct http_connection *connection);

/* What the socket says, as http_connection_feed() and the others have it. */
void http_tunnel_feed(struct http_tunnel *tunnel, struct view sealed);
void http_tunnel_lost(struct http_tunnel *tunnel, bool is_half);
void http_tunnel_drained(struct http_tunnel *tunnel);

#endif
