/* slot.c - which part of a Redis Cluster a key belongs to. */
#include "schemas/redis/slot.h"

#include <string.h>

unsigned int slot_crc16(struct view bytes)
{
    enum { POLYNOMIAL = 0x1021, TOP = 0x8000, MASK = 0xffff };
    unsigned int crc = 0;

    for (size_t i = 0; i < bytes.len; i++) {
        crc ^= (unsigned int)(unsigned char)bytes.data[i] << 8;
        for (int bit = 0; bit < 8; bit++)
            crc = (crc & TOP ? crc << 1 ^ POLYNOMIAL : crc << 1) & MASK;
    }
    return crc;
}

unsigned int slot_of(struct view key)
{
    const char *open = key.len ? memchr(key.data, '{', key.len) : NULL;
    struct view tag = { 0 };

    if (open) {
        tag.data = open + 1;
        tag.len = key.len - (size_t)(tag.data - key.data);
        const char *close = tag.len ? memchr(tag.data, '}', tag.len) : NULL;
        tag.len = close ? (size_t)(close - tag.data) : 0;
    }
    return slot_crc16(tag.len > 0 ? tag : key) % SLOTS;
}
