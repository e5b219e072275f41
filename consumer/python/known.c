/* known.c - what Redis knows of a session, and what guest code says of its
 * picture. */
#include "consumer/python/known.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "consumer/text.h"
#include "schemas/message/limits.h"

enum { WHY_BYTES = 200 };

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

bool known_is_held_by(const struct known *known, struct view holder)
{
    return known->there && holder.len > 0 &&
           view_equal(known->record.holder, holder);
}

bool known_is_blank(const struct known *known)
{
    const struct session_record *record = &known->record;
    return known_is_open(known) && record->updated_ms > 0 &&
           record->holder.len == 0 && record->cells == 0 &&
           record->picture.len == 0 && record->unsaved.len == 0 &&
           record->files.count == 0;
}

bool known_says(const struct known *known, struct view history)
{
    return history.len == 0 || view_equal(known->record.history, history);
}

bool known_is_saved_by(const struct known *known, struct view job)
{
    return known->there && known->record.updated_ms > 0 &&
           view_equal(known->record.job, job);
}

static bool is_missing(struct view blob, const struct err *why)
{
    char name[65];
    snprintf(name, sizeof(name), "%.*s", VIEW_ARG(blob));
    return *name != '\0' && strcmp(why->code, "missing_blob") == 0 &&
           strstr(why->text, name) != NULL;
}

bool record_lets_history_go(struct session_record *record,
                            const struct err *why)
{
    if (!is_missing(record->history, why))
        return false;
    record->history = (struct view){ 0 };
    record->history_bytes = record->exchanges = 0;
    return true;
}

bool record_lets_go(struct session_record *record, const struct err *why)
{
    struct session_file *files = record->files.items;
    bool any = record_lets_history_go(record, why);
    if (is_missing(record->picture, why)) {
        record->picture = (struct view){ 0 };
        record->picture_bytes = 0;
        record->unsaved = VIEW("what was saved of them is gone");
        any = true;
    }
    for (size_t i = 0; i < record->files.count; i++) {
        if (!is_missing(files[i].blob, why))
            continue;
        files[i].blob = (struct view){ 0 };
        files[i].note = VIEW("gone");
        any = true;
    }
    return any;
}

/* --------------------------------------------------------------- reports */

static struct view clean(struct arena *arena, struct view text, size_t max)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, max);
    text_add_line(&line, text, max);
    return arena_copy(arena, buf_view(&line));
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
        if (twice)
            report->cut = true;
        else
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
