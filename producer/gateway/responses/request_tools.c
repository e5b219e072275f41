/* request_tools.c - the tools of a request, and which of them it chooses.
 *
 * function            --> functions of the job
 * code_interpreter    --> execute_python_code, in a container
 * web_search, ...     --> search_web
 * others              --> left out, or refused */
#include <string.h>

#include "producer/gateway/responses/request_reader.h"
#include "schemas/message/job.h"
#include "schemas/message/limits.h"

enum { MOST_ID = 128 };

static const char *const search_types[] = {
    "web_search", "web_search_2025_08_26", "web_search_preview",
    "web_search_preview_2025_03_11", NULL
};

static bool is_search_type(struct view type)
{
    for (const char *const *name = search_types; *name; name++)
        if (view_is(type, *name))
            return true;
    return false;
}

/* --------------------------------------------------------------- functions */

bool request_tools_check_name(const struct body_value *object, const char *name,
                              struct view *text)
{
    struct body_value member = body_member(object, name);
    bool good;

    if (!body_require(object, name) || !body_text(object, name, 1024, text))
        return false;
    good = text->len > 0 && text->len <= MAX_FUNCTION_NAME_BYTES;
    for (size_t i = 0; i < text->len && good; i++)
        good = name_has_byte(text->data[i]) && text->data[i] != '.';
    return good ||
           body_refuse(&member, "invalid_value",
                       "is \"%.*s\", must be 1 to %d of A-Z a-z 0-9 _ "
                       "-",
                       VIEW_ARG(view_head(*text, 64)), MAX_FUNCTION_NAME_BYTES);
}

static json_t *find_function(const struct request_reader *reader,
                             struct view name)
{
    json_t *function;
    size_t i;

    json_array_foreach(reader->functions, i, function)
        if (view_equal(body_string(json_object_get(function, "name")), name))
            return function;
    return NULL;
}

/* The schema of an object; {} and nothing: it takes no arguments. */
static bool tool_check_schema(const struct body_value *tool,
                              struct body_value *schema)
{
    struct body_value type;
    struct view word;

    if (!body_object(tool, "parameters", schema))
        return false;
    if (json_object_size(schema->json) == 0)
        schema->json = NULL;
    type = body_member(schema, "type");
    word = body_string(type.json);
    if (!schema->json || !type.json || view_is(word, "object"))
        return true;
    if (!json_is_string(type.json))
        return body_refuse_type(&type, "\"object\"");
    return body_refuse(&type, "invalid_value",
                       "is \"%.*s\", must be \"object\"",
                       VIEW_ARG(view_head(word, 64)));
}

static bool tool_read_function(struct request_reader *reader,
                               const struct body_value *tool, json_t *tools)
{
    static const char *const names[] = {
        "type",          "name",
        "description",   "parameters",
        "strict",        "allowed_callers",
        "defer_loading", "output_schema",
        "cache_control", NULL,
    };
    struct body_value schema, name_at = body_member(tool, "name");
    struct view name = { 0 }, about = { 0 };
    bool strict = false;
    json_t *function;

    if (!request_tools_check_name(tool, "name", &name) ||
        !body_check_names(tool, names) ||
        !body_text(tool, "description", MAX_ABOUT_BYTES, &about) ||
        !tool_check_schema(tool, &schema) ||
        !body_flag(tool, "strict", &strict))
        return false;
    if (about.len > MAX_ABOUT_BYTES)
        return body_refuse(tool, "string_above_max_length",
                           "has a description of %zu bytes, at most %d",
                           about.len, MAX_ABOUT_BYTES);
    if (find_function(reader, name))
        return body_refuse(&name_at, "invalid_value",
                           "is \"%.*s\", as another function is called",
                           VIEW_ARG(name));
    if (json_array_size(reader->functions) == MAX_FUNCTIONS)
        return body_refuse(tool, "invalid_value",
                           "is one function too many: there may be %d",
                           MAX_FUNCTIONS);
    function = json_pack("{s:s%}", "name", name.data, name.len);
    if (about.len > 0)
        json_object_set_new(function, "description",
                            json_stringn(about.data, about.len));
    if (schema.json)
        json_object_set(function, "parameters", schema.json);
    if (strict)
        json_object_set_new(function, "strict", json_true());
    json_array_append_new(reader->functions, function);
    json_array_append_new(
        tools, json_pack("{s:s, s:s%, s:o, s:O?, s:b}", "type", "function",
                         "name", name.data, name.len, "description",
                         about.len > 0 ? json_stringn(about.data, about.len)
                                       : json_null(),
                         "parameters", schema.json, "strict", (int)strict));
    return true;
}

/* --------------------------------------------------------------- container */

static bool container_read_files(struct request_reader *reader,
                                 const struct body_value *container)
{
    struct body_value list;

    if (!body_list(container, "file_ids", RESPONSE_MAX_CONTAINER_FILES, &list))
        return false;
    for (size_t i = 0; i < json_array_size(list.json); i++) {
        struct body_value item = body_item(&list, i);
        struct view id = body_string(item.json);

        if (!json_is_string(item.json))
            return body_refuse_type(&item, "a string");
        if (id.len == 0 || id.len > MOST_ID)
            return body_refuse(&item, "invalid_value",
                               "has %zu bytes, must be a file's id of 1 to %d",
                               id.len, MOST_ID);
        request_part_add_file(reader, &item);
    }
    return true;
}

/* Python of quern has no network of its own. */
static bool container_check_network(const struct body_value *container)
{
    struct body_value policy, type;

    if (!body_object(container, "network_policy", &policy) || !policy.json)
        return policy.json == NULL;
    type = body_member(&policy, "type");
    return view_is(body_string(type.json), "disabled") ||
           body_refuse(&type, "unsupported_parameter",
                       "must be \"disabled\": code here has no network");
}

static bool container_read_auto(struct request_reader *reader,
                                const struct body_value *container)
{
    static const char *const names[] = { "type", "file_ids", "memory_limit",
                                         "network_policy", NULL };
    static const char *const types[] = { "auto", NULL };
    static const char *const sizes[] = { "1g", "4g", "16g", "64g", NULL };
    static const json_int_t gibibytes[] = { 1, 4, 16, 64 };
    const char *type = NULL, *size = NULL;
    json_t *limits = json_object_get(reader->request->job, "limits");

    if (!body_check_names(container, names) ||
        !body_require(container, "type") ||
        !body_word(container, "type", types, &type) ||
        !body_word(container, "memory_limit", sizes, &size) ||
        !container_check_network(container) ||
        !container_read_files(reader, container))
        return false;
    for (size_t i = 0; size && sizes[i]; i++)
        if (strcmp(size, sizes[i]) == 0)
            json_object_set_new(limits, "memory_bytes",
                                json_integer(gibibytes[i] << 30));
    return true;
}

static bool tool_read_python(struct request_reader *reader,
                             const struct body_value *tool)
{
    static const char *const names[] = { "type", "container", "allowed_callers",
                                         NULL };
    struct body_value container = body_member(tool, "container");
    struct response_request *request = reader->request;

    if (request->wants_code)
        return body_refuse(tool, "invalid_value",
                           "is a second code_interpreter: there may be one");
    if (!body_check_names(tool, names) || !body_require(tool, "container"))
        return false;
    request->wants_code = true;
    reader->python = true;
    if (json_is_object(container.json))
        return container_read_auto(reader, &container);
    if (!json_is_string(container.json))
        return body_refuse_type(&container, "a container's id, or an object");
    request->container = body_string(container.json);
    return (request->container.len > 0 && request->container.len <= MOST_ID) ||
           body_refuse(&container, "invalid_value",
                       "has %zu bytes, must be a container's id of 1 to %d",
                       request->container.len, MOST_ID);
}

/* ------------------------------------------------------------------- search */

/* How much and for whom is searched are hints. */
static bool tool_read_search(struct request_reader *reader,
                             const struct body_value *tool)
{
    bool external = true;
    struct body_value filters, domains, access;

    if (!body_object(tool, "filters", &filters) ||
        !body_flag(tool, "external_web_access", &external))
        return false;
    domains = body_member(&filters, "allowed_domains");
    access = body_member(tool, "external_web_access");
    if (json_array_size(domains.json) > 0)
        return body_refuse(&domains, "unsupported_parameter",
                           "is not supported: the search takes no domains");
    if (!external)
        return body_refuse(&access, "unsupported_parameter",
                           "must be true: there is no offline search");
    reader->search = true;
    return true;
}

/* -------------------------------------------------------------------- tools */

void request_tools_leave_out(struct request_reader *reader, const char *type)
{
    json_t *all = reader->request->left_out, *one;
    size_t i;

    json_array_foreach(all, i, one)
        if (strcmp(json_string_value(one), type) == 0)
            return;
    json_array_append_new(all, json_string(type));
}

/* OpenAI's own, which quern does not have. */
static bool is_other_type(struct view type)
{
    static const char *const others[] = {
        "file_search",
        "computer",
        "computer_use",
        "computer_use_preview",
        "mcp",
        "image_generation",
        "local_shell",
        "shell",
        "apply_patch",
        "custom",
        "namespace",
        "tool_search",
        "code_execution",
        "web_fetch",
    };

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (view_is(type, others[i]))
            return true;
    return false;
}

/* A type that nobody has is a misspelt one. */
static bool tool_read_other(struct request_reader *reader,
                            const struct body_value *type)
{
    if (reader->options->refuse_other_tools ||
        !is_other_type(body_string(type->json)))
        return body_refuse(type, "invalid_value",
                           "is \"%.*s\", must be one of function, "
                           "code_interpreter, web_search, web_search_preview",
                           VIEW_ARG(view_head(body_string(type->json), 64)));
    request_tools_leave_out(reader, json_string_value(type->json));
    return true;
}

static bool tool_read(struct request_reader *reader,
                      const struct body_value *tool, json_t *tools)
{
    struct body_value type = body_member(tool, "type");
    struct view word = { 0 };
    bool good;

    if (!json_is_object(tool->json))
        return body_refuse_type(tool, "an object");
    if (!body_require(tool, "type") || !body_text(tool, "type", 64, &word))
        return false;
    if (view_is(word, "function"))
        return tool_read_function(reader, tool, tools);
    if (view_is(word, "code_interpreter"))
        good = tool_read_python(reader, tool);
    else if (is_search_type(word))
        good = tool_read_search(reader, tool);
    else
        return tool_read_other(reader, &type);
    json_array_append(tools, tool->json);
    return good;
}

/* ------------------------------------------------------------------- choice */

/* The name that a job has for what {"type", "name"} chooses; empty: refused. */
static struct view choice_name(const struct request_reader *reader,
                               const struct body_value *choice)
{
    struct body_value type = body_member(choice, "type");
    struct body_value name_at = body_member(choice, "name");
    struct view word = body_string(type.json), name = { 0 };

    if (!body_require(choice, "type"))
        return name;
    if (view_is(word, "code_interpreter") && reader->python)
        return VIEW(REQUEST_PYTHON);
    if (is_search_type(word) && reader->search)
        return VIEW(REQUEST_SEARCH);
    if (!view_is(word, "function")) {
        body_refuse(&type, "invalid_value",
                    "is \"%.*s\", which is none of the tools that this request "
                    "can have",
                    VIEW_ARG(view_head(word, 64)));
        return name;
    }
    if (!body_require(choice, "name") ||
        !body_text(choice, "name", 1024, &name))
        return (struct view){ 0 };
    if (find_function(reader, name))
        return name;
    body_refuse(&name_at, "invalid_value",
                "is \"%.*s\", which is none of the functions among tools",
                VIEW_ARG(view_head(name, 64)));
    return (struct view){ 0 };
}

static bool choice_has(const json_t *names, struct view name)
{
    json_t *one;
    size_t i;

    json_array_foreach(names, i, one)
        if (view_equal(body_string(one), name))
            return true;
    return false;
}

/* The model is offered no others. */
static void choice_keep(struct request_reader *reader, const json_t *names)
{
    for (size_t i = json_array_size(reader->functions); i-- > 0;) {
        const json_t *function = json_array_get(reader->functions, i);

        if (!choice_has(names, body_string(json_object_get(function, "name"))))
            json_array_remove(reader->functions, i);
    }
    reader->python = reader->python && choice_has(names, VIEW(REQUEST_PYTHON));
    reader->search = reader->search && choice_has(names, VIEW(REQUEST_SEARCH));
}

static bool choice_read_allowed(struct request_reader *reader,
                                const struct body_value *choice,
                                const char **mode)
{
    static const char *const modes[] = { "auto", "required", NULL };
    struct body_value list;
    json_t *names = json_array();
    bool good = body_require(choice, "mode") &&
                body_word(choice, "mode", modes, mode) &&
                body_require(choice, "tools") &&
                body_list(choice, "tools", RESPONSE_MAX_TOOLS, &list);

    for (size_t i = 0; good && i < json_array_size(list.json); i++) {
        struct body_value item = body_item(&list, i);
        struct view name = { 0 };

        if (json_is_object(item.json))
            name = choice_name(reader, &item);
        else
            body_refuse_type(&item, "an object");
        good = name.len > 0;
        if (good)
            json_array_append_new(names, json_stringn(name.data, name.len));
    }
    if (good)
        choice_keep(reader, names);
    json_decref(names);
    return good;
}

static bool choice_set(struct request_reader *reader,
                       const struct body_value *choice, struct view name)
{
    bool some = reader->python || reader->search ||
                json_array_size(reader->functions) > 0;

    if (view_is(name, "required") && !some)
        return body_refuse(choice, "invalid_value",
                           "requires a call, but the request has no tools");
    /* A job without tools has nothing to choose from. */
    if (some && !view_is(name, "auto"))
        json_object_set_new(reader->request->job, "tool_choice",
                            json_stringn(name.data, name.len));
    return true;
}

static bool choice_read(struct request_reader *reader,
                        const struct body_value *body)
{
    static const char *const words[] = { "auto", "none", "required", NULL };
    struct body_value choice = body_member(body, "tool_choice");
    const char *word = "auto";
    struct view name;

    if (!choice.json)
        return true;
    json_object_set(reader->request->asked, "tool_choice", choice.json);
    if (json_is_string(choice.json))
        return body_word(body, "tool_choice", words, &word) &&
               choice_set(reader, &choice, view_of(word));
    if (!json_is_object(choice.json))
        return body_refuse_type(&choice, "a string or an object");
    if (view_is(body_string(json_object_get(choice.json, "type")),
                "allowed_tools"))
        return choice_read_allowed(reader, &choice, &word) &&
               choice_set(reader, &choice, view_of(word));
    name = choice_name(reader, &choice);
    return name.len > 0 && choice_set(reader, &choice, name);
}

bool request_tools_read(struct request_reader *reader,
                        const struct body_value *body)
{
    json_t *tools = json_array(), *own = json_array();
    struct body_value list;

    json_object_set_new(reader->request->asked, "tools", tools);
    json_object_set_new(reader->request->job, "tools", own);
    if (!body_list(body, "tools", RESPONSE_MAX_TOOLS, &list))
        return false;
    for (size_t i = 0; i < json_array_size(list.json); i++) {
        struct body_value item = body_item(&list, i);

        if (!tool_read(reader, &item, tools))
            return false;
    }
    if (!choice_read(reader, body))
        return false;
    if (reader->python)
        json_array_append_new(own, json_string(REQUEST_PYTHON));
    if (reader->search)
        json_array_append_new(own, json_string(REQUEST_SEARCH));
    if (json_array_size(own) == 0)
        json_array_append_new(own, json_string(JOB_NO_TOOLS));
    return true;
}
