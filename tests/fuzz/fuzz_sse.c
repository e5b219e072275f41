/* fuzz_sse.c - any bytes in any pieces: the same events as in one piece. The
 * first byte is the seed of the pieces. */
#include "consumer/model/sse.h"
#include "tests/fuzz/fuzz.h"

static bool note_event(void *owner, struct view name, struct view data)
{
    struct buf *seen = owner;

    MUST(name.len <= SSE_MAX_NAME);
    buf_add(seen, name);
    buf_append(seen, "|", 1);
    buf_add(seen, data);
    buf_append(seen, ";", 1);
    return !view_is(data, "[DONE]");
}

static void feed(struct buf *seen, const char *data, size_t len, unsigned seed)
{
    struct sse sse;

    sse_init(&sse, note_event, seen);
    while (len > 0) {
        size_t size = seed ? 1 + (size_t)rand_r(&seed) % 7 : len;

        if (size > len)
            size = len;
        sse_feed(&sse, (struct view){ data, size });
        data += size;
        len -= size;
    }
    sse_end(&sse);
    sse_finish(&sse);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(buf_finish) struct buf whole = { .max = 64 << 20 };
    CLEANUP(buf_finish) struct buf pieces = { .max = 64 << 20 };

    if (size == 0)
        return 0;
    feed(&whole, (const char *)data + 1, size - 1, 0);
    feed(&pieces, (const char *)data + 1, size - 1, data[0] + 1u);
    MUST(view_equal(buf_view(&whole), buf_view(&pieces)));
    return 0;
}
