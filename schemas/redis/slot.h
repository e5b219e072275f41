/* slot.h - which part of a Redis Cluster a key belongs to. */
#ifndef SCHEMAS_REDIS_SLOT_H
#define SCHEMAS_REDIS_SLOT_H

#include "schemas/message/view.h"

enum { SLOTS = 16384 };

/* CRC-16/XMODEM, which Redis Cluster uses. */
unsigned int slot_crc16(struct view bytes);

/* 0 to SLOTS - 1; of the hash tag alone where the key has one: "a{tag}b". */
unsigned int slot_of(struct view key);

#endif
