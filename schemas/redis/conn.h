/* conn.h - a blocking connection to Redis: for producers and tools.
 *
 * It finds the server that has the slot of its keys (route.h), and finds it
 * again when it has moved. One thread may use it at a time. After any error the
 * connection is closed, and made anew on the next use (a late reply must never
 * answer the next command), with AUTH, SELECT and CLIENT SETNAME sent again.
 * Every call ends within the time that it is given, whatever the server does.
 * No call raises SIGPIPE. After a SUBSCRIBE only conn_wait() may be called, and
 * conn_send() of a further SUBSCRIBE or an UNSUBSCRIBE, whose answers
 * conn_wait() brings. */
#ifndef SCHEMAS_REDIS_CONN_H
#define SCHEMAS_REDIS_CONN_H

#include <hiredis/hiredis.h>
#include <time.h>

#include "schemas/redis/address.h"
#include "schemas/redis/command.h"
#include "schemas/redis/reply.h"

struct conn;

/* Copies the address and the role; connects on first use. slot: the slot of all
 * keys that will be asked for (slot.h); it matters in a cluster only. role: the
 * connection is called quern-<role> in CLIENT LIST. */
struct conn *conn_new(const struct address *address, unsigned int slot,
                      const char *role);
void conn_free(struct conn *conn);

/* Sends and waits for the reply; freeReplyObject() it. Error replies become
 * err: see reply_error(). NULL on failure. timeout_ms covers connecting too. */
redisReply *conn_call(struct conn *conn, const struct command *command,
                      uint64_t timeout_ms, struct err *err);

/* Pipelining: send, then receive as many replies as were sent. Commands are
 * gathered, and written when there are 64 KiB of them or when a reply is waited
 * for. Error replies are returned as replies, but those that end the connection
 * (reply.h) are failures. After a failure all replies that are still owed are
 * lost: each conn_receive() of one fails. */
bool conn_send(struct conn *conn, const struct command *command,
               uint64_t timeout_ms, struct err *err);
redisReply *conn_receive(struct conn *conn, uint64_t timeout_ms,
                         struct err *err);
/* Waits for a pushed message (SUBSCRIBE). NULL with err->kind ERR_NONE: none
 * came within wait_ms; the connection is still good. */
redisReply *conn_wait(struct conn *conn, uint64_t wait_ms, struct err *err);

/* Whether it has not been closed since it connected: only such a subscriber may
 * be waited for. */
bool conn_is_open(const struct conn *conn);

/* Waits until one of these subscribers that are open has something to read, or
 * until wait_ms have passed: then it is false. conn_wait() of each with wait_ms
 * 0 comes before: it sends what was gathered, and has what was read already. */
bool conn_wait_any(struct conn *const *conns, size_t count, uint64_t wait_ms);

/* Whether the last reply that was received said that nothing of the command was
 * done (reply_is_refusal()), also when it ended the connection. A call that
 * failed otherwise may have been carried out. */
bool conn_was_refused(const struct conn *conn);

/* Whether any server has ever answered: if so, a failure now may be a failover,
 * which passes; if not, more likely a wrong setting. */
bool conn_was_answered(const struct conn *conn);

/* The server that it was last connected to, as host:port; and whether both were
 * last connected to the same one. */
void conn_print_server(const struct conn *conn, char *text, size_t size);
bool conn_is_at_one(const struct conn *conn, const struct conn *other);

/* When the certificate of that server ends; 0: it has shown none. */
time_t conn_peer_ends(const struct conn *conn);

/* Closes; the next call connects anew. */
void conn_close(struct conn *conn);

#endif
