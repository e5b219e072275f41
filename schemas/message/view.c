/* view.c - bytes that somebody else owns. */
#include "schemas/message/view.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct view view_of(const char *text)
{
    return (struct view){ text, text ? strlen(text) : 0 };
}

bool view_equal(struct view a, struct view b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

bool view_is(struct view view, const char *text)
{
    return view_equal(view, view_of(text));
}

bool view_starts(struct view view, const char *prefix)
{
    struct view start = view_of(prefix);

    return view.len >= start.len &&
           view_equal((struct view){ view.data, start.len }, start);
}

bool view_is_caseless(struct view view, const char *text)
{
    return view.len == strlen(text) && view_starts_caseless(view, text);
}

bool view_starts_caseless(struct view view, const char *prefix)
{
    size_t len = strlen(prefix);

    return view.len >= len &&
           (len == 0 || strncasecmp(view.data, prefix, len) == 0);
}

int byte_hex(char byte)
{
    if (byte >= '0' && byte <= '9')
        return byte - '0';
    if (byte >= 'a' && byte <= 'f')
        return byte - 'a' + 10;
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

bool byte_is_of(char byte, const char *bytes)
{
    return byte != '\0' && strchr(bytes, byte) != NULL;
}

struct view view_trimmed(struct view view)
{
    while (view.len > 0 && isspace((unsigned char)view.data[0]))
        view = (struct view){ view.data + 1, view.len - 1 };
    while (view.len > 0 && isspace((unsigned char)view.data[view.len - 1]))
        view.len--;
    return view;
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

struct view view_head(struct view view, size_t max)
{
    size_t cut = max;

    if (view.len <= max)
        return view;
    /* A character has at most three continuation bytes; more of them is not
     * text, and is cut where asked. */
    while (cut > 0 && max - cut < 3 && is_continuation(view.data[cut]))
        cut--;
    view.len = is_continuation(view.data[cut]) ? max : cut;
    return view;
}

/* The table of RFC 3629. The range of the second byte depends on the first one:
 * this refuses overlong forms, surrogates and what lies beyond U+10FFFF. */
size_t view_character(struct view view)
{
    const unsigned char *bytes = (const unsigned char *)view.data;
    static const struct {
        unsigned char first, last; /* of the lead byte */
        unsigned char low, high;   /* of the second byte */
        size_t length;
    } rows[] = {
        { 0x00, 0x7f, 0x00, 0xff, 1 }, { 0xc2, 0xdf, 0x80, 0xbf, 2 },
        { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
        { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    for (size_t i = 0; view.len > 0 && i < sizeof(rows) / sizeof(rows[0]);
         i++) {
        if (bytes[0] < rows[i].first || bytes[0] > rows[i].last)
            continue;
        if (rows[i].length == 1)
            return 1;
        if (view.len < rows[i].length || bytes[1] < rows[i].low ||
            bytes[1] > rows[i].high)
            return 0;
        for (size_t k = 2; k < rows[i].length; k++) {
            if (!is_continuation((char)bytes[k]))
                return 0;
        }
        return rows[i].length;
    }
    return 0;
}

bool view_is_utf8(struct view view)
{
    uint64_t word;
    size_t len;

    for (; view.len > 0; view.data += len, view.len -= len) {
        len = sizeof(word);
        if (view.len >= len) { /* most text is ASCII: eight bytes at once */
            memcpy(&word, view.data, len);
            if ((word & UINT64_C(0x8080808080808080)) == 0)
                continue;
        }
        len = view_character(view);
        if (len == 0)
            return false;
    }
    return true;
}

char *view_dup(struct view view)
{
    char *copy = malloc(view.len + 1);

    if (!copy)
        abort();
    if (view.len > 0)
        memcpy(copy, view.data, view.len);
    copy[view.len] = '\0';
    return copy;
}
