/* blob.h - commands for blobs: bytes that are kept under their SHA-256.
 *
 * A blob is written in two steps, reserve and fill: a single SET with a time to
 * live would shorten the life of a blob that a job already needs for longer. A
 * reader must compare the bytes with the key: between the two steps, and when
 * somebody else has written them, they do not match. sha256: 64 hexadecimal
 * digits. */
#ifndef SCHEMAS_REDIS_BLOB_H
#define SCHEMAS_REDIS_BLOB_H

#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

/* Makes an empty blob that lives so long, unless there is one. */
void blob_reserve(struct command *command, const struct names *names,
                  unsigned int partition, struct view sha256, uint64_t ttl_ms);
/* Makes a blob of these bytes that lives so long, unless there is one: then the
 * reply is nil. */
void blob_create(struct command *command, const struct names *names,
                 unsigned int partition, struct view sha256, struct view bytes,
                 uint64_t ttl_ms);
/* Replaces the bytes of a blob, which lives as long as before. */
void blob_fill(struct command *command, const struct names *names,
               unsigned int partition, struct view sha256, struct view bytes);
/* Makes the blob live for ttl_ms from now at least. */
void blob_extend(struct command *command, const struct names *names,
                 unsigned int partition, struct view sha256, uint64_t ttl_ms);

/* The reply is a text, or nil where there is none. */
void blob_ask(struct command *command, const struct names *names,
              unsigned int partition, struct view sha256);
/* The first most + 1 bytes, so that the reader sees whether the blob has more
 * than most. Where there is no blob, the reply is an empty text. */
void blob_ask_head(struct command *command, const struct names *names,
                   unsigned int partition, struct view sha256, uint64_t most);
/* The reply is the number of its bytes; 0 where there is none. */
void blob_ask_size(struct command *command, const struct names *names,
                   unsigned int partition, struct view sha256);

#endif
