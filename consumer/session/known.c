/* known.c - what Redis knows of a session, and what its next cell is told. */
#include "consumer/session/known.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "consumer/text.h"
#include "schemas/message/limits.h"

enum {
    TOLD_BYTES = 600,  /* fits a reason, with more after it */
    NAMES_BYTES = 250, /* of it, for one list of names */
    WHY_BYTES = 200,
};

bool known_read(struct known *known, struct view bytes, struct err *err)
{
    known_finish(known);
    if (bytes.len == 0)
        return true;
    struct view kept = arena_copy(&known->arena, bytes);
    known->there = message_decode(&schema_session_record, kept, &known->record,
                                  &known->arena, err);
    return known->there;
}

void known_finish(struct known *known)
{
    arena_finish(&known->arena);
    *known = (struct known){ 0 };
}

bool known_is_open(const struct known *known)
{
    return known->there && !known->record.closed;
}

bool known_is_saved_by(const struct known *known, struct view job)
{
    return known->there && known->record.updated_ms > 0 &&
           view_equal(known->record.job, job);
}

/* --------------------------------------------------------------- reports */

static struct view clean(struct arena *arena, struct view text, size_t max)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, 3 * max + 64);
    text_add_clean(&line, view_head(text, max));
    for (size_t i = 0; i < line.len; i++)
        if ((unsigned char)line.data[i] < ' ' || line.data[i] == 0x7f)
            line.data[i] = ' ';
    return arena_copy(arena, view_head(buf_view(&line), max));
}

static struct view text_of(const json_t *json)
{
    return (struct view){ json_string_value(json), json_string_length(json) };
}

static void read_left(struct picture_report *report, json_t *left,
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
                             clean(arena, text_of(why), WHY_BYTES) };
        bool twice = pair.key.len == 0; /* two long ones may begin alike */
        for (size_t i = 0; i < report->left.count; i++)
            twice |= view_equal(pairs[i].key, pair.key);
        if (!twice)
            pairs[report->left.count++] = pair;
    }
}

static void read_packages(struct picture_report *report, json_t *packages,
                          struct arena *arena)
{
    struct view *names = arena_alloc(arena, MAX_PACKAGES * sizeof(*names));
    json_t *name;
    size_t i;
    report->packages.items = names;
    json_array_foreach(packages, i, name)
        if (json_is_string(name) && report->packages.count < MAX_PACKAGES)
            names[report->packages.count++] =
                clean(arena, text_of(name), MAX_NAME_BYTES);
}

void picture_report_read(struct picture_report *report, struct view text,
                         struct arena *arena)
{
    *report = (struct picture_report){ 0 };
    json_t *json = json_loadb(text.data, text.len, 0, NULL);
    read_left(report, json_object_get(json, "left"), arena);
    read_packages(report, json_object_get(json, "packages"), arena);
    report->cut |= json_is_true(json_object_get(json, "cut"));
    json_decref(json);
}

/* ---------------------------------------------------------------- telling */

void told_init(struct told *told)
{
    *told = (struct told){ .state = CELL_KEPT };
    buf_init(&told->text, TOLD_BYTES);
}

void told_finish(struct told *told)
{
    buf_finish(&told->text);
}

void told_add(struct told *told, enum cell_state state, const char *format, ...)
{
    char part[TOLD_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(part, sizeof(part), format, arguments);
    va_end(arguments);
    if ((int)state > told->state)
        told->state = (int)state; /* the worst is the truth */
    struct buf *text = &told->text;
    if (text->len > 0 && text->len + 2 < TOLD_BYTES)
        buf_printf(text, "; ");
    buf_add(text, view_head(view_of(part), TOLD_BYTES - text->len));
}

void told_add_names(struct told *told, const char *what,
                    const struct list *pairs, bool cut)
{
    const struct pair *items = pairs->items;
    CLEANUP(buf_finish) struct buf names;
    buf_init(&names, TOLD_BYTES);
    size_t i = 0;
    for (; i < pairs->count && names.len < NAMES_BYTES; i++)
        buf_printf(&names, "%s%.*s (%.*s)", i == 0 ? "" : ", ",
                   VIEW_ARG(view_head(items[i].key, 60)),
                   VIEW_ARG(view_head(items[i].value, 80)));
    if (i < pairs->count || cut)
        buf_printf(&names, " and more");
    if (pairs->count > 0)
        told_add(told, CELL_RESTORED, "%s: %.*s", what,
                 VIEW_ARG(buf_view(&names)));
}
