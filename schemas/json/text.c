/* text.c - JSON as text, which is what json_dumps() writes with JSON_COMPACT
 * and JSON_ENCODE_ANY.
 *
 * jansson's own writer looks in a table at each object whether it is inside
 * itself. That is half of its time, and nothing here makes such an object. */
#include <math.h>

#include "schemas/json/convert.h"
#include "schemas/json/iterable.h"

enum { REAL_BYTES = 64, MOST_WHOLE = 1000000 };

static bool needs_escape(char c)
{
    return (unsigned char)c < 0x20 || c == '"' || c == '\\';
}

static void put_escape(struct buf *out, char c)
{
    static const char letters[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";

    for (size_t i = 0; i + 1 < sizeof(letters); i++)
        if (letters[i] == c) {
            buf_append(out, (char[]){ '\\', names[i] }, 2);
            return;
        }
    buf_printf(out, "\\u%04X", (unsigned int)(unsigned char)c);
}

static void put_byte(struct buf *out, char byte)
{
    char *to = buf_reserve(out, 1);

    if (!to)
        return;
    *to = byte;
    out->len++;
}

static size_t plain_length(struct view text)
{
    size_t len = 0;

    while (len < text.len && !needs_escape(text.data[len]))
        len++;
    return len;
}

static bool text_put(struct buf *out, struct view text)
{
    size_t plain;

    if (!view_is_utf8(text))
        return false;
    put_byte(out, '"');
    while ((plain = plain_length(text)) < text.len) {
        buf_append(out, text.data, plain);
        put_escape(out, text.data[plain]);
        text.data += plain + 1;
        text.len -= plain + 1;
    }
    buf_add(out, text);
    put_byte(out, '"');
    return buf_ok(out);
}

static void put_integer(struct buf *out, json_int_t number)
{
    char digits[24];
    size_t at = sizeof(digits);
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do
        digits[--at] = (char)('0' + left % 10);
    while ((left /= 10) > 0);
    if (number < 0)
        digits[--at] = '-';
    buf_append(out, digits + at, sizeof(digits) - at);
}

/* Most reals are settings such as 1.0. Of others jansson writes as many digits
 * as it takes to read the same one again. */
static void put_real(struct buf *out, const json_t *json)
{
    char text[REAL_BYTES];
    double real = json_real_value(json);

    if (real > -MOST_WHOLE && real < MOST_WHOLE &&
        real == (double)(json_int_t)real && !(real == 0 && signbit(real))) {
        put_integer(out, (json_int_t)real);
        buf_add(out, VIEW(".0"));
        return;
    }
    buf_append(out, text,
               json_dumpb(json, text, sizeof(text), JSON_ENCODE_ANY));
}

static bool put_array(struct buf *out, const json_t *json)
{
    const json_t *item;
    size_t i;

    put_byte(out, '[');
    json_array_foreach(json, i, item) {
        if (i > 0)
            put_byte(out, ',');
        if (!json_add_text(out, item))
            return false;
    }
    put_byte(out, ']');
    return buf_ok(out);
}

static bool put_object(struct buf *out, const json_t *json)
{
    bool is_first = true;
    const json_t *member;
    const char *name;
    size_t len;

    put_byte(out, '{');
    json_object_keylen_foreach(json_iterable(json), name, len, member) {
        if (!is_first)
            put_byte(out, ',');
        is_first = false;
        if (!text_put(out, (struct view){ name, len }))
            return false;
        put_byte(out, ':');
        if (!json_add_text(out, member))
            return false;
    }
    put_byte(out, '}');
    return buf_ok(out);
}

bool json_add_text(struct buf *out, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return put_object(out, json);
    case JSON_ARRAY:
        return put_array(out, json);
    case JSON_STRING:
        return text_put(out, (struct view){ json_string_value(json),
                                            json_string_length(json) });
    case JSON_INTEGER:
        put_integer(out, json_integer_value(json));
        break;
    case JSON_REAL:
        put_real(out, json);
        break;
    case JSON_TRUE:
        buf_add(out, VIEW("true"));
        break;
    case JSON_FALSE:
        buf_add(out, VIEW("false"));
        break;
    case JSON_NULL:
        buf_add(out, VIEW("null"));
        break;
    }
    return buf_ok(out);
}
