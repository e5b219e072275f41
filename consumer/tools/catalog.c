/* catalog.c - all tools but Python, by name. */
#include "consumer/tools/catalog.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/model/entry.h"
#include "consumer/tools/http_tool.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"

/* As the guest's functions are called: search-web becomes search_web. */
static void python_name(const char *name, struct buf *out)
{
    for (; *name != '\0'; name++)
        buf_append(out, *name == '-' ? "_" : name, 1);
}

/* The position of the tool that code would call by the same name; count when
 * there is none. */
static size_t place_of(const struct catalog *catalog, struct view own)
{
    size_t at = 0;
    for (bool same = false; at < catalog->count; at++) {
        CLEANUP(buf_finish) struct buf other;
        buf_init(&other, MAX_NAME_BYTES);
        python_name(catalog->items[at]->name, &other);
        same = view_equal(own, buf_view(&other));
        if (same)
            break;
    }
    return at;
}

static void remove_at(struct catalog *catalog, size_t at)
{
    struct tool *tool = catalog->items[at];
    catalog->count--;
    memmove(catalog->items + at, catalog->items + at + 1,
            (catalog->count - at) * sizeof(struct tool *));
    tool_drop(tool);
}

void catalog_finish(struct catalog *catalog)
{
    while (catalog->count > 0)
        remove_at(catalog, catalog->count - 1);
}

/* Room for the tool, which may be that of a built-in tool of the same name. */
static bool make_place(struct catalog *catalog, const struct tool *tool,
                       struct err *err)
{
    CLEANUP(buf_finish) struct buf own;
    buf_init(&own, MAX_NAME_BYTES);
    python_name(tool->name, &own);
    if (view_is(buf_view(&own), JOB_NO_TOOLS))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "no tool may be called " JOB_NO_TOOLS
                       ": by that name jobs say that they want no tools");
    size_t at = place_of(catalog, buf_view(&own));
    if (at < catalog->count && (!catalog->items[at]->builtin || tool->foreign))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "a tool before it is %.*s to code, too",
                       VIEW_ARG(buf_view(&own)));
    if (at < catalog->count)
        remove_at(catalog, at);
    return catalog->count < MAX_CATALOG ||
           err_set(err, ERR_REJECT, "bad_setting", "more than %d tools",
                   MAX_CATALOG);
}

bool catalog_add(struct catalog *catalog, struct tool *tool, struct err *err)
{
    tool_hold(tool);
    if (!make_place(catalog, tool, err)) {
        tool_drop(tool);
        return false;
    }
    catalog->items[catalog->count++] = tool;
    return true;
}

void catalog_copy(struct catalog *copy, const struct catalog *catalog)
{
    *copy = *catalog;
    for (size_t i = 0; i < copy->count; i++)
        tool_hold(copy->items[i]);
}

static bool catalog_add_entry(void *owner, const char *name,
                              const json_t *entry, struct err *err)
{
    if (strcmp(name, CATALOG_SERVERS) == 0)
        return true;
    struct tool *tool = http_tool_new(name, entry, err);
    return tool && catalog_add(owner, tool, err);
}

bool catalog_load(struct catalog *catalog, const char *path, struct err *err)
{
    if (*path == '\0')
        return true;
    if (!entry_read_file(path, "{name: {url, parameters, ...}}",
                         catalog_add_entry, catalog, err))
        return false;
    CLEANUP(buf_finish) struct buf all;
    buf_init(&all, MAX_TOOLS_BYTES);
    catalog_describe(catalog, &(struct list){ 0 }, &all);
    return buf_ok(&all) || err_set(err, ERR_REJECT, "bad_setting",
                                   "%s: more than %d bytes of description",
                                   path, MAX_TOOLS_BYTES);
}

bool catalog_approve(struct catalog *catalog, struct view name)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (view_is(name, catalog->items[i]->name)) {
            catalog->items[i]->approve = true;
            return true;
        }
    return false;
}

/* ----------------------------------------------------------------- reading */

const struct tool *catalog_find(const struct catalog *catalog, struct view name)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (view_is(name, catalog->items[i]->name))
            return catalog->items[i];
    return NULL;
}

static bool is_wanted(const struct tool *tool, const struct list *names)
{
    const struct view *wanted = names->items;
    for (size_t i = 0; i < names->count; i++)
        if (view_is(wanted[i], tool->name))
            return true;
    return names->count == 0 || tool->always;
}

void catalog_functions(const struct catalog *catalog, const struct list *names,
                       json_t *functions)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (is_wanted(catalog->items[i], names))
            json_array_append(functions, catalog->items[i]->function);
}

void catalog_describe(const struct catalog *catalog, const struct list *names,
                      struct buf *out)
{
    json_t *functions = json_array();
    catalog_functions(catalog, names, functions);
    char *text = json_dumps(functions, JSON_COMPACT);
    if (text && json_array_size(functions) > 0)
        buf_add(out, view_of(text));
    free(text);
    json_decref(functions);
}

static const char *type_of(const json_t *schema)
{
    static const char *const names[][2] = {
        { "string", "str" },   { "integer", "int" }, { "number", "float" },
        { "boolean", "bool" }, { "array", "list" },  { "object", "dict" },
    };
    const char *type = json_string_value(json_object_get(schema, "type"));
    for (size_t i = 0; type && i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(type, names[i][0]) == 0)
            return names[i][1];
    return "Any";
}

static bool is_required(const json_t *parameters, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(parameters, "required"), i, one)
        if (json_is_string(one) && strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

/* The order of the guest's functions: required arguments first, since Python
 * allows no parameter without a default behind one that has it. */
static void add_arguments(const json_t *parameters, struct buf *out)
{
    const char *between = "";
    for (int pass = 0; pass < 2; pass++) {
        const char *name;
        json_t *schema;
        json_object_foreach(json_object_get(parameters, "properties"), name,
                            schema) {
            bool required = is_required(parameters, name);
            if (required != (pass == 0))
                continue;
            buf_printf(out, "%s%s: %s%s", between, name, type_of(schema),
                       required ? "" : " = None");
            between = ", ";
        }
    }
}

static void add_stub(const struct tool *tool, struct buf *out)
{
    const json_t *parameters = json_object_get(tool->function, "parameters");
    const char *about =
        json_string_value(json_object_get(tool->function, "description"));
    buf_add(out, VIEW("\ndef "));
    python_name(tool->name, out);
    buf_add(out, VIEW("("));
    add_arguments(parameters, out);
    buf_add(out, VIEW(")"));
    if (about)
        buf_printf(out, ": \"\"\"%s\"\"\"", about);
}

void catalog_stubs(const struct catalog *catalog, const struct list *names,
                   struct buf *out)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (is_wanted(catalog->items[i], names))
            add_stub(catalog->items[i], out);
}
