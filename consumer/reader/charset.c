/* charset.c - converts a document of any known encoding to UTF-8. */
#include "consumer/reader/charset.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "schemas/message/text.h"

enum { MAX_NAME = 40, META_BYTES = 1024, PIECE = 4096 };

/* After the WHATWG's Encoding Standard. No other name reaches iconv, which
 * knows hundreds of sets, and has had bugs in the rare ones. */
static const struct {
    const char *name, *charset;
} known[] = {
    { "utf-8", "UTF-8" },
    { "utf8", "UTF-8" },
    { "iso-8859-1", "CP1252" },
    { "latin1", "CP1252" },
    { "us-ascii", "CP1252" },
    { "ascii", "CP1252" },
    { "windows-1252", "CP1252" },
    { "cp1252", "CP1252" },
    { "gb2312", "GB18030" },
    { "gbk", "GB18030" },
    { "gb18030", "GB18030" },
    { "big5", "BIG5-HKSCS" },
    { "big5-hkscs", "BIG5-HKSCS" },
    { "shift_jis", "CP932" },
    { "shift-jis", "CP932" },
    { "sjis", "CP932" },
    { "windows-31j", "CP932" },
    { "euc-jp", "EUC-JP" },
    { "euc-kr", "CP949" },
    { "ks_c_5601-1987", "CP949" },
    { "iso-8859-2", "ISO-8859-2" },
    { "iso-8859-5", "ISO-8859-5" },
    { "iso-8859-7", "ISO-8859-7" },
    { "iso-8859-9", "CP1254" },
    { "iso-8859-15", "ISO-8859-15" },
    { "windows-1250", "CP1250" },
    { "windows-1251", "CP1251" },
    { "windows-1253", "CP1253" },
    { "windows-1254", "CP1254" },
    { "windows-1255", "CP1255" },
    { "windows-1256", "CP1256" },
    { "windows-1257", "CP1257" },
    { "windows-1258", "CP1258" },
    { "windows-874", "CP874" },
    { "tis-620", "CP874" },
    { "koi8-r", "KOI8-R" },
    { "koi8-u", "KOI8-U" },
    { "utf-16", "UTF-16LE" },
    { "utf-16le", "UTF-16LE" },
    { "utf-16be", "UTF-16BE" },
};

static const char *charset_of(struct view name)
{
    char text[MAX_NAME + 1];
    snprintf(text, sizeof(text), "%.*s", VIEW_ARG(view_head(name, MAX_NAME)));
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (strcasecmp(text, known[i].name) == 0)
            return known[i].charset;
    return NULL;
}

/* ------------------------------------------------------------- finding out */

static bool is_name_byte(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == '_';
}

/* The first known set that is named behind a "charset=", quoted or not. */
static const char *find_charset(struct view text)
{
    static const char word[] = "charset";
    size_t len = sizeof(word) - 1;
    for (size_t at = 0; at + len < text.len; at++) {
        if (strncasecmp(text.data + at, word, len) != 0)
            continue;
        size_t from = at + len;
        while (from < text.len && byte_is_of(text.data[from], " \t='\""))
            from++;
        size_t end = from;
        while (end < text.len && is_name_byte(text.data[end]))
            end++;
        const char *charset =
            charset_of((struct view){ text.data + from, end - from });
        if (charset)
            return charset;
    }
    return NULL;
}

/* Looks inside <meta ...> only. A page in which that can be found is not in
 * UTF-16, whatever it says. */
static const char *find_meta(struct view html)
{
    struct view head = { html.data,
                         html.len < META_BYTES ? html.len : META_BYTES };
    for (size_t at = 0; at + 6 < head.len; at++) {
        if (strncasecmp(head.data + at, "<meta", 5) != 0)
            continue;
        const char *end = memchr(head.data + at, '>', head.len - at);
        size_t len = end ? (size_t)(end - head.data) - at : head.len - at;
        const char *charset =
            find_charset((struct view){ head.data + at, len });
        if (charset)
            return strncmp(charset, "UTF-16", 6) == 0 ? "UTF-8" : charset;
    }
    return NULL;
}

static const char *charset_take_mark(struct view *bytes)
{
    static const struct {
        const char *mark, *charset;
    } marks[] = {
        { "\xef\xbb\xbf", "UTF-8" },
        { "\xff\xfe", "UTF-16LE" },
        { "\xfe\xff", "UTF-16BE" },
    };
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        size_t len = strlen(marks[i].mark);
        if (bytes->len < len || memcmp(bytes->data, marks[i].mark, len) != 0)
            continue;
        *bytes = (struct view){ bytes->data + len, bytes->len - len };
        return marks[i].charset;
    }
    return NULL;
}

/* -------------------------------------------------------------- converting */

static void convert(iconv_t converter, struct view bytes, struct buf *out)
{
    char piece[PIECE];
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): iconv takes no const */
    char *from = (char *)(uintptr_t)bytes.data;
    size_t left = bytes.len;
    while (left > 0) {
        char *to = piece;
        size_t room = sizeof(piece);
        size_t done = iconv(converter, &from, &left, &to, &room);
        buf_append(out, piece, sizeof(piece) - room);
        if (done != (size_t)-1 || errno == E2BIG)
            continue;
        /* One byte is no character: skip it, and forget any shift state. */
        buf_add(out, VIEW("\xef\xbf\xbd"));
        from++;
        left--;
        iconv(converter, NULL, NULL, NULL, NULL);
    }
}

void charset_decode(struct view bytes, const char *type, bool is_html,
                    struct buf *out)
{
    const char *charset = charset_take_mark(&bytes);
    if (!charset)
        charset = find_charset(view_of(type));
    if (!charset && is_html)
        charset = find_meta(bytes);
    if (!charset)
        charset = view_is_utf8(bytes) ? "UTF-8" : "CP1252";
    if (strcmp(charset, "UTF-8") == 0) {
        text_add_clean(out, bytes);
        return;
    }
    iconv_t converter = iconv_open("UTF-8", charset);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): iconv's own */
    if (converter == (iconv_t)-1) {
        text_add_clean(out, bytes); /* the system has no table for it */
        return;
    }
    convert(converter, bytes, out);
    iconv_close(converter);
}
