/* http_stream.c - answers whose body comes in pieces. */
#include <assert.h>
#include <stdlib.h>

#include "producer/gateway/http/http_exchange.h"

enum { MAX_HEAD = 64 << 10 };

static void send_head(struct http_stream *stream, unsigned int status,
                      const struct http_pair *headers, unsigned int count)
{
    CLEANUP(buf_finish) struct buf out = { .max = MAX_HEAD };
    struct http_connection *connection = stream->connection;

    /* A header that may not be sent: see http_answer(). */
    if (!http_answer_head(connection, &out, status, headers, count)) {
        stream->has_length = true;
        stream->left = 0;
        stream->is_silent = true;
        connection->ends = true;
        http_answer_head(connection, &out, 500, NULL, 0);
    }
    if (stream->has_length && !http_answer_is_bodyless(status))
        buf_printf(&out, "Content-Length: %llu\r\n",
                   (unsigned long long)stream->left);
    else if (stream->is_chunked && !http_answer_is_bodyless(status))
        buf_add(&out, VIEW("Transfer-Encoding: chunked\r\n"));
    buf_add(&out, VIEW("\r\n"));
    if (buf_ok(&out))
        http_answer_put(connection, buf_view(&out));
    else
        http_connection_cut(connection, HTTP_GONE_SERVER);
}

struct http_stream *http_stream_begin(struct http_exchange *request,
                                      unsigned int status,
                                      const struct http_pair *headers,
                                      unsigned int count, int64_t length,
                                      const struct http_stream_events *events,
                                      void *owner)
{
    struct http_connection *connection = request->connection;
    struct http_stream *stream = calloc(1, sizeof(*stream));

    assert(!request->is_answered);
    if (!stream)
        abort();
    stream->connection = connection;
    stream->events = events;
    stream->owner = owner;
    stream->has_length = length >= 0;
    stream->left = length >= 0 ? (uint64_t)length : 0;
    stream->is_chunked = length < 0 && request->head.minor == 1;
    stream->is_silent = request->head.method == HTTP_METHOD_HEAD ||
                        http_answer_is_bodyless(status);
    /* The end of the connection is then the end of the body. */
    if ((!stream->has_length && !stream->is_chunked) || !request->is_whole)
        connection->ends = true;
    request->is_answered = true;
    connection->stream = stream;
    connection->service->streams++;
    send_head(stream, status, headers, count);
    /* Also when what waits is an answer before it: its writer is told, too. */
    stream->was_full = http_stream_waiting(stream) > 0;
    http_connection_stir(connection);
    return stream;
}

void http_stream_send(struct http_stream *stream, struct http_bytes *bytes)
{
    struct http_connection *connection = stream->connection;
    const struct http_service *service = connection->service;
    struct view part =
        stream->is_chunked ? http_bytes_chunk(bytes) : http_bytes_view(bytes);
    size_t waiting;

    if (part.len == 0 || stream->is_silent || connection->is_cut)
        return;
    waiting = http_connection_count(connection);
    if (waiting > 0 && waiting + part.len > service->limits.queue_bytes &&
        service->waiting + part.len > service->limits.waiting_bytes) {
        http_connection_cut(connection, HTTP_GONE_CUT);
        return;
    }
    if (stream->has_length && part.len > stream->left) {
        http_connection_cut(connection, HTTP_GONE_SERVER);
        return;
    }
    stream->left -= stream->has_length ? part.len : 0;
    http_connection_send(connection, bytes, part);
    if (http_connection_count(connection) > 0)
        stream->was_full = true;
}

size_t http_stream_waiting(const struct http_stream *stream)
{
    return stream->connection->wire->waiting(stream->connection->owner);
}

void http_stream_end(struct http_stream *stream)
{
    struct http_connection *connection = stream->connection;

    stream->ended = true;
    if (stream->has_length && stream->left > 0 && !stream->is_silent)
        http_connection_cut(connection, HTTP_GONE_SERVER);
    else if (stream->is_chunked && !stream->is_silent && !connection->is_cut)
        http_answer_put(connection, VIEW("0\r\n\r\n"));
    http_connection_stir(connection);
}
