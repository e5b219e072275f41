/* strange_body.c - the body of an answer that is not an API's. */
#include "consumer/model/strange_body.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "schemas/message/buf.h"

enum { TITLE_BYTES = 120 };

static bool begins(struct view text, const char *word)
{
    size_t len = strlen(word);

    return text.len >= len && strncasecmp(text.data, word, len) == 0;
}

static bool is_page(struct view body)
{
    static const char *const heads[] = { "<!doctype html", "<html", "<head",
                                         "<body" };

    for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++)
        if (begins(body, heads[i]))
            return true;
    return false;
}

/* NULL: none is known by its first bytes. */
static const char *packing(struct view body)
{
    static const struct {
        const char *name;
        struct view head;
    } known[] = {
        { "gzip", VIEW_INIT("\x1F\x8B") },
        { "zstd", VIEW_INIT("\x28\xB5\x2F\xFD") },
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (body.len >= known[i].head.len &&
            memcmp(body.data, known[i].head.data, known[i].head.len) == 0)
            return known[i].name;
    return NULL;
}

/* What stands between <name ...> and the next tag; empty: there is none. */
static struct view element(struct view page, const char *name)
{
    for (size_t at = 0; at < page.len; at++) {
        struct view rest = { page.data + at, page.len - at };
        const char *end;

        if (!begins(rest, name))
            continue;
        end = memchr(rest.data, '>', rest.len);
        if (!end)
            break;
        rest.len -= (size_t)(end + 1 - rest.data);
        rest.data = end + 1;
        end = memchr(rest.data, '<', rest.len);
        if (end)
            rest.len = (size_t)(end - rest.data);
        return view_trimmed(rest);
    }
    return VIEW("");
}

/* The text of the page: without tags, with single blanks. */
static void add_text(struct buf *out, struct view page)
{
    bool tag = false, blank = true;

    for (size_t i = 0; i < page.len; i++) {
        char byte = page.data[i];
        bool gap = tag || byte == '<' || isspace((unsigned char)byte);

        tag = byte == '<' || (tag && byte != '>');
        if (gap && !blank)
            buf_append(out, " ", 1);
        if (!gap)
            buf_append(out, &byte, 1);
        blank = gap;
    }
}

static void name_page(struct view page, char *text, size_t size)
{
    CLEANUP(buf_finish) struct buf words;
    struct view title = element(page, "<title");
    struct view shown;

    buf_init(&words, page.len);
    if (title.len == 0)
        title = element(page, "<h1");
    add_text(&words, title.len > 0 ? title : page);
    shown = view_head(view_trimmed(buf_view(&words)), TITLE_BYTES);
    snprintf(text, size, "an HTML page%s%.*s", shown.len > 0 ? ": " : "",
             VIEW_ARG(shown));
}

bool strange_body(struct view body, char *text, size_t size)
{
    const char *packed = packing(body);

    if (body.len >= 3 && memcmp(body.data, "\xEF\xBB\xBF", 3) == 0)
        body = (struct view){ body.data + 3, body.len - 3 };
    body = view_trimmed(body);
    if (packed)
        snprintf(text, size, "a compressed body (%s), which nobody asked for",
                 packed);
    else if (is_page(body))
        name_page(body, text, size);
    else
        return false;
    return true;
}
