/* responses_body.c - what an endpoint of OpenAI Responses is sent: items.
 *
 * Nothing is stored there, unless the operator says so: the journal has it all.
 * So what the model thought comes encrypted, and goes back where it was. */
#include <string.h>

#include "consumer/model/dialect_part.h"
#include "consumer/model/reply_block.h"
#include "consumer/model/reply_json.h"
#include "consumer/model/responses.h"
#include "consumer/model/sampling.h"

/* ------------------------------------------------------------- content
 */

static json_t *text_part(struct view text)
{
    return json_pack("{s:s, s:o}", "type", "input_text", "text",
                     json_stringn(text.data, text.len));
}

static json_t *image_part(const json_t *part, struct view url)
{
    json_t *image = json_object_get(part, "image_url");
    json_t *detail = json_object_get(image, "detail");

    return json_pack("{s:s, s:o, s:O*}", "type", "input_image", "image_url",
                     json_stringn(url.data, url.len), "detail", detail);
}

/* What is not known here goes as it is: the endpoint says what it is about. */
static json_t *part_json(json_t *part)
{
    struct view image = part_image(part);

    if (image.len > 0)
        return image_part(part, image);
    if (view_is(reply_json_text(part, "type"), "text"))
        return text_part(reply_json_text(part, "text"));
    return json_incref(part);
}

/* A text, or a list of parts. */
static json_t *content_json(const json_t *message)
{
    const json_t *content = json_object_get(message, "content");
    struct view text = reply_json_text(message, "content");
    json_t *list, *part;
    size_t i;

    if (!json_is_array(content))
        return json_stringn(text.data, text.len);
    list = json_array();
    json_array_foreach(content, i, part)
        json_array_append_new(list, part_json(part));
    return list;
}

/* --------------------------------------------------------------- items
 */

/* Without what it holds there it would be looked up there, and is not stored.
 */
static void on_kept(void *owner, json_t *kept)
{
    if (json_is_string(json_object_get(kept, "encrypted_content")) ||
        json_array_size(json_object_get(kept, "content")) > 0)
        json_array_append(owner, kept);
}

static void on_text(void *owner, struct view text, const json_t *mark)
{
    json_array_append_new(
        owner, json_pack("{s:s, s:o, s:O*}", "role", "assistant", "content",
                         json_stringn(text.data, text.len), "phase",
                         json_object_get(mark, "phase")));
}

static void on_call(void *owner, const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    struct view arguments = reply_json_text(function, "arguments");

    json_array_append_new(
        owner, json_pack("{s:s, s:o, s:O?, s:o}", "type", "function_call",
                         "call_id", call_id_json(reply_json_text(call, "id")),
                         "name", json_object_get(function, "name"), "arguments",
                         json_stringn(arguments.data, arguments.len)));
}

static void write_message(json_t *input, const struct model_endpoint *endpoint,
                          const json_t *message)
{
    static const struct block_events events = { on_kept, on_text, on_call };
    struct view role = reply_json_text(message, "role");

    if (view_is(role, "assistant"))
        opaque_walk(message, dialect_responses.name, endpoint->name, &events,
                    input);
    else if (view_is(role, "tool"))
        json_array_append_new(
            input,
            json_pack("{s:s, s:o, s:o}", "type", "function_call_output",
                      "call_id",
                      call_id_json(reply_json_text(message, "tool_call_id")),
                      "output", content_json(message)));
    else
        json_array_append_new(input,
                              json_pack("{s:o, s:o}", "role",
                                        json_stringn(role.data, role.len),
                                        "content", content_json(message)));
}

/* ---------------------------------------------------------------- body
 */

/* strict: where nobody says no it is yes, and few schemas are strict. */
static json_t *tools_json(const json_t *tools)
{
    json_t *list = json_array();
    const json_t *tool, *function;
    size_t i;

    json_array_foreach(tools, i, tool) {
        function = json_object_get(tool, "function");
        json_array_append_new(
            list,
            json_pack("{s:s, s:O?, s:O*, s:o, s:b}", "type", "function", "name",
                      json_object_get(function, "name"), "description",
                      json_object_get(function, "description"), "parameters",
                      tool_schema(function), "strict",
                      json_is_true(json_object_get(function, "strict"))));
    }
    return list;
}

static void set_tools(json_t *body, const struct model_endpoint *endpoint,
                      const struct model_request *request)
{
    bool chooses = !endpoint_has(endpoint, QUIRK_NO_TOOL_CHOICE);

    if (json_array_size(request->tools) == 0 || (request->last && !chooses))
        return;
    json_object_set_new(body, "tools", tools_json(request->tools));
    if (chooses)
        json_object_set_new(body, "tool_choice",
                            json_string(request->last ? "none" : "auto"));
}

static uint64_t max_tokens_of(const struct model_endpoint *endpoint,
                              const struct model_request *request)
{
    if (request->max_tokens > 0 && !endpoint_has(endpoint, QUIRK_NO_MAX_TOKENS))
        return request->max_tokens;
    return parameter_tokens(endpoint, "max_output_tokens");
}

static const char ENCRYPTED[] = "reasoning.encrypted_content";

static json_t *write_body(const struct model_endpoint *endpoint,
                          const struct model_request *request)
{
    uint64_t max_tokens = max_tokens_of(endpoint, request);
    json_t *input = json_array(), *message, *body, *parameters;
    size_t i;

    json_array_foreach(request->messages, i, message)
        write_message(input, endpoint, message);
    body = json_pack("{s:s, s:o}", "model", endpoint->model, "input", input);
    parameters = sampling_of(endpoint, request->parameters);
    json_object_update_missing(body, parameters);
    json_decref(parameters);
    if (!json_object_get(body, "store"))
        json_object_set_new(body, "store", json_false());
    if (!json_object_get(body, "include") &&
        !endpoint_has(endpoint, QUIRK_NO_ENCRYPTED))
        json_object_set_new(body, "include", json_pack("[s]", ENCRYPTED));
    set_tools(body, endpoint, request);
    if (max_tokens > 0)
        json_object_set_new(body, "max_output_tokens",
                            json_integer((json_int_t)max_tokens));
    if (!endpoint_has(endpoint, QUIRK_NO_STREAM))
        json_object_set_new(body, "stream", json_true());
    return body;
}

/* An operator's choice: "background" goes on without a listener, and is refused
 * without "store". */
static enum keeping keeping(const struct model_endpoint *endpoint)
{
    const json_t *parameters = endpoint->parameters;

    if (!json_is_true(json_object_get(parameters, "store")))
        return KEEPS_NONE;
    return json_is_true(json_object_get(parameters, "background"))
               ? KEEPS_MAKING
               : KEEPS_MADE;
}

/* As it was asked for: without, what it thought could not be sent back. */
static const char *kept_query(const struct model_endpoint *endpoint)
{
    const json_t *include = json_object_get(endpoint->parameters, "include");
    const json_t *one;
    bool wanted = !include && !endpoint_has(endpoint, QUIRK_NO_ENCRYPTED);
    size_t i;

    json_array_foreach(include, i, one)
        wanted = wanted || (json_is_string(one) &&
                            strcmp(json_string_value(one), ENCRYPTED) == 0);
    return wanted ? "?include%5B%5D=reasoning.encrypted_content" : "";
}

/* Beside what the operator says of the same: "reasoning": {"summary": ...}. */
static void set_inside(json_t *parameters, const char *object, const char *name,
                       json_t *value)
{
    if (!json_is_object(json_object_get(parameters, object)))
        json_object_set_new(parameters, object, json_object());
    json_object_set(json_object_get(parameters, object), name, value);
}

/* The others it does not have. */
static void set_parameter(json_t *parameters, const char *name, json_t *value)
{
    if (strcmp(name, "temperature") == 0 || strcmp(name, "top_p") == 0)
        json_object_set(parameters, name, value);
    else if (strcmp(name, "reasoning_effort") == 0)
        set_inside(parameters, "reasoning", "effort", value);
    else if (strcmp(name, "verbosity") == 0)
        set_inside(parameters, "text", "verbosity", value);
}

static const struct dialect_lesson lessons[] = {
    { "temperature", QUIRK_NO_TEMPERATURE },
    { "top_p", QUIRK_NO_TOP_P },
    { "reasoning.effort", QUIRK_NO_EFFORT },
    { "text.verbosity", QUIRK_NO_SAMPLING },
    { "stream", QUIRK_NO_STREAM },
    { "tool_choice", QUIRK_NO_TOOL_CHOICE },
    { "max_output_tokens", QUIRK_NO_MAX_TOKENS },
    { "include", QUIRK_NO_ENCRYPTED },
    { "Encrypted content", QUIRK_NO_ENCRYPTED },
    { NULL, 0 },
};

const struct dialect dialect_responses = {
    .name = "responses",
    .what = "a reply of OpenAI Responses",
    .path = "/responses",
    .key_header = "Authorization: Bearer %s",
    .lessons = lessons,
    .write = write_body,
    .set_parameter = set_parameter,
    .max_tokens = max_tokens_of,
    .keeping = keeping,
    .kept_path = "/responses/%s",
    .kept_query = kept_query,
    .take = responses_take,
    .end = responses_end,
};
