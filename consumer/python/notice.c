/* notice.c - the text that tells the next cell what happened to its session. */
#include "consumer/python/notice.h"

#include <stdarg.h>
#include <stdio.h>

#include "consumer/text.h"

enum {
    TOLD_BYTES = 700,  /* leaves room for the cell's own reason beside it */
    NAMES_BYTES = 250, /* of one list of names */
    NAME_BYTES = 60,   /* of one name */
    WHY_BYTES = 80,    /* of the reason behind it */
};
static const char more[] = " ... and more";

void notice_init(struct notice *notice)
{
    *notice = (struct notice){ .state = CELL_KEPT };
    buf_init(&notice->text, TOLD_BYTES);
}

void notice_finish(struct notice *notice)
{
    buf_finish(&notice->text);
}

void notice_add(struct notice *notice, enum cell_state state,
                const char *format, ...)
{
    char part[TOLD_BYTES];
    struct buf *text = &notice->text;
    va_list arguments;
    va_start(arguments, format);
    int len = vsnprintf(part, sizeof(part), format, arguments);
    va_end(arguments);
    if (state > notice->state)
        notice->state = state; /* states are in order, the worst last */
    if (notice->full)
        return;
    size_t before = text->len > 0 ? 2 : 0;
    size_t taken = text->len + before + sizeof(more);
    struct view head =
        view_head(view_of(part), taken < TOLD_BYTES ? TOLD_BYTES - taken : 0);
    notice->full = head.len < (size_t)len;
    if (before > 0 && head.len > 0)
        buf_printf(text, "; ");
    buf_add(text, head);
    if (notice->full)
        buf_printf(text, "%s", more);
}

/* Names in a row with the same reason have it once, behind the last of them. */
static bool has_reason(const struct pair *pairs, size_t count, size_t i)
{
    return pairs[i].value.len > 0 &&
           (i + 1 == count || !view_equal(pairs[i].value, pairs[i + 1].value));
}

/* Prints as many names as fit; returns how many these are. */
static size_t print_names(struct buf *out, const struct pair *pairs,
                          size_t count, bool with_reasons)
{
    buf_clear(out);
    for (size_t i = 0; i < count; i++) {
        size_t before = out->len;
        buf_printf(out, "%s%.*s", i == 0 ? "" : ", ",
                   VIEW_ARG(view_head(pairs[i].key, NAME_BYTES)));
        if (with_reasons && has_reason(pairs, count, i))
            buf_printf(out, " (%.*s)",
                       VIEW_ARG(view_head(pairs[i].value, WHY_BYTES)));
        if (out->len > NAMES_BYTES) {
            buf_truncate(out, before);
            return i;
        }
    }
    return count;
}

void notice_add_names(struct notice *notice, const char *what,
                      const struct list *pairs, bool cut)
{
    if (pairs->count == 0 && !cut)
        return;
    CLEANUP(buf_finish) struct buf names;
    buf_init(&names, TOLD_BYTES);
    size_t shown = print_names(&names, pairs->items, pairs->count, true);
    if (shown < pairs->count)
        shown = print_names(&names, pairs->items, pairs->count, false);
    if (cut)
        buf_printf(&names, " and more");
    else if (shown < pairs->count)
        buf_printf(&names, " and %zu more", pairs->count - shown);
    notice_add(notice, CELL_RESTORED, "%s: %.*s", what,
               VIEW_ARG(buf_view(&names)));
}

void notice_add_files(struct notice *notice, const char *what,
                      const struct list *files)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct session_file *items = files->items;
    struct pair *pairs = arena_alloc(&arena, files->count * sizeof(*pairs));
    struct list absent = { pairs, 0 };
    for (size_t i = 0; i < files->count; i++) {
        if (items[i].blob.len > 0)
            continue;
        CLEANUP(buf_finish) struct buf name;
        buf_init(&name, NAME_BYTES);
        text_add_line(&name, items[i].name, NAME_BYTES);
        pairs[absent.count++] =
            (struct pair){ arena_copy(&arena, buf_view(&name)), items[i].note };
    }
    notice_add_names(notice, what, &absent, false);
}

void notice_add_packages(struct notice *notice, const char *what,
                         const struct list *packages)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const struct view *names = packages->items;
    struct pair *pairs = arena_alloc(&arena, packages->count * sizeof(*pairs));
    for (size_t i = 0; i < packages->count; i++)
        pairs[i] = (struct pair){ .key = names[i] };
    notice_add_names(notice, what, &(struct list){ pairs, packages->count },
                     false);
}
