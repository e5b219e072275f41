/* glyph.c - shows text of others so that a reader sees all of it.
 *
 * The tables are sorted: is_one_of() searches them by halves. */
#include "schemas/message/glyph.h"

#include <stdio.h>

struct range {
    uint32_t first, last;
};

/* Unicode's Default_Ignorable_Code_Point, and what else has no shape of its
 * own: separators of lines and paragraphs, marks of annotations, what stands
 * for an object, what arranges hieroglyphs, a note of music without a head. A
 * blank cell of Braille (U+2800) is as wide as a space, and is none.
 * web/format.js of the page knows the same ones. */
static const struct range hidden[] = {
    { 0x00ad, 0x00ad },   { 0x034f, 0x034f },   { 0x061c, 0x061c },
    { 0x115f, 0x1160 },   { 0x17b4, 0x17b5 },   { 0x180b, 0x180f },
    { 0x200b, 0x200f },   { 0x2028, 0x202e },   { 0x2060, 0x206f },
    { 0x3164, 0x3164 },   { 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },
    { 0xffa0, 0xffa0 },   { 0xfff0, 0xfffc },   { 0x13430, 0x1343f },
    { 0x1bca0, 0x1bca3 }, { 0x1d159, 0x1d159 }, { 0x1d173, 0x1d17a },
    { 0xe0000, 0xe0fff },
};

/* Scripts whose letters join, or form conjuncts: there ZWNJ and ZWJ belong to
 * the spelling of words. */
static const struct range joining[] = {
    { 0x0600, 0x074f },   { 0x0750, 0x077f },   { 0x07c0, 0x07ff },
    { 0x0840, 0x08ff },   { 0x0900, 0x0dff },   { 0x0f00, 0x109f },
    { 0x1780, 0x18af },   { 0x1a20, 0x1aaf },   { 0x1b00, 0x1c4f },
    { 0x1cd0, 0x1cff },   { 0xa800, 0xa82f },   { 0xa880, 0xa8ff },
    { 0xa980, 0xa9ff },   { 0xaa60, 0xaa7f },   { 0xabc0, 0xabff },
    { 0xfb50, 0xfdff },   { 0xfe70, 0xfefe },   { 0x10ac0, 0x10aff },
    { 0x11000, 0x11fff }, { 0x1e900, 0x1e95f },
};

/* Letters of Mongolian, whose shapes have selectors of their own. */
static const struct range mongolian[] = { { 0x1820, 0x18aa } };

/* Han: selectors choose between the shapes of a letter, as names have them. */
static const struct range han[] = {
    { 0x3400, 0x4dbf },
    { 0x4e00, 0x9fff },
    { 0xf900, 0xfaff },
    { 0x20000, 0x3ffff },
};

/* Characters that may be emoji. */
static const struct range emoji[] = {
    { 0x00a9, 0x00a9 }, { 0x00ae, 0x00ae }, { 0x203c, 0x203c },
    { 0x2049, 0x2049 }, { 0x2122, 0x2122 }, { 0x2139, 0x2139 },
    { 0x2190, 0x21ff }, { 0x2300, 0x23ff }, { 0x24c2, 0x24c2 },
    { 0x25a0, 0x27bf }, { 0x2934, 0x2935 }, { 0x2b00, 0x2bff },
    { 0x3030, 0x3030 }, { 0x303d, 0x303d }, { 0x3297, 0x3297 },
    { 0x3299, 0x3299 }, { 0xfe0f, 0xfe0f }, { 0x1f000, 0x1faff },
};

/* Characters that become emoji by a selector: the keys of a telephone. */
static const struct range keys[] = { { '#', '#' }, { '*', '*' }, { '0', '9' } };

#define IS_ONE_OF(ranges, code)                                                \
    is_one_of(ranges, sizeof(ranges) / sizeof((ranges)[0]), code)

static bool is_one_of(const struct range *ranges, size_t count, uint32_t code)
{
    size_t low = 0, high = count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (code < ranges[middle].first)
            high = middle;
        else if (code > ranges[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

uint32_t glyph_at(struct view text, size_t *len)
{
    static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    const unsigned char *bytes = (const unsigned char *)text.data;
    size_t count = view_character(text);
    uint32_t code;

    *len = count > 0 ? count : 1;
    if (count == 0)
        return GLYPH_BAD;
    code = bytes[0] & masks[count];
    for (size_t i = 1; i < count; i++)
        code = code << 6 | (bytes[i] & 0x3f);
    return code;
}

/* A control character (C0, DEL, C1), or one that is hidden. */
static bool is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
           IS_ONE_OF(hidden, code);
}

/* Unicode's White_Space, but for what is hidden. */
static const struct range spaces[] = {
    { 0x0020, 0x0020 }, { 0x00a0, 0x00a0 }, { 0x1680, 0x1680 },
    { 0x2000, 0x200a }, { 0x202f, 0x202f }, { 0x205f, 0x205f },
    { 0x3000, 0x3000 },
};

bool glyph_is_blank(struct view text)
{
    while (text.len > 0) {
        size_t len;
        uint32_t code = glyph_at(text, &len);

        if (!is_hidden(code) && !IS_ONE_OF(spaces, code))
            return false;
        text = (struct view){ text.data + len, text.len - len };
    }
    return true;
}

/* Whether a language or an emoji needs a hidden character behind the one before
 * it. ZWNJ and ZWJ are in none of these tables, so a second one in a row is not
 * needed; U+FE0F is among the emoji, because a ZWJ may follow it. */
static bool is_spelling(uint32_t before, uint32_t code)
{
    if ((code >= 0xfe00 && code <= 0xfe02) ||
        (code >= 0xe0100 && code <= 0xe01ef))
        return IS_ONE_OF(han, before);
    switch (code) {
    case 0x200c: /* ZERO WIDTH NON-JOINER */
        return IS_ONE_OF(joining, before);
    case 0x200d: /* ZERO WIDTH JOINER */
        return IS_ONE_OF(joining, before) || IS_ONE_OF(emoji, before);
    case 0xfe0e: /* shown as text, */
    case 0xfe0f: /* or as an emoji */
        return before != 0xfe0f &&
               (IS_ONE_OF(emoji, before) || IS_ONE_OF(keys, before));
    case 0x180b:
    case 0x180c:
    case 0x180d:
    case 0x180f:
        return IS_ONE_OF(mongolian, before);
    default:
        return false;
    }
}

static bool is_seen(uint32_t code, enum glyph_use reading, uint32_t before)
{
    if (code == GLYPH_BAD)
        return false;
    if (code == '\n' || code == '\t')
        return reading != READ_NAME;
    return !is_hidden(code) ||
           (reading == READ_PROSE && is_spelling(before, code));
}

size_t glyph_run(struct view text, enum glyph_use reading, uint32_t *before)
{
    size_t at = 0;

    while (at < text.len) {
        struct view rest = { text.data + at, text.len - at };
        size_t len;
        uint32_t code = glyph_at(rest, &len);

        if (!is_seen(code, reading, *before)) {
            if (code != '\r')
                *before = 0;
            return at;
        }
        *before = code;
        at += len;
    }
    return at;
}

size_t glyph_show(struct view text, enum glyph_use reading,
                  char shown[GLYPH_BYTES])
{
    size_t len;
    uint32_t code = glyph_at(text, &len);
    bool ends_line = text.len > 1 && text.data[1] == '\n';

    if (code == GLYPH_BAD)
        snprintf(shown, GLYPH_BYTES, "<%02X>", (unsigned char)text.data[0]);
    else if (code == '\r' &&
             (reading == READ_PROSE || (reading == READ_CODE && ends_line)))
        shown[0] = '\0';
    else
        snprintf(shown, GLYPH_BYTES, "<U+%04X>", (unsigned int)code);
    return len;
}

void glyph_add(struct buf *out, struct view text, enum glyph_use reading)
{
    uint32_t before = 0;

    while (text.len > 0) {
        size_t len = glyph_run(text, reading, &before);
        char shown[GLYPH_BYTES];

        buf_append(out, text.data, len);
        text = (struct view){ text.data + len, text.len - len };
        if (text.len == 0)
            return;
        len = glyph_show(text, reading, shown);
        buf_add(out, view_of(shown));
        text = (struct view){ text.data + len, text.len - len };
    }
}

void glyph_add_name(struct buf *out, struct view text)
{
    bool is_dots = view_is(text, ".") || view_is(text, "..");
    size_t start = out->len;

    while (text.len > 0) {
        size_t len;
        uint32_t code = glyph_at(text, &len);

        if (code == GLYPH_BAD || is_hidden(code))
            buf_add(out, VIEW("_"));
        else
            buf_append(out, text.data, len);
        text = (struct view){ text.data + len, text.len - len };
    }
    if (out->len > start && (out->data[start] == '-' || is_dots))
        out->data[start] = '_';
}

/* JSON has control characters (line feeds) only between values: within a string
 * it writes them as escapes. */
static bool is_json(uint32_t code)
{
    return code == GLYPH_BAD || code < 0x20 || !is_hidden(code);
}

/* How many bytes at the beginning stay as they are. Nearly all of a log is
 * ASCII, and a consumer writes two lines for each job. */
static size_t json_run(struct view json)
{
    size_t at = 0;

    while (at < json.len) {
        struct view rest = { json.data + at, json.len - at };
        size_t len = 1;

        if ((unsigned char)json.data[at] >= 0x7f &&
            !is_json(glyph_at(rest, &len)))
            return at;
        at += len;
    }
    return at;
}

void glyph_add_json(struct buf *out, struct view json)
{
    while (json.len > 0) {
        size_t len = json_run(json);

        buf_append(out, json.data, len);
        json = (struct view){ json.data + len, json.len - len };
        if (json.len == 0)
            return;
        uint32_t code = glyph_at(json, &len);
        if (code < 0x10000)
            buf_printf(out, "\\u%04x", (unsigned int)code);
        else
            buf_printf(out, "\\u%04x\\u%04x",
                       (unsigned int)(0xd800 + ((code - 0x10000) >> 10)),
                       (unsigned int)(0xdc00 + (code & 0x3ff)));
        json = (struct view){ json.data + len, json.len - len };
    }
}
