/* rule.c - a row's bounds, and the sentence when they are passed. */
#include "schemas/message/rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/limits.h"

enum { UNKNOWN_NAMED = 5 }; /* more of them are only counted */

static void print_place(const struct field_path *place, struct buf *path)
{
    if (place->outer)
        print_place(place->outer, path);
    if (!place->name)
        buf_printf(path, "[%zu]", place->index);
    else
        buf_printf(path, "%s%s", path->len > 0 ? "." : "", place->name);
}

void unknown_add(struct unknown_members *unknown,
                 const struct field_path *outer, struct view name)
{
    CLEANUP(buf_finish) struct buf path = { .max = 64 };
    size_t len = strlen(unknown->names);

    if (++unknown->count > UNKNOWN_NAMED)
        return;
    if (outer)
        print_place(outer, &path);
    name = view_head(name, 40);
    snprintf(unknown->names + len, sizeof(unknown->names) - len,
             "%s\"%.*s%s%.*s\"", len > 0 ? ", " : "", VIEW_ARG(buf_view(&path)),
             path.len > 0 ? "." : "", VIEW_ARG(name));
    for (char *c = unknown->names + len; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

void unknown_describe(const struct unknown_members *unknown, struct buf *out)
{
    if (unknown->count == 0)
        return;
    buf_printf(out, "The unknown member%s %s", unknown->count == 1 ? "" : "s",
               unknown->names);
    if (unknown->count > UNKNOWN_NAMED)
        buf_printf(out, " and %zu more", unknown->count - UNKNOWN_NAMED);
    buf_printf(out, " %s ignored.", unknown->count == 1 ? "was" : "were");
}

const struct field *field_find(const struct schema *schema, const char *path)
{
    size_t len = strcspn(path, ".");

    for (size_t i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];

        if (!field->name || strncmp(field->name, path, len) != 0 ||
            field->name[len])
            continue;
        if (!path[len])
            return field;
        return field->type == FIELD_STRUCT
                   ? field_find(field->of, path + len + 1)
                   : NULL;
    }
    return NULL;
}

bool fault(const struct field_path *place, struct err *err, const char *code,
           const char *format, ...)
{
    CLEANUP(buf_finish) struct buf path = { .max = 128 };
    char sentence[256];
    va_list arguments;

    if (place)
        print_place(place, &path);
    else
        buf_printf(&path, "the message");
    va_start(arguments, format);
    vsnprintf(sentence, sizeof(sentence), format, arguments);
    va_end(arguments);
    return err_set(err, ERR_REJECT, code, "%.*s %s", VIEW_ARG(buf_view(&path)),
                   sentence);
}

bool rule_view(const struct field *field, struct view view,
               const struct field_path *place, struct err *err)
{
    if (view.len == 0)
        return true;
    if (field->min == field->max && view.len != field->max)
        return fault(place, err, "bad_field", "is %zu bytes, must be %" PRIu64,
                     view.len, field->max);
    if (view.len > field->max)
        return fault(place, err, "too_large",
                     "is %zu bytes, the limit is %" PRIu64, view.len,
                     field->max);
    if (view.len < field->min)
        return fault(place, err, "bad_field",
                     "is %zu bytes, must be at least %" PRIu64, view.len,
                     field->min);
    if (field->type == FIELD_TEXT && !(field->flags & FIELD_RAW) &&
        !view_is_utf8(view))
        return fault(place, err, "bad_field", "is not UTF-8");
    return true;
}

bool rule_uint(const struct field *field, uint64_t number,
               const struct field_path *place, struct err *err)
{
    if (number == 0 || (number >= field->min && number <= field->max))
        return true;
    return fault(place, err, "bad_field",
                 "is %" PRIu64 ", must be %" PRIu64 " to %" PRIu64, number,
                 field->min, field->max);
}

bool rule_real(double number, const struct field_path *place, struct err *err)
{
    if (isfinite(number))
        return true;
    return fault(place, err, "bad_field", "is %g, must be a finite number",
                 number);
}

bool rule_count(const struct field *field, size_t count,
                const struct field_path *place, struct err *err)
{
    if (count <= field->max)
        return true;
    return fault(place, err, "too_large",
                 "has %zu items, the limit is %" PRIu64, count, field->max);
}

/* Every key is compared with every other one: rule_count() has bounded the map,
 * and no row allows more than 128 pairs. */
bool rule_keys(const struct list *pairs, const struct field_path *place,
               struct err *err)
{
    const struct pair *pair = pairs->items;

    for (size_t i = 0; i < pairs->count; i++) {
        struct view key = pair[i].key;

        if (key.len == 0 || key.len > MAX_NAME_BYTES || !view_is_utf8(key))
            return fault(place, err, "bad_field",
                         "has a key of %zu bytes, must be 1 to %d of UTF-8",
                         key.len, MAX_NAME_BYTES);
        for (size_t k = 0; k < i; k++) {
            if (view_equal(key, pair[k].key))
                return fault(place, err, "bad_field",
                             "has the key \"%.*s\" twice", VIEW_ARG(key));
        }
    }
    return true;
}

static bool struct_is_empty(const struct schema *schema, const char *in)
{
    for (size_t i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];

        if (!field_is_empty(field, in + field->offset))
            return false;
    }
    return true;
}

bool field_is_empty(const struct field *field, const void *in)
{
    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_BYTES:
        return ((const struct view *)in)->len == 0;
    case FIELD_UINT:
        return *(const uint64_t *)in == 0;
    case FIELD_REAL:
        return *(const double *)in == 0;
    case FIELD_BOOL:
        return !*(const bool *)in;
    case FIELD_ENUM:
        return *(const int *)in == 0;
    case FIELD_ANY:
        return !*(const msgpack_object *const *)in;
    case FIELD_STRUCT:
        return struct_is_empty(field->of, in);
    case FIELD_LIST:
    case FIELD_MAP:
        return ((const struct list *)in)->count == 0;
    }
    return true;
}

bool rule_given(const struct field *field, bool empty,
                const struct field_path *place, struct err *err)
{
    if (!empty || !(field->flags & FIELD_REQUIRED))
        return true;
    return fault(place, err, "missing_field", "is required");
}
