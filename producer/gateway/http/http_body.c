/* http_body.c - reads the body of a request, framed by llhttp.
 *
 * llhttp takes chunk sizes of any number of digits, extensions and trailers,
 * and different versions of it different blanks. So the framing is checked
 * before llhttp sees it: sizes of 1 to 16 hexadecimal digits, nothing behind
 * them, no trailers. Then both must find the end at the same byte. */
#include <string.h>

#include "producer/gateway/http/http_exchange.h"

enum { MAX_DIGITS = 16 };

enum chunk_part { SIZE, SIZE_LF, DATA, DATA_CR, DATA_LF, END_CR, END_LF, END };

/* One byte of the framing, not of the data. */
static bool chunk_byte(struct http_chunks *chunks, char byte)
{
    int digit = byte_hex(byte);

    switch ((enum chunk_part)chunks->part) {
    case SIZE:
        if (digit >= 0 && chunks->digits < MAX_DIGITS) {
            chunks->left = chunks->left * 16 + (uint64_t)digit;
            chunks->digits++;
            return true;
        }
        chunks->part = SIZE_LF;
        return byte == '\r' && chunks->digits > 0;
    case SIZE_LF:
        chunks->part = chunks->left > 0 ? DATA : END_CR;
        chunks->digits = 0;
        return byte == '\n';
    case DATA_CR:
        chunks->part = DATA_LF;
        return byte == '\r';
    case DATA_LF:
        chunks->part = SIZE;
        return byte == '\n';
    case END_CR:
        chunks->part = END_LF;
        return byte == '\r';
    case END_LF:
        chunks->part = END;
        return byte == '\n';
    case DATA:
    case END:
        break;
    }
    return false;
}

/* Walks over bytes up to the body's end; false: malformed. */
static bool check_chunks(struct http_chunks *chunks, struct view bytes,
                         size_t *used)
{
    size_t i = 0;

    while (i < bytes.len && chunks->part != END) {
        if (chunks->part != DATA) {
            if (!chunk_byte(chunks, bytes.data[i++]))
                return false;
            continue;
        }
        size_t step = bytes.len - i;
        if (step > chunks->left)
            step = (size_t)chunks->left;
        i += step;
        chunks->left -= step;
        if (chunks->left == 0)
            chunks->part = DATA_CR;
    }
    *used = i;
    return true;
}

/* ------------------------------------------------------ callbacks of llhttp */

static int on_headers_complete(llhttp_t *parser)
{
    struct http_exchange *request = parser->data;
    const struct http_head *head = &request->head;
    bool is_chunked = (parser->flags & F_CHUNKED) != 0;

    request->is_headed = true;
    if (is_chunked != head->is_chunked ||
        (head->has_length && parser->content_length != head->length) ||
        parser->http_minor != head->minor)
        return -1;
    /* An offer to speak another protocol is not taken: the body is one of HTTP,
     * and so is what follows it. */
    parser->upgrade = 0;
    return 0;
}

static int on_header_field(llhttp_t *parser, const char *at, size_t len)
{
    const struct http_exchange *request = parser->data;

    (void)at;
    (void)len;
    return request->is_headed ? HPE_USER : 0; /* a trailer */
}

/* What has come counts, not what was declared: else who declares much and sends
 * nothing would keep all others out. */
static bool body_add(struct http_exchange *request, struct view piece)
{
    struct http_service *service = request->connection->service;

    if (piece.len > service->limits.collected_bytes - service->collected) {
        request->is_over = true;
        return false;
    }
    if (!buf_add(&request->body, piece))
        return false;
    service->collected += piece.len;
    return true;
}

void http_body_free(struct http_exchange *request)
{
    request->connection->service->collected -= request->body.len;
    buf_finish(&request->body);
}

static int on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct http_exchange *request = parser->data;
    struct view piece = { at, len };

    request->got += len;
    if (request->got > request->max)
        return HPE_USER;
    if (request->is_answered)
        return 0;
    if (request->is_collected)
        return body_add(request, piece) ? 0 : HPE_USER;
    if (request->events && request->events->on_piece)
        request->events->on_piece(request->owner, piece);
    return 0;
}

static int on_message_complete(llhttp_t *parser)
{
    struct http_exchange *request = parser->data;

    request->is_whole = true;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_headers_complete = on_headers_complete,
    .on_header_field = on_header_field,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* ------------------------------------------------------------------- begins */

bool http_body_begin(struct http_exchange *request, struct err *err)
{
    llhttp_errno_t outcome;

    llhttp_init(&request->parser, HTTP_REQUEST, &settings);
    request->parser.data = request;
    outcome =
        llhttp_execute(&request->parser, request->text, request->text_len);
    if ((outcome == HPE_OK || outcome == HPE_PAUSED) && request->is_headed &&
        request->is_whole == !http_request_has_body(request))
        return true;
    return err_set(err, ERR_REJECT, "invalid_request",
                   "the head of the request is malformed (%s)",
                   llhttp_errno_name(outcome));
}

static bool malformed(struct err *err, llhttp_errno_t outcome)
{
    return err_set(err, ERR_REJECT, "invalid_request",
                   "the body of the request is malformed (%s)",
                   llhttp_errno_name(outcome));
}

/* How many of bytes belong to the body, and whether it ends with them. */
static bool framed_part(struct http_exchange *request, struct view bytes,
                        size_t *used, bool *is_end)
{
    uint64_t left = request->head.length - request->got;

    if (request->head.is_chunked) {
        if (!check_chunks(&request->chunks, bytes, used))
            return false;
        *is_end = request->chunks.part == END;
        return true;
    }
    *used = bytes.len > left ? (size_t)left : bytes.len;
    *is_end = *used == left;
    return true;
}

bool http_body_feed(struct http_exchange *request, struct view *bytes,
                    unsigned int *status, struct err *err)
{
    size_t used = bytes->len;
    llhttp_errno_t outcome;
    bool is_end;

    *status = 400;
    if (!framed_part(request, *bytes, &used, &is_end))
        return malformed(err, HPE_INVALID_CHUNK_SIZE);
    outcome = llhttp_execute(&request->parser, bytes->data, used);
    bytes->data += used;
    bytes->len -= used;
    if (request->got > request->max) {
        *status = 413;
        return err_set(err, ERR_REJECT, "request_too_large",
                       "the body has more than %llu bytes",
                       (unsigned long long)request->max);
    }
    if (request->is_over) {
        *status = 503;
        return err_set(err, ERR_RETRY, "body_memory_full",
                       "the memory for the bodies of all requests is used up");
    }
    if ((outcome == HPE_OK || outcome == HPE_PAUSED) &&
        is_end == request->is_whole)
        return true;
    return malformed(err, outcome);
}

bool http_body_is_slow(const struct http_exchange *request)
{
    const struct http_limits *limits = &request->connection->service->limits;
    uint64_t now = request->connection->service->now_ms;

    if (request->is_paused || now < request->began_ms + limits->body_grace_ms)
        return false;
    uint64_t counted = now - request->began_ms - limits->body_grace_ms;
    return request->got < counted * limits->body_bytes_per_s / 1000;
}

/* ----------------------------------------------------------- for the handler
 */

static void body_choose(struct http_exchange *request, uint64_t max)
{
    request->is_chosen = true;
    request->max = max;
    http_connection_stir(request->connection);
}

void http_body_collect(struct http_exchange *request, size_t max)
{
    request->is_collected = true;
    buf_init(&request->body, max);
    body_choose(request, max);
}

void http_body_receive(struct http_exchange *request, uint64_t max)
{
    body_choose(request, max);
}

void http_body_pause(struct http_exchange *request)
{
    if (request->is_paused)
        return;
    request->is_paused = true;
    request->paused_ms = request->connection->service->now_ms;
    http_connection_stir(request->connection);
}

void http_body_resume(struct http_exchange *request)
{
    if (!request->is_paused)
        return;
    request->is_paused = false;
    request->began_ms +=
        request->connection->service->now_ms - request->paused_ms;
    http_connection_stir(request->connection);
}
