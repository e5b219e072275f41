/* buf.c - bytes that we own, with a hard maximum. */
#include "schemas/message/buf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

void buf_init(struct buf *buf, size_t max)
{
    /* One byte less than the largest object: room + 1 must not overflow. */
    *buf = (struct buf){ .max = max < PTRDIFF_MAX ? max : PTRDIFF_MAX - 1 };
}

void buf_finish(struct buf *buf)
{
    if (!buf)
        return;
    free(buf->data);
    *buf = (struct buf){ .max = buf->max };
}

char *buf_reserve(struct buf *buf, size_t len)
{
    size_t room = buf->room ? buf->room : FIRST_ROOM;

    if (buf->overflow || len > buf->max - buf->len) {
        buf->overflow = true;
        return NULL;
    }
    if (!buf->data || len > buf->room - buf->len) {
        /* Twice the room each time, so that appending stays linear. */
        while (room - buf->len < len)
            room = room > buf->max / 2 ? buf->max : room * 2;
        buf->data = realloc(buf->data, room + 1); /* see buf_printf() */
        if (!buf->data)
            abort();
        buf->room = room;
    }
    return buf->data + buf->len;
}

bool buf_append(struct buf *buf, const void *data, size_t len)
{
    char *to = buf_reserve(buf, len);

    if (!to)
        return false;
    if (len > 0)
        memcpy(to, data, len);
    buf->len += len;
    return true;
}

bool buf_add(struct buf *buf, struct view view)
{
    return buf_append(buf, view.data, view.len);
}

bool buf_printf(struct buf *buf, const char *format, ...)
{
    va_list arguments;
    char *to;
    int len;

    va_start(arguments, format);
    len = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    assert(len >= 0);

    to = buf_reserve(buf, (size_t)len); /* and a spare byte for the NUL */
    if (!to)
        return false;
    va_start(arguments, format);
    vsnprintf(to, (size_t)len + 1, format, arguments);
    va_end(arguments);
    buf->len += (size_t)len;
    return true;
}

bool buf_ok(const struct buf *buf)
{
    return !buf->overflow;
}

struct view buf_view(const struct buf *buf)
{
    return (struct view){ buf->data, buf->len };
}

void buf_clear(struct buf *buf)
{
    buf->len = 0;
    buf->overflow = false;
}

void buf_drop(struct buf *buf, size_t len)
{
    assert(len <= buf->len);
    if (len == 0)
        return;
    memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
}

void buf_truncate(struct buf *buf, size_t len)
{
    assert(len <= buf->len);
    buf->len = len;
}

void cleanup_free(void *pointer)
{
    free(*(void **)pointer);
}
