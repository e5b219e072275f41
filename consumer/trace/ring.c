/* ring.c - a ring of finished spans. */
#include "consumer/trace/ring.h"

#include <stdlib.h>
#include <string.h>

static struct ring_span *oldest(const struct ring *ring)
{
    return &ring->spans[ring->first];
}

static void drop_oldest(struct ring *ring)
{
    struct ring_span *span = oldest(ring);
    ring->bytes -= span->len;
    free(span->text);
    ring->first = (ring->first + 1) % RING_SPANS;
    ring->count--;
}

size_t ring_add(struct ring *ring, struct view span)
{
    size_t before = ring->count;
    if (!ring->spans &&
        !(ring->spans = calloc(RING_SPANS, sizeof(*ring->spans))))
        abort();
    while (ring->count > 0 &&
           (ring->count == RING_SPANS || ring->bytes + span.len > RING_BYTES))
        drop_oldest(ring);
    size_t dropped = before - ring->count;
    char *copy = malloc(span.len + 1);
    if (!copy)
        abort();
    memcpy(copy, span.data, span.len);
    ring->spans[(ring->first + ring->count) % RING_SPANS] =
        (struct ring_span){ copy, span.len };
    ring->count++;
    ring->bytes += span.len;
    return dropped;
}

size_t ring_take(struct ring *ring, struct buf *out, size_t most)
{
    size_t taken = 0;
    for (; ring->count > 0 && taken < most; taken++) {
        const struct ring_span *span = oldest(ring);
        if (out->len + span->len + 1 > out->max)
            break;
        if (taken > 0)
            buf_add(out, VIEW(","));
        buf_append(out, span->text, span->len);
        drop_oldest(ring);
    }
    return taken;
}

size_t ring_clear(struct ring *ring)
{
    size_t count = ring->count;
    while (ring->count > 0)
        drop_oldest(ring);
    return count;
}

void ring_finish(struct ring *ring)
{
    ring_clear(ring);
    free(ring->spans);
    *ring = (struct ring){ 0 };
}
