/* responses.c - the dialect of OpenAI Responses.
 *
 * A conversation is a list of items. Nothing is stored at the endpoint unless
 * the operator says so: the journal has all of it. Therefore reasoning comes
 * encrypted, and goes back in its place.
 *
 * In a stream an item begins, comes in pieces, and then comes once more as a
 * whole. The whole one counts: settle_...() adds what the pieces lacked. */
#include <string.h>

#include "consumer/model/dialect.h"
#include "consumer/model/model.h"
#include "consumer/model/reasoning.h"
#include "consumer/model/reply_draft.h"
#include "consumer/model/reply_json.h"

static json_int_t index_of(const json_t *json)
{
    return json_integer_value(json_object_get(json, "output_index"));
}

/* ------------------------------------------------------------------- items */

/* Joins the texts of the parts of that type. */
static void join_parts(struct buf *text, const json_t *parts, const char *type,
                       const char *member, const char *between)
{
    const json_t *part;
    size_t i;

    json_array_foreach(parts, i, part) {
        if (!view_is(reply_json_text(part, "type"), type))
            continue;
        if (text->len > 0)
            buf_add(text, view_of(between));
        buf_add(text, reply_json_text(part, member));
    }
}

/* The end of a whole text that the pieces before it lacked: so_far from settled
 * on. Empty when they differ from it: what was told cannot be taken back. */
static struct view responses_rest(struct view whole, const struct buf *so_far,
                                  size_t settled)
{
    size_t len = so_far->len - settled;

    if (len == 0)
        return whole;
    if (len > whole.len || memcmp(whole.data, so_far->data + settled, len) != 0)
        return VIEW("");
    return (struct view){ whole.data + len, whole.len - len };
}

static void settle_message(struct reply *reply, const json_t *item)
{
    const json_t *content = json_object_get(item, "content");
    CLEANUP(buf_finish) struct buf text;
    CLEANUP(buf_finish) struct buf refusal;

    buf_init(&text, REPLY_MAX_TEXT);
    buf_init(&refusal, REPLY_MAX_TEXT);
    join_parts(&text, content, "output_text", "text", "");
    join_parts(&refusal, content, "refusal", "refusal", "");
    reply_add_text(reply, responses_rest(buf_view(&text), &reply->content,
                                         reply->text_settled));
    reply_add_refusal(reply,
                      responses_rest(buf_view(&refusal), &reply->refusal, 0));
    reply->text_settled = reply->content.len;
}

/* The summary, or else the content, is for people; the whole item goes back. */
static void settle_reasoning(struct reply *reply, const json_t *item,
                             json_int_t index)
{
    json_t *kept = json_deep_copy(item), *value;
    CLEANUP(buf_finish) struct buf text;
    const char *name;
    void *next;

    buf_init(&text, REPLY_MAX_TEXT);
    join_parts(&text, json_object_get(item, "summary"), "summary_text", "text",
               "\n\n");
    if (text.len == 0)
        join_parts(&text, json_object_get(item, "content"), "reasoning_text",
                   "text", "");
    if (reply->reasoning.len == reply->reasoning_settled)
        reply_add_reasoning(reply, buf_view(&text));
    reply->reasoning_settled = reply->reasoning.len;
    json_object_del(kept, "status");
    json_object_foreach_safe(kept, next, name, value) if (json_is_null(value))
        json_object_del(kept, name);
    reply_blocks_fill(&reply->blocks, index, kept);
}

static void responses_begin_call(struct reply *reply, const json_t *item,
                                 json_int_t index)
{
    reply_blocks_call(&reply->blocks);
    reply_calls_begin(&reply->calls, index, reply_json_text(item, "call_id"),
                      reply_json_text(item, "name"));
    reply_calls_given(&reply->calls, index, reply_json_text(item, "arguments"));
}

static void settle_call(struct reply *reply, const json_t *item,
                        json_int_t index)
{
    if (!reply_calls_end(&reply->calls, index))
        responses_begin_call(reply, item, index);
    reply_calls_given(&reply->calls, index, reply_json_text(item, "arguments"));
    reply_calls_end(&reply->calls, index);
}

static void settle_item(struct reply *reply, const json_t *item,
                        json_int_t index)
{
    struct view type = reply_json_text(item, "type");

    reply->items++;
    if (view_is(type, "message"))
        settle_message(reply, item);
    else if (view_is(type, "reasoning"))
        settle_reasoning(reply, item, index);
    else if (view_is(type, "function_call"))
        settle_call(reply, item, index);
}

/* A text may have a phase, which has to go back with it. */
static void begin_item(struct reply *reply, const json_t *item,
                       json_int_t index)
{
    json_t *phase = json_object_get(item, "phase");

    if (view_is(reply_json_text(item, "type"), "function_call"))
        responses_begin_call(reply, item, index);
    else if (view_is(reply_json_text(item, "type"), "reasoning"))
        reply_blocks_place(&reply->blocks, index);
    else if (json_is_string(phase))
        reply_blocks_begin(&reply->blocks, json_pack("{s:O}", "phase", phase));
}

/* ------------------------------------------------------------------ pieces */

static void part_of_summary(struct reply *reply, const json_t *json)
{
    if (json_integer_value(json_object_get(json, "summary_index")) > 0)
        reply_add_reasoning(reply, VIEW("\n\n"));
}

static void text_delta(struct reply *reply, const json_t *json)
{
    reply_add_text(reply, reply_json_text(json, "delta"));
}

static void reasoning_delta(struct reply *reply, const json_t *json)
{
    reply_add_reasoning(reply, reply_json_text(json, "delta"));
}

static void refusal_delta(struct reply *reply, const json_t *json)
{
    reply_add_refusal(reply, reply_json_text(json, "delta"));
}

static void arguments_delta(struct reply *reply, const json_t *json)
{
    reply_calls_more(&reply->calls, index_of(json),
                     reply_json_text(json, "delta"));
}

static void item_added(struct reply *reply, const json_t *json)
{
    begin_item(reply, json_object_get(json, "item"), index_of(json));
}

static void item_done(struct reply *reply, const json_t *json)
{
    settle_item(reply, json_object_get(json, "item"), index_of(json));
}

/* ----------------------------------------------------------------- the end */

static void responses_take_usage(struct reply *reply, const json_t *usage)
{
    const json_t *details;

    if (!json_is_object(usage))
        return;
    reply->usage.input_tokens = reply_tokens(usage, "input_tokens");
    reply->usage.output_tokens = reply_tokens(usage, "output_tokens");
    details = json_object_get(usage, "input_tokens_details");
    reply->usage.cached_tokens = reply_tokens(details, "cached_tokens");
    reply->usage.cache_write_tokens =
        reply_tokens(details, "cache_write_tokens");
}

static struct view reason_of(const struct reply *reply, const json_t *response)
{
    struct view status = reply_json_text(response, "status");
    struct view why = reply_json_text(
        json_object_get(response, "incomplete_details"), "reason");

    if (view_is(status, "cancelled"))
        return VIEW("error");
    if (!view_is(status, "incomplete"))
        return reply->calls.count > 0 ? VIEW("tool_calls") : VIEW("stop");
    return view_is(why, "content_filter") ? why : VIEW("length");
}

static void take_response(struct reply *reply, const json_t *response)
{
    const json_t *item, *output = json_object_get(response, "output");
    size_t i;

    if (view_is(reply_json_text(response, "status"), "failed")) {
        responses_take_usage(reply, json_object_get(response, "usage"));
        reply_set_error(reply, response);
        reply->failed = true;
        return;
    }
    if (reply->items == 0)
        json_array_foreach(output, i, item) {
            if (reply->form == FORM_PLAIN)
                begin_item(reply, item, (json_int_t)i);
            settle_item(reply, item, (json_int_t)i);
        }
    responses_take_usage(reply, json_object_get(response, "usage"));
    if (reply->max_tokens == 0) /* a fetched reply: the request is not known */
        reply->max_tokens = reply_tokens(response, "max_output_tokens");
    reply_set_finish(reply, reason_of(reply, response));
    reply->has_choice = true;
}

static void response_over(struct reply *reply, const json_t *json)
{
    take_response(reply, json_object_get(json, "response"));
    reply->done = true;
}

/* [DONE] came without the event that tells why it ended: then what has come
 * decides. If that is nothing, it is no reply. */
static void responses_end(struct reply *reply)
{
    bool empty = reply->items == 0 && reply->content.len == 0 &&
                 reply->refusal.len == 0 && reply->calls.count == 0;

    if (!reply->done || reply->finish_reason.len > 0)
        return;
    if (empty)
        reply->done = false;
    else
        reply_set_finish(reply, reply->calls.count > 0 ? VIEW("tool_calls")
                                                       : VIEW("stop"));
}

/* The request has said whether the reply is kept under this id. */
static void response_begun(struct reply *reply, const json_t *json)
{
    reply_add_id(reply,
                 reply_json_text(json_object_get(json, "response"), "id"));
}

/* A reply that is made in the background may not be over. */
static void take_plain(struct reply *reply, const json_t *json)
{
    struct view status = reply_json_text(json, "status");

    reply->unfinished =
        view_is(status, "queued") || view_is(status, "in_progress");
    if (reply->unfinished)
        reply_add_id(reply, reply_json_text(json, "id"));
    else if (json_is_array(json_object_get(json, "output")))
        take_response(reply, json);
}

static bool responses_take(struct reply *reply, struct view event,
                           const json_t *json)
{
    static const struct {
        const char *type;
        void (*take)(struct reply *reply, const json_t *json);
    } events[] = {
        { "response.output_text.delta", text_delta },
        { "response.function_call_arguments.delta", arguments_delta },
        { "response.reasoning_summary_text.delta", reasoning_delta },
        { "response.reasoning_text.delta", reasoning_delta },
        { "response.reasoning_summary_part.added", part_of_summary },
        { "response.refusal.delta", refusal_delta },
        { "response.output_item.added", item_added },
        { "response.output_item.done", item_done },
        { "response.created", response_begun },
        { "response.completed", response_over },
        { "response.incomplete", response_over },
        { "response.failed", response_over },
        { "response.cancelled", response_over },
        { "error", reply_set_error },
    };
    struct view type = reply_json_text(json, "type");

    if (reply->form == FORM_PLAIN) {
        take_plain(reply, json);
        return true;
    }
    if (type.len == 0)
        type = event;
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
        if (view_is(type, events[i].type))
            events[i].take(reply, json);
    reply->has_choice = reply->has_choice || view_starts(type, "response.");
    return !view_is(type, "keepalive") && !view_is(type, "ping");
}

/* ----------------------------------------------------------------- content */

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

/* A part of another type is sent as it is: the endpoint judges it. */
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

/* ------------------------------------------------------------------- items */

/* An item without its content would be looked up at the endpoint by its id, but
 * nothing is stored there. */
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

/* -------------------------------------------------------------------- body */

/* "strict" is always sent: the default is true, and few schemas are strict. */
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

static void responses_set_tools(json_t *body,
                                const struct model_endpoint *endpoint,
                                const struct model_request *request)
{
    struct view name = request->choice;

    if (!dialect_sends_tools(body, endpoint, request))
        return;
    json_object_set_new(body, "tools", tools_json(request->tools));
    dialect_set_choice(body, endpoint, request,
                       json_pack("{s:s, s:o}", "type", "function", "name",
                                 json_stringn(name.data, name.len)));
}

static uint64_t responses_max_tokens(const struct model_endpoint *endpoint,
                                     const struct model_request *request)
{
    if (request->max_tokens > 0 && !endpoint_has(endpoint, QUIRK_NO_MAX_TOKENS))
        return request->max_tokens;
    return parameter_tokens(endpoint, "max_output_tokens");
}

static const char ENCRYPTED[] = "reasoning.encrypted_content";

static json_t *responses_write_body(const struct model_endpoint *endpoint,
                                    const struct model_request *request)
{
    uint64_t max_tokens = responses_max_tokens(endpoint, request);
    json_t *input = json_array(), *message, *body, *parameters;
    size_t i;

    json_array_foreach(request->messages, i, message)
        write_message(input, endpoint, message);
    body = json_pack("{s:s, s:o}", "model", endpoint->model, "input", input);
    parameters = endpoint_parameters(endpoint, request->parameters);
    json_object_update_missing(body, parameters);
    json_decref(parameters);
    if (!json_object_get(body, "store"))
        json_object_set_new(body, "store", json_false());
    if (!json_object_get(body, "include") &&
        !endpoint_has(endpoint, QUIRK_NO_ENCRYPTED))
        json_object_set_new(body, "include", json_pack("[s]", ENCRYPTED));
    responses_set_tools(body, endpoint, request);
    if (max_tokens > 0)
        json_object_set_new(body, "max_output_tokens",
                            json_integer((json_int_t)max_tokens));
    if (!endpoint_has(endpoint, QUIRK_NO_STREAM))
        json_object_set_new(body, "stream", json_true());
    return body;
}

/* The operator's choice, by two parameters. A reply made in the "background"
 * goes on without a listener; the API refuses that without "store". */
static enum reply_storage keeping(const struct model_endpoint *endpoint)
{
    const json_t *parameters = endpoint->parameters;

    if (!json_is_true(json_object_get(parameters, "store")))
        return KEEPS_NONE;
    return json_is_true(json_object_get(parameters, "background"))
               ? KEEPS_MAKING
               : KEEPS_MADE;
}

/* Asks for encrypted reasoning if the request did: without it, it could not go
 * back. */
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

/* Sets a member of an object, beside those that the operator has set in it,
 * such as "reasoning": {"summary": ...}. */
static void set_inside(json_t *parameters, const char *object, const char *name,
                       json_t *value)
{
    if (!json_is_object(json_object_get(parameters, object)))
        json_object_set_new(parameters, object, json_object());
    json_object_set(json_object_get(parameters, object), name, value);
}

/* The API has no other ones. */
static void responses_set_parameter(json_t *parameters, const char *name,
                                    json_t *value)
{
    if (strcmp(name, "temperature") == 0 || strcmp(name, "top_p") == 0 ||
        strcmp(name, "parallel_tool_calls") == 0)
        json_object_set(parameters, name, value);
    else if (strcmp(name, "reasoning_effort") == 0)
        set_inside(parameters, "reasoning", "effort", value);
    else if (strcmp(name, "reasoning_summary") == 0)
        set_inside(parameters, "reasoning", "summary", value);
    else if (strcmp(name, "verbosity") == 0)
        set_inside(parameters, "text", "verbosity", value);
}

static const struct dialect_lesson lessons[] = {
    { "temperature", QUIRK_NO_TEMPERATURE },
    { "top_p", QUIRK_NO_TOP_P },
    { "reasoning.effort", QUIRK_NO_EFFORT },
    { "reasoning.summary", QUIRK_NO_SAMPLING },
    { "text.verbosity", QUIRK_NO_SAMPLING },
    { "parallel_tool_calls", QUIRK_NO_SAMPLING },
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
    .write = responses_write_body,
    .set_parameter = responses_set_parameter,
    .max_tokens = responses_max_tokens,
    .keeping = keeping,
    .kept_path = "/responses/%s",
    .kept_query = kept_query,
    .take = responses_take,
    .end = responses_end,
};
