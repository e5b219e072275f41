/* blobs.c - POST /v1/blobs: writes bytes that a job may name as a file.
 *
 * Answers {"blob": SHA-256, "bytes": ...}. Nothing reads a blob by its hash: it
 * is read as a file of a job. */
#include <stdlib.h>

#include "producer/gateway/blob_writer.h"
#include "producer/gateway/native/native.h"

static void upload_free(void *state)
{
    blob_writer_finish(state);
    free(state);
}

static void answer_written(struct api_request *request)
{
    const struct blob_writer *writer = request->state;

    api_request_json(request, 201,
                     json_pack("{s:s, s:I}", "blob", writer->sha256, "bytes",
                               (json_int_t)writer->bytes.len));
}

static void on_piece(struct api_request *request, struct view piece)
{
    struct err err;

    if (request->exchange && !blob_writer_add(request->state, piece, &err))
        api_request_refuse(request, &err);
}

static void on_whole(struct api_request *request)
{
    if (request->exchange)
        blob_writer_send(request, request->state, answer_written);
}

void blobs_write(struct api_request *request)
{
    struct blob_writer *writer;
    unsigned int partition;

    if (!api_request_partition(request, view_of(request->caller.tenant),
                               &partition))
        return;
    writer = malloc(sizeof(*writer));
    if (!writer)
        abort();
    blob_writer_init(writer, request->gateway, partition);
    request->state = writer;
    request->state_free = upload_free;
    if (http_request_has_body(request->exchange))
        api_request_receive(request, on_piece, on_whole);
    else
        on_whole(request);
}
