/* notice.c - what a person or model has to know of a session that was saved or
 * put back: the guest's report of its variables, and the text for the next
 * cell. */
#include "consumer/python/notice.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>

#include "schemas/message/limits.h"
#include "schemas/message/text.h"

enum {
    LEFT_WHY_BYTES = 200, /* of a reason in a report */
    TOLD_BYTES = 700,     /* leaves room for the cell's own reason beside it */
    NAMES_BYTES = 250,    /* of one list of names */
    NAME_BYTES = 60,      /* of one name */
    WHY_BYTES = 80,       /* of the reason behind it */
};
static const char more[] = " ... and more";

/* ------------------------------------------------------- the guest's report */

static struct view clean(struct arena *arena, struct view text, size_t max)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, max);
    text_add_line(&line, text, max);
    return arena_copy(arena, buf_view(&line));
}

static struct view report_text(const json_t *json)
{
    return (struct view){ json_string_value(json), json_string_length(json) };
}

static void read_left(struct variables_report *report, json_t *left,
                      struct arena *arena)
{
    struct pair *pairs = arena_alloc(arena, MAX_MISSING * sizeof(*pairs));
    const char *name;
    json_t *why;
    report->left.items = pairs;
    json_object_foreach(left, name, why) {
        if (report->left.count == MAX_MISSING || !json_is_string(why)) {
            report->cut = true;
            continue;
        }
        struct pair pair = { clean(arena, view_of(name), MAX_NAME_BYTES),
                             clean(arena, report_text(why), LEFT_WHY_BYTES) };
        bool twice = pair.key.len == 0; /* two long ones may begin alike */
        for (size_t i = 0; i < report->left.count; i++)
            twice |= view_equal(pairs[i].key, pair.key);
        if (twice)
            report->cut = true;
        else
            pairs[report->left.count++] = pair;
    }
}

static void read_packages(struct variables_report *report, json_t *packages,
                          struct arena *arena)
{
    struct view *names = arena_alloc(arena, MAX_PACKAGES * sizeof(*names));
    json_t *name;
    size_t i;
    report->packages.items = names;
    json_array_foreach(packages, i, name)
        if (json_is_string(name) && report->packages.count < MAX_PACKAGES)
            names[report->packages.count++] =
                clean(arena, report_text(name), MAX_NAME_BYTES);
}

void report_read(struct variables_report *report, struct view text,
                 struct arena *arena)
{
    *report = (struct variables_report){ 0 };
    json_t *json = json_loadb(text.data, text.len, 0, NULL);
    read_left(report, json_object_get(json, "left"), arena);
    read_packages(report, json_object_get(json, "packages"), arena);
    report->cut |= json_is_true(json_object_get(json, "cut"));
    json_decref(json);
}

void missing_add(struct list *missing, const char *name, const char *why,
                 struct arena *arena)
{
    const struct pair *there = missing->items;
    struct pair *pairs = arena_alloc(arena, MAX_MISSING * sizeof(*pairs));
    size_t kept = 0;
    for (size_t i = 0; i < missing->count && kept < MAX_MISSING - 1; i++)
        if (!view_is(there[i].key, name)) /* names are guest code's to choose */
            pairs[kept++] = there[i];
    pairs[kept] = (struct pair){ arena_copy(arena, view_of(name)),
                                 arena_copy(arena, view_of(why)) };
    *missing = (struct list){ pairs, kept + 1 };
}

struct view report_why(const struct cell *cell)
{
    if (cell->error.value.len > 0)
        return cell->error.value;
    return cell->reason.len > 0 ? cell->reason : cell->error.name;
}

/* --------------------------------------------------- the text for the cell */

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
