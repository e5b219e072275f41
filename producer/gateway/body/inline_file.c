/* inline_file.c - files that stand in a body themselves, as base64. */
#include "producer/gateway/body/inline_file.h"

#include <stdint.h>
#include <string.h>

bool inline_file_read(struct view url, struct inline_file *data)
{
    static const char start[] = "data:", mark[] = ";base64,";
    struct view rest;
    const char *at;

    *data = (struct inline_file){ .base64 = url };
    if (!view_starts(url, start))
        return true;
    rest = (struct view){ url.data + sizeof(start) - 1,
                          url.len - (sizeof(start) - 1) };
    at = memmem(rest.data, rest.len, mark, sizeof(mark) - 1);
    if (!at)
        return false;
    /* "text/csv;charset=utf-8": the type alone */
    data->mime = (struct view){ rest.data, (size_t)(at - rest.data) };
    at += sizeof(mark) - 1;
    data->base64 = (struct view){ at, (size_t)(rest.data + rest.len - at) };
    at = data->mime.len > 0 ? memchr(data->mime.data, ';', data->mime.len)
                            : NULL;
    if (at)
        data->mime.len = (size_t)(at - data->mime.data);
    return true;
}

/* -1: no digit */
static int base64_digit(char byte)
{
    if (byte >= 'A' && byte <= 'Z')
        return byte - 'A';
    if (byte >= 'a' && byte <= 'z')
        return byte - 'a' + 26;
    if (byte >= '0' && byte <= '9')
        return byte - '0' + 52;
    if (byte == '+')
        return 62;
    return byte == '/' ? 63 : -1;
}

/* Without its padding, of which there is as much as there should be, or none.
 */
static bool base64_digits(struct view base64, struct view *digits)
{
    size_t padding = 0;

    *digits = base64;
    while (padding < 2 && digits->len > 0 &&
           digits->data[digits->len - 1] == '=') {
        digits->len--;
        padding++;
    }
    if (padding > 0 && base64.len % 4 != 0)
        return false;
    return digits->len % 4 != 1;
}

size_t inline_file_length(struct view base64)
{
    struct view digits;

    if (!base64_digits(base64, &digits))
        return SIZE_MAX;
    for (size_t i = 0; i < digits.len; i++)
        if (base64_digit(digits.data[i]) < 0)
            return SIZE_MAX;
    return digits.len / 4 * 3 + (digits.len % 4) * 3 / 4;
}

bool inline_file_decode(struct view base64, struct buf *out)
{
    size_t length = inline_file_length(base64);
    struct view digits;
    uint32_t bits = 0;
    char *to;

    if (length == SIZE_MAX || !base64_digits(base64, &digits))
        return false;
    to = buf_reserve(out, length);
    if (!to)
        return false;
    for (size_t i = 0; i < digits.len; i++) {
        bits = bits << 6 | (uint32_t)base64_digit(digits.data[i]);
        if (i % 4 > 0)
            *to++ = (char)(bits >> (6 - 2 * (i % 4)));
    }
    out->len += length;
    return true;
}
