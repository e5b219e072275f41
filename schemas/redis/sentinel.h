/* sentinel.h - learns from a sentinel that there is another master.
 *
 * A link asks the sentinels when it connects. That is too late when the old
 * master hangs, or comes back before it is made a replica: what is written
 * there is lost. So a program subscribes to one sentinel, and switches its
 * links to the master that the sentinel announces. */
#ifndef SCHEMAS_SENTINEL_H
#define SCHEMAS_SENTINEL_H

#include <uv.h>

#include "schemas/redis/address.h"

struct sentinel;

/* Connects at once. NULL: the address has no sentinels. switched is called with
 * the new master, which it must copy. role: in CLIENT LIST. */
struct sentinel *
sentinel_new(uv_loop_t *loop, const struct address *address, const char *role,
             void (*switched)(void *owner, const struct node *master),
             void *owner);
void sentinel_free(struct sentinel *sentinel);

#endif
