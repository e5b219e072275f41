/* sentinel.h - learns from a sentinel that there is another master.
 *
 * A link asks the sentinels when it connects. That is too late when its master
 * hangs, or came back before it was made a replica: what is written there is
 * lost. So the consumer subscribes to one sentinel, and its links go to the
 * master that it announces. */
#ifndef CONSUMER_SENTINEL_H
#define CONSUMER_SENTINEL_H

#include "consumer/consumer.h"

struct sentinel;

/* NULL: the address has no sentinels. switched: the master is at that node. */
struct sentinel *sentinel_new(uv_loop_t *loop, const struct address *address,
                              void (*switched)(void *owner,
                                               const struct node *master),
                              void *owner);
void sentinel_free(struct sentinel *sentinel);

#endif
