/* file_answer.c - answers with the bytes of a file: Range, ETag, safe headers.
 *
 * Models, clients, and code that nobody has read, wrote the names, types and
 * bytes. So nothing of it may run in the origin of the gateway ("Showing what
 * code has made" in schemas/MESSAGES.md): a sandbox without rights, no guessing
 * of types, and a download of all that is not an image of a harmless type, but
 * for frames of the page, which are sandboxes of another origin. The bytes are
 * compared with their hash before the first one is sent. */
#include "producer/gateway/file_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "producer/client/fleet.h"
#include "producer/gateway/file_link.h"
#include "producer/gateway/native/blob_memory.h"
#include "producer/gateway/native/byte_range.h"
#include "schemas/message/limits.h"
#include "schemas/redis/blob.h"

/* One that is asked for, from its blob to its last byte. */
struct file_visit {
    struct blob_memory memory;
    char name[MAX_FILE_NAME_BYTES + 1];
    char sha256[65];
    char type[MAX_NAME_BYTES + 1];
    bool is_inline;
    bool in_frame;
    bool is_linked;
    uint64_t link_seconds;
    uint64_t bytes;
    unsigned int partition;
    struct http_stream *stream;
    struct http_bytes *body; /* NULL: it was sent */
};

static void visit_free(void *state)
{
    struct file_visit *visit = state;

    http_bytes_free(visit->body);
    blob_memory_give(&visit->memory);
    free(visit);
}

static bool type_is_safe_image(struct view type)
{
    static const char *const safe[] = { "image/png", "image/jpeg", "image/gif",
                                        "image/webp", "image/avif" };

    for (size_t i = 0; i < sizeof(safe) / sizeof(safe[0]); i++)
        if (view_is(type, safe[i]))
            return true;
    return false;
}

/* A type of media as a header may have it: "text/csv". */
static bool type_is_sound(struct view type)
{
    size_t slashes = 0;

    for (size_t i = 0; i < type.len; i++) {
        char byte = type.data[i];

        if (byte == '/')
            slashes++;
        else if (!(byte >= 'a' && byte <= 'z') &&
                 !(byte >= '0' && byte <= '9') && !byte_is_of(byte, "+-._"))
            return false;
    }
    return slashes == 1 && type.len <= MAX_NAME_BYTES;
}

/* ---------------------------------------------------------------- the answer
 */

/* inline, or attachment with the name as RFC 8187 has it. */
static void write_disposition(struct buf *out, const struct file_visit *visit,
                              struct view name)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

    buf_printf(out, "%s; filename*=UTF-8''",
               visit->is_inline ? "inline" : "attachment");
    for (size_t i = 0; i < name.len; i++)
        buf_printf(out, byte_is_of(name.data[i], plain) ? "%c" : "%%%02X",
                   (unsigned char)name.data[i]);
}

static void on_stream_gone(void *owner, enum http_gone why)
{
    (void)why;
    visit_free(owner);
}

/* The body is larger than what may wait behind something else: so it is sent
 * when the head has left. */
static void on_stream_drained(void *owner)
{
    struct file_visit *visit = owner;

    if (visit->body && http_stream_waiting(visit->stream) == 0) {
        http_stream_send(visit->stream, visit->body);
        http_bytes_free(visit->body);
        visit->body = NULL;
    }
    if (visit->body || http_stream_waiting(visit->stream) > 0)
        return;
    http_stream_end(visit->stream);
    visit_free(visit);
}

static const struct http_stream_events streamed = { on_stream_gone,
                                                    on_stream_drained };

enum { MOST_HEADERS = 12 };

struct file_headers {
    struct http_pair list[MOST_HEADERS];
    unsigned int count;
    char etag[80], range[80], caching[48];
    struct buf disposition;
};

static void add_header(struct file_headers *headers, const char *name,
                       const char *value)
{
    headers->list[headers->count++] =
        (struct http_pair){ view_of(name), view_of(value) };
}

static const char POLICY[] =
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'";
static const char FRAME_POLICY[] =
    "sandbox allow-scripts; default-src 'none'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; img-src data: blob:; "
    "font-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'";

/* Who may show the bytes, and keep them. */
static void add_sharing(struct file_headers *headers,
                        const struct file_visit *visit)
{
    if (!visit->is_linked) {
        add_header(headers, "Cross-Origin-Resource-Policy", "same-site");
        add_header(headers, "Cache-Control", "private, no-cache");
        return;
    }
    snprintf(headers->caching, sizeof(headers->caching),
             "private, max-age=%llu", (unsigned long long)visit->link_seconds);
    add_header(headers, "Cross-Origin-Resource-Policy", "cross-origin");
    add_header(headers, "Cache-Control", headers->caching);
    add_header(headers, "Referrer-Policy", "no-referrer");
}

static void headers_fill(struct file_headers *headers,
                         const struct file_visit *visit, struct view name)
{
    headers->count = 0;
    buf_init(&headers->disposition, 4 * MAX_FILE_NAME_BYTES + 64);
    write_disposition(&headers->disposition, visit, name);
    buf_append(&headers->disposition, "", 1);
    snprintf(headers->etag, sizeof(headers->etag), "\"%s\"", visit->sha256);
    add_header(headers, "Content-Type", visit->type);
    add_header(headers, "Content-Disposition", headers->disposition.data);
    add_header(headers, "X-Content-Type-Options", "nosniff");
    add_header(headers, "Content-Security-Policy",
               visit->in_frame ? FRAME_POLICY : POLICY);
    add_sharing(headers, visit);
    add_header(headers, "ETag", headers->etag);
    add_header(headers, "Accept-Ranges", "bytes");
}

/* "" for none, and for a header that is there twice. */
static struct view header_of(const struct api_request *request,
                             const char *name)
{
    struct view value;
    struct err err;

    return http_request_value(request->exchange, name, &value, &err)
               ? value
               : (struct view){ "", 0 };
}

static bool has_etag(struct view value, const char *etag)
{
    return view_is(value, "*") ||
           (value.len > 0 && memmem(value.data, value.len, etag, strlen(etag)));
}

/* The visit then belongs to the stream. */
static void send_bytes(struct api_request *request, unsigned int status,
                       const struct file_headers *headers, struct view bytes)
{
    struct file_visit *visit = request->state;

    visit->body = http_bytes_new(bytes);
    request->state = NULL;
    request->state_free = NULL;
    visit->stream =
        api_request_stream(request, status, headers->list, headers->count,
                           (int64_t)bytes.len, &streamed, visit);
    on_stream_drained(visit);
}

static void answer_bytes(struct api_request *request,
                         struct file_headers *headers, struct view bytes)
{
    static const unsigned int statuses[] = {
        [BYTE_RANGE_ALL] = 200, [BYTE_RANGE_PART] = 206, [BYTE_RANGE_NONE] = 416
    };
    const struct file_visit *visit = request->state;
    struct view wanted = header_of(request, "Range");
    struct view only_if = header_of(request, "If-Range");
    struct byte_range range;
    enum byte_range_kind kind = BYTE_RANGE_ALL;

    if (only_if.len == 0 || view_is(only_if, headers->etag))
        kind = byte_range_read(wanted, visit->bytes, &range);
    if (kind == BYTE_RANGE_PART) {
        snprintf(headers->range, sizeof(headers->range), "bytes %llu-%llu/%llu",
                 (unsigned long long)range.first,
                 (unsigned long long)range.last,
                 (unsigned long long)visit->bytes);
        add_header(headers, "Content-Range", headers->range);
        bytes = (struct view){ bytes.data + range.first,
                               (size_t)(range.last - range.first + 1) };
    } else if (kind == BYTE_RANGE_NONE) {
        snprintf(headers->range, sizeof(headers->range), "bytes */%llu",
                 (unsigned long long)visit->bytes);
        add_header(headers, "Content-Range", headers->range);
        bytes.len = 0;
    }
    bool is_head =
        http_request_head(request->exchange)->method == HTTP_METHOD_HEAD;

    if (bytes.len == 0 || is_head)
        api_request_answer(request, statuses[kind], headers->list,
                           headers->count, bytes);
    else
        send_bytes(request, statuses[kind], headers, bytes);
}

static void on_blob(struct api_request *request, const redisReply *reply)
{
    const struct file_visit *visit = request->state;
    struct view bytes = reply_view(reply), name = view_of(visit->name);
    struct file_headers headers;
    struct err err;

    if (reply->type != REDIS_REPLY_STRING) {
        if (visit->is_linked)
            file_link_refuse(request);
        else
            api_request_unknown(request, "file", name);
        return;
    }
    if (bytes.len != visit->bytes ||
        !blob_is_sound(view_of(visit->sha256), bytes)) {
        err_set(&err, ERR_REJECT, "internal",
                "the file's bytes in Redis are not those of its record");
        api_request_refuse(request, &err);
        return;
    }
    headers_fill(&headers, visit, name);
    answer_bytes(request, &headers, bytes);
    buf_finish(&headers.disposition);
}

/* A client that has the bytes needs no byte of them. */
static bool is_known_to_client(struct api_request *request)
{
    const struct file_visit *visit = request->state;
    struct file_headers headers;
    bool known;

    headers_fill(&headers, visit, view_of(visit->name));
    known = has_etag(header_of(request, "If-None-Match"), headers.etag);
    if (known)
        api_request_answer(request, 304, headers.list, headers.count,
                           (struct view){ 0 });
    buf_finish(&headers.disposition);
    return known;
}

static void read_blob(struct api_request *request)
{
    struct file_visit *visit = request->state;
    struct command command;
    struct err err;

    if (is_known_to_client(request))
        return;
    if (!blob_memory_take(&visit->memory, visit->bytes, &err)) {
        api_request_refuse(request, &err);
        return;
    }
    blob_ask(&command, &request->gateway->names, visit->partition,
             view_of(visit->sha256));
    api_request_call(request, visit->partition, &command, on_blob);
    command_finish(&command);
}

static bool is_for_frame(const struct api_request *request)
{
    return view_is(header_of(request, "Sec-Fetch-Dest"), "iframe") &&
           view_is(header_of(request, "Sec-Fetch-Site"), "same-origin");
}

void file_answer(struct api_request *request, const struct answered_file *file)
{
    struct file_visit *visit = calloc(1, sizeof(*visit));
    struct view type = file->mime;

    if (!visit)
        abort();
    visit->memory.gateway = request->gateway;
    visit->in_frame = file->in_frame && file->active && !file->is_linked &&
                      is_for_frame(request);
    visit->is_inline =
        visit->in_frame || (!file->active && type_is_safe_image(type));
    visit->is_linked = file->is_linked;
    visit->link_seconds = file->link_seconds;
    visit->bytes = file->bytes;
    visit->partition = file->partition;
    if (!type_is_sound(type))
        type = VIEW("application/octet-stream");
    if (visit->in_frame && view_is(type, "text/html"))
        type = VIEW("text/html; charset=utf-8");
    view_copy(visit->type, sizeof(visit->type), type);
    view_copy(visit->name, sizeof(visit->name), file_base_name(file->name));
    view_copy(visit->sha256, sizeof(visit->sha256), file->blob);
    if (request->state_free)
        request->state_free(request->state);
    request->state = visit;
    request->state_free = visit_free;
    read_blob(request);
}
