/* http_answer.c - writes answers: status line, headers, body, errors. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "producer/gateway/http/http_exchange.h"

enum { MAX_ANSWER = 256 << 20, MAX_ERROR = 64 << 10 };

static const struct {
    unsigned int status;
    const char *reason;
} reasons[] = {
    { 200, "OK" },
    { 201, "Created" },
    { 202, "Accepted" },
    { 204, "No Content" },
    { 206, "Partial Content" },
    { 302, "Found" },
    { 303, "See Other" },
    { 304, "Not Modified" },
    { 400, "Bad Request" },
    { 401, "Unauthorized" },
    { 403, "Forbidden" },
    { 404, "Not Found" },
    { 405, "Method Not Allowed" },
    { 406, "Not Acceptable" },
    { 408, "Request Timeout" },
    { 409, "Conflict" },
    { 410, "Gone" },
    { 412, "Precondition Failed" },
    { 413, "Content Too Large" },
    { 415, "Unsupported Media Type" },
    { 416, "Range Not Satisfiable" },
    { 417, "Expectation Failed" },
    { 422, "Unprocessable Content" },
    { 429, "Too Many Requests" },
    { 431, "Request Header Fields Too Large" },
    { 500, "Internal Server Error" },
    { 501, "Not Implemented" },
    { 502, "Bad Gateway" },
    { 503, "Service Unavailable" },
    { 504, "Gateway Timeout" },
};

static const char *answer_reason(unsigned int status)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "Other";
}

bool http_answer_is_bodyless(unsigned int status)
{
    return status < 200 || status == 204 || status == 304;
}

/* A name of letters, digits and "-"; a value without control bytes. */
static bool may_be_sent(const struct http_pair *header)
{
    for (size_t i = 0; i < header->name.len; i++) {
        char byte = header->name.data[i];
        if (!((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
              (byte >= '0' && byte <= '9') || byte == '-'))
            return false;
    }
    for (size_t i = 0; i < header->value.len; i++) {
        unsigned char byte = (unsigned char)header->value.data[i];
        if ((byte < ' ' && byte != '\t') || byte == 0x7f)
            return false;
    }
    return header->name.len > 0;
}

static void add_date(struct buf *out, int64_t date_s)
{
    time_t date = (time_t)date_s;
    struct tm parts;
    char text[40];

    gmtime_r(&date, &parts);
    strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    buf_printf(out, "Date: %s\r\n", text);
}

bool http_answer_head(const struct http_connection *connection, struct buf *out,
                      unsigned int status, const struct http_pair *headers,
                      unsigned int count)
{
    for (unsigned int i = 0; i < count; i++)
        if (!may_be_sent(&headers[i]))
            return false;
    buf_printf(out, "HTTP/1.1 %u %s\r\n", status, answer_reason(status));
    add_date(out, connection->service->date_s);
    if (connection->ends)
        buf_add(out, VIEW("Connection: close\r\n"));
    else if (connection->is_old)
        buf_add(out, VIEW("Connection: keep-alive\r\n"));
    for (unsigned int i = 0; i < count; i++) {
        buf_add(out, headers[i].name);
        buf_add(out, VIEW(": "));
        buf_add(out, headers[i].value);
        buf_add(out, VIEW("\r\n"));
    }
    return true;
}

void http_answer_put(struct http_connection *connection, struct view bytes)
{
    struct http_bytes *shared = http_bytes_new(bytes);

    http_connection_send(connection, shared, http_bytes_view(shared));
    http_bytes_free(shared);
}

/* Content-Length is that of body, but for statuses that have none; of a HEAD
 * the body is not sent. */
static void answer_send(struct http_connection *connection, unsigned int status,
                        const struct http_pair *headers, unsigned int count,
                        struct view body, bool is_head)
{
    CLEANUP(buf_finish) struct buf out = { .max = MAX_ANSWER };

    if (!http_answer_head(connection, &out, status, headers, count)) {
        status = 500;
        body = VIEW("{\"error\":{\"message\":\"the server made a header that "
                    "may not be sent\",\"type\":\"server_error\","
                    "\"param\":null,\"code\":null}}");
        http_answer_head(connection, &out, status, NULL, 0);
    }
    if (!http_answer_is_bodyless(status))
        buf_printf(&out, "Content-Length: %zu\r\n", body.len);
    buf_add(&out, VIEW("\r\n"));
    if (!is_head && !http_answer_is_bodyless(status))
        buf_add(&out, body);
    if (buf_ok(&out))
        http_answer_put(connection, buf_view(&out));
    else
        http_connection_cut(connection, HTTP_GONE_SERVER);
}

/* ------------------------------------------------------------------ errors */

static void add_text(struct buf *out, const char *text)
{
    if (!text) {
        buf_add(out, VIEW("null"));
        return;
    }
    buf_add(out, VIEW("\""));
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte == '"' || byte == '\\')
            buf_printf(out, "\\%c", byte);
        else if (byte < ' ')
            buf_printf(out, "\\u%04x", byte);
        else
            buf_append(out, text, 1);
    }
    buf_add(out, VIEW("\""));
}

void http_error_write(const struct http_error *error, struct buf *out)
{
    buf_add(out, VIEW("{\"error\":{\"message\":"));
    add_text(out, error->message ? error->message : "");
    buf_add(out, VIEW(",\"type\":"));
    add_text(out, error->type);
    buf_add(out, VIEW(",\"param\":"));
    add_text(out, error->param);
    buf_add(out, VIEW(",\"code\":"));
    add_text(out, error->code);
    buf_add(out, VIEW("}}"));
}

void http_error_write_short(const char *message, struct buf *out)
{
    buf_add(out, VIEW("{\"error\":"));
    add_text(out, message);
    buf_add(out, VIEW("}"));
}

static void write_by_handler(const struct http_connection *connection,
                             const struct http_error *error, struct buf *out)
{
    const struct http_handler *handler = &connection->service->handler;

    if (handler->write_error)
        handler->write_error(handler->owner, error, out);
    else
        http_error_write(error, out);
}

static const struct http_pair error_headers[] = {
    { VIEW_INIT("Content-Type"), VIEW_INIT("application/json") },
    { VIEW_INIT("Retry-After"), VIEW_INIT("1") }, /* of 503 alone */
};

static unsigned int count_headers(const struct http_error *error)
{
    return error->status == 503 ? 2 : 1;
}

void http_answer_refuse(struct http_connection *connection,
                        const struct http_error *error)
{
    CLEANUP(buf_finish) struct buf body = { .max = MAX_ERROR };

    write_by_handler(connection, error, &body);
    answer_send(connection, error->status, error_headers, count_headers(error),
                buf_view(&body), false);
}

/* ----------------------------------------------------------- for the handler
 */

/* A long answer must not wait for its peer when much waits for all of them. */
static bool may_wait(const struct http_connection *connection, size_t length)
{
    const struct http_service *service = connection->service;

    return length <= service->limits.queue_bytes ||
           service->waiting <= service->limits.waiting_bytes;
}

static void answer_crowded(struct http_connection *connection, bool is_head)
{
    CLEANUP(buf_finish) struct buf body = { .max = MAX_ERROR };
    const struct http_error error = {
        .status = 503,
        .message = "too many bytes of answers wait for peers that do not read "
                   "them; try again",
        .type = "server_error",
        .code = "answer_memory_full",
    };

    write_by_handler(connection, &error, &body);
    answer_send(connection, error.status, error_headers, count_headers(&error),
                buf_view(&body), is_head);
}

void http_answer(struct http_exchange *request, unsigned int status,
                 const struct http_pair *headers, unsigned int count,
                 struct view body)
{
    struct http_connection *connection = request->connection;
    bool is_head = request->head.method == HTTP_METHOD_HEAD;

    if (request->is_answered)
        return;
    request->is_answered = true;
    connection->ends = connection->ends || !request->is_whole;
    if (may_wait(connection, body.len))
        answer_send(connection, status, headers, count, body, is_head);
    else
        answer_crowded(connection, is_head);
    http_connection_count(connection);
    http_connection_stir(connection);
}

void http_answer_error(struct http_exchange *request,
                       const struct http_error *error)
{
    CLEANUP(buf_finish) struct buf body = { .max = MAX_ERROR };

    write_by_handler(request->connection, error, &body);
    http_answer(request, error->status, error_headers, count_headers(error),
                buf_view(&body));
}
