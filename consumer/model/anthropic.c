/* anthropic.c - the dialect of Anthropic Messages.
 *
 * Instructions are no message here, but the member "system". Messages of user
 * and assistant alternate: messages of one side in a row are joined. The
 * results of all calls of a message come in the next one, before anything else
 * in it. No text may be blank. What will be the same in the next request is
 * marked to be cached: tools and instructions, and the conversation so far. */
#include <string.h>

#include "consumer/model/dialect.h"
#include "consumer/model/model.h"
#include "consumer/model/reasoning.h"
#include "consumer/model/reply_draft.h"
#include "consumer/model/reply_json.h"

static json_int_t index_of(const json_t *json)
{
    return json_integer_value(json_object_get(json, "index"));
}

/* ------------------------------------------------------------------- usage */

/* Usage comes at the start and at the end, each time as the whole, so it is not
 * summed. Some endpoints send 0 the second time. input_tokens does not count
 * what was read from the cache or written to it; ours does. */
static void anthropic_take_usage(struct reply *reply, const json_t *usage)
{
    uint64_t read = reply_tokens(usage, "cache_read_input_tokens");
    uint64_t written = reply_tokens(usage, "cache_creation_input_tokens");
    uint64_t input = reply_tokens(usage, "input_tokens") + read + written;
    uint64_t output = reply_tokens(usage, "output_tokens");

    if (input > 0) {
        reply->usage.input_tokens = input;
        reply->usage.cached_tokens = read;
        reply->usage.cache_write_tokens = written;
    }
    if (output > 0)
        reply->usage.output_tokens = output;
}

/* ------------------------------------------------------------------ blocks */

static void begin_thinking(struct reply *reply, const json_t *block,
                           json_int_t index)
{
    json_t *kept = json_deep_copy(block);

    json_object_set_new(kept, "thinking", json_string(""));
    reply_open_block(reply, kept, index);
    reply_add_reasoning(reply, reply_json_text(block, "thinking"));
}

/* The input is {} when it comes in pieces; some endpoints send it at once. */
static void anthropic_begin_call(struct reply *reply, const json_t *block,
                                 json_int_t index)
{
    const json_t *input = json_object_get(block, "input");
    CLEANUP(cleanup_free) char *text = NULL;

    reply_blocks_call(&reply->blocks);
    reply_calls_begin(&reply->calls, index, reply_json_text(block, "id"),
                      reply_json_text(block, "name"));
    if (json_object_size(input) > 0 || reply->form == FORM_PLAIN)
        text = json_dumps(input, JSON_COMPACT | JSON_REAL_PRECISION(16));
    reply_calls_given(&reply->calls, index, view_of(text));
}

/* Other types are of tools that run at the endpoint, which are never asked for.
 */
static void begin_block(struct reply *reply, const json_t *block,
                        json_int_t index)
{
    struct view type = reply_json_text(block, "type");

    reply->has_choice = true;
    reply_close_block(reply, "thinking");
    if (view_is(type, "text"))
        reply_add_text(reply, reply_json_text(block, "text"));
    else if (view_is(type, "thinking"))
        begin_thinking(reply, block, index);
    else if (view_is(type, "redacted_thinking"))
        reply_blocks_keep(&reply->blocks, json_deep_copy(block));
    else if (view_is(type, "tool_use"))
        anthropic_begin_call(reply, block, index);
}

static void end_block(struct reply *reply, json_int_t index)
{
    if (reply->open.block && reply->open.index == index)
        reply_close_block(reply, "thinking");
    reply_calls_end(&reply->calls, index);
}

static void take_delta(struct reply *reply, const json_t *json)
{
    const json_t *delta = json_object_get(json, "delta");
    struct view type = reply_json_text(delta, "type");
    json_int_t index = index_of(json);

    if (view_is(type, "text_delta"))
        reply_add_text(reply, reply_json_text(delta, "text"));
    else if (view_is(type, "thinking_delta"))
        reply_add_reasoning(reply, reply_json_text(delta, "thinking"));
    else if (view_is(type, "input_json_delta"))
        reply_calls_more(&reply->calls, index,
                         reply_json_text(delta, "partial_json"));
    else if (view_is(type, "signature_delta") && reply->open.block)
        json_object_set(reply->open.block, "signature",
                        json_object_get(delta, "signature"));
}

/* ----------------------------------------------------------------- message */

/* The reason in the words of chat-completions. pause_turn has none there and
 * stays: a tool at the endpoint takes long, and the turn is not over. */
static struct view reason_of(struct view stop_reason)
{
    static const struct {
        const char *theirs;
        struct view ours;
    } reasons[] = {
        { "end_turn", VIEW_INIT("stop") },
        { "stop_sequence", VIEW_INIT("stop") },
        { "tool_use", VIEW_INIT("tool_calls") },
        { "max_tokens", VIEW_INIT("length") },
        { "model_context_window_exceeded", VIEW_INIT("length") },
    };

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (view_is(stop_reason, reasons[i].theirs))
            return reasons[i].ours;
    return stop_reason;
}

/* about: a message, or the delta at its end. */
static void take_stop(struct reply *reply, const json_t *about)
{
    struct view reason = reply_json_text(about, "stop_reason");
    struct view why =
        reply_json_text(json_object_get(about, "stop_details"), "explanation");

    reply_set_finish(reply, reason_of(reason));
    if (view_is(reason, "refusal"))
        reply_add_refusal(reply,
                          why.len > 0 ? why : VIEW("the model refuses it"));
}

/* A whole message; in a stream the one that begins it, whose content is empty.
 */
static void take_message(struct reply *reply, const json_t *message)
{
    const json_t *block, *content = json_object_get(message, "content");
    size_t i;

    reply->has_choice = reply->has_choice || json_is_array(content);
    json_array_foreach(content, i, block) {
        begin_block(reply, block, (json_int_t)i);
        end_block(reply, (json_int_t)i);
    }
    anthropic_take_usage(reply, json_object_get(message, "usage"));
    take_stop(reply, message);
}

static bool anthropic_take(struct reply *reply, struct view event,
                           const json_t *json)
{
    struct view type = reply_json_text(json, "type");

    if (type.len == 0)
        type = event;
    if (view_is(type, "ping"))
        return false;
    if (view_is(type, "message"))
        take_message(reply, json);
    else if (view_is(type, "message_start"))
        take_message(reply, json_object_get(json, "message"));
    else if (view_is(type, "content_block_start"))
        begin_block(reply, json_object_get(json, "content_block"),
                    index_of(json));
    else if (view_is(type, "content_block_delta"))
        take_delta(reply, json);
    else if (view_is(type, "content_block_stop"))
        end_block(reply, index_of(json));
    else if (view_is(type, "message_delta")) {
        anthropic_take_usage(reply, json_object_get(json, "usage"));
        take_stop(reply, json_object_get(json, "delta"));
    } else if (view_is(type, "message_stop"))
        reply->done = true;
    return true;
}

static void anthropic_end(struct reply *reply)
{
    reply_close_block(reply, "thinking");
}

/* The API requires a maximum. Enough for long code, and all current models
 * allow it. */
enum { DEFAULT_MAX_TOKENS = 8192 };

struct writer {
    const struct model_endpoint *endpoint;
    json_t *system;   /* text blocks of the instructions */
    json_t *messages; /* [{role, content: [block, ...]}, ...] */
    json_t
        *results; /* of the user's message in the making: results of calls, */
    json_t *said; /* and the blocks that come behind them */
};

/* ------------------------------------------------------------------ blocks */

/* Takes the block. NULL: nothing is appended. */
static void anthropic_append(json_t *blocks, json_t *block)
{
    if (block)
        json_array_append_new(blocks, block);
}

/* NULL for a blank text, which the API refuses. */
static json_t *text_block(struct view text)
{
    if (view_trimmed(text).len == 0)
        return NULL;
    return json_pack("{s:s, s:o}", "type", "text", "text",
                     json_stringn(text.data, text.len));
}

static json_t *image_block(struct view url)
{
    struct data_url data;

    if (!data_url_read(url, &data))
        return json_pack("{s:s, s:{s:s, s:o}}", "type", "image", "source",
                         "type", "url", "url", json_stringn(url.data, url.len));
    return json_pack("{s:s, s:{s:s, s:o, s:o}}", "type", "image", "source",
                     "type", "base64", "media_type",
                     json_stringn(data.mime.data, data.mime.len), "data",
                     json_stringn(data.data.data, data.data.len));
}

/* A part of another type is sent as it is: the endpoint judges it. */
static json_t *part_block(json_t *part)
{
    struct view image = part_image(part);

    if (image.len > 0)
        return image_block(image);
    if (view_is(reply_json_text(part, "type"), "text"))
        return text_block(reply_json_text(part, "text"));
    return json_incref(part);
}

/* A string, or a list of parts. */
static void append_content(json_t *blocks, const json_t *message)
{
    json_t *part;
    size_t i;

    anthropic_append(blocks, text_block(reply_json_text(message, "content")));
    json_array_foreach(json_object_get(message, "content"), i, part)
        anthropic_append(blocks, part_block(part));
}

/* ---------------------------------------------------------------- messages */

/* The content of the last message if it has that role, else of a new one. */
static json_t *content_of(struct writer *writer, const char *role)
{
    json_t *last =
        json_array_get(writer->messages, json_array_size(writer->messages) - 1);

    if (!view_is(reply_json_text(last, "role"), role)) {
        last = json_pack("{s:s, s:[]}", "role", role, "content");
        json_array_append_new(writer->messages, last);
    }
    return json_object_get(last, "content");
}

/* Ends the user's message: results first, as the API wants them. */
static void end_user(struct writer *writer)
{
    if (json_array_size(writer->results) + json_array_size(writer->said) > 0) {
        json_array_extend(writer->results, writer->said);
        json_array_extend(content_of(writer, "user"), writer->results);
    }
    json_array_clear(writer->results);
    json_array_clear(writer->said);
}

static void write_result(struct writer *writer, const json_t *message)
{
    json_t *content = json_array();
    json_t *result =
        json_pack("{s:s, s:o}", "type", "tool_result", "tool_use_id",
                  call_id_json(reply_json_text(message, "tool_call_id")));

    append_content(content, message);
    if (json_array_size(content) > 0)
        json_object_set(result, "content", content);
    json_decref(content);
    json_array_append_new(writer->results, result);
}

static void on_kept(void *owner, json_t *kept)
{
    json_array_append(owner, kept);
}

static void on_text(void *owner, struct view text, const json_t *mark)
{
    (void)mark;
    anthropic_append(owner, text_block(text));
}

static void on_call(void *owner, const json_t *call)
{
    const json_t *function = json_object_get(call, "function");
    json_t *input = reply_json_parse(reply_json_text(function, "arguments"));

    if (!json_is_object(input)) {
        json_decref(input);
        input = json_object();
    }
    json_array_append_new(
        owner, json_pack("{s:s, s:o, s:O?, s:o}", "type", "tool_use", "id",
                         call_id_json(reply_json_text(call, "id")), "name",
                         json_object_get(function, "name"), "input", input));
}

static bool is_thinking(const json_t *block)
{
    struct view type = reply_json_text(block, "type");

    return view_is(type, "thinking") || view_is(type, "redacted_thinking");
}

/* Thinking at the end of a message is refused, so it is left out. */
static void write_assistant(struct writer *writer, const json_t *message)
{
    static const struct block_events events = { on_kept, on_text, on_call };
    json_t *blocks = json_array();
    size_t count;

    opaque_walk(message, dialect_anthropic.name, writer->endpoint->name,
                &events, blocks);
    while ((count = json_array_size(blocks)) > 0 &&
           is_thinking(json_array_get(blocks, count - 1)))
        json_array_remove(blocks, count - 1);
    if (count > 0) {
        end_user(writer);
        json_array_extend(content_of(writer, "assistant"), blocks);
    }
    json_decref(blocks);
}

static void write_message(struct writer *writer, const json_t *message)
{
    struct view role = reply_json_text(message, "role");

    if (view_is(role, "system") || view_is(role, "developer"))
        append_content(writer->system, message);
    else if (view_is(role, "assistant"))
        write_assistant(writer, message);
    else if (view_is(role, "tool"))
        write_result(writer, message);
    else
        append_content(writer->said, message);
}

/* -------------------------------------------------------------------- body */

static json_t *tools_json(const json_t *tools)
{
    json_t *list = json_array();
    const json_t *tool, *function;
    size_t i;

    json_array_foreach(tools, i, tool) {
        function = json_object_get(tool, "function");
        json_array_append_new(
            list, json_pack("{s:O?, s:O*, s:o}", "name",
                            json_object_get(function, "name"), "description",
                            json_object_get(function, "description"),
                            "input_schema", tool_schema(function)));
    }
    return list;
}

/* A member of tool_choice. Until the tools are set it is one of the body. */
static const char ONE_CALL[] = "disable_parallel_tool_use";

static void anthropic_set_tools(json_t *body,
                                const struct model_endpoint *endpoint,
                                const struct model_request *request)
{
    static const char *const words[] = { "none", "auto", "any", "tool" };
    bool chooses = !endpoint_has(endpoint, QUIRK_NO_TOOL_CHOICE);
    enum tool_choice choice = tool_choice(request);
    struct view name = request->choice;
    json_t *alone = json_object_get(body, ONE_CALL), *wish;

    json_incref(alone);
    json_object_del(body, ONE_CALL);
    if (json_array_size(request->tools) == 0 ||
        (choice == CHOOSE_NONE && !chooses)) {
        json_decref(alone);
        return;
    }
    json_object_set_new(body, "tools", tools_json(request->tools));
    wish = json_pack("{s:s}", "type", words[choice]);
    if (choice == CHOOSE_ONE)
        json_object_set_new(wish, "name", json_stringn(name.data, name.len));
    if (choice != CHOOSE_NONE && alone)
        json_object_set(wish, ONE_CALL, alone);
    if (chooses)
        json_object_set(body, "tool_choice", wish);
    json_decref(wish);
    json_decref(alone);
}

/* Marks the last block of the list: all up to it is cached. Thinking may not be
 * marked. */
static void mark_cached(const struct model_endpoint *endpoint, json_t *blocks)
{
    size_t count = json_array_size(blocks);
    json_t *last = count > 0 ? json_array_get(blocks, count - 1) : NULL;

    if (!last || is_thinking(last) || endpoint_has(endpoint, QUIRK_NO_CACHE))
        return;
    last = json_copy(last); /* it may be the conversation's own */
    json_object_set_new(last, "cache_control",
                        json_pack("{s:s}", "type", "ephemeral"));
    json_array_set_new(blocks, count - 1, last);
}

/* The API puts tools before the instructions, so one mark caches both. In the
 * last request the conversation is not marked: nobody will read that cache, and
 * to write it has a price. */
static void mark_all(json_t *body, const struct model_endpoint *endpoint,
                     bool last)
{
    json_t *system = json_object_get(body, "system");
    json_t *messages = json_object_get(body, "messages");
    json_t *message = json_array_get(messages, json_array_size(messages) - 1);

    mark_cached(endpoint, system ? system : json_object_get(body, "tools"));
    if (!last)
        mark_cached(endpoint, json_object_get(message, "content"));
}

static uint64_t thinking_budget(const struct model_endpoint *endpoint)
{
    json_int_t budget = json_integer_value(json_object_get(
        json_object_get(endpoint->parameters, "thinking"), "budget_tokens"));

    return budget > 0 ? (uint64_t)budget : 0;
}

static uint64_t anthropic_max_tokens(const struct model_endpoint *endpoint,
                                     const struct model_request *request)
{
    uint64_t most = parameter_tokens(endpoint, "max_tokens");

    if (request->max_tokens > 0)
        return request->max_tokens;
    return most > 0 ? most : DEFAULT_MAX_TOKENS + thinking_budget(endpoint);
}

/* Whether the chain of calls that the request continues began with thinking. If
 * another endpoint began it, it did not, and the API then refuses thinking. */
static bool chain_thinks(const json_t *messages)
{
    size_t count = json_array_size(messages);
    const json_t *message = json_array_get(messages, count - 1);
    const json_t *content = json_object_get(message, "content");
    const json_t *first = json_array_get(content, 0);

    if (count < 2 || !view_is(reply_json_text(first, "type"), "tool_result"))
        return true;
    message = json_array_get(messages, count - 2);
    content = json_object_get(message, "content");
    return is_thinking(json_array_get(content, 0));
}

/* Removes thinking where the API would refuse it. Its budget must also be
 * smaller than the maximum. */
static void fit_thinking(json_t *body, const struct model_endpoint *endpoint,
                         uint64_t max_tokens)
{
    uint64_t budget = thinking_budget(endpoint);

    if (budget > 0 && (budget >= max_tokens ||
                       !chain_thinks(json_object_get(body, "messages"))))
        json_object_del(body, "thinking");
}

static json_t *anthropic_write_body(const struct model_endpoint *endpoint,
                                    const struct model_request *request)
{
    struct writer writer = { .endpoint = endpoint,
                             .system = json_array(),
                             .messages = json_array(),
                             .results = json_array(),
                             .said = json_array() };
    uint64_t max_tokens = anthropic_max_tokens(endpoint, request);
    json_t *body, *message, *parameters;
    size_t i;

    json_array_foreach(request->messages, i, message)
        write_message(&writer, message);
    end_user(&writer);
    json_decref(writer.results);
    json_decref(writer.said);
    body = json_pack("{s:s, s:I, s:o}", "model", endpoint->model, "max_tokens",
                     (json_int_t)max_tokens, "messages", writer.messages);
    if (json_array_size(writer.system) > 0)
        json_object_set(body, "system", writer.system);
    json_decref(writer.system);
    parameters = endpoint_parameters(endpoint, request->parameters);
    json_object_update_missing(body, parameters);
    json_decref(parameters);
    anthropic_set_tools(body, endpoint, request);
    fit_thinking(body, endpoint, max_tokens);
    if (tool_choice(request) > CHOOSE_AUTO &&
        !endpoint_has(endpoint, QUIRK_NO_TOOL_CHOICE))
        json_object_del(body, "thinking"); /* refused where a call is forced */
    mark_all(body, endpoint, request->last);
    if (!endpoint_has(endpoint, QUIRK_NO_STREAM))
        json_object_set_new(body, "stream", json_true());
    return body;
}

/* The API takes a temperature of 1 at most, and no such parameter beside
 * thinking. */
static void set_sampling(json_t *parameters, const char *name, json_t *value)
{
    bool high =
        strcmp(name, "temperature") == 0 && json_number_value(value) > 1;

    if (json_object_get(parameters, "thinking"))
        return;
    if (high)
        json_object_set_new(parameters, name, json_integer(1));
    else
        json_object_set(parameters, name, value);
}

/* The API has no other ones. */
static void anthropic_set_parameter(json_t *parameters, const char *name,
                                    json_t *value)
{
    if (strcmp(name, "stop") == 0)
        json_object_set_new(parameters, "stop_sequences",
                            json_is_array(value) ? json_incref(value)
                                                 : json_pack("[O]", value));
    else if (strcmp(name, "reasoning_effort") == 0)
        json_object_set_new(parameters, "output_config",
                            json_pack("{s:O}", "effort", value));
    else if (strcmp(name, "temperature") == 0 || strcmp(name, "top_p") == 0 ||
             strcmp(name, "top_k") == 0)
        set_sampling(parameters, name, value);
    else if (strcmp(name, "parallel_tool_calls") == 0)
        json_object_set_new(parameters, ONE_CALL,
                            json_boolean(!json_is_true(value)));
}

static const struct dialect_lesson lessons[] = {
    { "temperature", QUIRK_NO_TEMPERATURE },
    { "top_p", QUIRK_NO_TOP_P },
    { "top_k", QUIRK_NO_SAMPLING },
    { "stop_sequences", QUIRK_NO_STOP },
    { "output_config", QUIRK_NO_EFFORT },
    { "stream", QUIRK_NO_STREAM },
    { "tool_choice", QUIRK_NO_TOOL_CHOICE },
    { "cache_control", QUIRK_NO_CACHE },
    { NULL, 0 },
};

const struct dialect dialect_anthropic = {
    .name = "anthropic",
    .what = "a reply of Anthropic Messages",
    .path = "/messages",
    .key_header = "x-api-key: %s",
    .header = "anthropic-version: 2023-06-01",
    .lessons = lessons,
    .free_cache = true,
    .write = anthropic_write_body,
    .set_parameter = anthropic_set_parameter,
    .max_tokens = anthropic_max_tokens,
    .take = anthropic_take,
    .end = anthropic_end,
};
