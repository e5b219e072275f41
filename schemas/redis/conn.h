/* conn.h - a blocking connection to Redis: for producers and tools.
 *
 * It finds the server that has the slot of its keys (route.h), and finds it
 * again when it has moved. One thread at a time. A connection that has seen any
 * error is closed and made anew on the next use (a late reply must never answer
 * the next command), with AUTH, SELECT and CLIENT SETNAME sent again. Deadlines
 * are ours: every call ends within its time, whatever the server does. No
 * SIGPIPE comes of it. After a SUBSCRIBE there is only conn_wait(), and
 * conn_send() of another or an UNSUBSCRIBE, whose answers conn_wait() brings.
 */
#ifndef SCHEMAS_REDIS_CONN_H
#define SCHEMAS_REDIS_CONN_H

#include <hiredis/hiredis.h>

#include "schemas/redis/address.h"
#include "schemas/redis/command.h"
#include "schemas/redis/reply.h"

struct conn;

/* Copies the address; connects on first use. slot: of every key that will be
 * asked for (slot.h). role: for CLIENT LIST. */
struct conn *conn_new(const struct address *address, unsigned int slot,
                      const char *role);
void conn_free(struct conn *conn);

/* Sends and waits for the reply; freeReplyObject() it. Error replies become
 * err: see reply_error(). NULL on failure. timeout_ms covers connecting too. */
redisReply *conn_call(struct conn *conn, const struct command *command,
                      uint64_t timeout_ms, struct err *err);

/* Pipelining: send, then receive as many replies as were sent. Commands are
 * gathered: they leave 64 KiB at a time, and before anything is waited for.
 * Error replies are returned as replies, but not those that end the connection
 * (reply.h). */
bool conn_send(struct conn *conn, const struct command *command,
               uint64_t timeout_ms, struct err *err);
redisReply *conn_receive(struct conn *conn, uint64_t timeout_ms,
                         struct err *err);
/* Waits for a pushed message (SUBSCRIBE). NULL with err->kind ERR_NONE: none
 * came within wait_ms; the connection is still good. */
redisReply *conn_wait(struct conn *conn, uint64_t wait_ms, struct err *err);

/* What conn_receive() waited for last: the server has said that it does nothing
 * of it (reply_is_refusal()), also where that ended the connection. */
bool conn_was_refused(const struct conn *conn);

/* Some server has answered once: what fails now may be a failover. */
bool conn_was_answered(const struct conn *conn);

/* The server that it was last connected to, as host:port; and whether that is
 * the other one's too. */
void conn_print_server(const struct conn *conn, char *text, size_t size);
bool conn_is_at_one(const struct conn *conn, const struct conn *other);

/* Closes; the next call connects anew. */
void conn_close(struct conn *conn);

#endif
