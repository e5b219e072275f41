/* http_bytes.h - bytes to send, shared by all connections that send them.
 *
 * They are counted by reference, and never change. One event that 1,000
 * followers get is in memory once, framed as a chunk, so that each of them
 * sends it in one write without a copy. */
#ifndef PRODUCER_GATEWAY_HTTP_BYTES_H
#define PRODUCER_GATEWAY_HTTP_BYTES_H

#include "schemas/message/view.h"

struct http_bytes;

/* Copies what is viewed; one reference, the caller's. Aborts when memory is
 * out. */
struct http_bytes *http_bytes_new(struct view view);

struct http_bytes *http_bytes_take(struct http_bytes *bytes); /* one more */
void http_bytes_free(struct http_bytes *bytes); /* one less; accepts NULL */

struct view http_bytes_view(const struct http_bytes *bytes);
/* The same bytes as one chunk of a chunked body. Of no bytes: empty, since a
 * chunk of no bytes would end the body. */
struct view http_bytes_chunk(const struct http_bytes *bytes);

#endif
