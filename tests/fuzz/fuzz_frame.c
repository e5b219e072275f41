/* fuzz_frame.c - any bytes as a stream of frames. */
#include "schemas/message/frame.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"

static void take_frame(const struct schema *schema, void *frame,
                       struct view body)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf out = { .max = MAX_FRAME_BYTES };
    struct err err;
    size_t total;

    if (!message_decode(schema, body, frame, &arena, &err))
        return;
    MUST(frame_encode(schema, frame, &out, &err));
    MUST(frame_length(buf_view(&out), MAX_FRAME_BYTES, &total, &err));
    MUST(total == out.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view rest = { (const char *)data, size };

    for (;;) {
        struct guest_frame guest;
        struct frame frame;
        struct view body;
        size_t total;

        if (!frame_length(rest, MAX_FRAME_BYTES, &total, NULL) || total == 0 ||
            total > rest.len)
            return 0;
        body = (struct view){ rest.data + FRAME_HEADER_BYTES,
                              total - FRAME_HEADER_BYTES };
        take_frame(&schema_frame, &frame, body);
        take_frame(&schema_guest_frame, &guest, body);
        rest.data += total;
        rest.len -= total;
    }
}
