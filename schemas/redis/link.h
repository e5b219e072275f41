/* link.h - an asynchronous connection to Redis on a libuv loop.
 *
 *                  .------- another is named --.
 *                  v                           |
 *   CLOSED --> RESOLVING --> CONNECTING --> GREETING --> READY
 *                ^  |            |             |           |
 *                |  v            v             v           v
 *               BACKOFF <--------+-------------+-----------'   any --> CLOSED
 *
 * The link connects, authenticates, selects its database, asks whether this is
 * the server that has the slot of its keys (route.h), and tells its owner that
 * it is ready. When it breaks, every unanswered call is answered once with NULL
 * and a reason, the owner is told, and the link tries again after 50 ms,
 * doubled up to 2 s, with jitter; of several servers each comes once before
 * that. A call that is not answered in time breaks the link: its late reply
 * would answer the next call. So does an error reply that only another
 * connection, or another server, cures (reply.h).
 *
 * Callbacks come from the loop, never from inside a function of this page, and
 * may call any of them. Programs ignore SIGPIPE. */
#ifndef SCHEMAS_REDIS_LINK_H
#define SCHEMAS_REDIS_LINK_H

#include <hiredis/hiredis.h>
#include <uv.h>

#include "schemas/redis/address.h"
#include "schemas/redis/command.h"

struct link;

struct link_events { /* each may be NULL */
    void (*on_ready)(void *owner);
    /* Also when it could not connect: redis_refused is worth giving up for. */
    void (*on_lost)(void *owner, const struct err *why);
    void (*on_push)(void *owner, const redisReply *message); /* SUBSCRIBE */
};

/* reply: borrowed, valid during the call; NULL when the link broke first, and
 * then why says so. Any other error reply arrives as a reply. */
typedef void link_done(void *owner, const redisReply *reply,
                       const struct err *why);

/* Copies the address. slot: of every key that will be asked for (slot.h). role
 * appears in CLIENT LIST. */
struct link *link_new(uv_loop_t *loop, const struct address *address,
                      unsigned int slot, const char *role,
                      struct link_events events, void *owner);
void link_open(struct link *link);
bool link_is_ready(const struct link *link);

/* False when the link is not ready: nothing was sent, done will not be called.
 * deadline_ms: from now. done may be NULL (errors then only break the link). */
bool link_send(struct link *link, const struct command *command,
               uint64_t deadline_ms, link_done *done, void *owner);

/* Within a link_done: the reply is the caller's, freeReplyObject() it. */
redisReply *link_keep_reply(struct link *link);

/* Makes the link a subscriber of one channel and of nothing else, on_push gets
 * its messages; repeated by the link after every reconnect. What was published
 * in between is lost, as pub/sub has it. */
void link_subscribe(struct link *link, struct view channel);

/* Sentinels say that the master is at that node: a connection to another one is
 * broken, and one that is to be tried again is tried now. */
void link_switch(struct link *link, const struct node *master);

/* Answers what is unanswered, closes, frees; closed(owner) when all is gone. */
void link_free(struct link *link, void (*closed)(void *owner), void *owner);

#endif
