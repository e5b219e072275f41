/* inline_file.h - files that stand in a body themselves, as base64. */
#ifndef PRODUCER_GATEWAY_BODY_INLINE_FILE_H
#define PRODUCER_GATEWAY_BODY_INLINE_FILE_H

#include "schemas/message/buf.h"

/* "data:image/png;base64,iVBO...", or base64 alone. Borrows the url. */
struct inline_file {
    struct view mime;   /* empty: none is said */
    struct view base64; /* not checked */
};

/* False: it begins with "data:" and has no ";base64,". */
bool inline_file_read(struct view url, struct inline_file *data);

/* The length in bytes of what base64 stands for; SIZE_MAX: it is not base64
 * (RFC 4648 with or without padding, and nothing else in it). */
size_t inline_file_length(struct view base64);
/* Appends these bytes; false: it is not base64, or out is full. */
bool inline_file_decode(struct view base64, struct buf *out);

#endif
