/* active.c - whether what a cell displayed could run scripts in a page. */
#include "consumer/active.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A larger image counts as active: reading it would hold up the loop. */
enum { MOST_SVG_BYTES = 4 << 20 };

/* Types in which nothing is run. */
static const char *const passive_types[] = {
    "image/png",  "image/jpeg",       "image/gif",
    "image/webp", "text/plain",       "text/csv",
    "text/latex", "application/json", "application/vnd.quern.chart+json",
};

/* Elements that draw, and what plotting libraries say of an image: their names
 * without a prefix. */
static const char *const elements[] = {
    "svg",
    "g",
    "defs",
    "symbol",
    "use",
    "switch",
    "title",
    "desc",
    "metadata",
    "style",
    "path",
    "rect",
    "circle",
    "ellipse",
    "line",
    "polyline",
    "polygon",
    "text",
    "tspan",
    "textPath",
    "image",
    "marker",
    "clipPath",
    "mask",
    "pattern",
    "linearGradient",
    "radialGradient",
    "stop",
    "filter",
    "feBlend",
    "feColorMatrix",
    "feComposite",
    "feFlood",
    "feGaussianBlur",
    "feMerge",
    "feMergeNode",
    "feOffset",
    /* Dublin Core, as Matplotlib writes it */
    "RDF",
    "Work",
    "Agent",
    "type",
    "date",
    "format",
    "creator",
};

static const char *const bitmaps[] = {
    "data:image/png;base64,",  "data:image/jpeg;base64,",
    "data:image/jpg;base64,",  "data:image/gif;base64,",
    "data:image/webp;base64,",
};

#define IS_ONE_OF(list, text)                                                  \
    is_one_of(list, sizeof(list) / sizeof(*(list)), text)

static bool is_one_of(const char *const *list, size_t count, struct view text)
{
    for (size_t i = 0; i < count; i++)
        if (view_is(text, list[i]))
            return true;
    return false;
}

/* ------------------------------------------------------------------ reading */

static struct view active_skip(struct view text, size_t bytes)
{
    bytes = bytes < text.len ? bytes : text.len;
    return (struct view){ text.data + bytes, text.len - bytes };
}

/* Reads up to any of the characters. */
static struct view until(struct view text, const char *ends)
{
    size_t len = 0;
    while (len < text.len && !byte_is_of(text.data[len], ends))
        len++;
    return (struct view){ text.data, len };
}

static struct view active_skip_blanks(struct view text)
{
    while (text.len > 0 && byte_is_of(text.data[0], " \t\r\n"))
        text = active_skip(text, 1);
    return text;
}

/* Where a word in small letters begins, whatever its case there; NULL: nowhere.
 */
static const char *active_find_word(struct view text, const char *word)
{
    size_t len = strlen(word);
    for (size_t i = 0; i + len <= text.len; i++)
        if (tolower((unsigned char)text.data[i]) == word[0] &&
            strncasecmp(text.data + i, word, len) == 0)
            return text.data + i;
    return NULL;
}

static struct view without_prefix(struct view name)
{
    const char *colon = memrchr(name.data, ':', name.len);
    return colon ? active_skip(name, (size_t)(colon - name.data) + 1) : name;
}

/* ------------------------------------------------------------------- values */

/* The value has no other spelling of what is looked for: neither numbers of
 * characters nor CSS's backslash. */
static bool is_literal(struct view value)
{
    static const char *const names[] = { "&amp;", "&lt;", "&gt;", "&quot;",
                                         "&apos;" };
    if (memchr(value.data, '\\', value.len))
        return false;
    for (const char *at; (at = memchr(value.data, '&', value.len));) {
        size_t i = 0;
        value = active_skip(value, (size_t)(at - value.data));
        while (i < sizeof(names) / sizeof(*names) &&
               !view_starts_caseless(value, names[i]))
            i++;
        if (i == sizeof(names) / sizeof(*names))
            return false;
        value = active_skip(value, 1);
    }
    return true;
}

/* CSS, or an attribute that CSS reads, uses only what is in the image. */
static bool draws_from_inside(struct view value)
{
    static const char *const ways[] = { "@", "image(", "image-set(", "src(",
                                        "expression(" };
    for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
        if (active_find_word(value, ways[i]))
            return false;
    for (const char *at; (at = active_find_word(value, "url("));) {
        value = active_skip(value, (size_t)(at - value.data) + strlen("url("));
        if (!view_starts_caseless(value, "#"))
            return false;
    }
    return true;
}

static bool is_inside(struct view address)
{
    for (size_t i = 0; i < sizeof(bitmaps) / sizeof(*bitmaps); i++)
        if (view_starts_caseless(address, bitmaps[i]))
            return true;
    return view_starts_caseless(address, "#");
}

static bool attribute_is_passive(struct view name, struct view value)
{
    struct view own = without_prefix(name);
    if (view_is(name, "xmlns") || view_starts_caseless(name, "xmlns:"))
        return is_literal(value);
    if (view_starts_caseless(own, "on") || view_starts_caseless(own, "src") ||
        view_is(own, "base"))
        return false;
    if (view_starts_caseless(own, "href"))
        return is_literal(value) && is_inside(value);
    return is_literal(value) && draws_from_inside(value);
}

/* --------------------------------------------------------------------- tags */

/* Reads name="value" at *text. False: there is none, or one that is active. */
static bool read_attribute(struct view *text)
{
    struct view name = until(*text, " \t\r\n=/><\"'"), value;
    char quote[2] = "";
    *text = active_skip_blanks(active_skip(*text, name.len));
    if (name.len == 0 || !view_starts_caseless(*text, "="))
        return false;
    *text = active_skip_blanks(active_skip(*text, 1));
    if (text->len == 0 || (text->data[0] != '"' && text->data[0] != '\''))
        return false;
    quote[0] = text->data[0];
    *text = active_skip(*text, 1);
    value = until(*text, quote);
    if (value.len == text->len || memchr(value.data, '<', value.len))
        return false;
    *text = active_skip(*text, value.len + 1);
    return attribute_is_passive(name, value);
}

/* Reads the text of a style sheet, up to its end tag. */
static bool read_style(struct view *text)
{
    struct view sheet = until(*text, "<");
    *text = active_skip(*text, sheet.len);
    return is_literal(sheet) && !memchr(sheet.data, '&', sheet.len) &&
           draws_from_inside(sheet);
}

/* Reads <name a="b" ...> or </name>, behind its "<". */
static bool read_tag(struct view *text)
{
    bool is_end = view_starts_caseless(*text, "/"), is_empty;
    *text = active_skip(*text, is_end);
    struct view name = until(*text, " \t\r\n/><\"'=");
    *text = active_skip_blanks(active_skip(*text, name.len));
    if (!IS_ONE_OF(elements, without_prefix(name)))
        return false;
    while (text->len > 0 && !byte_is_of(text->data[0], "/>")) {
        if (is_end || !read_attribute(text))
            return false;
        *text = active_skip_blanks(*text);
    }
    is_empty = view_starts_caseless(*text, "/");
    *text = active_skip(*text, is_empty);
    if (!view_starts_caseless(*text, ">"))
        return false;
    *text = active_skip(*text, 1);
    return is_end || is_empty || !view_is(without_prefix(name), "style") ||
           read_style(text);
}

/* Reads a comment that ends at the same place for readers of XML and of HTML.
 */
static bool read_comment(struct view *text)
{
    const char *end = active_find_word(*text, "-->");
    struct view words = { text->data, end ? (size_t)(end - text->data) : 0 };
    if (!end || memchr(words.data, '>', words.len) ||
        active_find_word(words, "--") || view_starts_caseless(words, "-"))
        return false;
    *text = active_skip(*text, words.len + strlen("-->"));
    return true;
}

/* Reads what may stand before an image: <?xml ...?> and <!DOCTYPE svg ...>. */
static bool active_read_prolog(struct view *text)
{
    struct view words;
    *text = active_skip_blanks(*text);
    if (view_starts_caseless(*text, "<?xml ")) {
        words = until(*text, ">");
        if (active_find_word(words, "encoding") &&
            !active_find_word(words, "utf-8"))
            return false;
        *text = active_skip_blanks(active_skip(*text, words.len + 1));
    }
    if (view_starts_caseless(*text, "<!DOCTYPE ")) {
        words = until(*text, ">");
        if (memchr(words.data, '[', words.len))
            return false;
        *text = active_skip(*text, words.len + 1);
    }
    return true;
}

static bool svg_is_passive(struct view text)
{
    if (!view_is_utf8(text) || memchr(text.data, '\0', text.len) ||
        !active_read_prolog(&text))
        return false;
    for (;;) {
        text = active_skip(text, until(text, "<").len);
        if (text.len == 0)
            return true;
        text = active_skip(text, 1);
        bool is_comment = view_starts_caseless(text, "!--");
        text = active_skip(text, is_comment ? strlen("!--") : 0);
        if (!(is_comment ? read_comment(&text) : read_tag(&text)))
            return false;
    }
}

bool content_is_active(struct view mime, struct view bytes)
{
    if (IS_ONE_OF(passive_types, mime))
        return false;
    return !view_is(mime, "image/svg+xml") || bytes.len == 0 ||
           bytes.len > MOST_SVG_BYTES || !svg_is_passive(bytes);
}
