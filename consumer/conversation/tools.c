/* tools.c - the tools that jobs may call, and how a request offers them to the
 * model. */
#include "consumer/conversation/tools.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/tools/final.h"
#include "schemas/message/limits.h"

/* -------------------------------------------------------------- an offer */

static const char python[] =
    "{\"name\": \"" TOOL_PYTHON "\","
    " \"description\": \"Run Python code in a session that keeps variables,"
    " imports and files from one call to the next. Returns what the code"
    " prints, the value of its last expression, and the traceback when it"
    " fails. Every matplotlib figure is captured as an image and shown to"
    " the user; numpy, pandas and matplotlib are installed. There is no"
    " network. Files in the working directory can be read by name; files"
    " that the code writes there are handed to the user.\","
    " \"parameters\": {\"type\": \"object\", \"properties\": "
    "{\"" TOOL_PYTHON_CODE
    "\": {\"type\": \"string\", \"description\": \"Python source, as it would"
    " stand in a notebook cell.\"}}, \"required\": [\"" TOOL_PYTHON_CODE "\"],"
    " \"additionalProperties\": false}}";

static const char others[] =
    " The other tools are functions of the session as well, under their names"
    " with _ for -: code may call them with the same arguments, in loops and"
    " threads, and gets their values, or a ToolError.";

static bool names_has(const struct list *names, const char *name)
{
    const struct view *items = names->items;
    for (size_t i = 0; i < names->count; i++)
        if (view_is(items[i], name))
            return true;
    return names->count == 0;
}

/* function: a reference that is taken. */
static void tools_add_function(json_t *tools, json_t *function)
{
    json_array_append_new(tools, json_pack("{s:s, s:o}", "type", "function",
                                           "function", function));
}

static void offer_python(json_t *tools, bool with_others)
{
    json_t *function = json_loads(python, 0, NULL);
    assert(function);
    const char *about =
        json_string_value(json_object_get(function, "description"));
    if (with_others)
        json_object_set_new(function, "description",
                            json_sprintf("%s%s", about, others));
    json_array_insert_new(
        tools, 0,
        json_pack("{s:s, s:o}", "type", "function", "function", function));
}

static bool tools_check_names(const struct catalog *catalog,
                              const struct list *names, json_t *all,
                              struct err *err)
{
    const struct view *name = names->items;
    for (size_t i = 0; i < names->count; i++) {
        if (view_is(name[i], TOOL_PYTHON) || catalog_find(catalog, name[i]))
            continue;
        CLEANUP(buf_finish) struct buf known;
        buf_init(&known, 512);
        tools_names(all, &known);
        return err_set(err, ERR_REJECT, "unknown_tool",
                       "there is no tool \"%.*s\"; there is: %.*s",
                       VIEW_ARG(view_head(name[i], 64)),
                       VIEW_ARG(buf_view(&known)));
    }
    return true;
}

json_t *tools_offer(const struct catalog *catalog, const struct list *names,
                    struct err *err)
{
    json_t *tools = json_array();
    for (size_t i = 0; i < catalog->count; i++)
        if (names_has(names, catalog->items[i]->name))
            tools_add_function(tools, json_incref(catalog->items[i]->function));
    if (names_has(names, TOOL_PYTHON))
        offer_python(tools, json_array_size(tools) > 0);
    if (names->count == 0)
        return tools;
    json_t *all = tools_offer(catalog, &(struct list){ 0 }, err);
    bool good = tools_check_names(catalog, names, all, err);
    json_decref(all);
    if (good)
        return tools;
    json_decref(tools);
    return NULL;
}

static bool is_python(const json_t *tool)
{
    const json_t *function = json_object_get(tool, "function");
    const char *name = json_string_value(json_object_get(function, "name"));
    return name && strcmp(name, TOOL_PYTHON) == 0;
}

json_t *tools_without_python(const json_t *tools)
{
    json_t *kept = json_array();
    size_t i;
    json_t *tool;
    json_array_foreach(tools, i, tool)
        if (!is_python(tool))
            json_array_append(kept, tool);
    return kept;
}

bool tools_have_python(const json_t *tools)
{
    size_t i;
    json_t *tool;
    json_array_foreach(tools, i, tool)
        if (is_python(tool))
            return true;
    return false;
}

void tools_names(const json_t *tools, struct buf *out)
{
    size_t i;
    json_t *tool;
    if (!tools)
        buf_add(out, VIEW(TOOL_PYTHON));
    json_array_foreach(tools, i, tool) {
        const json_t *function = json_object_get(tool, "function");
        buf_printf(out, "%s%s", i > 0 ? ", " : "",
                   json_string_value(json_object_get(function, "name")));
    }
}

/* ------------------------------------------------------------- a toolset */

struct toolset *toolset_new(struct catalog *catalog, struct err *err)
{
    struct toolset *toolset = calloc(1, sizeof(*toolset));
    if (!toolset)
        abort();
    toolset->holders = 1;
    toolset->catalog = *catalog;
    *catalog = (struct catalog){ 0 };
    catalog_copy(&toolset->codeact, &toolset->catalog);
    toolset->offered = tools_offer(&toolset->catalog, &(struct list){ 0 }, err);
    if (final_add(&toolset->codeact, err))
        return toolset;
    toolset_drop(toolset);
    return NULL;
}

static bool approve(struct toolset *toolset, struct view name,
                    const struct mcp *mcp, struct err *err)
{
    if (view_is(name, TOOL_PYTHON)) {
        toolset->approves_code = true;
        return true;
    }
    return catalog_approve(&toolset->catalog, name) || mcp_expects(mcp, name) ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "QUERN_APPROVE: there is no tool \"%.*s\"",
                   VIEW_ARG(view_head(name, 64)));
}

bool toolset_approve(struct toolset *toolset, const char *names,
                     const struct mcp *mcp, struct err *err)
{
    bool good = true;
    for (const char *at = names; *at != '\0';) {
        size_t blank = strspn(at, ", \t\n");
        size_t len = strcspn(at + blank, ", \t\n");
        struct view name = { at + blank, len };
        at += blank + len;
        good = (len == 0 || approve(toolset, name, mcp, err)) && good;
    }
    return good;
}

struct toolset *toolset_hold(struct toolset *toolset)
{
    toolset->holders++;
    return toolset;
}

void toolset_drop(struct toolset *toolset)
{
    if (!toolset || --toolset->holders > 0)
        return;
    catalog_finish(&toolset->codeact);
    catalog_finish(&toolset->catalog);
    json_decref(toolset->offered);
    free(toolset);
}
