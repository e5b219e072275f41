/* window.c - what of a long conversation fits into the model's window. */
#include "consumer/conversation/window.h"

#include <string.h>

#include "consumer/model/reply_json.h"
#include "schemas/message/buf.h"

enum {
    MESSAGE_TOKENS = 4, /* for what is around each message */
};

/* ------------------------------------------------------------------ tokens
 */

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

/* ------------------------------------------------------------------ groups
 */

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

/* How many messages between two places may be left out. */
static size_t count_between(const struct window *window, size_t from, size_t to)
{
    size_t count = 0;
    for (size_t i = from; i < to; i++)
        count += i >= window->said && (i < window->task || i >= window->head);
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
