/* today.c - the terms of a recorded job, as they would be today. */
#include "consumer/replay/today.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/tools.h"
#include "consumer/tools/final.h"
#include "schemas/message/limits.h"

/* ------------------------------------------------------------------- tools
 */

static void today_tool_free(struct tool *tool)
{
    tool_finish(tool);
    free(tool);
}

/* Adds a tool that is described as recorded, and never called. */
static bool add_tool(struct catalog *catalog, const json_t *function,
                     struct err *err)
{
    static const struct tool_kind kind = { .free = today_tool_free };
    const char *name = json_string_value(json_object_get(function, "name"));
    if (!name)
        return err_set(err, ERR_REJECT, "bad_message",
                       "a tool of the terms has no name");
    char *text = json_dumps(function, JSON_COMPACT);
    struct tool *tool = calloc(1, sizeof(*tool));
    if (!tool || !text)
        abort();
    tool_init(tool, &kind, text);
    tool->builtin = false;
    tool->always = strcmp(name, TOOL_FINAL) == 0;
    free(text);
    return catalog_add(catalog, tool, err);
}

/* Whether the tool is described by this program, and not as recorded. */
static bool today_is_ours(const json_t *function, enum replay_time when)
{
    const char *name = json_string_value(json_object_get(function, "name"));
    return name &&
           (strcmp(name, TOOL_PYTHON) == 0 || (when == WHEN_TODAY && //
                                               strcmp(name, TOOL_FINAL) == 0));
}

static bool load_catalog(struct today *today, const struct job *job,
                         enum replay_time when, struct err *err)
{
    size_t i;
    json_t *function;
    json_array_foreach(json_object_get(today->json, "tools"), i, function)
        if (!today_is_ours(function, when) &&
            !add_tool(&today->catalog, function, err))
            return false;
    return job->mode != MODE_CODEACT || when != WHEN_TODAY ||
           final_add(&today->catalog, err);
}

static json_t *tools_recorded(const struct today *today)
{
    json_t *tools = json_array();
    size_t i;
    json_t *function;
    json_array_foreach(json_object_get(today->json, "tools"), i, function)
        json_array_append_new(tools, json_pack("{s:s, s:O}", "type", "function",
                                               "function", function));
    return tools;
}

/* Whether Python was offered: not by a consumer that is set up without an
 * executor. */
static bool offered_python(const struct today *today)
{
    json_t *tools = tools_recorded(today);
    bool offered = tools_have_python(tools);
    json_decref(tools);
    return offered || !json_object_get(today->json, "tools");
}

static json_t *tools_today(const struct today *today, const struct job *job,
                           struct err *err)
{
    json_t *tools = tools_offer(&today->catalog, &job->tools, err);
    json_t *others;
    if (!tools || offered_python(today))
        return tools;
    others = tools_without_python(tools);
    json_decref(tools);
    return others;
}

static void load_approved(struct today *today)
{
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(today->json, "approve"), i, name) {
        struct view text = { json_string_value(name),
                             json_string_length(name) };
        if (view_is(text, TOOL_PYTHON))
            today->terms.approves_code = true;
        else
            catalog_approve(&today->catalog, text);
    }
}

static bool load_tools(struct today *today, const struct job *job,
                       enum replay_time when, struct err *err)
{
    if (!load_catalog(today, job, when, err))
        return false;
    load_approved(today);
    if (job->mode == MODE_CODEACT)
        catalog_stubs(&today->catalog, &job->tools, &today->functions);
    else if (when == WHEN_RECORDED)
        today->terms.tools = tools_recorded(today);
    else
        today->terms.tools = tools_today(today, job, err);
    if (today->terms.tools && today->terms.hands_over)
        tools_add_functions(today->terms.tools, job);
    return job->mode == MODE_CODEACT || today->terms.tools;
}

/* -------------------------------------------------------------------- rest
 */

static const char *today_text(const struct today *today, const char *name)
{
    const char *text = json_string_value(json_object_get(today->json, name));
    return !text ? "" : text;
}

static uint64_t today_number(const struct today *today, const char *name)
{
    json_int_t number = json_integer_value(json_object_get(today->json, name));
    return number > 0 ? (uint64_t)number : 0;
}

/* A prompt as recorded, when it was the operator's own, or for WHEN_RECORDED.
 * Without it the prompt of this program is used. */
static void load_prompt(struct today *today, const char *name,
                        enum prompt prompt, enum replay_time when)
{
    char owner[32];
    snprintf(owner, sizeof(owner), "own_%s", name);
    bool own = json_is_true(json_object_get(today->json, owner));
    bool there = json_object_get(today->json, name) != NULL;
    for (int language = 0; language < LANGUAGES; language++)
        if (there && (when == WHEN_RECORDED || own))
            today->prompts.texts[prompt][language] =
                view_dup(view_of(today_text(today, name)));
}

static bool load_prompts(struct today *today, const struct job *job,
                         enum replay_time when, const char *folder,
                         struct err *err)
{
    if (when == WHEN_TODAY && folder)
        return prompts_load(&today->prompts, folder, err);
    load_prompt(today, "prompt", prompt_of(job, today->terms.tools), when);
    load_prompt(today, "files_prompt", PROMPT_FILES, when);
    load_prompt(today, "upload_prompt", PROMPT_UPLOAD, when);
    load_prompt(today, "summary_prompt", PROMPT_SUMMARY, when);
    return true;
}

static bool load_endpoint(struct today *today, struct err *err)
{
    const char *name = today_text(today, "dialect");
    const struct dialect *dialect =
        *name == '\0' ? &dialect_chat : dialect_find(name);
    if (!dialect)
        return err_set(err, ERR_REJECT, "bad_message",
                       "its terms: no dialect is called \"%.64s\"", name);
    today->endpoint = (struct model_endpoint){
        .name = view_dup(view_of(today_text(today, "model"))),
        .model = view_dup(view_of(today_text(today, "asked_as"))),
        .parameters = json_object_get(today->json, "parameters"),
        .job_parameters = json_object_get(today->json, "job_parameters"),
        .window = today_number(today, "window"),
        .summarises = strcmp(today_text(today, "history"), "summarise") == 0,
        .quirks = (unsigned)today_number(today, "quirks"),
        .dialect = dialect,
    };
    const json_t *price = json_object_get(today->json, "price");
    return !price || price_read(&today->endpoint.price, price, err);
}

bool today_load(struct today *today, struct view terms, const struct job *job,
                enum replay_time when, const char *prompts, struct err *err)
{
    *today = (struct today){ 0 };
    buf_init(&today->functions, MAX_TERMS_BYTES);
    today->json = json_loadb(terms.len > 0 ? terms.data : "", terms.len,
                             JSON_ALLOW_NUL, NULL);
    if (!json_is_object(today->json))
        return err_set(err, ERR_REJECT, "bad_message",
                       "its terms are not a JSON object");
    today->terms.hands_over =
        json_is_true(json_object_get(today->json, "hands_over"));
    today->terms.choice = view_of(today_text(today, "tool_choice"));
    today->terms.max_tool_calls = today_number(today, "max_tool_calls");
    today->terms.max_output_tokens = today_number(today, "max_output_tokens");
    if (!load_endpoint(today, err) || !load_tools(today, job, when, err) ||
        !load_prompts(today, job, when, prompts, err))
        return false;
    today->hidden = json_is_true(json_object_get(today->json, "hidden"));
    today->terms.prompts = &today->prompts;
    today->terms.catalog = &today->catalog;
    today->terms.functions = buf_view(&today->functions);
    today->terms.libraries = view_of(today_text(today, "libraries"));
    today->terms.endpoint = &today->endpoint;
    today->terms.max_turns = today_number(today, "max_turns");
    today->terms.max_tokens = today_number(today, "max_tokens");
    today->terms.max_total_tokens = today_number(today, "max_total_tokens");
    today->terms.max_cost = today_number(today, "max_cost");
    today->terms.repeats = today_number(today, "repeats");
    today->terms.output_repairs = today_number(today, "output_repairs");
    today->terms.approval_ms = today_number(today, "approval_ms");
    today->terms.approval_default = today_text(today, "approval_default");
    today->terms.pictures = today_number(today, "pictures");
    today->terms.picture_bytes = today_number(today, "picture_bytes");
    today->terms.blob_url = today_text(today, "blob_url");
    return true;
}

void today_finish(struct today *today)
{
    catalog_finish(&today->catalog);
    prompts_finish(&today->prompts);
    buf_finish(&today->functions);
    free(today->endpoint.name);
    free(today->endpoint.model);
    json_decref(today->terms.tools);
    json_decref(today->json);
    *today = (struct today){ 0 };
}
