/* sentinel.h - hears that the master is another one now.
 *
 * Links ask sentinels when they connect. That is too late for one whose master
 * hangs, or came back before it was made a replica: what is written there is
 * lost. So one sentinel's news are listened to, and links go where they say. */
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
