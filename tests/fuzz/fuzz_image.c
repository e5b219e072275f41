/* fuzz_image.c - whatever calls itself an image, reading its size reads nothing
 * beyond it, and what is passed on has a size that may be unpacked. */
#include "executor/warden/image.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"

/* The first byte says which; the rest is the image, in memory of its own. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const types[] = {
        "image/png",  "image/jpeg",    "image/gif",
        "image/webp", "image/svg+xml", "application/pdf",
    };
    struct image_size found;
    if (size == 0 || data[0] >= sizeof(types) / sizeof(types[0]))
        return 0;
    struct view image = { (const char *)data + 1, size - 1 };
    if (image_is_sound(view_of(types[data[0]]), image, &found) && data[0] < 4)
        MUST(found.width > 0 && found.height > 0 &&
             found.width <= MAX_PIXELS / found.height);
    return 0;
}
