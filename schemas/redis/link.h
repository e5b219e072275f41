/* link.h - an asynchronous connection to Redis on a libuv loop.
 *
 *                  .-- another server is named -.
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
 * Callbacks come from the loop, never from inside a function of this header,
 * and may call any of these functions, link_free() too. A program that uses it
 * must ignore SIGPIPE. */
#ifndef SCHEMAS_REDIS_LINK_H
#define SCHEMAS_REDIS_LINK_H

#include <hiredis/hiredis.h>
#include <uv.h>

#include "schemas/redis/address.h"
#include "schemas/redis/command.h"

struct link;

struct link_events { /* each may be NULL */
    void (*on_ready)(void *owner);
    /* Also when it could not connect. It tries again by itself, even after
     * redis_refused (a wrong password), where the owner may rather give up. */
    void (*on_lost)(void *owner, const struct err *why);
    void (*on_push)(void *owner, const redisReply *message); /* [S]SUBSCRIBE */
    /* The server has confirmed a subscription, for the first time or after a
     * reconnect: what is published from now on comes. */
    void (*on_subscribed)(void *owner, struct view channel);
};

/* reply: borrowed, valid during the call. NULL when the link broke first: then
 * why says so, and the command may have been carried out. An error reply that
 * does not break the link arrives as a reply. */
typedef void link_done(void *owner, const redisReply *reply,
                       const struct err *why);

/* For the numbers of a process: what all of its links do. */
enum link_trouble {
    LINK_REFUSED,   /* an error reply; also one of the library */
    LINK_LATE,      /* no answer, or no connection, in time */
    LINK_LOST,      /* the connection of a link that was ready */
    LINK_UNREACHED, /* a connection that could not be made */
};
struct link_observer {
    /* Asked of each command that is sent. -1: nobody wants to know how long it
     * takes. */
    int (*sort)(const struct command *command);
    /* sort: what sort() said; ns: from link_send() to the answer. */
    void (*on_answer)(int sort, uint64_t ns);
    /* text: the error reply, or why there is no connection. */
    void (*on_error)(enum link_trouble trouble, const char *text);
};
/* Borrowed. NULL: nobody. */
void links_observe(const struct link_observer *observing);

/* Copies the address and the role. slot: of all keys that will be asked for
 * (slot.h). role appears in CLIENT LIST. Freed by link_free(). */
struct link *link_new(uv_loop_t *loop, const struct address *address,
                      unsigned int slot, const char *role,
                      struct link_events events, void *owner);
void link_open(struct link *link);
bool link_is_ready(const struct link *link);

/* False when the link is not ready: nothing was sent, done will not be called.
 * Otherwise done is called exactly once. The command is copied. deadline_ms:
 * from now. done may be NULL, when nobody wants the reply. */
bool link_send(struct link *link, const struct command *command,
               uint64_t deadline_ms, link_done *done, void *owner);

/* Within a link_done: takes the reply over, to be freed by freeReplyObject().
 */
redisReply *link_keep_reply(struct link *link);

/* Subscribes to a channel: on_push gets its messages. From the first one on the
 * link is a subscriber, and link_send() may not be called any more. The link
 * subscribes again after every reconnect; messages in between are lost, as
 * always with pub/sub. In a cluster all channels must be of the link's slot. A
 * channel that is there already is not subscribed to again. */
void link_subscribe(struct link *link, struct view channel);
/* Some messages of the channel may still come after it. */
void link_unsubscribe(struct link *link, struct view channel);

/* Sentinels say that the master is at that node. A connection to another one is
 * broken; a link that waits for its next try tries now. */
void link_switch(struct link *link, const struct node *master);

/* From the loop: answers every unanswered call (with NULL), closes and frees
 * the link, then calls closed(owner), which may be NULL. Until then callbacks
 * may come, so the owner must exist until closed(). */
void link_free(struct link *link, void (*closed)(void *owner), void *owner);

#endif
