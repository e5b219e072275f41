/* byte_range.c - the header Range, of one range of bytes. */
#include "producer/gateway/native/byte_range.h"

/* Digits at the head of text, which are taken off. False: there are none, or
 * too many. */
static bool take_number(struct view *text, uint64_t *number)
{
    size_t digits = 0;

    *number = 0;
    while (digits < text->len && text->data[digits] >= '0' &&
           text->data[digits] <= '9') {
        if (digits == 18)
            return false;
        *number = *number * 10 + (uint64_t)(text->data[digits] - '0');
        digits++;
    }
    text->data += digits;
    text->len -= digits;
    return digits > 0;
}

/* "-500": the last 500 bytes. */
static enum byte_range_kind read_tail(struct view text, uint64_t size,
                                      struct byte_range *range)
{
    uint64_t count;

    text.data++;
    text.len--;
    if (!take_number(&text, &count) || text.len > 0)
        return BYTE_RANGE_ALL;
    if (count == 0 || size == 0)
        return BYTE_RANGE_NONE;
    *range = (struct byte_range){ count < size ? size - count : 0, size - 1 };
    return BYTE_RANGE_PART;
}

enum byte_range_kind byte_range_read(struct view value, uint64_t size,
                                     struct byte_range *range)
{
    static const char unit[] = "bytes=";
    struct view text = value;

    if (!view_starts(text, unit))
        return BYTE_RANGE_ALL;
    text.data += sizeof(unit) - 1;
    text.len -= sizeof(unit) - 1;
    if (text.len > 0 && *text.data == '-')
        return read_tail(text, size, range);
    if (!take_number(&text, &range->first) || text.len == 0 ||
        *text.data != '-')
        return BYTE_RANGE_ALL;
    text.data++;
    text.len--;
    range->last = size > 0 ? size - 1 : 0;
    if (text.len > 0) {
        uint64_t last;

        if (!take_number(&text, &last) || text.len > 0 || last < range->first)
            return BYTE_RANGE_ALL;
        if (last < range->last)
            range->last = last;
    }
    return range->first < size ? BYTE_RANGE_PART : BYTE_RANGE_NONE;
}
