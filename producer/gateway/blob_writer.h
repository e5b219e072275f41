/* blob_writer.h - writes bytes that come piece by piece into a blob.
 *
 *   blob_writer_init() --> blob_writer_add() ... --> blob_writer_send() -->
 * done
 *
 * The bytes are kept until they are all there, since their SHA-256 is the name
 * of the blob. The blob lives for a day, or longer when it is there already
 * ("To write a blob" in schemas/KEYS.md): whoever needs it longer says so to
 * Redis. */
#ifndef PRODUCER_GATEWAY_BLOB_WRITER_H
#define PRODUCER_GATEWAY_BLOB_WRITER_H

#include <openssl/evp.h>

#include "producer/gateway/api_request.h"
#include "producer/gateway/native/blob_memory.h"
#include "schemas/message/buf.h"

struct blob_writer {
    struct blob_memory memory;
    struct buf bytes;
    EVP_MD_CTX *hash;
    size_t hashed;   /* of the bytes */
    char sha256[65]; /* from blob_writer_send() on */
    unsigned int partition;
    unsigned int rounds;
    void (*done)(struct api_request *request);
};

void blob_writer_init(struct blob_writer *writer, struct gateway *gateway,
                      unsigned int partition);
/* Frees bytes and memory. Accepts a zeroed one; may be called again. */
void blob_writer_finish(struct blob_writer *writer);

/* Takes memory for so many more bytes, which may then be appended to
 * writer->bytes. False: blob_memory_full, or file_too_large (more than
 * MAX_FILE_BYTES in all). */
bool blob_writer_reserve(struct blob_writer *writer, uint64_t bytes,
                         struct err *err);
/* The same, and appends the piece. */
bool blob_writer_add(struct blob_writer *writer, struct view piece,
                     struct err *err);

/* Writes the bytes, and calls done when they are in Redis; else the request is
 * answered. writer: of request->state; one at a time. */
void blob_writer_send(struct api_request *request, struct blob_writer *writer,
                      void (*done)(struct api_request *request));

#endif
