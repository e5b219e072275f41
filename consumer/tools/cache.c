/* cache.c - a bounded cache of the answers of tools, each with a time to live.
 */
#include "consumer/tools/cache.h"

#include <stdlib.h>
#include <string.h>

/* A list, the entry that was asked for last at its head. A search walks all of
 * it: that is cheap, because answers are large and so there are few. */
struct entry {
    struct entry *next;
    uint64_t until_ms;
    struct view key, data; /* their bytes follow the struct */
};

struct cache {
    struct entry *entries;
    size_t bytes, max;
};

struct cache *cache_new(size_t max_bytes)
{
    struct cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        abort();
    cache->max = max_bytes;
    return cache;
}

static size_t cache_entry_bytes(const struct entry *entry)
{
    return sizeof(*entry) + entry->key.len + entry->data.len;
}

static void remove_at(struct cache *cache, struct entry **link)
{
    struct entry *entry = *link;
    *link = entry->next;
    cache->bytes -= cache_entry_bytes(entry);
    free(entry);
}

void cache_free(struct cache *cache)
{
    while (cache && cache->entries)
        remove_at(cache, &cache->entries);
    free(cache);
}

static struct entry **cache_find(struct cache *cache, struct view key)
{
    struct entry **link = &cache->entries;
    while (*link && !view_equal((*link)->key, key))
        link = &(*link)->next;
    return link;
}

struct view cache_get(struct cache *cache, struct view key, uint64_t now_ms)
{
    struct entry **link = cache_find(cache, key);
    struct entry *entry = *link;
    if (!entry)
        return (struct view){ 0 };
    if (entry->until_ms <= now_ms) {
        remove_at(cache, link);
        return (struct view){ 0 };
    }
    *link = entry->next;
    entry->next = cache->entries;
    cache->entries = entry;
    return entry->data;
}

static void make_room(struct cache *cache, size_t bytes, uint64_t now_ms)
{
    for (struct entry **link = &cache->entries; *link;)
        if ((*link)->until_ms <= now_ms)
            remove_at(cache, link);
        else
            link = &(*link)->next;
    while (cache->entries && cache->bytes + bytes > cache->max) {
        struct entry **last = &cache->entries;
        while ((*last)->next)
            last = &(*last)->next;
        remove_at(cache, last);
    }
}

void cache_put(struct cache *cache, struct view key, struct view data,
               uint64_t until_ms, uint64_t now_ms)
{
    struct entry **old = cache_find(cache, key);
    if (*old)
        remove_at(cache, old);
    size_t bytes = sizeof(struct entry) + key.len + data.len;
    if (bytes > cache->max)
        return;
    make_room(cache, bytes, now_ms);
    struct entry *entry = malloc(bytes);
    if (!entry)
        abort();
    char *room = (char *)(entry + 1);
    memcpy(room, key.data, key.len);
    memcpy(room + key.len, data.data, data.len);
    *entry = (struct entry){ .next = cache->entries,
                             .until_ms = until_ms,
                             .key = { room, key.len },
                             .data = { room + key.len, data.len } };
    cache->entries = entry;
    cache->bytes += bytes;
}
