/* buf.h - bytes that we own, with a hard maximum.
 *
 * A buf grows as it is written and refuses to grow past its maximum. The
 * first refusal sticks: later appends do nothing, so a writer writes all its
 * pieces in a row and asks buf_ok() once, at the end. Running out of memory
 * aborts: a queue worker that cannot allocate must restart, and its jobs are
 * delivered again. */
#ifndef SCHEMAS_MESSAGE_BUF_H
#define SCHEMAS_MESSAGE_BUF_H

#include "schemas/message/view.h"

struct buf {
    char *data; /* NULL until the first write; moves when the buf grows, so a
                   view of it is valid until the next write only */
    size_t len;
    size_t room;   /* allocated, less one spare byte */
    size_t max;    /* bytes, never exceeded */
    bool overflow; /* something was refused; stays until buf_clear() */
};

void buf_init(struct buf *buf, size_t max);
void buf_finish(struct buf *buf); /* accepts NULL and a zeroed buf */

bool buf_append(struct buf *buf, const void *data, size_t len);
bool buf_add(struct buf *buf, struct view view);
bool buf_printf(struct buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

bool buf_ok(const struct buf *buf);          /* nothing was refused */
struct view buf_view(const struct buf *buf); /* until the next write */

void buf_clear(struct buf *buf);                /* keeps the memory */
void buf_drop(struct buf *buf, size_t len);     /* forget the first len bytes */
void buf_truncate(struct buf *buf, size_t len); /* keep the first len bytes */

/* Room for len more bytes behind buf->data + buf->len, or NULL when that would
 * pass the maximum; after writing there, add what was written to buf->len. */
char *buf_reserve(struct buf *buf, size_t len);

/* Calls the function with the variable's address when its scope ends:
 * CLEANUP(buf_finish) struct buf out; CLEANUP(cleanup_free) char *text. */
#define CLEANUP(function) __attribute__((cleanup(function)))
void cleanup_free(void *pointer);

#endif
