/* ask.c - the messages of a request. */
#include "consumer/conversation/ask.h"

#include "consumer/conversation/answer.h"
#include "consumer/conversation/summary.h"
#include "consumer/conversation/window.h"
#include "consumer/model/reply_json.h"
#include "consumer/text.h"
#include "schemas/message/limits.h"

enum language ask_language(const struct conversation *conversation)
{
    size_t i;
    json_t *message;
    json_t *first = json_array_get(conversation->said, 0);
    if (first)
        return language_of(reply_json_text(first, "content"));
    json_array_foreach(conversation->messages, i, message)
        if (view_is(reply_json_text(message, "role"), "user"))
            return language_of(reply_json_text(message, "content"));
    return LANGUAGE_EN;
}

static void ask_add_message(json_t *messages, const char *role,
                            struct view text)
{
    json_array_append_new(messages,
                          json_pack("{s:s, s:o}", "role", role, "content",
                                    json_stringn(text.data, text.len)));
}

/* All messages, nothing left out. The job's own system message becomes part of
 * ours: many endpoints take only one. */
static json_t *ask_whole(const struct conversation *conversation,
                         const struct ask *ask)
{
    json_t *all = json_array();
    json_t *first = json_array_get(conversation->messages, 0);
    bool own = view_is(reply_json_text(first, "role"), "system") &&
               json_is_string(json_object_get(first, "content"));
    const struct instructions instructions = {
        .prompts = ask->prompts,
        .prompt = prompt_of(conversation->job, ask->tools),
        .language = ask_language(conversation),
        .functions = ask->functions,
        .libraries = ask->libraries,
        .own = own ? reply_json_text(first, "content") : VIEW(""),
    };
    CLEANUP(buf_finish) struct buf system;
    prompt_write(&system, &instructions, conversation->job);
    if (conversation->schema)
        answer_rule(conversation->schema,
                    conversation->job->mode == MODE_CODEACT, &system);
    ask_add_message(all, "system", buf_view(&system));
    if (conversation->said)
        json_array_extend(all, conversation->said);
    for (size_t i = own; i < json_array_size(conversation->messages); i++)
        json_array_append(all, json_array_get(conversation->messages, i));
    return all;
}

/* ------------------------------------------------------------------ window
 */

/* Tokens of what is sent however much is left out. */
static uint64_t fixed_tokens(const struct window *all, const struct ask *ask)
{
    return (!ask->tools ? 0 : window_tokens(ask->tools)) +
           ask->pictures * IMAGE_TOKENS + window_fixed(all);
}

/* Converts tokens as the endpoint counts them into our estimate, by the last
 * request that it has counted. The ratio is kept within 1/4 and 2, so that one
 * odd count does little harm. */
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

/* The other way round: what the endpoint has counted once stays, and what has
 * come since is converted. */
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

static void ask_for_answer(struct request_messages *out)
{
    json_t *message =
        json_pack("{s:s, s:s}", "role", "user", "content", prompt_last);
    out->tokens += window_tokens(message);
    json_array_append_new(out->messages, message);
}

/* The history before the conversation may be gone or another one when a later
 * attempt asks: then the place of the last request means nothing. */
static size_t kept_before(const struct conversation *conversation)
{
    return view_equal(conversation->kept_of, conversation->said_of)
               ? conversation->kept
               : 0;
}

/* --------------------------------------------------------------------- cut
 */

/* All messages, and which of them are left out. */
struct request_cut {
    json_t *messages;
    struct window all;
    struct buf text; /* of the summary, as it is shown */
    struct window_summary summary;
    size_t before, kept; /* where what is sent began, and begins now */
    /* Tokens, by our estimate: */
    uint64_t fixed;  /* of what is sent however much is left out */
    uint64_t sent;   /* if it begins where the last request began */
    uint64_t window; /* that there is room for; 0: nobody knows */
};

/* Bytes of a summary: a small window must have room for messages as well. */
static size_t most_of_summary(const struct ask *ask)
{
    return ask->window > 0 && ask->window / 2 < MAX_SUMMARY_BYTES
               ? (size_t)ask->window / 2
               : MAX_SUMMARY_BYTES;
}

static void show_summary(struct request_cut *cut,
                         const struct conversation *conversation,
                         const struct ask *ask)
{
    cut->summary = summary_of(conversation);
    buf_init(&cut->text, 2 * (size_t)MAX_SUMMARY_BYTES);
    text_add_clipped(&cut->text, cut->summary.text, most_of_summary(ask));
    cut->summary.text = buf_view(&cut->text);
    if (cut->summary.text.len > 0)
        cut->fixed += window_text_tokens(cut->summary.text);
}

/* Where what is sent begins now. It leaves out much, but seldom: when the
 * window is three quarters full, down to the half. Between these cuts each
 * request begins like the one before, which endpoints have cached. */
static size_t place_of(const struct request_cut *cut,
                       const struct conversation *conversation,
                       const struct ask *ask)
{
    size_t kept = cut->before, wanted;
    bool full = cut->window > 0 && cut->sent > cut->window / 4 * 3;
    uint64_t aim = cut->window > 0 ? cut->window / 2 : cut->sent;
    if (ask->squeeze && aim > cut->sent / 2)
        aim = cut->sent / 2;
    if (full || ask->squeeze)
        kept = window_cut(&cut->all, kept,
                          aim > cut->fixed ? aim - cut->fixed : 0);
    if (summary_is_due(conversation, &wanted) && kept < wanted)
        kept = window_cut(&cut->all, wanted, UINT64_MAX);
    return kept;
}

static void make_cut(struct request_cut *cut,
                     const struct conversation *conversation,
                     const struct ask *ask)
{
    *cut = (struct request_cut){ .messages = ask_whole(conversation, ask) };
    cut->all = window_of(cut->messages, json_array_size(conversation->said));
    cut->before = window_cut(&cut->all, kept_before(conversation), UINT64_MAX);
    cut->fixed = fixed_tokens(&cut->all, ask);
    show_summary(cut, conversation, ask);
    cut->sent = cut->fixed + window_behind(&cut->all, cut->before);
    cut->window = in_our_tokens(conversation, ask->window);
    cut->kept = place_of(cut, conversation, ask);
}

static void cut_finish(struct request_cut *cut)
{
    json_decref(cut->messages);
    buf_finish(&cut->text);
}

/* ------------------------------------------------------------------ asking
 */

bool ask_write(const struct conversation *conversation, const struct ask *ask,
               struct request_messages *out, struct err *err)
{
    CLEANUP(cut_finish) struct request_cut cut;
    make_cut(&cut, conversation, ask);
    if (ask->squeeze && cut.kept == cut.before)
        return err_set(err, ERR_REJECT, "model_context",
                       "the conversation does not fit into the model's "
                       "window, and nothing more of it can be left out");
    *out = (struct request_messages){
        .messages = window_apply(&cut.all, cut.kept, &cut.summary),
        .kept = cut.kept,
        .tokens = cut.fixed + window_behind(&cut.all, cut.kept),
    };
    if (ask->last)
        ask_for_answer(out);
    out->expected = in_their_tokens(conversation, out->tokens);
    return true;
}

/* Also with the longest summary, in any script, the next request stays below
 * three quarters of the window, so that it is not cut again at once. */
static bool cut_has_room(const struct request_cut *cut, const struct ask *ask)
{
    uint64_t others = cut->fixed + window_behind(&cut->all, cut->kept);
    if (cut->summary.text.len > 0)
        others -= window_text_tokens(cut->summary.text);
    return cut->window == 0 ||
           others + most_of_summary(ask) / 2 <= cut->window / 4 * 3;
}

static void write_summary(const struct request_cut *cut,
                          struct view instructions,
                          struct request_messages *out)
{
    CLEANUP(buf_finish) struct buf text;
    uint64_t most = (cut->window > 0 ? cut->window : cut->sent) / 2;
    uint64_t own = window_text_tokens(instructions);
    const struct summary_source source = {
        .window = &cut->all,
        .from = cut->before,
        .to = cut->kept,
        .earlier = cut->summary.text,
        .tokens = most > own ? most - own : 0,
    };
    summary_write(&text, &source);
    *out = (struct request_messages){ .messages = json_array(),
                                      .kept = cut->kept };
    ask_add_message(out->messages, "system", instructions);
    ask_add_message(out->messages, "user", buf_view(&text));
    out->tokens = own + window_text_tokens(buf_view(&text));
}

bool ask_summary(const struct conversation *conversation, const struct ask *ask,
                 struct request_messages *out)
{
    CLEANUP(cut_finish) struct request_cut cut;
    bool own;
    make_cut(&cut, conversation, ask);
    if (cut.kept <= cut.before || !cut_has_room(&cut, ask))
        return false;
    write_summary(&cut,
                  prompt_text(ask->prompts, PROMPT_SUMMARY,
                              ask_language(conversation), &own),
                  out);
    out->expected = in_their_tokens(conversation, out->tokens);
    return true;
}
