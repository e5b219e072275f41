/* terms.c - writes, reads and compares the terms: the operator's settings that
 * a conversation depends on. */
#include "consumer/conversation/terms.h"

#include <string.h>

#include "consumer/conversation/ask.h"
#include "consumer/conversation/tools.h"
#include "schemas/message/limits.h"

/* The functions of the tools that are offered, or that code may call. Those of
 * the caller, which come last, are in the job. */
static json_t *functions_of(const struct terms *terms, const struct job *job)
{
    json_t *functions = json_array();
    size_t i;
    json_t *tool;
    if (job->mode == MODE_CODEACT)
        catalog_functions(terms->catalog, &job->tools, functions);
    size_t own = json_array_size(terms->tools);
    own -= terms->hands_over ? job->functions.count : 0;
    json_array_foreach(terms->tools, i, tool)
        if (i < own)
            json_array_append(functions, json_object_get(tool, "function"));
    return functions;
}

/* The names of the tools that a person must approve. */
static json_t *approved_of(const struct terms *terms, const struct job *job)
{
    const struct catalog *catalog = terms->catalog;
    json_t *names = json_array();
    struct err err;
    if (terms->approves_code)
        json_array_append_new(names, json_string(TOOL_PYTHON));
    for (size_t i = 0; i < catalog->count; i++)
        if (catalog->items[i]->approve &&
            terms_tool(terms, job, view_of(catalog->items[i]->name), &err))
            json_array_append_new(names, json_string(catalog->items[i]->name));
    return names;
}

/* Words with which names of secrets end. */
static bool is_secret(const char *name)
{
    static const char *const words[] = { "api_key",       "apikey",
                                         "token",         "secret",
                                         "authorization", "password",
                                         "credentials" };
    size_t len = strlen(name);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t end = strlen(words[i]);
        if (len >= end && strcasecmp(name + len - end, words[i]) == 0)
            return true;
    }
    return false;
}

/* Returns whether there was a secret. The depth is bounded: this was read from
 * a file by jansson. */
static bool hide_secrets(json_t *json)
{
    const char *name;
    json_t *value;
    size_t i;
    bool hidden = false;
    json_array_foreach(json, i, value)
        hidden |= hide_secrets(value);
    json_object_foreach(json, name, value) {
        if (json_is_string(value) && is_secret(name)) {
            json_string_set(value, "***");
            hidden = true;
        } else {
            hidden |= hide_secrets(value);
        }
    }
    return hidden;
}

static void add_parameters(json_t *json, const json_t *parameters)
{
    json_t *copy = json_deep_copy(parameters);
    if (hide_secrets(copy))
        json_object_set_new(json, "hidden", json_true());
    json_object_set_new(json, "parameters", copy);
}

static void add_endpoint(json_t *json, const struct conversation *conversation,
                         const struct model_endpoint *endpoint)
{
    json_object_set_new(json, "model", json_string(endpoint->name));
    json_object_set_new(json, "asked_as", json_string(endpoint->model));
    if (endpoint->dialect != &dialect_chat)
        json_object_set_new(json, "dialect",
                            json_string(endpoint->dialect->name));
    json_object_set_new(json, "quirks",
                        json_integer((json_int_t)endpoint->quirks));
    json_object_set_new(json, "window",
                        json_integer((json_int_t)endpoint->window));
    if (endpoint->summarises)
        json_object_set_new(json, "history", json_string("summarise"));
    if (endpoint->price.known)
        json_object_set_new(json, "price", price_write(&endpoint->price));
    if (endpoint->parameters)
        add_parameters(json, endpoint->parameters);
    if (endpoint->job_parameters && conversation->parameters)
        json_object_set(json, "job_parameters", endpoint->job_parameters);
}

static void add_limit(json_t *json, const char *name, uint64_t limit)
{
    if (limit > 0)
        json_object_set_new(json, name, json_integer((json_int_t)limit));
}

static void add_prompt(json_t *json, const char *name,
                       const struct prompts *prompts, enum prompt prompt,
                       enum language language)
{
    bool own;
    struct view text = prompt_text(prompts, prompt, language, &own);
    char owner[32];
    snprintf(owner, sizeof(owner), "own_%s", name);
    json_object_set_new(json, name, json_stringn(text.data, text.len));
    json_object_set_new(json, owner, json_boolean(own));
}

/* Members of the job, as far as they have an effect. */
static void add_wishes(json_t *json, const struct terms *terms)
{
    if (terms->hands_over)
        json_object_set_new(json, "hands_over", json_true());
    if (terms->choice.len > 0)
        json_object_set_new(
            json, "tool_choice",
            json_stringn(terms->choice.data, terms->choice.len));
    add_limit(json, "max_tool_calls", terms->max_tool_calls);
    add_limit(json, "max_output_tokens", terms->max_output_tokens);
}

/* Prompts about files and summaries only where there are some. */
static void add_prompts(json_t *json, const struct terms *terms,
                        const struct conversation *conversation)
{
    const struct job *job = conversation->job;
    enum language language = ask_language(conversation);
    add_prompt(json, "prompt", terms->prompts, prompt_of(job, terms->tools),
               language);
    if (terms->endpoint->summarises)
        add_prompt(json, "summary_prompt", terms->prompts, PROMPT_SUMMARY,
                   language);
    if (job->files.count == 0)
        return;
    add_prompt(json, "files_prompt", terms->prompts, PROMPT_FILES, language);
    add_prompt(json, "upload_prompt", terms->prompts, PROMPT_UPLOAD,
               prompt_upload_language(job));
}

/* Only for models that see: most do not. */
static void add_image_limits(json_t *json, const struct terms *terms)
{
    if (terms->pictures == 0)
        return;
    json_object_set_new(json, "pictures",
                        json_integer((json_int_t)terms->pictures));
    json_object_set_new(json, "picture_bytes",
                        json_integer((json_int_t)terms->picture_bytes));
}

static int terms_write_piece(const char *data, size_t len, void *owner)
{
    return buf_append(owner, data, len) ? 0 : -1;
}

void terms_write(const struct terms *terms,
                 const struct conversation *conversation, struct buf *out)
{
    const struct job *job = conversation->job;
    json_t *json = json_pack(
        "{s:I, s:I, s:I, s:o}", "max_turns", (json_int_t)terms->max_turns,
        "max_tokens", (json_int_t)terms->max_tokens, "repeats",
        (json_int_t)terms->repeats, "tools", functions_of(terms, job));
    add_prompts(json, terms, conversation);
    if (terms->libraries.len > 0)
        json_object_set_new(
            json, "libraries",
            json_stringn(terms->libraries.data, terms->libraries.len));
    json_object_set_new(json, "output_repairs",
                        json_integer((json_int_t)terms->output_repairs));
    json_object_set_new(json, "approve", approved_of(terms, job));
    json_object_set_new(json, "approval_ms",
                        json_integer((json_int_t)terms->approval_ms));
    json_object_set_new(json, "approval_default",
                        json_string(terms->approval_default));
    buf_init(out, MAX_TERMS_BYTES);
    add_limit(json, "max_total_tokens", terms->max_total_tokens);
    add_limit(json, "max_cost", terms->max_cost);
    add_wishes(json, terms);
    add_endpoint(json, conversation, terms->endpoint);
    add_image_limits(json, terms);
    if (terms->blob_url && *terms->blob_url != '\0')
        json_object_set_new(json, "blob_url", json_string(terms->blob_url));
    json_dump_callback(json, terms_write_piece, out, JSON_COMPACT);
    if (!buf_ok(out))
        buf_clear(out);
    json_decref(json);
}

const struct tool *terms_tool(const struct terms *terms, const struct job *job,
                              struct view name, struct err *err)
{
    const struct tool *tool = catalog_find(terms->catalog, name);
    const struct view *wanted = job->tools.items;
    bool offered = job->tools.count == 0;
    for (size_t i = 0; i < job->tools.count; i++)
        offered |= view_equal(wanted[i], name);
    if (tool && (offered || tool->always))
        return tool;
    err_set(err, ERR_REJECT, "unknown_tool", "there is no tool \"%.*s\"",
            VIEW_ARG(view_head(name, 64)));
    return NULL;
}

struct budget terms_budget(const struct terms *terms,
                           const struct conversation *conversation)
{
    const struct job_limits *limits = &conversation->job->limits;
    const struct usage *usage = &conversation->spending.usage;
    return (struct budget){
        .max_tokens =
            terms_least(limits->max_total_tokens, terms->max_total_tokens),
        .max_cost = terms_least(limits->max_cost, terms->max_cost),
        .tokens = usage_tokens(usage),
        .cost = usage->cost,
        .max_written = terms->max_output_tokens,
        .written = conversation->spending.written,
    };
}

uint64_t terms_least(uint64_t wish, uint64_t most)
{
    return wish == 0 || (most != 0 && wish > most) ? most : wish;
}
