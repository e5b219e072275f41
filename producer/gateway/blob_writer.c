/* blob_writer.c - writes bytes that come piece by piece into a blob. */
#include "producer/gateway/blob_writer.h"

#include <stdio.h>
#include <stdlib.h>

#include "schemas/message/limits.h"
#include "schemas/redis/blob.h"

enum { TTL_SECONDS = 24 * 3600, MOST_ROUNDS = 3 };

void blob_writer_init(struct blob_writer *writer, struct gateway *gateway,
                      unsigned int partition)
{
    *writer = (struct blob_writer){ .memory = { .gateway = gateway },
                                    .partition = partition };
    buf_init(&writer->bytes, MAX_FILE_BYTES);
    writer->hash = EVP_MD_CTX_new();
    if (!writer->hash || !EVP_DigestInit_ex(writer->hash, EVP_sha256(), NULL))
        abort();
}

void blob_writer_finish(struct blob_writer *writer)
{
    blob_memory_give(&writer->memory);
    buf_finish(&writer->bytes);
    EVP_MD_CTX_free(writer->hash);
    writer->hash = NULL;
}

/* ---------------------------------------------------------------- the bytes */

bool blob_writer_reserve(struct blob_writer *writer, uint64_t bytes,
                         struct err *err)
{
    if (bytes > MAX_FILE_BYTES - writer->bytes.len)
        return err_set(err, ERR_REJECT, "file_too_large",
                       "the file has more than %d bytes (" MAX_FILE_WORDS
                       "), which is the most that a file may have",
                       MAX_FILE_BYTES);
    return blob_memory_take(&writer->memory, bytes, err);
}

static void hash_rest(struct blob_writer *writer)
{
    const struct buf *bytes = &writer->bytes;
    size_t rest = bytes->len - writer->hashed;

    if (rest > 0 &&
        !EVP_DigestUpdate(writer->hash, bytes->data + writer->hashed, rest))
        abort();
    writer->hashed = bytes->len;
}

bool blob_writer_add(struct blob_writer *writer, struct view piece,
                     struct err *err)
{
    if (!blob_writer_reserve(writer, piece.len, err))
        return false;
    buf_add(&writer->bytes, piece);
    hash_rest(writer);
    return true;
}

static void end_hash(struct blob_writer *writer)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int len;

    hash_rest(writer);
    if (!EVP_DigestFinal_ex(writer->hash, hash, &len))
        abort();
    for (size_t i = 0; i < len; i++)
        snprintf(writer->sha256 + 2 * i, 3, "%02x", hash[i]);
}

/* ----------------------------------------------------------------- to Redis */

static void write_new(struct api_request *request);

static void on_extended(struct api_request *request, const redisReply *reply)
{
    (void)reply;
    request->blob->done(request);
}

static void on_written_again(struct api_request *request,
                             const redisReply *reply)
{
    struct blob_writer *writer = request->blob;
    struct command command;
    struct err err;

    if (reply->type == REDIS_REPLY_NIL && ++writer->rounds < MOST_ROUNDS) {
        write_new(request);
        return;
    }
    if (reply->type == REDIS_REPLY_NIL) {
        err_set(&err, ERR_RETRY, "redis_unavailable",
                "the blob was deleted %d times while it was written",
                MOST_ROUNDS);
        api_request_refuse(request, &err);
        return;
    }
    blob_extend(&command, &request->gateway->names, writer->partition,
                view_of(writer->sha256), UINT64_C(1000) * TTL_SECONDS);
    api_request_call(request, writer->partition, &command, on_extended);
    command_finish(&command);
}

/* Bytes that are there already are written over: somebody may have stored other
 * bytes under this name. The key may expire or appear between the two commands:
 * so there are several rounds. */
static void on_written(struct api_request *request, const redisReply *reply)
{
    const struct blob_writer *writer = request->blob;
    struct command command;

    if (reply->type != REDIS_REPLY_NIL) {
        on_extended(request, reply);
        return;
    }
    blob_fill(&command, &request->gateway->names, writer->partition,
              view_of(writer->sha256), buf_view(&writer->bytes));
    api_request_call(request, writer->partition, &command, on_written_again);
    command_finish(&command);
}

static void write_new(struct api_request *request)
{
    const struct blob_writer *writer = request->blob;
    struct command command;

    blob_create(&command, &request->gateway->names, writer->partition,
                view_of(writer->sha256), buf_view(&writer->bytes),
                UINT64_C(1000) * TTL_SECONDS);
    api_request_call(request, writer->partition, &command, on_written);
    command_finish(&command);
}

void blob_writer_send(struct api_request *request, struct blob_writer *writer,
                      void (*done)(struct api_request *request))
{
    request->blob = writer;
    writer->done = done;
    writer->rounds = 0;
    end_hash(writer);
    write_new(request);
}
