/* report.c - what guest code says of the variables it saved or put back. */
#include "consumer/python/report.h"

#include <jansson.h>

#include "consumer/text.h"
#include "schemas/message/limits.h"

enum { WHY_BYTES = 200 };

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
                             clean(arena, report_text(why), WHY_BYTES) };
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
