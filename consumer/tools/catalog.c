/* catalog.c - the tools that the operator has set up, by name. */
#include "consumer/tools/catalog.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/limits.h"

enum {
    TOTAL_MS = 30000,
    MOST_MS = 10 * 60 * 1000,
    ANSWER_BYTES = 256 << 10,
    MOST_BYTES = MAX_RECORD_BYTES / 2, /* it becomes a journal's record */
    MOST_NAME = 64,
};

static bool bad(struct err *err, const char *sentence)
{
    return err_set(err, ERR_REJECT, "bad_setting", "%s", sentence);
}

static void tool_finish(struct http_tool *tool)
{
    free(tool->name);
    json_decref(tool->function);
    free(tool->url);
    for (size_t i = 0; tool->headers[i] != NULL; i++)
        free(tool->headers[i]);
    *tool = (struct http_tool){ 0 };
}

void catalog_finish(struct catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        tool_finish(&catalog->items[i]);
    catalog->count = 0;
}

/* ----------------------------------------------------------------- members */

/* What models take as the name of a function. */
static bool name_is_good(const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)name[i]) && name[i] != '_' &&
            name[i] != '-')
            return false;
    return len > 0 && len <= MOST_NAME;
}

/* The server must be the operator's choice: no argument before its path. */
static bool set_url(struct http_tool *tool, const json_t *value,
                    struct err *err)
{
    const char *url = json_string_value(value);
    if (url == NULL ||
        (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0))
        return bad(err, "url: must start with http:// or https://");
    size_t host = strcspn(url, ":") + 3;
    size_t end = host + strcspn(url + host, "/?#");
    const char *brace = strchr(url, '{');
    if (end == host || (brace != NULL && (size_t)(brace - url) < end))
        return bad(err, "url: no argument may stand in the server's name");
    tool->url = view_dup(view_of(url));
    return true;
}

/* ${NAME} becomes what the environment says. */
static bool add_secrets(struct buf *line, const char *text, struct err *err)
{
    while (*text != '\0') {
        const char *open = strstr(text, "${");
        const char *close = open == NULL ? NULL : strchr(open, '}');
        if (close == NULL) {
            buf_add(line, view_of(text));
            return true;
        }
        buf_append(line, text, (size_t)(open - text));
        char name[128];
        snprintf(name, sizeof(name), "%.*s", (int)(close - open - 2), open + 2);
        const char *value = getenv(name);
        if (value == NULL || *value == '\0')
            return err_set(err, ERR_REJECT, "bad_setting",
                           "headers: the environment has no %s", name);
        buf_add(line, view_of(value));
        text = close + 1;
    }
    return true;
}

static bool set_headers(struct http_tool *tool, json_t *value, struct err *err)
{
    const char *name;
    json_t *text;
    size_t count = 0;
    if (!json_is_object(value) || json_object_size(value) > MAX_TOOL_HEADERS)
        return bad(err, "headers: must be an object of at most 16");
    json_object_foreach(value, name, text) {
        CLEANUP(buf_finish) struct buf line;
        buf_init(&line, 16 << 10);
        buf_printf(&line, "%s: ", name);
        if (!json_is_string(text))
            return bad(err, "headers: each must be a text");
        if (!add_secrets(&line, json_string_value(text), err))
            return false;
        if (!buf_ok(&line) || memchr(line.data, '\n', line.len) != NULL)
            return bad(err, "headers: one is too long, or has two lines");
        tool->headers[count++] = view_dup(buf_view(&line));
    }
    return true;
}

static bool set_number(uint64_t *number, const json_t *value, json_int_t most,
                       const char *name, struct err *err)
{
    json_int_t given = json_integer_value(value);
    if (given < 1 || given > most)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "%s: must be a number from 1 to %lld", name,
                       (long long)most);
    *number = (uint64_t)given;
    return true;
}

static bool set_member(struct http_tool *tool, const char *name, json_t *value,
                       struct err *err)
{
    uint64_t bytes = 0;
    if (strcmp(name, "url") == 0)
        return set_url(tool, value, err);
    if (strcmp(name, "headers") == 0)
        return set_headers(tool, value, err);
    if (strcmp(name, "total_ms") == 0)
        return set_number(&tool->total_ms, value, MOST_MS, name, err);
    if (strcmp(name, "max_bytes") == 0) {
        bool good = set_number(&bytes, value, MOST_BYTES, name, err);
        tool->max_bytes = bytes;
        return good;
    }
    if (strcmp(name, "method") == 0) {
        const char *method = json_string_value(value);
        tool->post = method != NULL && strcmp(method, "POST") == 0;
        return tool->post || (method != NULL && strcmp(method, "GET") == 0) ||
               bad(err, "method: must be GET or POST");
    }
    if (strcmp(name, "repeat") == 0)
        return json_is_boolean(value) || bad(err, "repeat: true or false");
    if (strcmp(name, "description") == 0)
        return json_is_string(value) || bad(err, "description: must be a text");
    if (strcmp(name, "parameters") == 0)
        return json_is_object(value) || bad(err, "parameters: a JSON Schema");
    return err_set(err, ERR_REJECT, "bad_setting",
                   "%s: unknown; there are description, parameters, url, "
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

static bool add_entry(struct catalog *catalog, const char *name, json_t *entry,
                      struct err *err)
{
    const char *member;
    json_t *value;
    if (!name_is_good(name))
        return bad(err, "a name is 1 to 64 of A-Z a-z 0-9 _ -");
    if (!json_is_object(entry))
        return bad(err, "must be an object");
    if (catalog->count == MAX_CATALOG)
        return bad(err, "more than 64 tools");
    struct http_tool *tool = &catalog->items[catalog->count++];
    *tool =
        (struct http_tool){ .total_ms = TOTAL_MS, .max_bytes = ANSWER_BYTES };
    json_object_foreach(entry, member, value)
        if (!set_member(tool, member, value, err))
            return false;
    if (tool->url == NULL)
        return bad(err, "url is missing");
    const json_t *repeat = json_object_get(entry, "repeat");
    tool->repeat = repeat != NULL ? json_is_true(repeat) : !tool->post;
    tool->name = view_dup(view_of(name));
    tool->function = function_of(name, entry);
    return true;
}

static bool add_file(struct catalog *catalog, const char *path, struct err *err)
{
    json_error_t error;
    json_t *file = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    const char *name;
    json_t *entry;
    bool good = json_is_object(file);
    if (file == NULL)
        err_set(err, ERR_REJECT, "bad_setting", "%s:%d: %s", path, error.line,
                error.text);
    else if (!good)
        err_set(err, ERR_REJECT, "bad_setting",
                "%s: must be an object {name: {url, parameters, ...}}", path);
    json_object_foreach(file, name, entry) {
        good = add_entry(catalog, name, entry, err);
        if (!good) {
            err_prefix(err, "%s: %s", path, name);
            break;
        }
    }
    json_decref(file);
    return good;
}

bool catalog_load(struct catalog *catalog, const char *path, struct err *err)
{
    *catalog = (struct catalog){ .count = 0 };
    if (*path == '\0')
        return true;
    if (!add_file(catalog, path, err))
        return false;
    CLEANUP(buf_finish) struct buf all;
    buf_init(&all, MAX_TOOLS_BYTES);
    catalog_describe(catalog, &(struct list){ 0 }, &all);
    return buf_ok(&all) || err_set(err, ERR_REJECT, "bad_setting",
                                   "%s: more than %d bytes of description",
                                   path, MAX_TOOLS_BYTES);
}

/* ----------------------------------------------------------------- reading */

const struct http_tool *catalog_find(const struct catalog *catalog,
                                     struct view name)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (view_is(name, catalog->items[i].name))
            return &catalog->items[i];
    return NULL;
}

static bool is_wanted(const struct http_tool *tool, const struct list *names)
{
    const struct view *wanted = names->items;
    for (size_t i = 0; i < names->count; i++)
        if (view_is(wanted[i], tool->name))
            return true;
    return names->count == 0;
}

void catalog_describe(const struct catalog *catalog, const struct list *names,
                      struct buf *out)
{
    json_t *functions = json_array();
    for (size_t i = 0; i < catalog->count; i++)
        if (is_wanted(&catalog->items[i], names))
            json_array_append(functions, catalog->items[i].function);
    char *text = json_dumps(functions, JSON_COMPACT);
    if (text != NULL && json_array_size(functions) > 0)
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
    for (size_t i = 0; type != NULL && i < sizeof(names) / sizeof(*names); i++)
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

/* As the guest's functions are: what is required comes first. */
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

static void add_stub(const struct http_tool *tool, struct buf *out)
{
    const json_t *parameters = json_object_get(tool->function, "parameters");
    const char *about =
        json_string_value(json_object_get(tool->function, "description"));
    buf_add(out, VIEW("\ndef "));
    for (const char *c = tool->name; *c != '\0'; c++)
        buf_append(out, *c == '-' ? "_" : c, 1);
    buf_add(out, VIEW("("));
    add_arguments(parameters, out);
    buf_add(out, VIEW(")"));
    if (about != NULL)
        buf_printf(out, ": \"\"\"%s\"\"\"", about);
}

void catalog_stubs(const struct catalog *catalog, const struct list *names,
                   struct buf *out)
{
    for (size_t i = 0; i < catalog->count; i++)
        if (is_wanted(&catalog->items[i], names))
            add_stub(&catalog->items[i], out);
}
