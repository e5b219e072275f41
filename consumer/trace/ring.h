/* ring.h - finished spans that wait to be sent: the newest ones, never more
 * than a fixed number of spans and of bytes. */
#ifndef CONSUMER_TRACE_RING_H
#define CONSUMER_TRACE_RING_H

#include <stdint.h>

#include "schemas/message/buf.h"

enum {
    RING_SPANS = 2048,
    RING_BYTES = 16 << 20,
};

struct ring_span {
    char *text;
    size_t len;
};

/* Zeroed: empty. */
struct ring {
    struct ring_span *spans; /* RING_SPANS of them; NULL before the first */
    size_t first, count;
    size_t bytes;
};

/* Copies the span; drops the oldest ones where it would not fit. Returns how
 * many were dropped. */
size_t ring_add(struct ring *ring, struct view span);
/* Moves the oldest spans behind what is in out, with commas between them: at
 * most so many, and only as many as fit. Returns how many. */
size_t ring_take(struct ring *ring, struct buf *out, size_t most);
/* Forgets all. Returns how many. */
size_t ring_clear(struct ring *ring);
void ring_finish(struct ring *ring);

#endif
