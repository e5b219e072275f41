/* fleet_links.h - a program's connections to Redis: one to each partition, and
 * one to the fleet's own keys. Of the gateway, and of the deliverer.
 *
 * A partition's link is opened when it is first needed, and kept. It is ready
 * when the server has our function library, this build or a later one; if not,
 * it is loaded. Outside of a cluster one link serves all partitions.
 *
 * A call that comes while a link is being opened waits for it. While Redis is
 * away, a call fails at once: its client tries again. */
#ifndef PRODUCER_GATEWAY_FLEET_LINKS_H
#define PRODUCER_GATEWAY_FLEET_LINKS_H

#include <uv.h>

#include "schemas/redis/link.h"
#include "schemas/redis/names.h"

enum {
    FLEET_SLOT =
        NAMES_MAX_PARTITIONS,  /* as a partition: the fleet's own keys */
    FLEET_MOST_WAITING = 1000, /* calls that wait for a link to be opened */
};

struct fleet_links;

struct fleet_place {
    uv_loop_t *loop;
    const struct address *redis;
    const struct names *names;
    uint64_t redis_ms; /* for an answer of Redis */
    const char *role;  /* in CLIENT LIST */
};

struct fleet_links_events {
    /* Redis refuses the login or the library: waiting does not help. Only
     * before it has been ready once. */
    void (*on_refused)(void *owner, const struct err *why);
    /* The number of partitions is known: calls are possible. Once. */
    void (*on_ready)(void *owner);
    /* A sentinel has named another master. */
    void (*on_switched)(void *owner, const struct node *master);
};

/* Copies the place, borrows what it points to, and connects to the fleet's
 * keys.
 */
struct fleet_links *fleet_links_new(const struct fleet_place *place,
                                    struct fleet_links_events events,
                                    void *owner);
void fleet_links_free(struct fleet_links *links); /* accepts NULL */

/* 0: not known yet. A fleet whose first consumer has not set the number yet has
 * one, and is asked again. */
unsigned int fleet_links_partitions(const struct fleet_links *links);
/* Of struct draft_finder (producer/client/draft.h); links: the fleet_links.
 * Error: the number of partitions is not known yet. */
bool fleet_links_find(void *links, struct view tenant, unsigned int *partition,
                      struct err *err);
/* All links that were opened are ready. */
bool fleet_links_are_ready(const struct fleet_links *links);

/* Calls done once, from the loop. reply: borrowed, may be an error reply; NULL:
 * why says that there was none (it may have been carried out). False: nothing
 * was sent, done is not called, and err says why. */
bool fleet_links_call(struct fleet_links *links, unsigned int partition,
                      const struct command *command, link_done *done,
                      void *owner, struct err *err);
/* Sends a command whose answer nobody waits for; a log line names what when it
 * cannot be sent, and it is not sent later. */
void fleet_links_tell(struct fleet_links *links, unsigned int partition,
                      const struct command *command, const char *what);
/* Inside of done: takes the reply over, to be freed by freeReplyObject(). */
redisReply *fleet_links_keep_reply(struct fleet_links *links,
                                   unsigned int partition);
/* To be told of error replies: when somebody has deleted the function library,
 * it is loaded again. */
void fleet_links_heed(struct fleet_links *links, unsigned int partition,
                      const redisReply *reply);

#endif
