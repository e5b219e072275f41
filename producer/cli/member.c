/* member.c - options that are members of a job, by the table of jobs. */
#include "producer/cli/member.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/job.h"

const struct field *member_field(const struct option *option)
{
    const struct field *field = field_find(&schema_job, option->member);

    assert(field);
    return field;
}

static enum option_type type_of_number(enum field_unit unit)
{
    switch (unit) {
    case UNIT_MS:
        return OPTION_TIME;
    case UNIT_BYTES:
        return OPTION_BYTES;
    case UNIT_MICRO_DOLLARS:
        return OPTION_COST;
    case UNIT_NONE:
        break;
    }
    return OPTION_COUNT;
}

enum option_type member_type(const struct option *option)
{
    const struct field *field = member_field(option);

    switch (field->type) {
    case FIELD_UINT:
        return type_of_number(field->unit);
    case FIELD_BOOL:
        return OPTION_FLAG;
    case FIELD_ENUM:
        return OPTION_CHOICE;
    case FIELD_LIST:
        return OPTION_TEXTS;
    case FIELD_TEXT:
        return OPTION_TEXT;
    case FIELD_BYTES:
    case FIELD_REAL:
    case FIELD_ANY:
    case FIELD_STRUCT:
    case FIELD_MAP:
        break;
    }
    /* submission.c reads such a member, from a place of its own: a row of the
     * option table with OPTION_MEMBER is a bug. */
    abort();
}

const char *member_value(enum option_type type)
{
    static const char *const values[] = {
        [OPTION_TEXT] = "TEXT",   [OPTION_TEXTS] = "TEXT",
        [OPTION_COUNT] = "N",     [OPTION_TIME] = "TIME",
        [OPTION_BYTES] = "SIZE",  [OPTION_COST] = "DOLLARS",
        [OPTION_CHOICE] = "WORD", [OPTION_MEMBER] = NULL,
    };

    return values[type];
}

void member_describe(const struct option *option, struct buf *out)
{
    static const char *const examples[] = {
        [UNIT_NONE] = "",
        [UNIT_MS] = ": 90s, 5m, 2h",
        [UNIT_BYTES] = ": 512M, 2G",
        [UNIT_MICRO_DOLLARS] = ": 2, 0.05",
    };
    const struct field *field = member_field(option);
    const char *about = field->about;
    /* "The longest run" begins in lower case on a help page, "JSON" does not.
     */
    bool word = islower((unsigned char)about[1]) || about[1] == ' ';

    buf_printf(out, "%c%s%s",
               word ? tolower((unsigned char)about[0]) : about[0], about + 1,
               examples[field->unit]);
}

/* The object that the last name of the path "limits.cell_ms" belongs into, made
 * where it is missing; *name is that last name. */
static json_t *find_place(json_t *at, const char *path, const char **name)
{
    const char *dot;

    for (*name = path; (dot = strchr(*name, '.')); *name = dot + 1) {
        size_t len = (size_t)(dot - *name);
        json_t *inner = json_object_getn(at, *name, len);

        if (!inner) {
            inner = json_object();
            json_object_setn_new(at, *name, len, inner);
        }
        at = inner;
    }
    return at;
}

static bool add_item(json_t *place, const char *name,
                     const struct option *option, json_t *item, struct err *err)
{
    size_t max = member_field(option)->max;
    json_t *list = json_object_get(place, name);

    if (!list) {
        list = json_array();
        json_object_set_new(place, name, list);
    }
    if (json_array_size(list) < max)
        return json_array_append_new(list, item) == 0;
    json_decref(item);
    return err_set(err, ERR_REJECT, "bad_setting",
                   "--%s: more than %zu of them", option->name, max);
}

bool member_set(json_t **members, const struct option *option, json_t *value,
                struct err *err)
{
    const char *name;

    if (!value)
        return err_set(err, ERR_REJECT, "bad_field", "%s is not UTF-8",
                       option->member);
    if (!*members)
        *members = json_object();

    json_t *place = find_place(*members, option->member, &name);

    if (member_type(option) == OPTION_TEXTS)
        return add_item(place, name, option, value, err);
    return json_object_set_new(place, name, value) == 0;
}
