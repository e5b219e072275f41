/* id.h - job ids: a UUIDv7 (RFC 9562) that carries its partition.
 *
 *   019aa5c8-1b2c-7PPP-8xxx-xxxxxxxxxxxx
 *   |-- ms since 1970 --|  |    `- 62 random bits
 *                          `- partition, 000 to fff
 *
 * rand_a, which RFC 9562 leaves to the implementation, holds the partition of
 * the queue's keys, so that an id alone tells where its job lives. */
#ifndef SCHEMAS_MESSAGE_ID_H
#define SCHEMAS_MESSAGE_ID_H

#include <stdint.h>

#include "schemas/message/view.h"

enum { ID_LEN = 36, ID_MAX_PARTITION = 0xfff };

struct id {
    char text[ID_LEN + 1];
};

/* now_ms: milliseconds since 1970, below 2^48. random: 8 bytes that nobody can
 * guess, of which 62 bits are used. partition: up to ID_MAX_PARTITION. */
struct id id_make(uint64_t now_ms, unsigned int partition,
                  const unsigned char random[8]);

/* Whether text is a UUIDv7 in lower case; partition, when it is not NULL, gets
 * its partition. */
bool id_parse(struct view text, unsigned int *partition);

/* 64 lower-case hexadecimal digits: the name of a blob. */
bool id_is_sha256(struct view text);

#endif
