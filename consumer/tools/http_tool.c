/* http_tool.c - one tool that the operator has set up. */
#include "consumer/tools/http_tool.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "schemas/message/buf.h"
#include "schemas/message/limits.h"

enum {
    TOTAL_MS = 30000,
    MOST_MS = 10 * 60 * 1000,
    ANSWER_BYTES = 256 << 10,
    MOST_BYTES = MAX_RECORD_BYTES / 2, /* it becomes a journal's record */
    MOST_NAME = 64,
    MOST_HEADER_BYTES = 16 << 10,
};

void http_tool_finish(struct http_tool *tool)
{
    tool_finish(&tool->tool);
    free(tool->url);
    for (size_t i = 0; tool->headers[i] != NULL; i++)
        free(tool->headers[i]);
    for (size_t i = 0; tool->secrets[i] != NULL; i++)
        free(tool->secrets[i]);
    *tool = (struct http_tool){ 0 };
}

void http_tool_free(struct tool *tool)
{
    http_tool_finish((struct http_tool *)tool);
    free(tool);
}

const struct http_tool *http_tool_of(const struct tool *tool)
{
    assert(tool->kind == &http_tool_kind);
    return (const struct http_tool *)tool;
}

static bool bad(struct err *err, const char *sentence)
{
    return err_set(err, ERR_REJECT, "bad_setting", "%s", sentence);
}

/* "method: is "PUT", must be GET or POST" */
static bool bad_value(struct err *err, const char *member, const json_t *value,
                      const char *must)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(6));
    err_set(err, ERR_REJECT, "bad_setting", "%s: is %.60s, must be %s", member,
            text != NULL ? text : "what it is", must);
    free(text);
    return false;
}

/* What models take as the name of a function, and Python can. */
static bool name_is_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' &&
            name[i] != '-')
            return false;
    return len > 0 && len <= MOST_NAME && !isdigit((unsigned char)name[0]);
}

/* --------------------------------------------------------------------- url */

/* The server must be the operator's choice: no argument before its path. */
static bool check_url(const char *url, struct err *err)
{
    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return bad(err, "url: must start with http:// or https://");
    const char *server = strstr(url, "//") + 2;
    const char *brace = strchr(url, '{');
    size_t len = strcspn(server, "/?#");
    if (len == 0)
        return bad(err, "url: names no server");
    if (brace != NULL && brace < server + len)
        return bad(err, "url: no argument may stand in the server's name");
    if (strchr(url, '#') != NULL)
        return bad(err, "url: may have no # in it");
    for (const char *c = url; *c != '\0'; c++)
        if (*c <= ' ' || *c >= 0x7f)
            return bad(err,
                       "url: has a byte in it that must be written as %XX");
    return true;
}

static bool is_open(const json_t *parameters)
{
    const json_t *more = json_object_get(parameters, "additionalProperties");
    return more != NULL && !json_is_false(more);
}

static bool is_parameter(const json_t *parameters, const char *name)
{
    const json_t *properties = json_object_get(parameters, "properties");
    return *name != '\0' &&
           (is_open(parameters) || json_object_get(properties, name) != NULL);
}

/* Each {name} is of a parameter, and there once. */
static bool check_places(const char *url, const json_t *parameters,
                         struct err *err)
{
    for (const char *open; (open = strchr(url, '{')) != NULL;) {
        const char *close = strchr(open, '}');
        if (close == NULL)
            return bad(err, "url: { without its }");
        char *name =
            view_dup((struct view){ open, (size_t)(close - open) + 1 });
        bool twice = strstr(close, name) != NULL;
        name[close - open] = '\0';
        if (!is_parameter(parameters, name + 1))
            err_set(err, ERR_REJECT, "bad_setting",
                    "url: there is no parameter {%.64s}", name + 1);
        else if (twice)
            err_set(err, ERR_REJECT, "bad_setting",
                    "url: {%.64s} stands there twice", name + 1);
        bool good = is_parameter(parameters, name + 1) && !twice;
        free(name);
        if (!good)
            return false;
        url = close;
    }
    return true;
}

/* ----------------------------------------------------------------- headers */

/* ${NAME} becomes what the environment says. */
static bool add_secrets(struct buf *line, const char *text, struct err *err)
{
    for (const char *open; (open = strstr(text, "${")) != NULL;) {
        const char *close = strchr(open, '}');
        if (close == NULL)
            return bad(err, "${ without its }");
        buf_append(line, text, (size_t)(open - text));
        char *name =
            view_dup((struct view){ open + 2, (size_t)(close - open) - 2 });
        const char *value = *name == '\0' ? NULL : getenv(name);
        bool there = value != NULL && *value != '\0';
        if (there)
            buf_add(line, view_of(value));
        else
            err_set(err, ERR_REJECT, "bad_setting",
                    "the environment has no %.64s", name);
        free(name);
        if (!there)
            return false;
        text = close + 1;
    }
    buf_add(line, view_of(text));
    return true;
}

static bool header_name_is_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
            return false;
    return len > 0 && len <= MOST_NAME;
}

static bool line_is_good(struct view line)
{
    for (size_t i = 0; i < line.len; i++)
        if (iscntrl((unsigned char)line.data[i]) && line.data[i] != '\t')
            return false;
    return true;
}

/* "Authorization: Bearer KEY": what a server would repeat of it. */
static void add_secret(struct http_tool *tool, struct view line)
{
    size_t start = line.len, count = 0;
    while (start > 0 && line.data[start - 1] != ' ')
        start--;
    while (tool->secrets[count] != NULL)
        count++;
    tool->secrets[count] =
        view_dup((struct view){ line.data + start, line.len - start });
}

static bool add_header(struct http_tool *tool, size_t at, const char *name,
                       const json_t *text, struct err *err)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, MOST_HEADER_BYTES);
    if (!header_name_is_good(name))
        return bad(err, "is no name of a header");
    if (!json_is_string(text))
        return bad(err, "must be a text");
    buf_printf(&line, "%s: ", name);
    if (!add_secrets(&line, json_string_value(text), err))
        return false;
    if (!buf_ok(&line))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "is longer than %d bytes", MOST_HEADER_BYTES);
    if (!line_is_good(buf_view(&line)))
        return bad(err, "has a byte in it that no header may have");
    tool->headers[at] = view_dup(buf_view(&line));
    if (strstr(json_string_value(text), "${") != NULL)
        add_secret(tool, buf_view(&line));
    return true;
}

/* Their values are not told: they may be keys. */
static bool set_headers(struct http_tool *tool, json_t *value, struct err *err)
{
    const char *name;
    json_t *text;
    size_t count = 0;
    if (!json_is_object(value) || json_object_size(value) > MAX_TOOL_HEADERS)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "headers: must be an object of at most %d",
                       MAX_TOOL_HEADERS);
    json_object_foreach(value, name, text)
        if (!add_header(tool, count++, name, text, err))
            return err_prefix(err, "headers: %.64s", name);
    return true;
}

/* Unless the operator says what the body is. */
static void add_content_type(struct http_tool *tool)
{
    static const char type[] = "Content-Type: application/json";
    size_t len = strcspn(type, " "), count = 0;
    for (; tool->headers[count] != NULL; count++)
        if (strncasecmp(tool->headers[count], type, len) == 0)
            return;
    tool->headers[count] = view_dup(view_of(type));
}

/* -------------------------------------------------------------- parameters */

static bool check_properties(const json_t *parameters, struct err *err)
{
    json_t *properties = json_object_get(parameters, "properties");
    const char *name;
    json_t *schema;
    if (properties != NULL && !json_is_object(properties))
        return bad_value(err, "properties", properties, "an object");
    json_object_foreach(properties, name, schema)
        if (!json_is_object(schema) && !json_is_boolean(schema)) {
            char member[MOST_NAME + 1];
            snprintf(member, sizeof(member), "%s", name);
            return bad_value(err, member, schema, "a JSON Schema");
        }
    return true;
}

static bool check_required(const json_t *parameters, struct err *err)
{
    static const char must[] = "a list of parameters";
    const json_t *required = json_object_get(parameters, "required");
    size_t i;
    json_t *name;
    if (required != NULL && !json_is_array(required))
        return bad_value(err, "required", required, must);
    json_array_foreach(required, i, name) {
        if (!json_is_string(name))
            return bad_value(err, "required", name, must);
        if (!is_parameter(parameters, json_string_value(name)))
            return err_set(err, ERR_REJECT, "bad_setting",
                           "required: there is no parameter %.64s",
                           json_string_value(name));
    }
    return true;
}

static bool check_parameters(const json_t *parameters, struct err *err)
{
    const json_t *type = json_object_get(parameters, "type");
    const char *word = json_string_value(type);
    if (!json_is_object(parameters))
        return bad_value(err, "parameters", parameters, "a JSON Schema");
    bool good = type == NULL || (word != NULL && strcmp(word, "object") == 0) ||
                bad_value(err, "type", type, "object");
    return (good && check_properties(parameters, err) &&
            check_required(parameters, err)) ||
           err_prefix(err, "parameters");
}

/* --------------------------------------------------------------- a member */

static bool set_url(struct http_tool *tool, const json_t *value,
                    struct err *err)
{
    const char *url = json_string_value(value);
    if (url == NULL)
        return bad_value(err, "url", value, "a text");
    if (!check_url(url, err))
        return false;
    tool->url = view_dup(view_of(url));
    return true;
}

static bool set_method(struct http_tool *tool, const json_t *value,
                       struct err *err)
{
    const char *method = json_string_value(value);
    tool->post = method != NULL && strcmp(method, "POST") == 0;
    return tool->post || (method != NULL && strcmp(method, "GET") == 0) ||
           bad_value(err, "method", value, "GET or POST");
}

static bool get_number(uint64_t *number, const json_t *value, json_int_t most,
                       const char *name, struct err *err)
{
    char must[48];
    json_int_t given = json_integer_value(value);
    snprintf(must, sizeof(must), "1 to %lld", (long long)most);
    if (given < 1 || given > most)
        return bad_value(err, name, value, must);
    *number = (uint64_t)given;
    return true;
}

static bool set_member(struct http_tool *tool, const char *name, json_t *value,
                       struct err *err)
{
    if (strcmp(name, "url") == 0)
        return set_url(tool, value, err);
    if (strcmp(name, "headers") == 0)
        return set_headers(tool, value, err);
    if (strcmp(name, "method") == 0)
        return set_method(tool, value, err);
    if (strcmp(name, "total_ms") == 0)
        return get_number(&tool->total_ms, value, MOST_MS, name, err);
    if (strcmp(name, "max_bytes") == 0) {
        uint64_t bytes = 0;
        bool good = get_number(&bytes, value, MOST_BYTES, name, err);
        tool->max_bytes = bytes;
        return good;
    }
    if (strcmp(name, "repeat") == 0)
        return json_is_boolean(value) ||
               bad_value(err, name, value, "true or false");
    if (strcmp(name, "description") == 0)
        return json_is_string(value) || bad_value(err, name, value, "a text");
    if (strcmp(name, "parameters") == 0)
        return check_parameters(value, err);
    return err_set(err, ERR_REJECT, "bad_setting",
                   "%.64s: unknown; there are description, parameters, url, "
                   "method, headers, repeat, total_ms, max_bytes",
                   name);
}

static json_t *function_of(const char *name, const json_t *entry)
{
    json_t *description = json_object_get(entry, "description");
    json_t *parameters = json_object_get(entry, "parameters");
    json_t *function = json_pack("{s:s}", "name", name);
    if (description != NULL)
        json_object_set(function, "description", description);
    json_object_set_new(function, "parameters",
                        parameters != NULL ? json_incref(parameters)
                                           : json_pack("{s:s, s:{}}", "type",
                                                       "object", "properties"));
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
    if (!name_is_good(name))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "is no name of a function: 1 to %d of A-Z a-z 0-9 _ -, "
                       "not beginning with a number",
                       MOST_NAME);
    if (!json_is_object(entry))
        return bad(err, "must be an object");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)entry, member, value)
        if (!set_member(tool, member, value, err))
            return false;
    const json_t *repeat = json_object_get(entry, "repeat");
    tool->tool.repeat = repeat != NULL ? json_is_true(repeat) : !tool->post;
    tool->tool.name = view_dup(view_of(name));
    tool->tool.function = function_of(name, entry);
    if (tool->url == NULL)
        return bad(err, "url is missing");
    if (tool->post)
        add_content_type(tool);
    return check_places(
        tool->url, json_object_get(tool->tool.function, "parameters"), err);
}
