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
#define GIF(rest) VIEW_INIT("GIF89a" rest)
#define SCREEN "\4\0\3\0\0\0\0" /* 4 by 3 */
#define PICTURE ",\0\0\0\0\4\0\3\0\0\2\0"
#define WEBP(chunks) VIEW_INIT("RIFFsizeWEBP" chunks)
#define SVG(text) "image/svg+xml", VIEW_INIT(text)
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
    { "a JPEG with filling before its segments",
      "image/jpeg",
      { "\xff\xd8\xff\xff\xff\xe0\0\x02\xff\xff\xc0\0\x11\x08\0\4\0\5\3", 19 },
      true,
      5,
      4 },
    { "a GIF of one picture", "image/gif", GIF(SCREEN PICTURE ";"), true, 4,
      3 },
    { "a GIF of the old kind",
      "image/gif",
      { "GIF87a" SCREEN PICTURE ";", 6 + 7 + 12 + 1 },
      true,
      4,
      3 },
    { "a GIF with colours and words", "image/gif",
      GIF("\4\0\3\0\x80\0\0RGBRGB!\xfe\2hi\0" PICTURE ";"), true, 4, 3 },
    { "a film", "image/gif", GIF(SCREEN PICTURE PICTURE ";"), true, 4, 3 },
    { "a GIF without its end", "image/gif", GIF(SCREEN PICTURE), true, 4, 3 },
    { "a GIF without a picture", "image/gif", GIF(SCREEN ";"), false, 4, 3 },
    { "a GIF cut in its picture", "image/gif",
      GIF(SCREEN ",\0\0\0\0\4\0\3\0\0\2\5ab"), false, 4, 3 },
    { "a GIF whose picture leaves its screen", "image/gif",
      GIF(SCREEN ",\1\0\0\0\4\0\3\0\0\2\0;"), false, 4, 3 },
    { "a GIF of 65535 by 65535", "image/gif",
      GIF("\xff\xff\xff\xff\0\0\0,\0\0\0\0\1\0\1\0\0\2\0;"), false, 65535,
      65535 },
    { "a lossy WebP", "image/webp", WEBP("VP8 \12\0\0\0abc\x9d\1\x2a\4\0\3\0"),
      true, 4, 3 },
    { "a lossless WebP", "image/webp", WEBP("VP8L\5\0\0\0\x2f\3\x80\0\0\0"),
      true, 4, 3 },
    { "a WebP with extras", "image/webp",
      WEBP("VP8X\12\0\0\0\0\0\0\0\3\0\0\2\0\0"
           "VP8 \12\0\0\0abc\x9d\1\x2a\4\0\3\0"),
      true, 4, 3 },
    { "a WebP whose picture is larger than it says", "image/webp",
      WEBP("VP8X\12\0\0\0\0\0\0\0\3\0\0\2\0\0"
           "VP8 \12\0\0\0abc\x9d\1\x2a\5\0\3\0"),
      false, 4, 3 },
    { "a WebP film", "image/webp",
      WEBP("VP8X\12\0\0\0\2\0\0\0\3\0\0\2\0\0"
           "ANMF\x22\0\0\0\0\0\0\0\0\0\3\0\0\2\0\0TIME"
           "VP8 \12\0\0\0abc\x9d\1\x2a\4\0\3\0"),
      true, 4, 3 },
    { "a WebP film whose picture leaves it", "image/webp",
      WEBP("VP8X\12\0\0\0\2\0\0\0\3\0\0\2\0\0"
           "ANMF\x22\0\0\0\1\0\0\0\0\0\3\0\0\2\0\0TIME"
           "VP8 \12\0\0\0abc\x9d\1\x2a\4\0\3\0"),
      false, 4, 3 },
    { "a WebP without a picture", "image/webp",
      WEBP("VP8X\12\0\0\0\0\0\0\0\3\0\0\2\0\0"), false, 4, 3 },
    { "a WebP whose chunk leads outside", "image/webp",
      WEBP("VP8 \xff\xff\xff\xff"
           "abc\x9d\1\x2a\4\0\3\0"),
      false, 0, 0 },
    { "a WebP of 16777216 by 16777216", "image/webp",
      WEBP("VP8X\12\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff"
           "VP8 \12\0\0\0abc\x9d\1\x2a\4\0\3\0"),
      false, 0, 0 },
    { "a plain SVG", SVG("<svg/>"), true, 0, 0 },
    { "an SVG with all that may come before",
      SVG("\xef\xbb\xbf<?xml version='1.0'?>\n<!DOCTYPE svg PUBLIC 'a' 'b'>\n"
          "<!-- [ --> <svg xmlns='http://www.w3.org/2000/svg'></svg>"),
      true, 0, 0 },
    { "an SVG with a prefix", SVG("<ns0:svg a='b'></ns0:svg>"), true, 0, 0 },
    { "an SVG with entities of its own",
      SVG("<!DOCTYPE svg [<!ENTITY a 'aaa'>]><svg>&a;</svg>"), false, 0, 0 },
    { "an SVG with entities behind a sign",
      SVG("<!DOCTYPE svg '>' [<!ENTITY a 'aaa'>]><svg>&a;</svg>"), false, 0,
      0 },
    { "a page that calls itself SVG", SVG("<html><svg></svg></html>"), false, 0,
      0 },
    { "a comment without end", SVG("<!-- <svg/>"), false, 0, 0 },
    { "half a declaration", SVG("<?"), false, 0, 0 },
    { "an SVG that is not UTF-8", SVG("<svg>\xff</svg>"), false, 0, 0 },
    { "an SVG with a NUL", SVG("<svg>\0</svg>"), false, 0, 0 },
    { "a PDF", "application/pdf", VIEW_INIT("%PDF-1.7\n"), true, 0, 0 },
    { "a text that calls itself PDF", "application/pdf", VIEW_INIT("<script>"),
      false, 0, 0 },
    { "an image that nobody here knows", "image/tiff", VIEW_INIT("II*\0"),
      false, 0, 0 },
    { "an image in other letters",
      "Image/PNG",
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
