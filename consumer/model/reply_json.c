/* reply_json.c - reads JSON as endpoints write it. */
#include "consumer/model/reply_json.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/buf.h"

static const char REPLACEMENT[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* The code unit of a \uXXXX escape at the head of text; 0: there is none. */
static unsigned escape_unit(struct view text)
{
    char digits[5] = "";

    if (text.len < 6 || text.data[0] != '\\' || text.data[1] != 'u')
        return 0;
    for (size_t i = 0; i < 4; i++) {
        digits[i] = text.data[2 + i];
        if (!isxdigit((unsigned char)digits[i]))
            return 0;
    }
    return (unsigned)strtoul(digits, NULL, 16);
}

/* Copies the escape at the head of text, or U+FFFD for half a surrogate pair.
 * Returns how many bytes of text it took. */
static size_t mend_escape(struct buf *mended, struct view text)
{
    unsigned unit = escape_unit(text);
    struct view rest = { text.data + 6, text.len - 6 };
    unsigned next = unit ? escape_unit(rest) : 0;
    size_t len = text.len < 2 ? text.len : 2;

    if (unit >= 0xD800 && unit < 0xDC00 && next >= 0xDC00 && next < 0xE000)
        len = 12;
    else if (unit >= 0xD800 && unit < 0xE000) {
        buf_append(mended, REPLACEMENT, 3);
        return 6;
    }
    buf_append(mended, text.data, len);
    return len;
}

static size_t mend_character(struct buf *mended, struct view text)
{
    for (size_t len = 1; len <= 4 && len <= text.len; len++) {
        struct view character = { text.data, len };

        if (view_is_utf8(character)) {
            buf_add(mended, character);
            return len;
        }
    }
    buf_append(mended, REPLACEMENT, 3);
    return 1;
}

/* Copies the number at the head of text. One beyond 64 bits (some endpoints
 * make up such seeds) is given a fraction: reals may be of any size. */
static size_t mend_number(struct buf *mended, struct view text)
{
    size_t digits = 0;

    while (digits < text.len && isdigit((unsigned char)text.data[digits]))
        digits++;
    buf_append(mended, text.data, digits);
    if (digits > 18 &&
        (digits == text.len || !byte_is_of(text.data[digits], ".eE")))
        buf_append(mended, ".0", 2);
    return digits;
}

static void mend(struct buf *mended, struct view text)
{
    bool in_string = false;

    while (text.len > 0) {
        size_t taken;

        if (*text.data == '\\')
            taken = mend_escape(mended, text);
        else if (!in_string && isdigit((unsigned char)*text.data))
            taken = mend_number(mended, text);
        else
            taken = mend_character(mended, text);
        in_string = in_string != (*text.data == '"');
        text.data += taken;
        text.len -= taken;
    }
}

json_t *reply_json_parse(struct view text)
{
    json_t *json =
        json_loadb(text.data ? text.data : "", text.len, JSON_ALLOW_NUL, NULL);
    CLEANUP(buf_finish) struct buf mended;

    buf_init(&mended, SIZE_MAX);
    if (json || !text.data || text.len == 0 ||
        !byte_is_of(*text.data, "{[ \t\r\n"))
        return json;
    mend(&mended, text);
    return json_loadb(mended.data, mended.len, JSON_ALLOW_NUL, NULL);
}

struct view reply_json_text(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);

    if (!json_is_string(value))
        return (struct view){ "", 0 };
    return (struct view){ json_string_value(value), json_string_length(value) };
}
