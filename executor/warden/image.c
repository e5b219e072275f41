/* image.c - reads the sizes that PNG and JPEG begin with, nothing more. */
#include "executor/warden/image.h"

#include <string.h>

#include "schemas/message/limits.h"

static uint64_t big_endian(const unsigned char *bytes, size_t len)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++)
        value = value << 8 | bytes[i];
    return value;
}

/* 8 bytes of signature, then a chunk: length 13, IHDR, width, height. */
static bool png_size(const unsigned char *bytes, size_t len,
                     struct image_size *size)
{
    if (len < 33 || memcmp(bytes, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) != 0)
        return false;
    size->width = big_endian(bytes + 16, 4);
    size->height = big_endian(bytes + 20, 4);
    return true;
}

/* SOF0 to SOF15, but for the three numbers that mean something else. */
static bool is_frame(unsigned char marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
           marker != 0xc8 && marker != 0xcc;
}

/* Segments: 0xff, marker, length (its own two bytes included), content. */
static bool jpeg_size(const unsigned char *bytes, size_t len,
                      struct image_size *size)
{
    if (len < 4 || bytes[0] != 0xff || bytes[1] != 0xd8)
        return false;
    size_t at = 2;
    while (at + 9 <= len && bytes[at] == 0xff) {
        unsigned char marker = bytes[at + 1];
        if (is_frame(marker)) {
            size->height = big_endian(bytes + at + 5, 2);
            size->width = big_endian(bytes + at + 7, 2);
            return true;
        }
        at += 2 + (size_t)big_endian(bytes + at + 2, 2);
    }
    return false;
}

bool image_is_sound(struct view mime, struct view bytes,
                    struct image_size *size)
{
    const unsigned char *data = (const unsigned char *)bytes.data;
    *size = (struct image_size){ 0 };
    bool read;
    if (view_is(mime, "image/png"))
        read = png_size(data, bytes.len, size);
    else if (view_is(mime, "image/jpeg"))
        read = jpeg_size(data, bytes.len, size);
    else
        return true;
    /* 32 bits each: the product fits. */
    return read && size->width > 0 && size->height > 0 &&
           size->width * size->height <= MAX_PIXELS;
}
