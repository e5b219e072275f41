/* http_bytes.c - bytes to send, shared by all connections that send them. */
#include "producer/gateway/http/http_bytes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_ROOM = 20, CRLF = 2 }; /* a size in hexadecimal, and its CRLF */

/* data: the chunk's size line, which ends at SIZE_ROOM; the bytes; CRLF. */
struct http_bytes {
    unsigned int references;
    unsigned int size_at;
    size_t len;
    char data[];
};

struct http_bytes *http_bytes_new(struct view view)
{
    struct http_bytes *bytes =
        malloc(sizeof(*bytes) + SIZE_ROOM + view.len + CRLF);
    char size[SIZE_ROOM + 1];

    if (!bytes)
        abort();
    int len = snprintf(size, sizeof(size), "%zx\r\n", view.len);
    bytes->references = 1;
    bytes->len = view.len;
    bytes->size_at = SIZE_ROOM - (unsigned int)len;
    memcpy(bytes->data + bytes->size_at, size, (size_t)len);
    if (view.len > 0)
        memcpy(bytes->data + SIZE_ROOM, view.data, view.len);
    memcpy(bytes->data + SIZE_ROOM + view.len, "\r\n", CRLF);
    return bytes;
}

struct http_bytes *http_bytes_take(struct http_bytes *bytes)
{
    bytes->references++;
    return bytes;
}

void http_bytes_free(struct http_bytes *bytes)
{
    if (bytes && --bytes->references == 0)
        free(bytes);
}

struct view http_bytes_view(const struct http_bytes *bytes)
{
    return (struct view){ bytes->data + SIZE_ROOM, bytes->len };
}

struct view http_bytes_chunk(const struct http_bytes *bytes)
{
    if (bytes->len == 0)
        return (struct view){ bytes->data, 0 };
    return (struct view){ bytes->data + bytes->size_at,
                          SIZE_ROOM - bytes->size_at + bytes->len + CRLF };
}
