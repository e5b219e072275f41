/* text_calls.c - tool calls that a model has written into its text. */
#include "consumer/conversation/text_calls.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/arguments.h"
#include "consumer/conversation/tools.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/limits.h"

enum { MOST_CALLS = 16 };

static const char opening[] = "<tool_call>", closing[] = "</tool_call>";

static const char *text_calls_find(struct view text, const char *part)
{
    return text.len == 0 ? NULL
                         : memmem(text.data, text.len, part, strlen(part));
}

/* In quotes a tag is only mentioned. */
static bool is_quoted(struct view text, const char *at)
{
    return at > text.data && strchr("`\"'", at[-1]) && at[-1] != '\0';
}

/* JSON, or JSON but for bare newlines, in a fence or not. NULL: neither. */
static json_t *text_calls_parse(struct view text)
{
    CLEANUP(buf_finish) struct buf object = { 0 };
    text = view_trimmed(text);
    if (text.len > 0 && text.data[0] == '[')
        return json_loadb(text.data, text.len, JSON_ALLOW_NUL, NULL);
    buf_init(&object, 2 * (size_t)MAX_RECORD_BYTES);
    if (text.len == 0 || (text.data[0] != '{' && text.data[0] != '`') ||
        !arguments_object(text, NULL, &object, NULL))
        return NULL;
    return json_loadb(object.data, object.len, JSON_ALLOW_NUL, NULL);
}

/* ------------------------------------------------------------------ one call
 */

/* {name, arguments}, {name, parameters}, or a call as the API has it. Borrowed.
 */
static json_t *function_of(json_t *call)
{
    json_t *inner = json_object_get(call, "function");
    return json_is_object(inner) ? inner : call;
}

static json_t *arguments_of(json_t *function)
{
    json_t *arguments = json_object_get(function, "arguments");
    return arguments ? arguments : json_object_get(function, "parameters");
}

static char *arguments_json(const json_t *arguments)
{
    return json_is_string(arguments)
               ? view_dup(view_of(json_string_value(arguments)))
               : json_dumps(arguments, JSON_COMPACT);
}

/* Whether the tool may be called, and takes these arguments. */
static bool fits(const struct terms *terms, const struct job *job,
                 struct view name, const char *arguments)
{
    CLEANUP(buf_finish) struct buf code = { 0 };
    struct err err;
    if (view_is(name, TOOL_PYTHON)) {
        if (job->mode != MODE_CODEACT && terms->tools &&
            !tools_have_python(terms->tools))
            return false;
        buf_init(&code, MAX_CODE_BYTES);
        return arguments_text(view_of(arguments), TOOL_PYTHON_CODE, false,
                              &code, &err);
    }
    const struct tool *tool = terms_tool(terms, job, name, &err);
    json_t *taken =
        !tool ? NULL : tool_arguments(tool, view_of(arguments), &err);
    json_decref(taken);
    return taken;
}

static bool add_call(json_t *calls, json_t *call, const struct terms *terms,
                     const struct job *job)
{
    json_t *function = function_of(call), *given = arguments_of(function);
    struct view name = reply_json_text(function, "name");
    if (name.len == 0 || (!json_is_object(given) && !json_is_string(given)))
        return false;
    CLEANUP(cleanup_free) char *arguments = arguments_json(given);
    if (!arguments || json_array_size(calls) == MOST_CALLS ||
        !fits(terms, job, name, arguments))
        return false;
    return json_array_append_new(
               calls, json_pack("{s:s, s:s, s:{s:o, s:s}}", "id", "", "type",
                                "function", "function", "name",
                                json_stringn(name.data, name.len), "arguments",
                                arguments)) == 0;
}

/* An object, or a list of them. */
static bool add_calls(json_t *calls, struct view text,
                      const struct terms *terms, const struct job *job)
{
    json_t *json = text_calls_parse(text), *call;
    bool good = json_is_object(json) ? add_call(calls, json, terms, job)
                                     : json_array_size(json) > 0;
    size_t i;
    json_array_foreach(json, i, call)
        good = good && add_call(calls, call, terms, job);
    json_decref(json);
    return good;
}

/* ------------------------------------------------------------------ the text
 */

/* Calls in tags. What stands before the first is what the model says beside
 * them. */
static bool read_tags(json_t *calls, struct view text, const char *first,
                      const struct terms *terms, const struct job *job)
{
    for (const char *at = first; at;) {
        at += strlen(opening);
        struct view rest = { at, text.len - (size_t)(at - text.data) };
        const char *end = text_calls_find(rest, closing),
                   *next = text_calls_find(rest, opening);
        if (!end) /* the last may lack its end */
            end = next ? next : rest.data + rest.len;
        if (!add_calls(calls, (struct view){ at, (size_t)(end - at) }, terms,
                       job))
            return false;
        at = next;
    }
    return true;
}

/* Reasoning that stands in the text is marked by its place: then that stays. */
static json_t *with_calls(json_t *message, json_t *calls, struct view rest)
{
    json_t *made = json_copy(message);
    json_object_set(made, "tool_calls", calls);
    if (!json_object_get(message, "opaque"))
        json_object_set_new(made, "content",
                            rest.len > 0 ? json_stringn(rest.data, rest.len)
                                         : json_null());
    return made;
}

json_t *text_calls_read(json_t *message, const struct terms *terms,
                        const struct job *job)
{
    struct view text = reply_json_text(message, "content");
    const char *first = text_calls_find(text, opening);
    if (first && is_quoted(text, first))
        first = NULL;
    struct view rest = { text.data, first ? (size_t)(first - text.data) : 0 };
    json_t *calls = json_array(), *made = NULL;
    /* An answer that must fit output_schema may look like a call. */
    bool bare = !first && !job->output_schema;
    bool found = !json_object_get(message, "tool_calls") &&
                 ((first && read_tags(calls, text, first, terms, job)) ||
                  (bare && add_calls(calls, text, terms, job)));
    if (found)
        made = with_calls(message, calls, view_trimmed(rest));
    json_decref(calls);
    return made ? made : json_incref(message);
}
