/* image.c - reads the sizes that images begin with, and little more. */
#include "executor/warden/image.h"

#include <string.h>
#include <strings.h>

#include "schemas/message/limits.h"

/* What of an image is still to be read. */
struct image_bytes {
    const unsigned char *at;
    size_t left;
};

static struct image_bytes image_bytes_of(struct view view)
{
    return (struct image_bytes){ (const unsigned char *)view.data, view.len };
}

static bool image_skip(struct image_bytes *bytes, size_t len)
{
    if (len > bytes->left)
        return false;
    bytes->at += len;
    bytes->left -= len;
    return true;
}

static bool image_begins(const struct image_bytes *bytes, const void *with,
                         size_t len)
{
    return bytes->left >= len && memcmp(bytes->at, with, len) == 0;
}

static uint64_t big_endian(const unsigned char *at, size_t len)
{
    uint64_t value = 0;
    for (size_t i = 0; i < len; i++)
        value = value << 8 | at[i];
    return value;
}

static uint64_t little_endian(const unsigned char *at, size_t len)
{
    uint64_t value = 0;
    while (len > 0)
        value = value << 8 | at[--len];
    return value;
}

/* 8 bytes of signature, then a chunk: length 13, IHDR, width, height. */
static bool read_png(struct image_bytes bytes, struct image_size *size)
{
    if (bytes.left < 33 ||
        !image_begins(&bytes, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16))
        return false;
    size->width = big_endian(bytes.at + 16, 4);
    size->height = big_endian(bytes.at + 20, 4);
    return true;
}

/* SOF0 to SOF15, but for the three numbers that mean something else. */
static bool is_frame(unsigned char marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 &&
           marker != 0xc8 && marker != 0xcc;
}

/* Segments: 0xff, marker, length (its own two bytes included), content; any
 * number of 0xff before. */
static bool read_jpeg(struct image_bytes bytes, struct image_size *size)
{
    if (!image_begins(&bytes, "\xff\xd8\xff", 3))
        return false;
    image_skip(&bytes, 2);
    while (bytes.left >= 9 && bytes.at[0] == 0xff) {
        unsigned char marker = bytes.at[1];
        size_t len = marker == 0xff ? 0 : (size_t)big_endian(bytes.at + 2, 2);
        if (is_frame(marker)) {
            size->height = big_endian(bytes.at + 5, 2);
            size->width = big_endian(bytes.at + 7, 2);
            return true;
        }
        if (!image_skip(&bytes, marker == 0xff ? 1 : 2 + len))
            return false;
    }
    return false;
}

/* One frame more of an animation, at left and top in the whole. */
static bool add_frame(const struct image_size *whole, uint64_t left,
                      uint64_t top, struct image_size frame, uint64_t *pixels)
{
    *pixels += frame.width * frame.height;
    return frame.width > 0 && frame.height > 0 &&
           left + frame.width <= whole->width &&
           top + frame.height <= whole->height && *pixels <= MAX_FILM_PIXELS;
}

/* -------------------------------------------------------------------- GIF */

/* A table of colours follows that byte, if it says so. */
static bool skip_colours(struct image_bytes *bytes, unsigned char flags)
{
    return !(flags & 0x80) || image_skip(bytes, (size_t)3 << ((flags & 7) + 1));
}

/* Each with its length; one of length 0 ends them. */
static bool skip_pieces(struct image_bytes *bytes)
{
    while (bytes->left > 0) {
        size_t len = bytes->at[0];
        if (!image_skip(bytes, 1 + len))
            return false;
        if (len == 0)
            return true;
    }
    return false;
}

/* ',', left, top, width, height, flags; colours; a byte, and pieces. */
static bool read_gif_frame(struct image_bytes *bytes,
                           const struct image_size *size, uint64_t *pixels)
{
    if (bytes->left < 10)
        return false;
    const unsigned char *at = bytes->at;
    struct image_size frame = { little_endian(at + 5, 2),
                                little_endian(at + 7, 2) };
    return add_frame(size, little_endian(at + 1, 2), little_endian(at + 3, 2),
                     frame, pixels) &&
           image_skip(bytes, 10) && skip_colours(bytes, at[9]) &&
           image_skip(bytes, 1) && skip_pieces(bytes);
}

/* What comes after the last one that is whole nobody will show. */
static bool read_gif(struct image_bytes bytes, struct image_size *size)
{
    uint64_t pixels = 0;
    if (bytes.left < 13 || (!image_begins(&bytes, "GIF89a", 6) &&
                            !image_begins(&bytes, "GIF87a", 6)))
        return false;
    size->width = little_endian(bytes.at + 6, 2);
    size->height = little_endian(bytes.at + 8, 2);
    unsigned char flags = bytes.at[10];
    if (!image_skip(&bytes, 13) || !skip_colours(&bytes, flags))
        return false;
    while (bytes.left > 0 && bytes.at[0] != ';')
        if (bytes.at[0] == ',' ? !read_gif_frame(&bytes, size, &pixels)
                               : bytes.at[0] != '!' || !image_skip(&bytes, 2) ||
                                     !skip_pieces(&bytes))
            return false;
    return pixels > 0;
}

/* ------------------------------------------------------------------- WebP */

/* "VP8 ": a frame's tag of 3 bytes, 3 that are fixed, 14 bits each. "VP8L": a
 * byte that is fixed, 14 bits each, less one. */
static bool read_webp_bitmap(struct image_bytes chunk, bool lossless,
                             struct image_size *size)
{
    if (lossless) {
        if (chunk.left < 5 || chunk.at[0] != 0x2f)
            return false;
        uint64_t bits = little_endian(chunk.at + 1, 4);
        *size = (struct image_size){ (bits & 0x3fff) + 1,
                                     (bits >> 14 & 0x3fff) + 1 };
        return true;
    }
    if (chunk.left < 10 || memcmp(chunk.at + 3, "\x9d\x01\x2a", 3) != 0)
        return false;
    *size = (struct image_size){ little_endian(chunk.at + 6, 2) & 0x3fff,
                                 little_endian(chunk.at + 8, 2) & 0x3fff };
    return true;
}

/* Where a frame of an animation lies, by its own words: 24 bits each, the
 * places halved, the sizes less one; then chunks. */
enum { WEBP_FRAME_BYTES = 16 };

static bool read_webp_chunks(struct image_bytes bytes, struct image_size *size,
                             uint64_t *pixels, bool in_frame);

static bool read_webp_frame(struct image_bytes chunk,
                            const struct image_size *size, uint64_t *pixels)
{
    struct image_bytes inner = chunk;
    if (!image_skip(&inner, WEBP_FRAME_BYTES))
        return false;
    struct image_size frame = { little_endian(chunk.at + 6, 3) + 1,
                                little_endian(chunk.at + 9, 3) + 1 };
    return add_frame(size, 2 * little_endian(chunk.at, 3),
                     2 * little_endian(chunk.at + 3, 3), frame, pixels) &&
           read_webp_chunks(inner, &frame, pixels, true);
}

/* Of the whole, unless "VP8X" has said so, and else not larger than that. */
static bool read_webp_chunk(struct image_bytes chunk, const unsigned char *name,
                            struct image_size *size, uint64_t *pixels,
                            bool in_frame)
{
    struct image_size own;
    bool lossless = memcmp(name, "VP8L", 4) == 0;
    if (!in_frame && memcmp(name, "VP8X", 4) == 0 && size->width == 0) {
        if (chunk.left < 10)
            return false;
        size->width = little_endian(chunk.at + 4, 3) + 1;
        size->height = little_endian(chunk.at + 7, 3) + 1;
        return true;
    }
    if (!in_frame && memcmp(name, "ANMF", 4) == 0)
        return read_webp_frame(chunk, size, pixels);
    if (!lossless && memcmp(name, "VP8 ", 4) != 0)
        return true;
    if (!read_webp_bitmap(chunk, lossless, &own))
        return false;
    if (size->width == 0)
        *size = own;
    return add_frame(size, 0, 0, own, pixels);
}

/* Name, length, content, a byte more if that is odd. */
static bool read_webp_chunks(struct image_bytes bytes, struct image_size *size,
                             uint64_t *pixels, bool in_frame)
{
    while (bytes.left >= 8) {
        const unsigned char *name = bytes.at;
        size_t len = (size_t)little_endian(bytes.at + 4, 4);
        image_skip(&bytes, 8);
        struct image_bytes chunk = { bytes.at, len };
        if (!image_skip(&bytes, len) ||
            !read_webp_chunk(chunk, name, size, pixels, in_frame))
            return false;
        image_skip(&bytes, len % 2);
    }
    return *pixels > 0;
}

static bool read_webp(struct image_bytes bytes, struct image_size *size)
{
    uint64_t pixels = 0;
    if (!image_begins(&bytes, "RIFF", 4) || bytes.left < 12 ||
        memcmp(bytes.at + 8, "WEBP", 4) != 0)
        return false;
    image_skip(&bytes, 12);
    return read_webp_chunks(bytes, size, &pixels, false);
}

/* -------------------------------------------------------------------- XML */

static struct view rest_from(struct view text, const char *end)
{
    const char *found = memmem(text.data, text.len, end, strlen(end));
    if (!found)
        return (struct view){ 0 };
    size_t gone = (size_t)(found - text.data) + strlen(end);
    return (struct view){ text.data + gone, text.len - gone };
}

static struct view without_space(struct view text)
{
    while (text.len > 0 && byte_is_of(text.data[0], " \t\r\n"))
        text = (struct view){ text.data + 1, text.len - 1 };
    return text;
}

/* Something that may come before the first element; {0}: there is none. Of a
 * document type that defines entities ([) a few lines can become gigabytes. */
static struct view without_prelude(struct view text)
{
    static const struct {
        const char *start, *end;
        bool type;
    } parts[] = {
        { "<?", "?>", false },
        { "<!--", "-->", false },
        { "<!DOCTYPE", ">", true },
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!view_starts(text, parts[i].start))
            continue;
        struct view rest = rest_from(text, parts[i].end);
        if (parts[i].type && memchr(text.data, '[', text.len - rest.len))
            break;
        return rest;
    }
    return (struct view){ 0 };
}

/* <svg, or with a prefix: <ns0:svg. */
static bool is_svg_element(struct view text)
{
    size_t len = 0;
    while (len < text.len && !byte_is_of(text.data[len], " \t\r\n/>"))
        len++;
    return (len == 4 && memcmp(text.data, "<svg", len) == 0) ||
           (len > 5 && text.data[0] == '<' && text.data[1] != '!' &&
            memcmp(text.data + len - 4, ":svg", 4) == 0);
}

static bool read_svg(struct view text)
{
    if (!view_is_utf8(text) || memchr(text.data, '\0', text.len))
        return false;
    if (view_starts(text, "\xef\xbb\xbf"))
        text = rest_from(text, "\xef\xbb\xbf");
    for (text = without_space(text); text.len > 0 && !is_svg_element(text);)
        text = without_space(without_prelude(text));
    return text.len > 0;
}

/* -------------------------------------------------------------- all of them */

static const struct form {
    const char *mime;
    bool (*read)(struct image_bytes bytes, struct image_size *size);
} forms[] = {
    { "image/png", read_png },
    { "image/jpeg", read_jpeg },
    { "image/gif", read_gif },
    { "image/webp", read_webp },
};

bool image_is_sound(struct view mime, struct view bytes,
                    struct image_size *size)
{
    *size = (struct image_size){ 0 };
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (view_is(mime, forms[i].mime))
            /* 32 bits each: the product fits. */
            return forms[i].read(image_bytes_of(bytes), size) &&
                   size->width > 0 && size->height > 0 &&
                   size->width * size->height <= MAX_PIXELS;
    if (view_is(mime, "image/svg+xml"))
        return read_svg(bytes);
    if (view_is(mime, "application/pdf"))
        return view_starts(bytes, "%PDF-");
    return mime.len < 6 || strncasecmp(mime.data, "image/", 6) != 0;
}
