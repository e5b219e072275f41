/* response_request.c - a request of the Responses API, as a job. */
#include "producer/gateway/responses/response_request.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_KEY = 64, MAX_VALUE = 512, MIN_TOKENS = 16, MAX_TEXT_NAME = 64 };

/* ------------------------------------------------------------------- faults */

__attribute__((format(printf, 4, 5))) static bool
refuse(struct response_fault *fault, const char *code, const char *param,
       const char *format, ...)
{
    va_list args;

    fault->status = 400;
    fault->code = code;
    snprintf(fault->param, sizeof(fault->param), "%s", param);
    va_start(args, format);
    vsnprintf(fault->message, sizeof(fault->message), format, args);
    va_end(args);
    return false;
}

static bool wrong_type(struct response_fault *fault, const char *param,
                       const char *wanted)
{
    return refuse(fault, "invalid_type", param, "%s must be %s", param, wanted);
}

struct place {
    char text[RESPONSE_MAX_PARAM];
};

__attribute__((format(printf, 1, 2))) static struct place
place_at(const char *format, ...)
{
    struct place place;
    va_list args;

    va_start(args, format);
    vsnprintf(place.text, sizeof(place.text), format, args);
    va_end(args);
    return place;
}

/* A member; NULL when it is absent or null. */
static json_t *member_of(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    return json_is_null(value) ? NULL : value;
}

static struct view view_of_text(const json_t *json)
{
    const char *text = json_string_value(json);

    return (struct view){ text ? text : "",
                          text ? json_string_length(json) : 0 };
}

static bool text_is_of(const json_t *json, const char *const *words)
{
    for (; *words; words++)
        if (view_is(view_of_text(json), *words))
            return true;
    return false;
}

/* ------------------------------------------------------------------- input */

/* Reads one list of input items into messages of a job. */
struct input_reader {
    json_t *messages;
    json_t *calls; /* tool_calls of the last message, while calls follow each
                      other; borrowed */
    struct response_fault *fault;
};

static json_t *input_add_message(struct input_reader *reader, const char *role,
                                 json_t *content)
{
    json_t *message = json_pack("{s:s}", "role", role);

    if (content)
        json_object_set_new(message, "content", content);
    json_array_append_new(reader->messages, message);
    reader->calls = NULL;
    return message;
}

static bool read_image(struct input_reader *reader, json_t *part,
                       const struct place *place, json_t *parts)
{
    json_t *url = member_of(part, "image_url");
    json_t *detail = member_of(part, "detail");
    json_t *image;

    if (!json_is_string(url))
        return refuse(reader->fault, "unsupported_parameter",
                      place_at("%.100s.image_url", place->text).text,
                      "an image must be given by image_url, a URL or data:");
    image = json_pack("{s:O}", "url", url);
    if (json_is_string(detail) && !view_is(view_of_text(detail), "original"))
        json_object_set(image, "detail", detail);
    json_array_append_new(parts, json_pack("{s:s, s:o}", "type", "image_url",
                                           "image_url", image));
    return true;
}

static bool input_read_part(struct input_reader *reader, json_t *part,
                            const struct place *place, json_t *parts)
{
    static const char *const texts[] = { "input_text", "output_text", "text",
                                         "summary_text", NULL };
    json_t *type = member_of(part, "type");
    json_t *text = member_of(part, "text");

    if (!json_is_object(part))
        return wrong_type(reader->fault, place->text, "an object");
    if (view_is(view_of_text(type), "refusal"))
        text = member_of(part, "refusal");
    else if (view_is(view_of_text(type), "input_image"))
        return read_image(reader, part, place, parts);
    else if (!text_is_of(type, texts))
        return refuse(reader->fault, "invalid_value",
                      place_at("%.110s.type", place->text).text,
                      "parts of the type \"%.40s\" are not possible here",
                      json_string_value(type) ? json_string_value(type) : "");
    if (!json_is_string(text))
        return wrong_type(reader->fault,
                          place_at("%.110s.text", place->text).text, "a text");
    json_array_append_new(
        parts, json_pack("{s:s, s:O}", "type", "text", "text", text));
    return true;
}

/* A text, or a list of parts: a new reference; NULL: refused. A single part of
 * text becomes a text. */
static json_t *read_content(struct input_reader *reader, json_t *content,
                            const struct place *place)
{
    json_t *parts, *part, *only;
    size_t i;

    if (json_is_string(content))
        return json_incref(content);
    if (!json_is_array(content)) {
        wrong_type(reader->fault, place->text, "a text or a list of parts");
        return NULL;
    }
    parts = json_array();
    json_array_foreach(content, i, part) {
        struct place at = place_at("%.100s[%zu]", place->text, i);

        if (!input_read_part(reader, part, &at, parts)) {
            json_decref(parts);
            return NULL;
        }
    }
    only = json_object_get(json_array_get(parts, 0), "text");
    if (json_array_size(parts) == 1 && only) {
        json_incref(only);
        json_decref(parts);
        return only;
    }
    return parts;
}

static bool read_message(struct input_reader *reader, json_t *item,
                         const struct place *place)
{
    static const char *const roles[] = { "user", "assistant", "system",
                                         "developer", NULL };
    json_t *role = member_of(item, "role");
    struct place at = place_at("%.110s.content", place->text);
    json_t *content;

    if (!text_is_of(role, roles))
        return refuse(reader->fault, "invalid_value",
                      place_at("%.110s.role", place->text).text,
                      "the role must be user, assistant, system or developer");
    content = read_content(reader, member_of(item, "content"), &at);
    if (!content)
        return false;
    input_add_message(reader,
                      view_is(view_of_text(role), "developer")
                          ? "system"
                          : json_string_value(role),
                      content);
    return true;
}

/* Calls that follow each other are one message of the assistant. */
static bool read_call(struct input_reader *reader, json_t *item,
                      const struct place *place)
{
    json_t *id = member_of(item, "call_id"), *name = member_of(item, "name");
    json_t *arguments = member_of(item, "arguments");

    if (!json_is_string(id) || !json_is_string(name) ||
        !json_is_string(arguments))
        return wrong_type(reader->fault, place->text,
                          "a call with the texts call_id, name and arguments");
    if (!reader->calls) {
        json_t *message = input_add_message(reader, "assistant", json_null());

        reader->calls = json_array();
        json_object_set_new(message, "tool_calls", reader->calls);
    }
    json_array_append_new(reader->calls,
                          json_pack("{s:O, s:s, s:{s:O, s:O}}", "id", id,
                                    "type", "function", "function", "name",
                                    name, "arguments", arguments));
    return true;
}

static bool read_call_output(struct input_reader *reader, json_t *item,
                             const struct place *place)
{
    json_t *id = member_of(item, "call_id"), *content, *message;
    struct place at = place_at("%.110s.output", place->text);

    if (!json_is_string(id))
        return wrong_type(reader->fault,
                          place_at("%.110s.call_id", place->text).text,
                          "a text");
    content = read_content(reader, member_of(item, "output"), &at);
    if (!content)
        return false;
    message = input_add_message(reader, "tool", content);
    json_object_set(message, "tool_call_id", id);
    return true;
}

/* Items that a client sends back, and that say nothing to the model: what was
 * run is in the container, which may be gone by now. */
static bool is_passed_over(json_t *type)
{
    static const char *const types[] = { "reasoning", "code_interpreter_call",
                                         "web_search_call", NULL };

    return text_is_of(type, types);
}

static bool read_item(struct input_reader *reader, json_t *item,
                      const struct place *place)
{
    json_t *type = member_of(item, "type");

    if (!json_is_object(item))
        return wrong_type(reader->fault, place->text, "an object");
    if (!type || view_is(view_of_text(type), "message"))
        return read_message(reader, item, place);
    if (view_is(view_of_text(type), "function_call"))
        return read_call(reader, item, place);
    if (view_is(view_of_text(type), "function_call_output"))
        return read_call_output(reader, item, place);
    if (is_passed_over(type))
        return true;
    return refuse(reader->fault, "unsupported_parameter",
                  place_at("%.110s.type", place->text).text,
                  "items of the type \"%.40s\" are not possible here",
                  json_string_value(type) ? json_string_value(type) : "");
}

/* New reference; NULL: refused. */
static json_t *read_input(json_t *body, struct response_fault *fault)
{
    json_t *input = member_of(body, "input"), *item;
    struct input_reader reader = { .messages = json_array(), .fault = fault };
    bool good = true;
    size_t i;

    if (json_is_string(input)) {
        input_add_message(&reader, "user", json_incref(input));
        return reader.messages;
    }
    if (!input)
        good = refuse(fault, "missing_required_parameter", "input",
                      "input is missing");
    else if (!json_is_array(input))
        good = wrong_type(fault, "input", "a text or a list of items");
    json_array_foreach(input, i, item) {
        struct place place = place_at("input[%zu]", i);

        if (!good)
            break;
        good = read_item(&reader, item, &place);
    }
    if (good)
        return reader.messages;
    json_decref(reader.messages);
    return NULL;
}

/* ------------------------------------------------------------------- tools */

static bool read_function(struct response_request *request, json_t *tool,
                          const char *param, struct response_fault *fault)
{
    static const char *const members[] = { "description", "parameters",
                                           "strict", NULL };
    json_t *functions = json_object_get(request->job, "functions");
    json_t *name = member_of(tool, "name"), *function;

    if (!json_is_string(name))
        return wrong_type(fault, place_at("%.110s.name", param).text, "a text");
    function = json_pack("{s:O}", "name", name);
    for (const char *const *at = members; *at; at++)
        if (member_of(tool, *at))
            json_object_set(function, *at, member_of(tool, *at));
    if (!functions) {
        functions = json_array();
        json_object_set_new(request->job, "functions", functions);
    }
    json_array_append_new(functions, function);
    return true;
}

static bool read_interpreter(struct response_request *request, json_t *tool,
                             const char *param, struct response_fault *fault)
{
    json_t *container = member_of(tool, "container");
    json_t *files = member_of(container, "file_ids");
    struct place place = place_at("%.100s.container", param);

    request->wants_code = true;
    if (json_is_string(container)) {
        request->container = view_of_text(container);
        return true;
    }
    if (!json_is_object(container) ||
        !view_is(view_of_text(member_of(container, "type")), "auto"))
        return wrong_type(fault, place.text,
                          "the id of a container, or {\"type\": \"auto\"}");
    if (json_array_size(files) > 0)
        return refuse(fault, "unsupported_parameter",
                      place_at("%.110s.file_ids", place.text).text,
                      "file_ids is not possible here");
    return true;
}

/* A tool that quern does not have is left out: clients that write code send
 * several of them in every request. It is an error to choose one. */
static bool read_tool(struct response_request *request, json_t *tool,
                      size_t index, json_t *own, struct response_fault *fault)
{
    static const char *const searches[] = { "web_search",
                                            "web_search_2025_08_26",
                                            "web_search_preview", NULL };
    struct place place = place_at("tools[%zu]", index);
    json_t *type = member_of(tool, "type");

    if (!json_is_string(type))
        return wrong_type(fault, place.text, "an object with a type");
    if (view_is(view_of_text(type), "function"))
        return read_function(request, tool, place.text, fault);
    if (view_is(view_of_text(type), "code_interpreter")) {
        json_array_append_new(own, json_string("execute_python_code"));
        return read_interpreter(request, tool, place.text, fault);
    }
    if (text_is_of(type, searches))
        json_array_append_new(own, json_string("search_web"));
    return true;
}

static bool read_tools(struct response_request *request, json_t *body,
                       struct response_fault *fault)
{
    json_t *tools = member_of(body, "tools"), *own = json_array(), *tool;
    bool good = !tools || json_is_array(tools) ||
                wrong_type(fault, "tools", "a list of tools");
    size_t i;

    json_array_foreach(tools, i, tool) {
        if (!good)
            break;
        good = read_tool(request, tool, i, own, fault);
    }
    if (json_array_size(own) == 0)
        json_array_append_new(own, json_string("none"));
    json_object_set_new(request->job, "tools", own);
    return good;
}

static bool choose_tool(struct response_request *request, const char *name)
{
    json_object_set_new(request->job, "tool_choice", json_string(name));
    return true;
}

static bool read_choice(struct response_request *request, json_t *body,
                        struct response_fault *fault)
{
    static const char *const words[] = { "none", "auto", "required", NULL };
    json_t *choice = member_of(body, "tool_choice");
    struct view type = view_of_text(member_of(choice, "type"));

    if (!choice)
        return true;
    if (json_is_string(choice))
        return text_is_of(choice, words)
                   ? choose_tool(request, json_string_value(choice))
                   : refuse(fault, "invalid_value", "tool_choice",
                            "tool_choice must be none, auto, required or an "
                            "object");
    if (view_is(type, "function") && json_is_string(member_of(choice, "name")))
        return choose_tool(request,
                           json_string_value(member_of(choice, "name")));
    if (view_is(type, "code_interpreter"))
        return choose_tool(request, "execute_python_code");
    if (view_starts(type, "web_search"))
        return choose_tool(request, "search_web");
    return refuse(fault, "unsupported_parameter", "tool_choice",
                  "tool_choice of the type \"%.*s\" is not possible here",
                  VIEW_ARG(view_head(type, 40)));
}

/* ------------------------------------------------------------ other members */

enum member_kind { IS_TEXT, IS_BOOL, IS_COUNT, IS_NUMBER, IS_OBJECT };

/* Members that are taken over, with the name that the job has for them. NULL:
 * they are only repeated. */
static const struct {
    const char *name;
    enum member_kind kind;
    const char *group, *as; /* in the job: parameters or limits */
    double min, max;
} members[] = {
    { "model", IS_TEXT, NULL, "model", 0, 0 },
    { "instructions", IS_TEXT, NULL, NULL, 0, 0 },
    { "temperature", IS_NUMBER, "parameters", "temperature", 0, 2 },
    { "top_p", IS_NUMBER, "parameters", "top_p", 0, 1 },
    { "parallel_tool_calls", IS_BOOL, "parameters", "parallel_tool_calls", 0,
      0 },
    { "max_output_tokens", IS_COUNT, "limits", "max_output_tokens", MIN_TOKENS,
      1e12 },
    { "max_tool_calls", IS_COUNT, "limits", "max_tool_calls", 1, 1e6 },
    { "background", IS_BOOL, NULL, NULL, 0, 0 },
    { "store", IS_BOOL, NULL, NULL, 0, 0 },
    { "stream", IS_BOOL, NULL, NULL, 0, 0 },
    { "previous_response_id", IS_TEXT, NULL, NULL, 0, 0 },
    { "user", IS_TEXT, NULL, NULL, 0, 0 },
    { "safety_identifier", IS_TEXT, NULL, NULL, 0, 0 },
    { "prompt_cache_key", IS_TEXT, NULL, NULL, 0, 0 },
    { "service_tier", IS_TEXT, NULL, NULL, 0, 0 },
    { "top_logprobs", IS_COUNT, NULL, NULL, 0, 0 },
    { "truncation", IS_TEXT, NULL, NULL, 0, 0 },
    { "stream_options", IS_OBJECT, NULL, NULL, 0, 0 },
};
/* Members that are read apart, or that only hint. */
static const char *const apart[] = {
    "input",
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "metadata",
    "include",
    "conversation",
    "prompt_cache_retention",
    "prompt_cache_options",
    NULL,
};

static bool check_kind(enum member_kind kind, json_t *value, const char *name,
                       struct response_fault *fault)
{
    static const char *const wanted[] = {
        [IS_TEXT] = "a text",          [IS_BOOL] = "true or false",
        [IS_COUNT] = "a whole number", [IS_NUMBER] = "a number",
        [IS_OBJECT] = "an object",
    };
    bool fits = (kind == IS_TEXT && json_is_string(value)) ||
                (kind == IS_BOOL && json_is_boolean(value)) ||
                (kind == IS_COUNT && json_is_integer(value)) ||
                (kind == IS_NUMBER && json_is_number(value)) ||
                (kind == IS_OBJECT && json_is_object(value));

    return fits || wrong_type(fault, name, wanted[kind]);
}

static void put_member(json_t *job, const char *group, const char *name,
                       json_t *value)
{
    json_t *map = group ? json_object_get(job, group) : job;

    if (!map) {
        map = json_object();
        json_object_set_new(job, group, map);
    }
    json_object_set(map, name, value);
}

static bool read_member(struct response_request *request, size_t row,
                        json_t *value, struct response_fault *fault)
{
    const char *name = members[row].name;
    double number = json_number_value(value);

    if (!check_kind(members[row].kind, value, name, fault))
        return false;
    if (members[row].max > 0 &&
        (number < members[row].min || number > members[row].max))
        return refuse(fault, "invalid_value", name,
                      "%s is %g, must be %g to %g", name, number,
                      members[row].min, members[row].max);
    if (members[row].as)
        put_member(request->job, members[row].group, members[row].as, value);
    if (strcmp(name, "stream") != 0 && strcmp(name, "stream_options") != 0)
        json_object_set(request->asked, name, value);
    return true;
}

static bool is_apart(const char *name)
{
    for (const char *const *at = apart; *at; at++)
        if (strcmp(*at, name) == 0)
            return true;
    return false;
}

static bool read_members(struct response_request *request, json_t *body,
                         struct response_fault *fault)
{
    const char *name;
    json_t *value;

    json_object_foreach(body, name, value) {
        size_t row = 0, rows = sizeof(members) / sizeof(members[0]);

        while (row < rows && strcmp(members[row].name, name) != 0)
            row++;
        if (json_is_null(value) || (row == rows && is_apart(name)))
            continue;
        if (row == rows)
            return refuse(fault, "unknown_parameter",
                          place_at("%.60s", name).text,
                          "the parameter %.60s is not known, or not possible "
                          "here",
                          name);
        if (!read_member(request, row, value, fault))
            return false;
    }
    return true;
}

/* text.format and text.verbosity. */
static bool request_read_text(struct response_request *request, json_t *body,
                              struct response_fault *fault)
{
    json_t *text = member_of(body, "text");
    json_t *format = member_of(text, "format"), *schema;
    struct view type = view_of_text(member_of(format, "type"));

    if (text && !json_is_object(text))
        return wrong_type(fault, "text", "an object");
    if (member_of(text, "verbosity"))
        put_member(request->job, "parameters", "verbosity",
                   member_of(text, "verbosity"));
    if (text)
        json_object_set(request->asked, "text", text);
    if (!format || view_is(type, "text"))
        return true;
    schema = member_of(format, "schema");
    if (view_is(type, "json_object"))
        schema = json_pack("{s:s}", "type", "object");
    else if (view_is(type, "json_schema") && json_is_object(schema))
        json_incref(schema);
    else
        return refuse(fault, "invalid_value", "text.format",
                      "text.format must be text, json_object, or json_schema "
                      "with a schema");
    json_object_set_new(request->job, "output_schema", schema);
    return true;
}

static bool read_reasoning(struct response_request *request, json_t *body,
                           struct response_fault *fault)
{
    json_t *reasoning = member_of(body, "reasoning");

    if (reasoning && !json_is_object(reasoning))
        return wrong_type(fault, "reasoning", "an object");
    if (member_of(reasoning, "effort"))
        put_member(request->job, "parameters", "reasoning_effort",
                   member_of(reasoning, "effort"));
    if (member_of(reasoning, "summary"))
        put_member(request->job, "parameters", "reasoning_summary",
                   member_of(reasoning, "summary"));
    if (reasoning)
        json_object_set(request->asked, "reasoning", reasoning);
    return true;
}

static bool read_metadata(struct response_request *request, json_t *body,
                          struct response_fault *fault)
{
    json_t *metadata = member_of(body, "metadata"), *value;
    const char *key;

    if (metadata && !json_is_object(metadata))
        return wrong_type(fault, "metadata", "an object of texts");
    if (json_object_size(metadata) > RESPONSE_MAX_METADATA)
        return refuse(fault, "invalid_value", "metadata",
                      "metadata has %zu pairs, at most %d are possible",
                      json_object_size(metadata), RESPONSE_MAX_METADATA);
    json_object_foreach(metadata, key, value) {
        struct place place = place_at("metadata.%.64s", key);

        if (!json_is_string(value))
            return wrong_type(fault, place.text, "a text");
        if (strlen(key) > MAX_KEY || json_string_length(value) > MAX_VALUE)
            return refuse(fault, "string_above_max_length", place.text,
                          "keys of metadata have at most %d bytes, values %d",
                          MAX_KEY, MAX_VALUE);
    }
    if (metadata) {
        json_object_set(request->asked, "metadata", metadata);
        json_object_set(request->job, "metadata", metadata);
    }
    return true;
}

static bool read_include(struct response_request *request, json_t *body,
                         struct response_fault *fault)
{
    json_t *include = member_of(body, "include"), *name;
    size_t i;

    if (include && !json_is_array(include))
        return wrong_type(fault, "include", "a list of texts");
    json_array_foreach(include, i, name)
        request->with_outputs |=
            view_is(view_of_text(name), "code_interpreter_call.outputs");
    return true;
}

/* ------------------------------------------------------------------ the whole
 */

static bool is_true(json_t *body, const char *name, bool otherwise)
{
    json_t *value = member_of(body, name);

    return value ? json_is_true(value) : otherwise;
}

static bool check_together(struct response_request *request, json_t *body,
                           struct response_fault *fault)
{
    request->background = is_true(body, "background", false);
    request->stream = is_true(body, "stream", false);
    request->store = is_true(body, "store", true);
    request->obfuscate =
        is_true(member_of(body, "stream_options"), "include_obfuscation", true);
    request->previous =
        view_of_text(member_of(request->asked, "previous_response_id"));
    if (request->background && !request->store)
        return refuse(fault, "invalid_value", "store",
                      "store must be true when background is: a response in "
                      "the background is read later");
    if (member_of(body, "conversation"))
        return refuse(fault, "unsupported_parameter", "conversation",
                      "conversation is not possible here: use "
                      "previous_response_id");
    return true;
}

static void add_instructions(struct response_request *request, json_t *messages)
{
    json_t *text = member_of(request->asked, "instructions");

    if (text)
        json_array_insert_new(
            messages, 0,
            json_pack("{s:s, s:O}", "role", "system", "content", text));
}

bool response_request_read(struct response_request *request, json_t *body,
                           struct response_fault *fault)
{
    json_t *messages;

    *request = (struct response_request){ .job = json_object(),
                                          .asked = json_object() };
    *fault = (struct response_fault){ .status = 400 };
    if (!read_members(request, body, fault) ||
        !read_tools(request, body, fault) ||
        !read_choice(request, body, fault) ||
        !request_read_text(request, body, fault) ||
        !read_reasoning(request, body, fault) ||
        !read_metadata(request, body, fault) ||
        !read_include(request, body, fault) ||
        !check_together(request, body, fault))
        return false;
    if (member_of(body, "tools"))
        json_object_set(request->asked, "tools", member_of(body, "tools"));
    if (member_of(body, "tool_choice"))
        json_object_set(request->asked, "tool_choice",
                        member_of(body, "tool_choice"));
    messages = read_input(body, fault);
    if (!messages)
        return false;
    add_instructions(request, messages);
    json_object_set_new(request->job, "messages", messages);
    return true;
}

void response_request_finish(struct response_request *request)
{
    json_decref(request->job);
    json_decref(request->asked);
}

void response_request_continue(struct response_request *request,
                               json_t *earlier)
{
    json_t *own = json_object_get(request->job, "messages"), *all, *message;
    size_t i;

    all = json_array();
    if (member_of(request->asked, "instructions")) {
        json_array_append(all, json_array_get(own, 0));
        json_array_remove(own, 0);
    }
    json_array_foreach(earlier, i, message)
        if (i > 0 ||
            !view_is(view_of_text(json_object_get(message, "role")), "system"))
            json_array_append(all, message);
    json_array_extend(all, own);
    json_object_set_new(request->job, "messages", all);
}
