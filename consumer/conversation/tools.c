/* tools.c - the tools that jobs may call, and how a request offers them to the
 * model. */
#include "consumer/conversation/tools.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/reply_json.h"
#include "consumer/tools/final.h"
#include "schemas/json/convert.h"
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
        if (view_is(name[i], TOOL_PYTHON) || view_is(name[i], JOB_NO_TOOLS) ||
            catalog_find(catalog, name[i]))
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

/* ------------------------------------------------ functions of the caller */

static json_t *function_json(const struct job_function *function)
{
    struct view about = function->description;
    json_t *json = json_pack(
        "{s:o}", "name", json_stringn(function->name.data, function->name.len));
    if (about.len > 0)
        json_object_set_new(json, "description",
                            json_stringn(about.data, about.len));
    if (function->parameters)
        json_object_set_new(json, "parameters",
                            json_from_value(function->parameters));
    if (function->strict)
        json_object_set_new(json, "strict", json_true());
    return json;
}

void tools_add_functions(json_t *tools, const struct job *job)
{
    const struct job_function *functions = job->functions.items;
    for (size_t i = 0; i < job->functions.count; i++)
        tools_add_function(tools, function_json(&functions[i]));
}

const struct job_function *tools_function(const struct job *job,
                                          struct view name)
{
    const struct job_function *functions = job->functions.items;
    for (size_t i = 0; i < job->functions.count; i++)
        if (view_equal(functions[i].name, name))
            return view_is(job->tool_choice, "none") ? NULL : &functions[i];
    return NULL;
}

static bool is_offered(const json_t *offered, struct view name)
{
    size_t i;
    json_t *tool;
    json_array_foreach(offered, i, tool)
        if (view_equal(name, reply_json_text(json_object_get(tool, "function"),
                                             "name")))
            return true;
    return false;
}

static bool tools_check_choice(const json_t *offered, struct view choice,
                               struct err *err)
{
    CLEANUP(buf_finish) struct buf names = { 0 };
    if (choice.len == 0 || view_is(choice, "auto") || view_is(choice, "none"))
        return true;
    if (view_is(choice, "required"))
        return json_array_size(offered) > 0 ||
               err_set(err, ERR_REJECT, "bad_field",
                       "tool_choice: is \"required\", and the job offers no "
                       "tool and no function");
    if (is_offered(offered, choice))
        return true;
    buf_init(&names, 512);
    tools_names(offered, &names);
    return err_set(err, ERR_REJECT, "bad_field",
                   "tool_choice: is \"%.*s\", which the job does not offer; it "
                   "offers: %.*s",
                   VIEW_ARG(view_head(choice, 64)), VIEW_ARG(buf_view(&names)));
}

bool tools_check_job(const struct catalog *catalog, const json_t *offered,
                     const struct job *job, struct err *err)
{
    const struct job_function *functions = job->functions.items;
    for (size_t i = 0; i < job->functions.count; i++)
        if (view_is(functions[i].name, TOOL_PYTHON) ||
            catalog_find(catalog, functions[i].name))
            return err_set(err, ERR_REJECT, "bad_field",
                           "functions[%zu].name: is \"%.*s\", a tool of "
                           "quern's own",
                           i, VIEW_ARG(functions[i].name));
    return tools_check_choice(offered, job->tool_choice, err);
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
