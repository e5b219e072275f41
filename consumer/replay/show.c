/* show.c - shows people where two JSON values differ first. */
#include "consumer/replay/show.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/glyph.h"

enum {
    MAX_DEPTH = 64, /* what is deeper is shown on one line */
    CONTEXT = 3,    /* lines shown around a difference */
    REACH = 400, /* lines in which its end is looked for: the search takes the
                    square of it */
    MEET = 3,    /* equal lines in a row that end a difference */
};

/* ------------------------------------------------------------------ lines */

static void indent(struct buf *out, int depth)
{
    for (int i = 0; i < depth; i++)
        buf_add(out, VIEW("  "));
}

static void show_inline(struct buf *out, const json_t *json)
{
    CLEANUP(cleanup_free)
    char *text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    buf_add(out, VIEW(" "));
    glyph_add_json(out, view_of(text));
    buf_add(out, VIEW("\n"));
}

static void show_name(struct buf *out, const char *name)
{
    glyph_add(out, view_of(name), READ_NAME);
    buf_add(out, VIEW(":"));
}

/* Whether a text can be shown line by line. One with characters that a terminal
 * acts on, or does not show, is shown as JSON, with escapes. */
static bool is_passage(const json_t *json)
{
    struct view text = { json_string_value(json), json_string_length(json) };
    uint32_t before = 0;
    return text.data && memchr(text.data, '\n', text.len) &&
           glyph_run(text, READ_CODE, &before) == text.len;
}

static void show_passage(struct buf *out, struct view text, int depth)
{
    buf_add(out, VIEW(" |\n"));
    while (text.len > 0) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end ? (size_t)(end - text.data) : text.len;
        indent(out, depth);
        buf_append(out, text.data, len);
        buf_add(out, VIEW("\n"));
        len += end != NULL;
        text = (struct view){ text.data + len, text.len - len };
    }
}

/* Shows a value behind its name, or behind the "-" of a list. */
static void show_value(struct buf *out, const json_t *json, int depth)
{
    const char *name;
    json_t *value;
    size_t i;
    bool empty = json_object_size(json) + json_array_size(json) == 0;
    if (is_passage(json)) {
        show_passage(
            out,
            (struct view){ json_string_value(json), json_string_length(json) },
            depth);
        return;
    }
    if (empty || depth == MAX_DEPTH) {
        show_inline(out, json);
        return;
    }
    buf_add(out, VIEW("\n"));
    json_array_foreach(json, i, value) {
        indent(out, depth);
        buf_add(out, VIEW("-"));
        show_value(out, value, depth + 1);
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)json, name, value) {
        indent(out, depth);
        show_name(out, name);
        show_value(out, value, depth + 1);
    }
}

void show_json(struct buf *out, const json_t *json)
{
    const char *name;
    json_t *value;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)json, name, value) {
        show_name(out, name);
        show_value(out, value, 1);
    }
}

/* ------------------------------------------------------------------- diff */

struct diff_lines {
    struct view *items;
    size_t count;
};

static struct diff_lines lines_of(struct view text)
{
    struct diff_lines lines = { 0 };
    size_t room = 1;
    for (size_t i = 0; i < text.len; i++)
        room += text.data[i] == '\n';
    lines.items = calloc(room, sizeof(*lines.items));
    if (!lines.items)
        abort();
    while (text.len > 0) {
        const char *end = memchr(text.data, '\n', text.len);
        size_t len = end ? (size_t)(end - text.data) : text.len;
        lines.items[lines.count++] = (struct view){ text.data, len };
        len += end != NULL;
        text = (struct view){ text.data + len, text.len - len };
    }
    return lines;
}

/* Whether the next MEET lines are equal from there on, or both texts end. */
static bool meet(const struct diff_lines *a, size_t i,
                 const struct diff_lines *b, size_t j)
{
    for (size_t n = 0; n < MEET; n++) {
        bool a_ends = i + n >= a->count, b_ends = j + n >= b->count;
        if (a_ends || b_ends)
            return a_ends && b_ends;
        if (!view_equal(a->items[i + n], b->items[j + n]))
            return false;
    }
    return true;
}

/* How many lines of each text differ from there on: as few as possible
 * together. */
static void measure(const struct diff_lines *a, const struct diff_lines *b,
                    size_t from, size_t *left, size_t *right)
{
    size_t a_left = a->count - from, b_left = b->count - from;
    size_t most = a_left + b_left < REACH ? a_left + b_left : REACH;
    for (size_t sum = 1; sum <= most; sum++)
        for (size_t i = 0; i <= sum; i++)
            if (i <= a_left && sum - i <= b_left &&
                meet(a, from + i, b, from + sum - i)) {
                *left = i;
                *right = sum - i;
                return;
            }
    *left = a_left < REACH ? a_left : REACH;
    *right = b_left < REACH ? b_left : REACH;
}

static void add_lines(struct buf *out, char mark,
                      const struct diff_lines *lines, size_t from, size_t count)
{
    for (size_t i = from; i < from + count && i < lines->count; i++)
        buf_printf(out, "%c%.*s\n", mark, VIEW_ARG(lines->items[i]));
}

static size_t show_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void add_hunk(struct buf *out, const struct diff_lines *a,
                     const struct diff_lines *b, size_t from)
{
    size_t left, right;
    measure(a, b, from, &left, &right);
    size_t before = show_least(from, CONTEXT);
    size_t after = show_least(show_least(a->count - from - left, CONTEXT),
                              b->count - from - right);
    buf_printf(out, "@@ -%zu,%zu +%zu,%zu @@\n", from - before + 1,
               before + left + after, from - before + 1,
               before + right + after);
    add_lines(out, ' ', a, from - before, before);
    add_lines(out, '-', a, from, left);
    add_lines(out, '+', b, from, right);
    add_lines(out, ' ', a, from + left, after);
}

void show_diff(struct buf *out, struct view before, struct view after)
{
    struct diff_lines a = lines_of(before), b = lines_of(after);
    size_t from = 0;
    while (from < a.count && from < b.count &&
           view_equal(a.items[from], b.items[from]))
        from++;
    if (from < a.count || from < b.count) {
        buf_add(out, VIEW("--- recorded\n+++ replayed\n"));
        add_hunk(out, &a, &b, from);
    }
    free(a.items);
    free(b.items);
}
