/* key_cache.c - what the gateway remembers of keys, and hears of their removal.
 */
#include "producer/gateway/key_cache.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/api_key.h"
#include "producer/client/fleet.h"
#include "schemas/redis/link.h"
#include "schemas/redis/slot.h"
#include "schemas/service/log.h"

enum {
    MOST_REMEMBERED = 10000, /* keys; the oldest one goes first */
    NOTE_EVERY_MS = 60 * 1000,
};

struct key_cache {
    struct gateway *gateway;
    void *keys;                   /* search tree, by hash */
    TAILQ_HEAD(, known_key) ages; /* the oldest first */
    size_t count;
    uint64_t changes;
    struct link *ear; /* subscribed to the channel of removed keys */
};

/* --------------------------------------------------------------------- keys */

static int compare_keys(const void *a, const void *b)
{
    const struct known_key *one = a, *other = b;

    return strcmp(one->hash.text, other->hash.text);
}

static uint64_t cache_now(const struct key_cache *cache)
{
    return uv_now(cache->gateway->loop);
}

/* Also one that is remembered for too long. */
static struct known_key *find_any(const struct key_cache *cache,
                                  const struct sha256 *hash)
{
    struct known_key wanted = { .hash = *hash };
    struct known_key **found = tfind(&wanted, &cache->keys, compare_keys);

    return found ? *found : NULL;
}

const struct known_key *key_cache_find(const struct key_cache *cache,
                                       const struct sha256 *hash)
{
    const struct known_key *key = find_any(cache, hash);

    return key && cache_now(cache) < key->until ? key : NULL;
}

static void forget_key(struct key_cache *cache, struct known_key *key)
{
    tdelete(key, &cache->keys, compare_keys);
    TAILQ_REMOVE(&cache->ages, key, by_age);
    cache->count--;
    free(key);
}

static void forget_all(struct key_cache *cache)
{
    while (!TAILQ_EMPTY(&cache->ages))
        forget_key(cache, TAILQ_FIRST(&cache->ages));
    cache->changes++;
}

uint64_t key_cache_changes(const struct key_cache *cache)
{
    return cache->changes;
}

void key_cache_put(struct key_cache *cache, const struct known_key *key)
{
    struct known_key *old = find_any(cache, &key->hash);
    struct known_key *own = malloc(sizeof(*own));

    if (!own)
        abort();
    *own = *key;
    own->noted_at = old ? old->noted_at : 0;
    own->until = cache_now(cache) + cache->gateway->settings.key_cache_ms;
    if (old)
        forget_key(cache, old);
    if (cache->count == MOST_REMEMBERED)
        forget_key(cache, TAILQ_FIRST(&cache->ages));
    if (!tsearch(own, &cache->keys, compare_keys))
        abort();
    TAILQ_INSERT_TAIL(&cache->ages, own, by_age);
    cache->count++;
}

bool key_cache_is_note_due(struct key_cache *cache, const struct sha256 *hash)
{
    struct known_key *key = find_any(cache, hash);
    uint64_t now = cache_now(cache);

    if (!key || (key->noted_at > 0 && now < key->noted_at + NOTE_EVERY_MS))
        return false;
    key->noted_at = now;
    return true;
}

/* ---------------------------------------------------------------------- ear */

/* What was published before now may not have come. */
static void on_subscribed(void *owner, struct view channel)
{
    (void)channel;
    forget_all(owner);
}

static void on_push(void *owner, const redisReply *message)
{
    struct key_cache *cache = owner;
    struct known_key *key;
    struct sha256 hash;

    view_copy(hash.text, sizeof(hash.text), reply_view(message->element[2]));
    key = find_any(cache, &hash);
    if (key)
        forget_key(cache, key);
    cache->changes++;
}

static void on_ear_lost(void *owner, const struct err *why)
{
    (void)owner;
    log_line("redis.lost", "{s:s}", "why", why->text);
}

static void open_ear(struct key_cache *cache)
{
    const struct link_events events = { .on_push = on_push,
                                        .on_subscribed = on_subscribed,
                                        .on_lost = on_ear_lost };
    const struct gateway *gateway = cache->gateway;
    const struct key channel = api_key_channel(&gateway->names);

    cache->ear =
        link_new(gateway->loop, &gateway->redis, slot_of(key_view(&channel)),
                 "gateway-keys", events, cache);
    link_subscribe(cache->ear, key_view(&channel));
    link_open(cache->ear);
}

void key_cache_switch(struct key_cache *cache, const struct node *master)
{
    link_switch(cache->ear, master);
}

/* --------------------------------------------------------------------- life */

struct key_cache *key_cache_new(struct gateway *gateway)
{
    struct key_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        abort();
    cache->gateway = gateway;
    TAILQ_INIT(&cache->ages);
    open_ear(cache);
    return cache;
}

static void on_ear_closed(void *owner)
{
    struct key_cache *cache = owner;

    forget_all(cache);
    free(cache);
}

void key_cache_free(struct key_cache *cache)
{
    if (cache)
        link_free(cache->ear, on_ear_closed, cache);
}
