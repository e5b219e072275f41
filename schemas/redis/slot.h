/* slot.h - the hash slot of a key in a Redis Cluster: CRC16 of its hash tag. */
#ifndef SCHEMAS_REDIS_SLOT_H
#define SCHEMAS_REDIS_SLOT_H

#include "schemas/message/view.h"

enum { SLOTS = 16384 };

/* CRC-16/XMODEM, which Redis Cluster uses. */
unsigned int slot_crc16(struct view bytes);

/* The slot of a key, 0 to SLOTS - 1. When the key has a hash tag, "a{tag}b",
 * only the tag counts. */
unsigned int slot_of(struct view key);

#endif
