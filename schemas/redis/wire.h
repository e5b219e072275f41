/* wire.h - what conn and link have in common: bytes to and from one server.
 *
 * A wire is hiredis' context in its non-blocking form. Nothing here waits: the
 * owner does (conn with poll(), link with libuv), and calls when the socket is
 * readable or writable. hiredis' own asynchronous context is not used, because
 * of its rules about what may be freed inside of a callback, and because it has
 * no deadlines; it would only save the queue of calls (pending.h).
 *
 * After a failure of any function here the wire is of no more use: redisFree()
 * it. */
#ifndef SCHEMAS_REDIS_WIRE_H
#define SCHEMAS_REDIS_WIRE_H

#include <hiredis/hiredis.h>
#include <time.h>

#include "schemas/redis/address.h"
#include "schemas/redis/command.h"

/* Begins to connect to the address' path, or to the node. The socket becomes
 * writable when the connection is made or has failed; wire_connected() says
 * which, and begins TLS. ip: the numeric address of the node's host; or the
 * host itself, which hiredis then looks up, and blocks for it. NULL: failed at
 * once. */
redisContext *wire_open(const struct address *address, const struct node *node,
                        const char *ip, struct err *err);
bool wire_connected(redisContext *wire, const struct address *address,
                    const struct node *node, struct err *err);

/* Copies the command into the output; wire_flush() writes it. */
void wire_put(redisContext *wire, const struct command *command);
/* Writes what the socket takes; *done: all of it. */
bool wire_flush(redisContext *wire, bool *done, struct err *err);
/* Reads what is there, up to 1 MiB; it is no failure when nothing is there. */
bool wire_fill(redisContext *wire, struct err *err);
/* *reply: the next whole reply, to be freed by freeReplyObject(); NULL: not all
 * of it has come yet. */
bool wire_next(redisContext *wire, redisReply **reply, struct err *err);

/* Begins TLS on a socket that is connected, by what the files hold now. The
 * server's certificate must be one that is trusted, for that host. Error:
 * redis_unavailable, also when a file cannot be used: it may be whole again at
 * the next try. */
bool tls_available(void);
bool tls_start(redisContext *wire, const struct address_tls *files,
               const char *host, struct err *err);
/* Whether the files can be used now. Error: bad_setting. */
bool tls_check(const struct address_tls *files, struct err *err);
/* The server has said something, so it has accepted the certificate. */
void tls_heard(redisContext *wire);
/* When the certificate ends that the server of the last handshake in this
 * thread has shown; 0: there was none. */
time_t tls_peer_ends(void);
/* The reason of TLS why a wire broke; NULL: it was not TLS. */
const char *tls_reason(const redisContext *wire);

#endif
