/* document.c - reads a document from the web as text. */
#include "consumer/reader/document.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "consumer/reader/charset.h"
#include "consumer/reader/expression.h"
#include "consumer/reader/page.h"
#include "consumer/reader/search_page.h"
#include "schemas/message/text.h"

enum document_form { FORM_NONE, FORM_TEXT, FORM_HTML };

enum { MAX_TYPE = 100, SNIFFED = 1024 };

/* The media type of "Text/HTML; charset=x": "text/html". */
static void media_type(const char *type, char text[MAX_TYPE + 1])
{
    size_t len = strcspn(type, "; \t,");
    if (len > MAX_TYPE)
        len = MAX_TYPE;
    for (size_t i = 0; i < len; i++)
        text[i] = isgraph((unsigned char)type[i])
                      ? (char)tolower((unsigned char)type[i])
                      : '?';
    text[len] = '\0';
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), own = strlen(end);
    return len >= own && strcmp(text + len - own, end) == 0;
}

static enum document_form form_of_type(const char *type)
{
    static const char *const texts[] = {
        "application/json",       "application/xml",
        "application/javascript", "application/x-javascript",
        "application/yaml",       "application/x-yaml",
        "application/x-ndjson",   "application/toml",
        "application/x-sh",       "application/sql",
    };
    if (strcmp(type, "text/html") == 0 ||
        strcmp(type, "application/xhtml+xml") == 0)
        return FORM_HTML;
    if (strncmp(type, "text/", 5) == 0 || ends_with(type, "+json") ||
        ends_with(type, "+xml"))
        return FORM_TEXT;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if (strcmp(type, texts[i]) == 0)
            return FORM_TEXT;
    return FORM_NONE;
}

static bool has_nul(struct view bytes)
{
    size_t len = bytes.len < SNIFFED ? bytes.len : SNIFFED;
    return len > 0 && memchr(bytes.data, '\0', len);
}

/* The form of a document whose server does not say what it is. */
static enum document_form form_of_bytes(struct view bytes)
{
    while (bytes.len > 0 && isspace((unsigned char)*bytes.data))
        bytes = (struct view){ bytes.data + 1, bytes.len - 1 };
    if ((bytes.len > 5 && strncasecmp(bytes.data, "<html", 5) == 0) ||
        (bytes.len > 14 && strncasecmp(bytes.data, "<!doctype html", 14) == 0))
        return FORM_HTML;
    return has_nul(bytes) || view_starts(bytes, "%PDF-") ? FORM_NONE
                                                         : FORM_TEXT;
}

/* UTF-16 has NUL bytes, but is text. */
static bool is_wide(const struct document *document)
{
    return view_starts(document->bytes, "\xff\xfe") ||
           view_starts(document->bytes, "\xfe\xff") ||
           strcasestr(document->type, "utf-16");
}

static bool find_form(const struct document *document, enum document_form *form,
                      struct err *err)
{
    char type[MAX_TYPE + 1];
    media_type(document->type, type);
    *form = *type == '\0' ? form_of_bytes(document->bytes) : form_of_type(type);
    if (*form == FORM_NONE)
        return err_set(err, ERR_REJECT, "not_text",
                       "it is %s, which has no text to read; HTML, plain text "
                       "and JSON do",
                       *type == '\0' ? "of no known type" : type);
    if (has_nul(document->bytes) && !is_wide(document))
        return err_set(err, ERR_REJECT, "not_text",
                       "it is called %s, but its bytes are no text",
                       *type == '\0' ? "nothing" : type);
    return true;
}

/* ----------------------------------------------------------------- writing */

static json_t *string_of(struct view text)
{
    return json_stringn(!text.data ? "" : text.data, text.len);
}

/* The part of the text from offset on, of at most MAX_EXCERPT bytes. An offset
 * in the middle of a character is moved behind it. */
static bool excerpt(struct view text, uint64_t offset, struct view *part,
                    struct err *err)
{
    if (offset > text.len)
        return err_set(err, ERR_REJECT, "bad_field",
                       "offset is %llu, the text has %zu bytes",
                       (unsigned long long)offset, text.len);
    size_t from = (size_t)offset;
    while (from < text.len && ((unsigned char)text.data[from] & 0xc0) == 0x80)
        from++;
    *part = view_head((struct view){ text.data + from, text.len - from },
                      MAX_EXCERPT);
    return true;
}

static bool write_json(const struct document *document, struct view title,
                       struct view text, struct buf *out, struct err *err)
{
    struct view part = { 0 };
    if (!text.data)
        text.data = "";
    if (!excerpt(text, document->offset, &part, err))
        return false;
    size_t from = (size_t)(part.data - text.data), end = from + part.len;
    json_t *object = json_pack("{s:s, s:o, s:o, s:I}", "url", document->url,
                               "title", string_of(title), "text",
                               string_of(part), "bytes", (json_int_t)text.len);
    if (from > 0)
        json_object_set_new(object, "offset", json_integer((json_int_t)from));
    if (end < text.len)
        json_object_set_new(object, "next_offset",
                            json_integer((json_int_t)end));
    if (document->cut)
        json_object_set_new(object, "cut", json_true());
    char *json = json_dumps(object, JSON_COMPACT);
    if (json)
        buf_add(out, view_of(json));
    free(json);
    json_decref(object);
    return (json && buf_ok(out)) ||
           err_set(err, ERR_REJECT, "not_text", "its text cannot be told");
}

static bool document_read_page(const struct document *document, struct buf *out,
                               struct err *err)
{
    CLEANUP(buf_finish) struct buf text;
    enum document_form form;
    buf_init(&text, (size_t)3 * MAX_DOCUMENT + 16);
    if (!find_form(document, &form, err))
        return false;
    charset_decode(document->bytes, document->type, form == FORM_HTML, &text);
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] ==
            '\0') /* from UTF-16; not all JSON parsers take it */
            text.data[i] = ' ';
    if (form == FORM_TEXT)
        return write_json(document, (struct view){ "", 0 }, buf_view(&text),
                          out, err);
    struct page page;
    bool good = page_read(&page, buf_view(&text), document->url, err) &&
                write_json(document, buf_view(&page.title),
                           buf_view(&page.text), out, err);
    page_finish(&page);
    return good;
}

static bool read_results(const struct document *document, struct buf *out,
                         struct err *err)
{
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, (size_t)3 * MAX_DOCUMENT + 16);
    charset_decode(document->bytes, document->type, true, &text);
    return search_page_read(buf_view(&text), out, err);
}

static bool read_expression(const struct document *document, struct buf *out,
                            struct err *err)
{
    buf_add(out, VIEW("{\"value\": "));
    if (!expression_evaluate(document->bytes, out, err))
        return false;
    buf_add(out, VIEW("}"));
    return true;
}

bool document_read(const struct document *document, struct buf *out,
                   struct err *err)
{
    switch (document->kind) {
    case DOCUMENT_RESULTS:
        return read_results(document, out, err);
    case DOCUMENT_EXPRESSION:
        return read_expression(document, out, err);
    case DOCUMENT_PAGE:
    default:
        return document_read_page(document, out, err);
    }
}
