/* tools.c - what a model may call. */
#include "consumer/conversation/tools.h"

#include <assert.h>

#include "schemas/message/limits.h"

static const struct cell_tool table[] = {
    { TOOL_PYTHON,
      "{\"name\": \"" TOOL_PYTHON "\","
      " \"description\": \"Run Python code in a session that keeps variables,"
      " imports and files from one call to the next. Returns what the code"
      " prints, the value of its last expression, and the traceback when it"
      " fails. Every matplotlib figure is captured as an image and shown to"
      " the user; numpy, pandas and matplotlib are installed. There is no"
      " network. Files in the working directory can be read by name; files"
      " that the code writes there are handed to the user.\","
      " \"parameters\": {\"type\": \"object\", \"properties\": {\"code\":"
      " {\"type\": \"string\", \"description\": \"Python source, as it would"
      " stand in a notebook cell.\"}}, \"required\": [\"code\"],"
      " \"additionalProperties\": false}}",
      "code", true },
};
enum { COUNT = sizeof(table) / sizeof(table[0]) };

const struct cell_tool *tool_find(struct view name)
{
    for (size_t i = 0; i < COUNT; i++)
        if (view_is(name, table[i].name))
            return &table[i];
    return NULL;
}

const char *tools_known(void)
{
    return TOOL_PYTHON;
}

/* With what the code may call, which only those need to know who write it. */
static json_t *offer(const struct cell_tool *tool,
                     const struct catalog *catalog, const struct list *names)
{
    json_t *function = json_loads(tool->schema, 0, NULL);
    assert(function != NULL);
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, 2 * (size_t)MAX_TOOLS_BYTES);
    buf_add(&text, view_of(json_string_value(
                       json_object_get(function, "description"))));
    size_t before = text.len;
    buf_add(&text, VIEW(" These functions are defined already; the code may "
                        "call them like any other, in loops and threads, and "
                        "they raise ToolError:"));
    size_t none = text.len;
    catalog_stubs(catalog, names, &text);
    if (text.len == none)
        buf_truncate(&text, before);
    json_object_set_new(function, "description",
                        json_stringn(text.data, text.len));
    return json_pack("{s:s, s:o}", "type", "function", "function", function);
}

static bool is_known(const struct catalog *catalog, struct view name,
                     struct err *err)
{
    if (tool_find(name) != NULL || catalog_find(catalog, name) != NULL)
        return true;
    CLEANUP(buf_finish) struct buf known;
    buf_init(&known, 512);
    buf_printf(&known, "%s", tools_known());
    for (size_t i = 0; i < catalog->count; i++)
        buf_printf(&known, ", %s", catalog->items[i]->name);
    return err_set(err, ERR_REJECT, "unknown_tool",
                   "there is no tool \"%.*s\"; there is: %.*s",
                   VIEW_ARG(view_head(name, 64)), VIEW_ARG(buf_view(&known)));
}

static bool names_has(const struct list *names, const char *name)
{
    const struct view *items = names->items;
    for (size_t i = 0; i < names->count; i++)
        if (view_is(items[i], name))
            return true;
    return names->count == 0;
}

json_t *tools_offer(const struct catalog *catalog, const struct list *names,
                    struct err *err)
{
    const struct view *name = names->items;
    for (size_t i = 0; i < names->count; i++)
        if (!is_known(catalog, name[i], err))
            return NULL;
    json_t *tools = json_array();
    for (size_t i = 0; i < COUNT; i++)
        if (names_has(names, table[i].name))
            json_array_append_new(tools, offer(&table[i], catalog, names));
    /* What only code can call needs somebody who writes it. */
    if (json_array_size(tools) == 0)
        json_array_append_new(tools, offer(&table[0], catalog, names));
    return tools;
}
