/* chat.c - the dialect of chat-completions.
 *
 * Messages are in this form already, so writing changes little. Reading has
 * more to do: many servers speak this dialect, each a little differently. */
#include <string.h>

#include "consumer/model/dialect.h"
#include "consumer/model/endpoint.h"
#include "consumer/model/model.h"
#include "consumer/model/price.h"
#include "consumer/model/reasoning.h"
#include "consumer/model/reply_draft.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/buf.h"

/* --------------------------------------------------- reasoning in the text */

/* Some models write <think> ... </think> into their text, and their endpoint
 * does not take it out. It is told as reasoning and is no part of the answer.
 * It goes back unchanged to the endpoint it came from: some models need it in a
 * chain of tool calls, and the templates of others leave it out. Only at the
 * beginning of the text: further on, the text may be about such marks. */

static const char OPENING[] = "<think>";
static const char CLOSING[] = "</think>";

static bool chat_is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static struct view chat_skip_blanks(struct view text)
{
    while (text.len > 0 && chat_is_blank(*text.data)) {
        text.data++;
        text.len--;
    }
    return text;
}

static struct view chat_rest(struct view text, size_t from)
{
    return (struct view){ text.data + from, text.len - from };
}

/* The position of the mark; text.len when it is not there. */
static size_t chat_find_mark(struct view text, const char *mark)
{
    const char *at =
        text.len > 0 ? memmem(text.data, text.len, mark, strlen(mark)) : NULL;

    return at ? (size_t)(at - text.data) : text.len;
}

/* How many bytes at the end of the text may be the beginning of the mark. */
static size_t tail_of(struct view text, const char *mark)
{
    size_t tail = strlen(mark) - 1;

    if (tail > text.len)
        tail = text.len;
    while (tail > 0 && memcmp(text.data + text.len - tail, mark, tail) != 0)
        tail--;
    return tail;
}

static void think(struct reply *reply, struct view text)
{
    buf_add(&reply->thought.whole, text);
    reply_add_reasoning(reply, text);
}

/* Each step takes from what is held. False: it needs more text. */
static bool step_may(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;
    struct view held = buf_view(&thought->held);
    struct view text = chat_skip_blanks(held);
    size_t mark = sizeof(OPENING) - 1;

    if (text.len < mark && memcmp(text.data, OPENING, text.len) == 0)
        return false;
    thought->state = view_starts(text, OPENING) ? THOUGHT_IN : THOUGHT_NONE;
    if (thought->state == THOUGHT_IN) {
        mark += held.len - text.len;
        buf_add(&thought->whole, view_head(held, mark));
        buf_drop(&thought->held, mark);
    }
    return true;
}

static bool step_in(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;
    struct view held = buf_view(&thought->held);
    size_t at = chat_find_mark(held, CLOSING);
    bool closes = at < held.len;

    if (!closes)
        at -= tail_of(held, CLOSING);
    think(reply, (struct view){ held.data, at });
    buf_drop(&thought->held, at);
    if (!closes)
        return false;
    buf_add(&thought->whole, VIEW(CLOSING));
    buf_drop(&thought->held, sizeof(CLOSING) - 1);
    thought->state = THOUGHT_AFTER;
    return true;
}

static bool step_after(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;
    struct view held = buf_view(&thought->held);
    size_t blanks = held.len - chat_skip_blanks(held).len;

    buf_add(&thought->whole, (struct view){ held.data, blanks });
    buf_drop(&thought->held, blanks);
    if (thought->held.len == 0)
        return false;
    thought->state = THOUGHT_NONE;
    return true;
}

static void chat_keep_thought(struct reply *reply, struct view whole)
{
    reply_blocks_keep(&reply->blocks,
                      json_pack("{s:s, s:o}", "type", "inline", "text",
                                json_stringn(whole.data, whole.len)));
}

/* Keeps the thought, if there was one, and gives what is held as text. */
static void chat_pass_on(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;

    if (thought->whole.len > 0)
        chat_keep_thought(reply, buf_view(&thought->whole));
    buf_clear(&thought->whole);
    reply_add_text(reply, buf_view(&thought->held));
    buf_clear(&thought->held);
}

/* Takes the next piece of the content. */
static void thought_feed(struct reply *reply, struct view text)
{
    struct reply_thought *thought = &reply->thought;
    bool more = true;

    reply->has_content = true;
    if (thought->state == THOUGHT_NONE) {
        reply_add_text(reply, text);
        return;
    }
    buf_add(&thought->held, text);
    while (more && thought->held.len > 0 && thought->state != THOUGHT_NONE)
        more = thought->state == THOUGHT_MAY  ? step_may(reply)
               : thought->state == THOUGHT_IN ? step_in(reply)
                                              : step_after(reply);
    if (thought->state == THOUGHT_NONE)
        chat_pass_on(reply);
}

/* The mark was never closed. Then the thought is the answer, unless the reply
 * was cut off, or has calls. */
static void end_open(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;

    think(reply, buf_view(&thought->held));
    buf_clear(&thought->held);
    if (!reply->by_length && reply->calls.count == 0) {
        buf_add(&reply->content, buf_view(&thought->whole));
        buf_clear(&thought->whole);
    }
}

/* Whether a closing mark is alone on its line and before any code. Else it may
 * be part of an answer. */
static bool closes_alone(struct view text, size_t at)
{
    struct view before = { text.data, at };
    struct view after = chat_rest(text, at + sizeof(CLOSING) - 1);

    return (at == 0 || text.data[at - 1] == '\n') &&
           (after.len == 0 || *after.data == '\n' || *after.data == '\r') &&
           chat_find_mark(before, "```") == at &&
           chat_find_mark(before, OPENING) == at &&
           chat_find_mark(before, "<execute>") == at &&
           chat_find_mark(before, "<code>") == at;
}

/* A closing mark without an opening one: the template has put that into the
 * prompt. The thought was told as text by then; it is taken out of the answer.
 */
static void end_closing(struct reply *reply)
{
    struct view text = buf_view(&reply->content);
    size_t at = chat_find_mark(text, CLOSING);
    struct view after;

    if (at == text.len || reply->blocks.has_kept || !closes_alone(text, at))
        return;
    after = chat_skip_blanks(chat_rest(text, at + sizeof(CLOSING) - 1));
    if (after.len == 0)
        return;
    reply_blocks_finish(&reply->blocks);
    chat_keep_thought(reply, (struct view){ text.data, text.len - after.len });
    reply_blocks_text(&reply->blocks, after.len);
    buf_drop(&reply->content, text.len - after.len);
}

/* The content has ended: gives what was held back. */
static void thought_end(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;

    if (thought->state == THOUGHT_IN)
        end_open(reply);
    if (thought->held.len > 0 || thought->whole.len > 0)
        chat_pass_on(reply);
    thought->state = THOUGHT_NONE;
    if (!reply->by_length)
        end_closing(reply);
}

/* ------------------------------------------------------------------- reply */

/* A part of Mistral's that is reasoning: it goes back in its place. */
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
static void chat_add_part(struct reply *reply, const json_t *part)
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
        chat_add_part(reply, part);
}

/* There are two names. An endpoint that sends both says the same in both. */
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

/* In dollars, as OpenRouter says it. */
static void take_cost(struct reply *reply, const json_t *cost)
{
    reply->has_cost = json_is_number(cost) && json_number_value(cost) >= 0;
    reply->usage.cost =
        reply->has_cost ? price_micro(json_number_value(cost)) : 0;
}

/* The tokens written to the cache, under the names of OpenAI and OpenRouter, of
 * LiteLLM, and of proxies that pass on Anthropic's. */
static uint64_t written_of(const json_t *usage, const json_t *details)
{
    uint64_t written = reply_tokens(details, "cache_write_tokens");

    if (written == 0)
        written = reply_tokens(details, "cache_creation_tokens");
    if (written == 0)
        written = reply_tokens(usage, "cache_creation_input_tokens");
    return written;
}

/* The last usage counts: when several chunks have one, each is of the whole
 * reply.
 */
static void chat_take_usage(struct reply *reply, const json_t *usage)
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

/* Whether a message has more in it than its role. */
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

/* A chunk has a delta, a plain body a message. Some servers send both. In a
 * plain body the message counts, unless only the delta says something. In a
 * stream the delta counts, unless only the message says something and nothing
 * has come before: else it repeats the whole reply. */
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
    chat_take_usage(reply, json_object_get(choice, "usage"));
}

/* A chunk of a stream, or a plain body: they differ in delta and message. */
static bool chat_take(struct reply *reply, struct view event,
                      const json_t *json)
{
    const json_t *choice;
    size_t i;

    (void)event;
    json_array_foreach(json_object_get(json, "choices"), i, choice)
        take_choice(reply, choice);
    chat_take_usage(reply,
                    json_object_get(json_object_get(json, "x_groq"), "usage"));
    chat_take_usage(reply, json_object_get(json, "usage"));
    return true;
}

static void chat_end(struct reply *reply)
{
    reply_close_block(reply, "thinking");
    thought_end(reply);
}

enum { MAX_CONTENT = 4 << 20 };

/* ----------------------------------------------------------- what was kept */

struct content {
    struct buf text; /* the text, with reasoning between its marks */
    json_t *parts;   /* the same as a list of parts */
    bool has_parts;  /* Mistral's reasoning: it must go back as parts */
};

static void on_kept(void *owner, json_t *kept)
{
    struct content *content = owner;
    struct view thinking = reply_json_text(kept, "thinking");
    json_t *part;

    if (view_is(reply_json_text(kept, "type"), "inline")) {
        buf_add(&content->text, reply_json_text(kept, "text"));
        return;
    }
    content->has_parts = true;
    part = json_copy(kept);
    json_object_set_new(part, "thinking",
                        json_pack("[{s:s, s:o}]", "type", "text", "text",
                                  json_stringn(thinking.data, thinking.len)));
    json_array_append_new(content->parts, part);
}

static void on_text(void *owner, struct view text, const json_t *mark)
{
    struct content *content = owner;

    (void)mark;
    buf_add(&content->text, text);
    json_array_append_new(content->parts,
                          json_pack("{s:s, s:o}", "type", "text", "text",
                                    json_stringn(text.data, text.len)));
}

static void on_call(void *owner, const json_t *call)
{
    (void)owner;
    (void)call;
}

/* The content with its reasoning in its place. A new reference. */
static json_t *content_as_said(const struct model_endpoint *endpoint,
                               const json_t *message)
{
    static const struct block_events events = { on_kept, on_text, on_call };
    struct content content = { .parts = json_array() };
    json_t *json;

    buf_init(&content.text, MAX_CONTENT);
    opaque_walk(message, dialect_chat.name, endpoint->name, &events, &content);
    json = content.has_parts
               ? json_incref(content.parts)
               : json_stringn(content.text.len > 0 ? content.text.data : "",
                              content.text.len);
    json_decref(content.parts);
    buf_finish(&content.text);
    return json;
}

/* ---------------------------------------------------------------- messages */

/* The content as this endpoint takes it: with the reasoning that came from it,
 * and not null, or not "", where it refuses that. A new reference; NULL: as it
 * is. */
static json_t *fit_content(const struct model_endpoint *endpoint,
                           const json_t *message)
{
    json_t *content = json_object_get(message, "content");

    if (opaque_is_for(message, dialect_chat.name, endpoint->name))
        return content_as_said(endpoint, message);
    if (endpoint_has(endpoint, QUIRK_NO_NULL_CONTENT) && json_is_null(content))
        return json_string("");
    if (endpoint_has(endpoint, QUIRK_NO_EMPTY_CONTENT) &&
        json_is_string(content) && json_string_length(content) == 0)
        return json_null();
    return NULL;
}

static json_t *fit_message(const struct model_endpoint *endpoint,
                           json_t *message)
{
    json_t *fit = fit_content(endpoint, message);

    if (!fit && !json_object_get(message, "opaque"))
        return json_incref(message);
    message = json_copy(message);
    json_object_del(message, "opaque");
    if (fit)
        json_object_set_new(message, "content", fit);
    return message;
}

static json_t *fit_messages(const struct model_endpoint *endpoint,
                            json_t *messages)
{
    json_t *list = json_array(), *message;
    size_t i;

    json_array_foreach(messages, i, message)
        json_array_append_new(list, fit_message(endpoint, message));
    return list;
}

/* Tools that must not be called (last) are shown all the same: some endpoints
 * refuse a history of calls without them. */
static void chat_set_tools(json_t *body, const struct model_endpoint *endpoint,
                           const struct model_request *request)
{
    struct view name = request->choice;

    if (!dialect_sends_tools(body, endpoint, request))
        return;
    json_object_set(body, "tools", request->tools);
    dialect_set_choice(body, endpoint, request,
                       json_pack("{s:s, s:{s:o}}", "type", "function",
                                 "function", "name",
                                 json_stringn(name.data, name.len)));
}

static void set_max_tokens(json_t *body, const struct model_endpoint *endpoint,
                           uint64_t max_tokens)
{
    const char *name = endpoint_has(endpoint, QUIRK_MAX_COMPLETION_TOKENS)
                           ? "max_completion_tokens"
                           : "max_tokens";

    if (max_tokens > 0 && !endpoint_has(endpoint, QUIRK_NO_MAX_TOKENS))
        json_object_set_new(body, name, json_integer((json_int_t)max_tokens));
}

static uint64_t chat_max_tokens(const struct model_endpoint *endpoint,
                                const struct model_request *request)
{
    static const char *const names[] = { "max_completion_tokens",
                                         "max_tokens" };

    if (request->max_tokens > 0 && !endpoint_has(endpoint, QUIRK_NO_MAX_TOKENS))
        return request->max_tokens;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        json_int_t most =
            json_integer_value(json_object_get(endpoint->parameters, names[i]));

        if (most > 0)
            return (uint64_t)most;
    }
    return 0;
}

static json_t *chat_write_body(const struct model_endpoint *endpoint,
                               const struct model_request *request)
{
    json_t *body = json_pack("{s:s, s:o}", "model", endpoint->model, "messages",
                             fit_messages(endpoint, request->messages));

    json_t *parameters = endpoint_parameters(endpoint, request->parameters);

    json_object_update_missing(body, parameters);
    json_decref(parameters);
    chat_set_tools(body, endpoint, request);
    set_max_tokens(body, endpoint, request->max_tokens);
    if (endpoint_has(endpoint, QUIRK_NO_STREAM))
        return body;
    json_object_set_new(body, "stream", json_true());
    if (!endpoint_has(endpoint, QUIRK_NO_STREAM_OPTIONS))
        json_object_set_new(body, "stream_options",
                            json_pack("{s:b}", "include_usage", 1));
    return body;
}

/* The API gives no summary of reasoning. */
static void chat_set_parameter(json_t *parameters, const char *name,
                               json_t *value)
{
    if (strcmp(name, "reasoning_summary") != 0)
        json_object_set(parameters, name, value);
}

static const struct dialect_lesson lessons[] = {
    { "temperature", QUIRK_NO_TEMPERATURE },
    { "top_p", QUIRK_NO_TOP_P },
    { "seed", QUIRK_NO_SEED },
    { "stop", QUIRK_NO_STOP },
    { "reasoning_effort", QUIRK_NO_EFFORT },
    { "top_k", QUIRK_NO_SAMPLING },
    { "min_p", QUIRK_NO_SAMPLING },
    { "presence_penalty", QUIRK_NO_SAMPLING },
    { "frequency_penalty", QUIRK_NO_SAMPLING },
    { "verbosity", QUIRK_NO_SAMPLING },
    { "parallel_tool_calls", QUIRK_NO_SAMPLING },
    { "stream_options", QUIRK_NO_STREAM_OPTIONS },
    { "stream", QUIRK_NO_STREAM },
    { "tool_choice", QUIRK_NO_TOOL_CHOICE },
    /* A refusal of one names the other as well: max_tokens must come first. */
    { "max_tokens", QUIRK_MAX_COMPLETION_TOKENS },
    { "max_completion_tokens", QUIRK_NO_MAX_TOKENS },
    { NULL, 0 },
};

const struct dialect dialect_chat = {
    .name = "chat",
    .what = "a chat-completions reply",
    .path = "/chat/completions",
    .key_header = "Authorization: Bearer %s",
    .lessons = lessons,
    .write = chat_write_body,
    .set_parameter = chat_set_parameter,
    .max_tokens = chat_max_tokens,
    .take = chat_take,
    .end = chat_end,
};
