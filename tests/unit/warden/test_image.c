/* Which bytes may be passed on as an image. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "executor/warden/image.h"

#define SIGNATURE "\x89PNG\r\n\x1a\n"
#define HEADER SIGNATURE "\0\0\0\rIHDR"
#define REST "\x08\x06\0\0\0CRC."
#define JPEG_START "\xff\xd8\xff\xe0\0\x04JF"

static const struct {
    const char *name;
    const char *mime;
    struct view bytes;
    bool sound;
    uint64_t width, height;
} rows[] = {
    { "a PNG of 2 by 3",
      "image/png",
      { HEADER "\0\0\0\2\0\0\0\3" REST, 33 },
      true,
      2,
      3 },
    { "as many pixels as may be",
      "image/png",
      { HEADER "\0\0\x20\0\0\0\x20\0" REST, 33 },
      true,
      8192,
      8192 },
    { "one row more",
      "image/png",
      { HEADER "\0\0\x20\0\0\0\x20\1" REST, 33 },
      false,
      8192,
      8193 },
    { "a bomb of pixels",
      "image/png",
      { HEADER "\xff\xff\xff\xff\xff\xff\xff\xff" REST, 33 },
      false,
      0,
      0 },
    { "no width",
      "image/png",
      { HEADER "\0\0\0\0\0\0\0\3" REST, 33 },
      false,
      0,
      3 },
    { "no height",
      "image/png",
      { HEADER "\0\0\0\3\0\0\0\0" REST, 33 },
      false,
      3,
      0 },
    { "cut in its header",
      "image/png",
      { HEADER "\0\0\0\2\0\0\0\3", 24 },
      false,
      0,
      0 },
    { "another first chunk",
      "image/png",
      { SIGNATURE "\0\0\0\rIDAT\0\0\0\2\0\0\0\3" REST, 33 },
      false,
      0,
      0 },
    { "a text that calls itself PNG",
      "image/png",
      { "<svg></svg>", 11 },
      false,
      0,
      0 },
    { "nothing at all", "image/png", { "", 0 }, false, 0, 0 },
    { "a JPEG of 5 by 4",
      "image/jpeg",
      { JPEG_START "\xff\xc0\0\x11\x08\0\4\0\5\3", 18 },
      true,
      5,
      4 },
    { "a progressive JPEG",
      "image/jpeg",
      { JPEG_START "\xff\xc2\0\x11\x08\0\4\0\5\3", 18 },
      true,
      5,
      4 },
    { "a JPEG without a frame",
      "image/jpeg",
      { JPEG_START "\xff\xd9\0\0\0\0\0\0\0\0", 18 },
      false,
      0,
      0 },
    { "a segment that leads outside",
      "image/jpeg",
      { "\xff\xd8\xff\xe0\xff\xffJF\0\0\0\0", 12 },
      false,
      0,
      0 },
    { "a segment without length",
      "image/jpeg",
      { "\xff\xd8\xff\xe0\0\0\0\0\0\0\0\0", 12 },
      false,
      0,
      0 },
    { "a PNG that calls itself JPEG",
      "image/jpeg",
      { HEADER "\0\0\0\2\0\0\0\3" REST, 33 },
      false,
      0,
      0 },
    { "what is no image to us", "text/html", { "<b>", 3 }, true, 0, 0 },
};

static void images_are_looked_at(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct image_size size;
        bool sound =
            image_is_sound(view_of(rows[i].mime), rows[i].bytes, &size);
        if (sound != rows[i].sound ||
            (sound &&
             (size.width != rows[i].width || size.height != rows[i].height)))
            fail_msg("%s: %d, %llu by %llu", rows[i].name, sound,
                     (unsigned long long)size.width,
                     (unsigned long long)size.height);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_are_looked_at),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
