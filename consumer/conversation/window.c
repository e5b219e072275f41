/* window.c - what of a long conversation fits into the model's window, and the
 * summary that stands for the rest. */
#include "consumer/conversation/window.h"

#include <string.h>

#include "consumer/model/reply_json.h"
#include "schemas/message/buf.h"
#include "schemas/message/text.h"

enum {
    MESSAGE_TOKENS = 4, /* for what is around each message */
    /* Of a summary's source, where two bytes are a token at the most: */
    EACH_BYTES = 8 << 10, /* of one message; and as much of each call in it */
    TASK_BYTES = 2 << 10,
};

/* ------------------------------------------------------------------- tokens */

/* Quarters of a token, so that short texts are not rounded down to nothing. */
static uint64_t text_quarters(const char *text, size_t len)
{
    uint64_t quarters = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < 0x80)
            quarters += 1;
        else if (byte >= 0xc0) /* the first byte of a character */
            quarters += 4;
    }
    return quarters;
}

static bool is_image(const json_t *part)
{
    return json_object_get(part, "image_url");
}

/* Depth is bounded: jansson reads and writes no deeper than 2048. */
static uint64_t quarters_of(const json_t *json)
{
    const char *name;
    json_t *one;
    size_t i;
    uint64_t sum = 0;
    if (json_is_string(json))
        return text_quarters(json_string_value(json), json_string_length(json));
    if (is_image(json))
        return 4 * (uint64_t)IMAGE_TOKENS;
    json_array_foreach(json, i, one)
        sum += quarters_of(one);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)json, name, one)
        sum += quarters_of(one);
    return sum;
}

uint64_t window_text_tokens(struct view text)
{
    return text_quarters(text.data, text.len) / 4 + MESSAGE_TOKENS;
}

uint64_t window_tokens(const json_t *json)
{
    return quarters_of(json) / 4 + MESSAGE_TOKENS;
}

/* ------------------------------------------------------------------- groups */

static bool has_role(const json_t *message, const char *role)
{
    return view_is(reply_json_text(message, "role"), role);
}

struct window window_of(const json_t *messages, size_t said)
{
    struct window window = { .messages = messages };
    size_t head = 0;
    while (head < json_array_size(messages) &&
           has_role(json_array_get(messages, head), "system"))
        head++;
    window.said = head;
    head += said;
    window.task = head;
    while (head < json_array_size(messages) &&
           has_role(json_array_get(messages, head), "user"))
        head++;
    window.head = head;
    return window;
}

static uint64_t sum_of(const struct window *window, size_t from, size_t to)
{
    uint64_t sum = 0;
    for (size_t i = from; i < to; i++)
        sum += window_tokens(json_array_get(window->messages, i));
    return sum;
}

uint64_t window_fixed(const struct window *window)
{
    return sum_of(window, 0, window->said) +
           sum_of(window, window->task, window->head);
}

uint64_t window_behind(const struct window *window, size_t cut)
{
    size_t end = json_array_size(window->messages);
    return sum_of(window, cut, window->task) +
           sum_of(window, cut > window->head ? cut : window->head, end);
}

static bool is_observation(const json_t *message)
{
    return view_starts(reply_json_text(message, "content"), "Observation:");
}

/* A message of the assistant begins one; so does one of the user, unless it is
 * the observation of a cell in CodeAct mode. */
static bool begins_group(const json_t *messages, size_t at)
{
    const json_t *message = json_array_get(messages, at);
    return has_role(message, "assistant") ||
           (has_role(message, "user") && !is_observation(message));
}

static size_t last_group(const json_t *messages, size_t from)
{
    size_t at = json_array_size(messages);
    while (at > from && !has_role(json_array_get(messages, at), "assistant"))
        at--;
    return at;
}

/* Leaves out pairs of what was said before, until the rest fits or there is
 * none: then the cut is at the head. */
static size_t cut_said(const struct window *window, size_t cut, uint64_t *sum,
                       uint64_t tokens)
{
    for (; cut<window->task && * sum> tokens; cut += 2)
        *sum -= sum_of(window, cut, cut + 2);
    return cut < window->task ? cut : window->head;
}

/* The nearest place at or after from where a cut may be: journals lie in Redis,
 * so their numbers are not trusted. */
static size_t place_at(const struct window *window, size_t from)
{
    size_t last = last_group(window->messages, window->head);
    size_t at = from > window->said ? from : window->said;
    if (at < window->task)
        at += (at - window->said) % 2;
    if (at < window->task)
        return at;
    if (at < window->head)
        return window->head;
    return at < last ? at : last;
}

size_t window_cut(const struct window *window, size_t from, uint64_t tokens)
{
    const json_t *messages = window->messages;
    size_t cut = place_at(window, from);
    uint64_t sum = window_behind(window, cut);
    if (cut < window->task)
        cut = cut_said(window, cut, &sum, tokens);
    if (cut < window->head)
        return cut;
    size_t last = last_group(messages, cut);
    for (size_t i = cut; i < last && sum > tokens; i++) {
        sum -= window_tokens(json_array_get(messages, i));
        while (!begins_group(messages, i + 1))
            sum -= window_tokens(json_array_get(messages, ++i));
        cut = i + 1;
    }
    return cut;
}

/* --------------------------------------------------------- what is sent */

static void add_user(json_t *messages, json_t *text)
{
    json_array_append_new(
        messages, json_pack("{s:s, s:o}", "role", "user", "content", text));
}

static void window_add_note(json_t *messages, size_t count)
{
    add_user(messages,
             json_sprintf("[%zu earlier messages are left out here: the "
                          "conversation is too long for them.]",
                          count));
}

static bool may_be_left_out(const struct window *window, size_t at)
{
    return at >= window->said && (at < window->task || at >= window->head);
}

/* How many messages between two places may be left out. */
static size_t count_between(const struct window *window, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        count += may_be_left_out(window, i);
    return count;
}

static void add_summary(json_t *messages, const struct window *window,
                        size_t cut, const struct window_summary *summary)
{
    size_t until = summary->until < cut ? summary->until : cut;
    size_t told = count_between(window, window->said, until);
    size_t untold = count_between(window, until, cut);
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, summary->text.len + 512);
    buf_printf(&text,
               "[%zu earlier messages are left out here: the conversation is "
               "too long for them. A summary of them:]\n",
               told);
    buf_add(&text, summary->text);
    if (untold > 0)
        buf_printf(&text,
                   "\n[%zu messages after these are left out without a "
                   "summary.]",
                   untold);
    add_user(messages, json_stringn(text.data, text.len));
}

/* Messages may be missing in two places: before the task and behind it. Each
 * has its note; but one summary tells of both, in the second place. */
static void add_notice(json_t *messages, const struct window *window,
                       size_t place, size_t cut,
                       const struct window_summary *summary)
{
    bool before = place <= window->task;
    size_t count = count_between(window, before ? window->said : window->head,
                                 before ? place : cut);
    if (summary->text.len == 0)
        window_add_note(messages, count);
    else if (!before || cut <= window->head)
        add_summary(messages, window, cut, summary);
}

json_t *window_apply(const struct window *window, size_t cut,
                     const struct window_summary *summary)
{
    const json_t *messages = window->messages;
    size_t before = cut < window->task ? cut : window->task;
    json_t *kept = json_array();
    for (size_t i = 0; i < json_array_size(messages); i++) {
        bool behind = i >= window->head;
        if (i == before && before > window->said)
            add_notice(kept, window, before, cut, summary);
        if (behind && i == cut && cut > window->head)
            add_notice(kept, window, cut, cut, summary);
        bool stays = i < window->said || (i >= window->task && !behind);
        if (stays || i >= cut)
            json_array_append(kept, json_array_get(messages, i));
    }
    return kept;
}

/* --------------------------------------------------------------- summaries */

static struct view kept_text(struct conversation *conversation,
                             struct view text)
{
    return text.len == 0 ? (struct view){ 0 }
                         : arena_copy(&conversation->arena, text);
}

void summary_intend(struct conversation *conversation,
                    const struct record *intent)
{
    struct summary *summary = &conversation->summary;
    summary->due = true;
    summary->wanted = (size_t)intent->kept;
    summary->wanted_of = kept_text(conversation, intent->history);
}

/* Requests begin there from now on, with the summary or without. */
static void begin_there(struct conversation *conversation)
{
    struct summary *summary = &conversation->summary;
    summary->due = false;
    conversation->kept = summary->wanted;
    conversation->kept_of = summary->wanted_of;
}

/* Empty: it is no summary. A model that calls something has not understood what
 * it was asked for. */
static struct view summary_text(const json_t *message)
{
    bool calls = json_array_size(json_object_get(message, "tool_calls")) > 0;
    return calls ? (struct view){ 0 }
                 : view_trimmed(reply_json_text(message, "content"));
}

bool summary_is_in(const json_t *message)
{
    return summary_text(message).len > 0;
}

void summary_take(struct conversation *conversation, const json_t *message)
{
    struct summary *summary = &conversation->summary;
    struct view text = summary_text(message);
    CLEANUP(buf_finish) struct buf clipped;
    buf_init(&clipped, MAX_SUMMARY_BYTES);
    begin_there(conversation);
    summary->made += text.len > 0;
    summary->failed += text.len == 0;
    if (text.len == 0)
        return;
    text_add_clipped(&clipped, text, MAX_SUMMARY_BYTES);
    summary->text = kept_text(conversation, buf_view(&clipped));
    summary->until = summary->wanted;
    summary->of = summary->wanted_of;
}

void summary_forgo(struct conversation *conversation,
                   const struct record *record)
{
    summary_intend(conversation, record);
    begin_there(conversation);
    conversation->summary.failed++;
}

struct window_summary summary_of(const struct conversation *conversation)
{
    const struct summary *summary = &conversation->summary;
    if (!view_equal(summary->of, conversation->said_of))
        return (struct window_summary){ 0 };
    return (struct window_summary){ summary->text, summary->until };
}

bool summary_is_due(const struct conversation *conversation, size_t *until)
{
    const struct summary *summary = &conversation->summary;
    *until = summary->wanted;
    return summary->due &&
           view_equal(summary->wanted_of, conversation->said_of);
}

/* ---------------------------------------------------- what a summary is of */

static void summary_add_text(struct buf *out, struct view text, size_t max)
{
    text_add_clipped(out, text, max);
    buf_add(out, VIEW("\n"));
}

/* The texts of a message; of a picture only that there was one. */
static void add_content(struct buf *out, const json_t *message, size_t max)
{
    const json_t *content = json_object_get(message, "content");
    size_t i;
    json_t *part;
    if (json_is_string(content))
        summary_add_text(out, reply_json_text(message, "content"), max);
    json_array_foreach(content, i, part) {
        if (json_object_get(part, "image_url"))
            buf_add(out, VIEW("[picture]\n"));
        else
            summary_add_text(out, reply_json_text(part, "text"), max);
    }
}

static void add_calls(struct buf *out, const json_t *message, size_t max)
{
    size_t i;
    json_t *call;
    json_array_foreach(json_object_get(message, "tool_calls"), i, call) {
        const json_t *function = json_object_get(call, "function");
        buf_printf(out, "[call of %.*s]\n",
                   VIEW_ARG(reply_json_text(function, "name")));
        summary_add_text(out, reply_json_text(function, "arguments"), max);
    }
}

static void add_message(struct buf *out, const json_t *message, size_t max)
{
    buf_printf(out, "[%.*s]\n", VIEW_ARG(reply_json_text(message, "role")));
    add_content(out, message, max);
    add_calls(out, message, max);
}

static uint64_t tokens_of(const struct summary_source *source, size_t at)
{
    CLEANUP(buf_finish) struct buf text;
    if (!may_be_left_out(source->window, at))
        return 0;
    buf_init(&text, SIZE_MAX);
    add_message(&text, json_array_get(source->window->messages, at),
                EACH_BYTES);
    return window_text_tokens(buf_view(&text));
}

/* The first message that there is room for, with all behind it. */
static size_t first_that_fits(const struct summary_source *source,
                              uint64_t room)
{
    size_t first = source->to;
    uint64_t sum = 0;
    while (first > source->from &&
           (sum += tokens_of(source, first - 1)) <= room)
        first--;
    return first;
}

static void add_messages(struct buf *out, const struct summary_source *source,
                         uint64_t room)
{
    size_t first = first_that_fits(source, room), max = EACH_BYTES, lost = 0;
    if (first == source->to) { /* not even one: then as much of it as does */
        first = source->to - 1;
        max = 2 * room < EACH_BYTES ? 2 * (size_t)room : EACH_BYTES;
    }
    for (size_t i = source->from; i < first; i++)
        lost += may_be_left_out(source->window, i);
    if (lost > 0)
        buf_printf(out, "[%zu messages are missing here]\n", lost);
    for (size_t i = first; i < source->to; i++)
        if (may_be_left_out(source->window, i))
            add_message(out, json_array_get(source->window->messages, i), max);
}

void summary_write(struct buf *out, const struct summary_source *source)
{
    const struct window *window = source->window;
    size_t share =
        source->tokens / 4 < TASK_BYTES ? source->tokens / 4 : TASK_BYTES;
    buf_init(out, SIZE_MAX);
    if (window->head > window->task) {
        buf_add(out, VIEW("[task]\n"));
        add_content(out, json_array_get(window->messages, window->head - 1),
                    share);
    }
    if (source->earlier.len > 0) {
        buf_add(out, VIEW("[earlier summary]\n"));
        summary_add_text(out, source->earlier, source->earlier.len);
    }
    uint64_t taken = window_text_tokens(buf_view(out));
    add_messages(out, source,
                 source->tokens > taken ? source->tokens - taken : 0);
}
