/* blobs.c - POST /v1/blobs: writes bytes that a job may name as a file.
 *
 * Answers {"blob": SHA-256, "bytes": ...}. Nothing reads a blob by its hash: it
 * is read as a file of a job. */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "producer/gateway/api_request.h"
#include "producer/gateway/native/blob_memory.h"
#include "producer/gateway/native/native.h"
#include "schemas/message/limits.h"

enum { TTL_SECONDS = 24 * 3600, MOST_ROUNDS = 3 };

struct blob_upload {
    struct blob_memory memory;
    struct buf bytes;
    EVP_MD_CTX *hash;
    char sha256[65];
    unsigned int partition;
    unsigned int rounds; /* see write_new() */
};

static void upload_free(void *state)
{
    struct blob_upload *upload = state;

    blob_memory_give(&upload->memory);
    buf_finish(&upload->bytes);
    EVP_MD_CTX_free(upload->hash);
    free(upload);
}

static struct key upload_key(const struct api_request *request)
{
    const struct blob_upload *upload = request->state;

    return names_blob(&request->gateway->names, upload->partition,
                      view_of(upload->sha256));
}

static void write_new(struct api_request *request);

static void answer_written(struct api_request *request)
{
    const struct blob_upload *upload = request->state;

    api_request_json(request, 201,
                     json_pack("{s:s, s:I}", "blob", upload->sha256, "bytes",
                               (json_int_t)upload->bytes.len));
}

static void on_extended(struct api_request *request, const redisReply *reply)
{
    (void)reply;
    answer_written(request);
}

/* Keeps it for a day from now; one that lives longer stays so (GT). */
static void extend(struct api_request *request)
{
    struct key key = upload_key(request);
    struct command command;

    command_init(&command, "EXPIRE");
    command_add(&command, key_view(&key));
    command_add_uint(&command, TTL_SECONDS);
    command_add_text(&command, "GT");
    api_request_call(request, ((struct blob_upload *)request->state)->partition,
                     &command, on_extended);
    command_finish(&command);
}

static void on_written_again(struct api_request *request,
                             const redisReply *reply)
{
    struct blob_upload *upload = request->state;
    struct err err;

    if (reply->type != REDIS_REPLY_NIL) {
        extend(request);
    } else if (++upload->rounds < MOST_ROUNDS) {
        write_new(request);
    } else {
        err_set(&err, ERR_RETRY, "redis_unavailable",
                "the blob was deleted %d times while it was written",
                MOST_ROUNDS);
        api_request_refuse(request, &err);
    }
}

static void upload_set(struct api_request *request, const char *when,
                       api_request_reply *done)
{
    const struct blob_upload *upload = request->state;
    bool is_new = done != on_written_again;
    struct key key = upload_key(request);
    struct command command;

    command_init(&command, "SET");
    command_add(&command, key_view(&key));
    command_add(&command, buf_view(&upload->bytes));
    command_add_text(&command, when);
    command_add_text(&command, is_new ? "EX" : "KEEPTTL");
    if (is_new)
        command_add_uint(&command, TTL_SECONDS);
    api_request_call(request, upload->partition, &command, done);
    command_finish(&command);
}

static void on_written(struct api_request *request, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_NIL)
        answer_written(request);
    else
        upload_set(request, "XX", on_written_again);
}

/* Bytes that are there already are written over: somebody may have stored other
 * bytes under this name ("To write a blob" in schemas/KEYS.md). The key may
 * expire or appear between the two commands: so there are several rounds. */
static void write_new(struct api_request *request)
{
    upload_set(request, "NX", on_written);
}

static void on_piece(struct api_request *request, struct view piece)
{
    struct blob_upload *upload = request->state;
    struct err err;

    if (!request->exchange)
        return;
    if (!blob_memory_take(&upload->memory, piece.len, &err)) {
        api_request_refuse(request, &err);
        return;
    }
    if (!EVP_DigestUpdate(upload->hash, piece.data, piece.len))
        abort();
    buf_add(&upload->bytes, piece);
}

static void on_whole(struct api_request *request)
{
    struct blob_upload *upload = request->state;
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int len;

    if (!request->exchange)
        return;
    if (!EVP_DigestFinal_ex(upload->hash, hash, &len))
        abort();
    for (size_t i = 0; i < len; i++)
        snprintf(upload->sha256 + 2 * i, 3, "%02x", hash[i]);
    write_new(request);
}

void blobs_write(struct api_request *request)
{
    struct blob_upload *upload;
    unsigned int partition;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    upload = calloc(1, sizeof(*upload));
    if (!upload)
        abort();
    upload->memory.gateway = request->gateway;
    upload->partition = partition;
    buf_init(&upload->bytes, MAX_FILE_BYTES);
    upload->hash = EVP_MD_CTX_new();
    if (!upload->hash || !EVP_DigestInit_ex(upload->hash, EVP_sha256(), NULL))
        abort();
    request->state = upload;
    request->state_free = upload_free;
    if (http_request_has_body(request->exchange))
        api_request_receive(request, on_piece, on_whole);
    else
        on_whole(request);
}
