/* tools.c - what a model may call. */
#include "consumer/conversation/tools.h"

#include <assert.h>

static const struct tool table[] = {
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

const struct tool *tool_find(struct view name)
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

static json_t *offer(const struct tool *tool)
{
    json_t *function = json_loads(tool->schema, 0, NULL);
    assert(function != NULL);
    return json_pack("{s:s, s:o}", "type", "function", "function", function);
}

json_t *tools_offer(const struct list *names, struct err *err)
{
    json_t *tools = json_array();
    for (size_t i = 0; names->count == 0 && i < COUNT; i++)
        json_array_append_new(tools, offer(&table[i]));
    const struct view *name = names->items;
    for (size_t i = 0; i < names->count; i++) {
        const struct tool *tool = tool_find(name[i]);
        if (tool == NULL) {
            json_decref(tools);
            err_set(err, ERR_REJECT, "unknown_tool",
                    "there is no tool \"%.*s\"; there is: %s",
                    VIEW_ARG(view_head(name[i], 64)), tools_known());
            return NULL;
        }
        json_array_append_new(tools, offer(tool));
    }
    return tools;
}
