/* wire.h - what conn and link have in common: bytes to and from one server.
 *
 * A wire is hiredis' context in its non-blocking form: nothing here waits, the
 * owner does (conn with poll(), link with libuv) and says when the socket is
 * readable or writable. hiredis' own asynchronous context is not used: its
 * rules about who may free what from inside a callback, and its lack of
 * deadlines, cost more than the queue of calls that it would save.
 *
 * Every failure here ends the wire: redisFree() it. */
#ifndef SCHEMAS_REDIS_WIRE_H
#define SCHEMAS_REDIS_WIRE_H

#include <hiredis/hiredis.h>

#include "schemas/redis/address.h"
#include "schemas/redis/command.h"

/* Begins to connect to the address' path, or to the node; the socket turns
 * writable when that came to an end, and wire_connected() tells which. ip: of
 * the node's host, or the host itself, which is then looked up, and waited for.
 * NULL: failed at once. */
redisContext *wire_open(const struct address *address, const struct node *node,
                        const char *ip, struct err *err);
bool wire_connected(redisContext *wire, const struct address *address,
                    const struct node *node, struct err *err);

void wire_put(redisContext *wire, const struct command *command);
/* Writes what the socket takes; *done: all of it. */
bool wire_flush(redisContext *wire, bool *done, struct err *err);
/* Reads what is there, up to 1 MiB; nothing there is no failure. */
bool wire_fill(redisContext *wire, struct err *err);
/* The next reply that is whole, or NULL in *reply. */
bool wire_next(redisContext *wire, redisReply **reply, struct err *err);

/* TLS over a socket that has connected: the server's certificate must be one
 * that this machine trusts, and in the name of the host. */
bool tls_available(void);
bool tls_start(redisContext *wire, const char *host, struct err *err);
/* What TLS has against a wire that broke; NULL: nothing. */
const char *tls_reason(const redisContext *wire);

#endif
