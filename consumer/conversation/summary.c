/* summary.c - what stands for the messages that a long conversation leaves out.
 */
#include "consumer/conversation/summary.h"

#include "consumer/model/reply_json.h"
#include "consumer/text.h"

enum {
    EACH_BYTES = 8 << 10, /* of one message; and as much of each call in it */
    TASK_BYTES = 2 << 10, /* two bytes are a token at the most */
};

/* ------------------------------------------------------------------- fold
 */

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

/* ---------------------------------------------------------------- reading
 */

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

/* ---------------------------------------------------------------- writing
 */

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

static bool is_told(const struct summary_source *source, size_t at)
{
    const struct window *window = source->window;
    return at >= window->said && (at < window->task || at >= window->head);
}

static uint64_t tokens_of(const struct summary_source *source, size_t at)
{
    CLEANUP(buf_finish) struct buf text;
    if (!is_told(source, at))
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
        lost += is_told(source, i);
    if (lost > 0)
        buf_printf(out, "[%zu messages are missing here]\n", lost);
    for (size_t i = first; i < source->to; i++)
        if (is_told(source, i))
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
