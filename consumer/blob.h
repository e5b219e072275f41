/* blob.h - bytes that are too large for a message: stored under their hash.
 *
 * Equal bytes have one key, so writing them again changes nothing. Blobs
 * expire, so an attempt renews those that its records name (blobs_renew()).
 * Producers may write blobs, too, so the bytes at a key may be false:
 * blob_is_sound() checks them. */
#ifndef CONSUMER_BLOB_H
#define CONSUMER_BLOB_H

#include "consumer/queue/store.h"
#include "schemas/message/journal.h"
#include "schemas/redis/names.h"

enum { BLOB_NAME_LEN = 64 };

/* SHA-256 in lower-case hexadecimal digits. */
void blob_name(struct view bytes, char name[BLOB_NAME_LEN + 1]);

/* Whether these are the bytes that the name stands for. Any producer may write
 * to Redis, so whatever is read from a blob is checked before it is used. It
 * takes about a millisecond for each MiB. */
bool blob_is_sound(struct view name, struct view bytes);
/* Whether the name stands for no bytes at all. */
bool blob_is_empty(struct view name);

/* Queues the writes. What is already there under that name is replaced, because
 * it may be false, and keeps its time to live, or gets ttl_ms when that is
 * longer. name: as blob_name() made it of the bytes. */
void blob_put(struct store *store, const struct names *names, struct view name,
              struct view bytes, uint64_t ttl_ms, store_done *done,
              void *owner);

/* Queues the GET: done is told a text, or nil where it is gone. */
void blob_get(struct store *store, const struct names *names, struct view name,
              store_done *done, void *owner);

/* Queues writes that let the blobs of these results live for ttl_ms from now
 * on, unless they live longer anyway. */
void blobs_renew(struct store *store, const struct names *names,
                 const struct record *results, size_t count, uint64_t ttl_ms);

/* The size in pixels of a PNG, JPEG or GIF. False, and nothing is written, when
 * the bytes are none of them or claim more than MAX_PIXELS in all. */
bool image_size(struct view bytes, uint64_t *width, uint64_t *height);

/* "image/png" of "chart.png"; application/octet-stream when not known. */
struct view mime_of(struct view file_name);

#endif
