/* ask.c - what the model is sent. */
#include "consumer/conversation/ask.h"

#include "consumer/conversation/answer.h"
#include "consumer/conversation/window.h"
#include "consumer/model/reply_json.h"
#include "schemas/message/limits.h"

enum language ask_language(const struct conversation *conversation)
{
    size_t i;
    json_t *message;
    json_t *first = json_array_get(conversation->said, 0);
    if (first != NULL)
        return language_of(reply_json_text(first, "content"));
    json_array_foreach(conversation->messages, i, message)
        if (view_is(reply_json_text(message, "role"), "user"))
            return language_of(reply_json_text(message, "content"));
    return LANGUAGE_EN;
}

static void add_text(json_t *messages, const char *role, struct view text)
{
    json_array_append_new(messages,
                          json_pack("{s:s, s:o}", "role", role, "content",
                                    json_stringn(text.data, text.len)));
}

/* One system message: many endpoints take no second one. */
static json_t *whole(const struct conversation *conversation,
                     const struct ask *ask)
{
    json_t *all = json_array();
    json_t *first = json_array_get(conversation->messages, 0);
    bool own = view_is(reply_json_text(first, "role"), "system") &&
               json_is_string(json_object_get(first, "content"));
    CLEANUP(buf_finish) struct buf system;
    prompt_write(&system, ask->prompts,
                 prompt_of(conversation->job, ask->tools), conversation->job,
                 ask_language(conversation), ask->functions, ask->libraries,
                 own ? reply_json_text(first, "content") : VIEW(""));
    if (conversation->schema != NULL)
        answer_rule(conversation->schema,
                    conversation->job->mode == MODE_CODEACT, &system);
    add_text(all, "system", buf_view(&system));
    if (conversation->said != NULL)
        json_array_extend(all, conversation->said);
    for (size_t i = own; i < json_array_size(conversation->messages); i++)
        json_array_append(all, json_array_get(conversation->messages, i));
    return all;
}

/* ------------------------------------------------------------------ window
 */

/* What is sent whatever is cut. */
static uint64_t fixed_tokens(const struct window *all, const struct ask *ask)
{
    return (ask->tools == NULL ? 0 : window_tokens(ask->tools)) +
           ask->pictures * IMAGE_TOKENS + window_fixed(all);
}

/* As this endpoint has counted the last request, of its tokens in ours. */
static uint64_t in_our_tokens(const struct conversation *conversation,
                              uint64_t tokens)
{
    uint64_t counted = conversation->counted, ours = conversation->estimated;
    if (counted == 0 || ours == 0)
        return tokens;
    if (counted > 4 * ours)
        return tokens / 4;
    return counted * 2 < ours ? tokens * 2 : tokens * ours / counted;
}

/* The other way round: what it has counted once, and what has come since. */
static uint64_t in_their_tokens(const struct conversation *conversation,
                                uint64_t tokens)
{
    uint64_t counted = conversation->counted, ours = conversation->estimated;
    if (counted == 0 || ours == 0)
        return tokens;
    uint64_t known = tokens > ours ? ours : tokens;
    uint64_t added = tokens - known;
    uint64_t grown = counted > 4 * ours ? 4 * added : added * counted / ours;
    return known * counted / ours + grown;
}

static void ask_for_answer(struct asked_for *out)
{
    json_t *message =
        json_pack("{s:s, s:s}", "role", "user", "content", prompt_last);
    out->tokens += window_tokens(message);
    json_array_append_new(out->messages, message);
}

/* What was said before may be gone when another attempt asks, or be another:
 * a place behind it is none then. */
static size_t kept_before(const struct conversation *conversation)
{
    return view_equal(conversation->kept_of, conversation->said_of)
               ? conversation->kept
               : 0;
}

bool ask_write(const struct conversation *conversation, const struct ask *ask,
               struct asked_for *out, struct err *err)
{
    json_t *messages = whole(conversation, ask);
    struct window all =
        window_of(messages, json_array_size(conversation->said));
    size_t before = window_cut(&all, kept_before(conversation), UINT64_MAX);
    size_t kept = before;
    uint64_t fixed = fixed_tokens(&all, ask);
    uint64_t sent = fixed + window_behind(&all, before);
    uint64_t window = in_our_tokens(conversation, ask->window);
    /* Seldom and much: what was sent before is a beginning that is known. */
    bool full = window > 0 && sent > window / 4 * 3;
    uint64_t aim = window > 0 ? window / 2 : sent;
    if (ask->squeeze && aim > sent / 2)
        aim = sent / 2;
    if (full || ask->squeeze)
        kept = window_cut(&all, kept, aim > fixed ? aim - fixed : 0);
    bool good = !ask->squeeze || kept > before;
    if (good)
        *out = (struct asked_for){
            .messages = window_apply(&all, kept),
            .kept = kept,
            .tokens = fixed + window_behind(&all, kept),
        };
    if (good && ask->last)
        ask_for_answer(out);
    if (good)
        out->expected = in_their_tokens(conversation, out->tokens);
    json_decref(messages);
    return good ||
           err_set(err, ERR_REJECT, "model_context",
                   "the conversation does not fit into the model's window, "
                   "and nothing more of it can be left out");
}
