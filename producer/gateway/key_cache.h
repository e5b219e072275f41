/* key_cache.h - what the gateway remembers of keys, and hears of their removal.
 *
 * What Redis has said of a key holds for --key-cache-time. Whoever removes or
 * replaces a key publishes its SHA-256, and all gateways forget it at once;
 * when the message is lost, that time is the bound. */
#ifndef PRODUCER_GATEWAY_KEY_CACHE_H
#define PRODUCER_GATEWAY_KEY_CACHE_H

#include <sys/queue.h>

#include "producer/client/handle.h"
#include "producer/gateway/access.h"

/* What is remembered of a key. */
struct known_key {
    struct sha256 hash;
    struct access_caller caller; /* no scopes: there is no such key */
    uint64_t expires_at;         /* ms since 1970; 0: never */
    uint64_t rate;               /* requests a minute; 0: any number */
    /* Of the cache. */
    uint64_t until;    /* the loop's clock */
    uint64_t noted_at; /* the loop's clock: its use was written; 0: never */
    TAILQ_ENTRY(known_key) by_age;
};

struct key_cache *key_cache_new(struct gateway *gateway);
void key_cache_free(struct key_cache *cache); /* accepts NULL */

/* NULL: not remembered, or for too long. Valid until the next call. */
const struct known_key *key_cache_find(const struct key_cache *cache,
                                       const struct sha256 *hash);
/* Grows whenever something was forgotten: what was asked for before may be
 * older than that, and is not to be put in. */
uint64_t key_cache_changes(const struct key_cache *cache);
/* Copies the key. */
void key_cache_put(struct key_cache *cache, const struct known_key *key);

/* Whether the use of the key is to be written now: at most once a minute. */
bool key_cache_is_note_due(struct key_cache *cache, const struct sha256 *hash);

/* As followers_switch(). */
void key_cache_switch(struct key_cache *cache, const struct node *master);

#endif
