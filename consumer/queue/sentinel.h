/* sentinel.h - learns from a sentinel that there is another master.
 *
 * A link asks the sentinels when it connects. That is too late when the old
 * master hangs, or comes back before it is made a replica: what is written
 * there is lost. So the consumer subscribes to one sentinel, and switches its
 * links to the master that the sentinel announces. */
#ifndef CONSUMER_SENTINEL_H
#define CONSUMER_SENTINEL_H

#include "consumer/consumer.h"

struct sentinel;

/* Connects at once. NULL: the address has no sentinels. switched is called with
 * the new master, which it must copy. */
struct sentinel *sentinel_new(uv_loop_t *loop, const struct address *address,
                              void (*switched)(void *owner,
                                               const struct node *master),
                              void *owner);
void sentinel_free(struct sentinel *sentinel);

#endif
