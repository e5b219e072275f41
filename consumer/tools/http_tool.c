/* http_tool.c - one tool that the operator has set up. */
#include "consumer/tools/http_tool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/entry.h"
#include "consumer/tools/parameters.h"
#include "schemas/message/limits.h"

enum {
    TOTAL_MS = 30000,
    MOST_MS = 10 * 60 * 1000,
    ANSWER_BYTES = 256 << 10,
    MOST_BYTES = MAX_RECORD_BYTES / 2, /* it becomes a journal's record */
};

void http_tool_free(struct tool *tool)
{
    struct http_tool *http = (struct http_tool *)tool;
    tool_finish(tool);
    free(http->url);
    headers_finish(&http->headers);
    signing_finish(&http->signing);
    free(http);
}

const struct http_tool *http_tool_of(const struct tool *tool)
{
    assert(tool->kind == &http_tool_kind);
    return (const struct http_tool *)tool;
}

/* --------------------------------------------------------------------- url */

/* The server must be the operator's choice: no argument before its path. */
static bool check_url(const char *url, struct err *err)
{
    if (!entry_check_url(url, err))
        return false;
    const char *server = strstr(url, "//") + 2;
    const char *brace = strchr(url, '{');
    return !brace || brace >= server + strcspn(server, "/?") ||
           entry_bad(err, "url: no argument may stand in the server's name");
}

/* Each {name} is of a parameter, and there once. */
static bool check_places(const char *url, const json_t *parameters,
                         struct err *err)
{
    for (const char *open; (open = strchr(url, '{'));) {
        const char *close = strchr(open, '}');
        if (!close)
            return entry_bad(err, "url: { without its }");
        char *name =
            view_dup((struct view){ open, (size_t)(close - open) + 1 });
        bool twice = strstr(close, name) != NULL;
        name[close - open] = '\0';
        if (!parameters_have(parameters, name + 1))
            err_set(err, ERR_REJECT, "bad_setting",
                    "url: there is no parameter {%.64s}", name + 1);
        else if (twice)
            err_set(err, ERR_REJECT, "bad_setting",
                    "url: {%.64s} stands there twice", name + 1);
        bool good = parameters_have(parameters, name + 1) && !twice;
        free(name);
        if (!good)
            return false;
        url = close;
    }
    return true;
}

/* --------------------------------------------------------------- a member */

static bool set_url(struct http_tool *tool, const json_t *value,
                    struct err *err)
{
    const char *url = json_string_value(value);
    if (!url)
        return entry_bad_value(err, "url", value, "a text");
    if (!check_url(url, err))
        return false;
    tool->url = view_dup(view_of(url));
    headers_add_query(&tool->headers, url);
    return true;
}

static bool set_method(struct http_tool *tool, const json_t *value,
                       struct err *err)
{
    const char *method = json_string_value(value);
    tool->post = method && strcmp(method, "POST") == 0;
    return tool->post || (method && strcmp(method, "GET") == 0) ||
           entry_bad_value(err, "method", value, "GET or POST");
}

static bool set_member(struct http_tool *tool, const char *name, json_t *value,
                       struct err *err)
{
    if (strcmp(name, "url") == 0)
        return set_url(tool, value, err);
    if (strcmp(name, "headers") == 0)
        return headers_read(&tool->headers, value, err);
    if (strcmp(name, "sign") == 0)
        return signing_read(&tool->signing, &tool->headers, value, err) ||
               err_prefix(err, "sign");
    if (strcmp(name, "method") == 0)
        return set_method(tool, value, err);
    if (strcmp(name, "total_ms") == 0)
        return entry_number(&tool->total_ms, value, MOST_MS, name, err);
    if (strcmp(name, "max_bytes") == 0) {
        uint64_t bytes = 0;
        bool good = entry_number(&bytes, value, MOST_BYTES, name, err);
        tool->max_bytes = bytes;
        return good;
    }
    if (strcmp(name, "repeat") == 0 || strcmp(name, "approve") == 0)
        return json_is_boolean(value) ||
               entry_bad_value(err, name, value, "true or false");
    if (strcmp(name, "description") == 0)
        return json_is_string(value) ||
               entry_bad_value(err, name, value, "a text");
    if (strcmp(name, "parameters") == 0)
        return parameters_check(value, err);
    return err_set(err, ERR_REJECT, "bad_setting",
                   "%.64s: unknown; there are description, parameters, url, "
                   "method, headers, sign, repeat, approve, total_ms, "
                   "max_bytes",
                   name);
}

/* Unless the operator says what the body is. */
static void add_content_type(struct http_tool *tool)
{
    char **end = tool->headers.lines;
    if (headers_have(&tool->headers, "Content-Type"))
        return;
    while (*end)
        end++;
    *end = view_dup(VIEW("Content-Type: application/json"));
}

static json_t *function_of(const char *name, const json_t *entry)
{
    json_t *description = json_object_get(entry, "description");
    json_t *parameters = json_object_get(entry, "parameters");
    json_t *function = json_pack("{s:s}", "name", name);
    if (description)
        json_object_set(function, "description", description);
    json_object_set_new(
        function, "parameters",
        parameters ? json_incref(parameters)
                   : json_pack("{s:s, s:{}}", "type", "object", "properties"));
    return function;
}

bool http_tool_read(struct http_tool *tool, const char *name,
                    const json_t *entry, struct err *err)
{
    const char *member;
    json_t *value;
    *tool = (struct http_tool){ .tool.kind = &http_tool_kind,
                                .total_ms = TOTAL_MS,
                                .max_bytes = ANSWER_BYTES };
    if (!entry_name_is_good(name))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "is no name of a function: 1 to %d of A-Z a-z 0-9 _ -, "
                       "not beginning with a number",
                       ENTRY_MOST_NAME);
    if (!json_is_object(entry))
        return entry_bad(err, "must be an object");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)entry, member, value)
        if (!set_member(tool, member, value, err))
            return false;
    const json_t *repeat = json_object_get(entry, "repeat");
    tool->tool.repeat = repeat ? json_is_true(repeat) : !tool->post;
    tool->tool.approve = json_is_true(json_object_get(entry, "approve"));
    tool->tool.name = view_dup(view_of(name));
    tool->tool.function = function_of(name, entry);
    if (!tool->url)
        return entry_bad(err, "url is missing");
    if (tool->post)
        add_content_type(tool);
    return check_places(
        tool->url, json_object_get(tool->tool.function, "parameters"), err);
}
