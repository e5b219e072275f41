/* cache.h - answers that are good for a while, bounded in bytes: what was not
 * asked for the longest goes first. In memory, of one process. */
#ifndef CONSUMER_CACHE_H
#define CONSUMER_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "schemas/message/view.h"

struct cache;

struct cache *cache_new(size_t max_bytes); /* 0: it keeps nothing */
void cache_free(struct cache *cache);      /* accepts NULL */

/* Borrowed, until the next cache_put(); data: NULL when there is none. */
struct view cache_get(struct cache *cache, struct view key, uint64_t now_ms);

/* Copies both; what was under that key is replaced. */
void cache_put(struct cache *cache, struct view key, struct view data,
               uint64_t until_ms, uint64_t now_ms);

#endif
