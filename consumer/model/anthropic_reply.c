/* anthropic_reply.c - what an endpoint of Anthropic Messages says. */
#include "consumer/model/anthropic.h"
#include "consumer/model/reply_draft.h"
#include "consumer/model/reply_json.h"

static json_int_t index_of(const json_t *json)
{
    return json_integer_value(json_object_get(json, "index"));
}

/* --------------------------------------------------------------- usage
 */

/* At the start and at the end, each the whole of what was sent: not summed.
 * Some say 0 for what they have told before. What was read from the cache, and
 * written to it, was sent all the same. */
static void take_usage(struct reply *reply, const json_t *usage)
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

/* -------------------------------------------------------------- blocks
 */

static void begin_thinking(struct reply *reply, const json_t *block,
                           json_int_t index)
{
    json_t *kept = json_deep_copy(block);

    json_object_set_new(kept, "thinking", json_string(""));
    reply_open_block(reply, kept, index);
    reply_add_reasoning(reply, reply_json_text(block, "thinking"));
}

/* Its input is {} when it comes in pieces; some give all of it at once. */
static void begin_call(struct reply *reply, const json_t *block,
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

/* What is not known here is of tools that run at the endpoint, which are not
 * asked for. */
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
        begin_call(reply, block, index);
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

/* ------------------------------------------------------------- message
 */

/* pause_turn stays what it is: a tool of the endpoint's takes long, and the
 * turn is not over. Whoever has the conversation asks it to go on. */
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

/* about: a message, or the delta that ends one. */
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

/* Of a stream it is empty. */
static void take_message(struct reply *reply, const json_t *message)
{
    const json_t *block, *content = json_object_get(message, "content");
    size_t i;

    reply->has_choice = reply->has_choice || json_is_array(content);
    json_array_foreach(content, i, block) {
        begin_block(reply, block, (json_int_t)i);
        end_block(reply, (json_int_t)i);
    }
    take_usage(reply, json_object_get(message, "usage"));
    take_stop(reply, message);
}

bool anthropic_take(struct reply *reply, struct view event, const json_t *json)
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
        take_usage(reply, json_object_get(json, "usage"));
        take_stop(reply, json_object_get(json, "delta"));
    } else if (view_is(type, "message_stop"))
        reply->done = true;
    return true;
}

void anthropic_end(struct reply *reply)
{
    reply_close_block(reply, "thinking");
}
