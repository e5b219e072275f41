/* fuzz_place.c - any answer at a place of --metrics is one that quern prints,
 * or a sentence; however it comes in pieces, it is the same one. */
#include <string.h>

#include "producer/cli/place_answer.h"
#include "tests/fuzz/fuzz.h"

static enum place_reading read_checked(struct view bytes, bool is_end,
                                       struct place_answer *answer)
{
    struct err err = { .kind = ERR_NONE };
    enum place_reading reading = place_read(bytes, is_end, answer, &err);

    MUST(!is_end || reading != PLACE_MORE);
    MUST((reading == PLACE_WRONG) == (err.kind != ERR_NONE));
    MUST(reading != PLACE_WRONG || strcmp(err.code, "no_answer") == 0);
    if (reading == PLACE_WHOLE) {
        MUST(answer->status >= 100 && answer->status <= 599);
        MUST(answer->body.data >= bytes.data);
        MUST(answer->body.data + answer->body.len <= bytes.data + bytes.len);
    }
    return reading;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view all = { (const char *)data, size };
    struct place_answer whole, part;
    enum place_reading reading = read_checked(all, true, &whole);

    for (size_t len = 0; len < size && len < 512; len++) {
        enum place_reading early =
            read_checked((struct view){ all.data, len }, false, &part);

        if (early == PLACE_MORE)
            continue;
        MUST(early == reading);
        if (early == PLACE_WHOLE)
            MUST(part.status == whole.status &&
                 view_equal(part.body, whole.body));
        break;
    }
    return 0;
}
