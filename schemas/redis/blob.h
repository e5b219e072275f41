/* blob.h - commands for blobs: bytes that are kept under their SHA-256.
 *
 * A blob is written in two steps, reserve and fill, so that writing one again
 * never cuts its life short. sha256: 64 hexadecimal digits. */
#ifndef SCHEMAS_REDIS_BLOB_H
#define SCHEMAS_REDIS_BLOB_H

#include "schemas/redis/command.h"
#include "schemas/redis/names.h"

/* Makes an empty blob that lives so long, unless there is one. */
void blob_reserve(struct command *command, const struct names *names,
                  unsigned int partition, struct view sha256, uint64_t ttl_ms);
/* Replaces the bytes of a blob, which lives as long as before. */
void blob_fill(struct command *command, const struct names *names,
               unsigned int partition, struct view sha256, struct view bytes);
/* It lives so long from now, or longer as it does. */
void blob_extend(struct command *command, const struct names *names,
                 unsigned int partition, struct view sha256, uint64_t ttl_ms);

/* The reply is a text, or nil where there is none. */
void blob_ask(struct command *command, const struct names *names,
              unsigned int partition, struct view sha256);
/* The first most + 1 bytes: a longer text is one of more than most. Where there
 * is none the text is empty. */
void blob_ask_head(struct command *command, const struct names *names,
                   unsigned int partition, struct view sha256, uint64_t most);
/* Its bytes are counted; 0 where there is none. */
void blob_ask_size(struct command *command, const struct names *names,
                   unsigned int partition, struct view sha256);

#endif
