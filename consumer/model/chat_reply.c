/* chat_reply.c - what a chat-completions endpoint says. */
#include <string.h>

#include "consumer/model/chat.h"
#include "consumer/model/chat_thought.h"
#include "consumer/model/price.h"
#include "consumer/model/reply_draft.h"
#include "consumer/model/reply_json.h"

/* A part of Mistral's that is reasoning: it goes back where it was. */
static void add_thinking(struct reply *reply, const json_t *part,
                         const json_t *thinking)
{
    const json_t *thought;
    json_t *block;
    size_t i;

    if (!reply->open.block) {
        block = json_deep_copy(part);
        json_object_del(block, "thinking");
        reply_open_block(reply, block, 0);
    }
    json_array_foreach(thinking, i, thought)
        reply_add_reasoning(reply, reply_json_text(thought, "text"));
    if (json_is_string(thinking))
        reply_add_reasoning(reply, reply_json_text(part, "thinking"));
}

/* Content comes as a string, or as a list of parts: {type: text, text} and
 * {type: thinking, thinking: [{text}]}. */
static void add_part(struct reply *reply, const json_t *part)
{
    const json_t *thinking = json_object_get(part, "thinking");

    if (json_is_string(json_object_get(part, "text"))) {
        reply_close_block(reply, "thinking");
        reply_add_text(reply, reply_json_text(part, "text"));
    }
    if (json_is_array(thinking) || json_is_string(thinking))
        add_thinking(reply, part, thinking);
}

static void take_content(struct reply *reply, const json_t *delta)
{
    const json_t *part, *content = json_object_get(delta, "content");
    struct view text = reply_json_text(delta, "content");
    size_t i;

    if (text.len > 0)
        reply_close_block(reply, "thinking");
    if (json_is_string(content))
        thought_feed(reply, text);
    json_array_foreach(content, i, part)
        add_part(reply, part);
}

/* Two names; who sends both says the same twice. */
static void take_reasoning(struct reply *reply, const json_t *delta)
{
    static const char *const names[] = { "reasoning_content", "reasoning" };

    for (size_t i = 0; i < 2; i++) {
        if (!json_is_string(json_object_get(delta, names[i])))
            continue;
        if (!reply->reasoning_name)
            reply->reasoning_name = names[i];
        reply_add_reasoning(reply, reply_json_text(delta, names[i]));
        return;
    }
}

static void take_delta(struct reply *reply, const json_t *delta)
{
    bool alone = reply->form == FORM_PLAIN;
    const json_t *function = json_object_get(delta, "function_call");
    json_t *call;
    size_t i;

    take_reasoning(reply, delta);
    reply_details_add(&reply->details,
                      json_object_get(delta, "reasoning_details"), alone);
    take_content(reply, delta);
    reply_add_refusal(reply, reply_json_text(delta, "refusal"));
    json_array_foreach(json_object_get(delta, "tool_calls"), i, call)
        if (json_is_object(call))
            reply_calls_add(&reply->calls, call, alone);
    if (json_is_object(function))
        reply_calls_add_legacy(&reply->calls, function);
}

/* Dollars: OpenRouter says them. */
static void take_cost(struct reply *reply, const json_t *cost)
{
    reply->has_cost = json_is_number(cost) && json_number_value(cost) >= 0;
    reply->usage.cost =
        reply->has_cost ? price_micro(json_number_value(cost)) : 0;
}

/* What was written to the cache, as OpenAI and OpenRouter say it, LiteLLM, and
 * who passes on what Anthropic says. */
static uint64_t written_of(const json_t *usage, const json_t *details)
{
    uint64_t written = reply_tokens(details, "cache_write_tokens");

    if (written == 0)
        written = reply_tokens(details, "cache_creation_tokens");
    if (written == 0)
        written = reply_tokens(usage, "cache_creation_input_tokens");
    return written;
}

/* The last one counts: where several chunks have one, each holds the whole. */
static void take_usage(struct reply *reply, const json_t *usage)
{
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    uint64_t cached = reply_tokens(details, "cached_tokens");

    if (!json_is_object(usage))
        return;
    if (cached == 0)
        cached = reply_tokens(usage, "prompt_cache_hit_tokens");
    if (cached == 0)
        cached = reply_tokens(usage, "cached_tokens");
    reply->usage.input_tokens = reply_tokens(usage, "prompt_tokens");
    reply->usage.output_tokens = reply_tokens(usage, "completion_tokens");
    reply->usage.cached_tokens = cached;
    reply->usage.cache_write_tokens = written_of(usage, details);
    take_cost(reply, json_object_get(usage, "cost"));
}

static bool is_filled(const json_t *value)
{
    return json_array_size(value) > 0 || json_object_size(value) > 0 ||
           json_string_length(value) > 0;
}

/* A text, calls, a refusal: not only whose it is. */
static bool says_something(const json_t *message)
{
    static const char *const names[] = { "content",           "tool_calls",
                                         "function_call",     "refusal",
                                         "reasoning_content", "reasoning" };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (is_filled(json_object_get(message, names[i])))
            return true;
    return false;
}

/* A chunk has a delta and a plain body a message. Some servers write both: then
 * the message counts, unless it says nothing, or comes at the end of a stream
 * and says once more what has been said. */
static const json_t *text_of_choice(const struct reply *reply,
                                    const json_t *choice)
{
    const json_t *message = json_object_get(choice, "message");
    const json_t *delta = json_object_get(choice, "delta");
    bool silent = reply->content.len == 0 && reply->reasoning.len == 0 &&
                  reply->calls.count == 0 && reply->thought.whole.len == 0 &&
                  reply->thought.held.len == 0;

    if (!json_is_object(delta))
        return message;
    if (reply->form == FORM_PLAIN)
        return says_something(message) || !says_something(delta) ? message
                                                                 : delta;
    return silent && says_something(message) && !says_something(delta) ? message
                                                                       : delta;
}

/* Only the first of several choices: more than one is never asked for. */
static void take_choice(struct reply *reply, const json_t *choice)
{
    if (json_integer_value(json_object_get(choice, "index")) != 0)
        return;
    reply->has_choice = true;
    take_delta(reply, text_of_choice(reply, choice));
    reply_set_finish(reply, reply_json_text(choice, "finish_reason"));
    take_usage(reply, json_object_get(choice, "usage"));
}

/* A chunk of a stream, or a plain body: they differ in delta and message. */
bool chat_take(struct reply *reply, struct view event, const json_t *json)
{
    const json_t *choice;
    size_t i;

    (void)event;
    json_array_foreach(json_object_get(json, "choices"), i, choice)
        take_choice(reply, choice);
    take_usage(reply,
               json_object_get(json_object_get(json, "x_groq"), "usage"));
    take_usage(reply, json_object_get(json, "usage"));
    return true;
}

void chat_end(struct reply *reply)
{
    reply_close_block(reply, "thinking");
    thought_end(reply);
}
