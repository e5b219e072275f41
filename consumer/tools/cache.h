/* cache.h - answers that are good for a while, in the memory of one process.
 *
 * The cache is bounded in bytes: the least recently used entry is dropped
 * first. All times are ms of the loop's clock. */
#ifndef CONSUMER_CACHE_H
#define CONSUMER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/message/view.h"

struct cache;

struct cache *cache_new(size_t max_bytes); /* 0: it keeps nothing */
void cache_free(struct cache *cache);      /* accepts NULL */

/* Borrowed until the next call of any of these functions. data NULL: there is
 * none, or it is too old. */
struct view cache_get(struct cache *cache, struct view key, uint64_t now_ms);

/* Copies both; replaces what was under that key. An entry larger than the whole
 * cache is not kept. */
void cache_put(struct cache *cache, struct view key, struct view data,
               uint64_t until_ms, uint64_t now_ms);

#endif
