/* chat_thought.c - reasoning that stands in the text: <think> ... </think>. */
#include "consumer/model/chat_thought.h"

#include <string.h>

static const char OPENING[] = "<think>";
static const char CLOSING[] = "</think>";

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static struct view skip_blanks(struct view text)
{
    while (text.len > 0 && is_blank(*text.data)) {
        text.data++;
        text.len--;
    }
    return text;
}

static struct view rest_of(struct view text, size_t from)
{
    return (struct view){ text.data + from, text.len - from };
}

/* Where the mark is; text.len when it is not. */
static size_t find(struct view text, const char *mark)
{
    const char *at =
        text.len > 0 ? memmem(text.data, text.len, mark, strlen(mark)) : NULL;

    return at ? (size_t)(at - text.data) : text.len;
}

/* How many of the last bytes may be the beginning of the mark. */
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

/* Each step takes from what is held; false: it needs more. */
static bool step_may(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;
    struct view held = buf_view(&thought->held);
    struct view text = skip_blanks(held);
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
    size_t at = find(held, CLOSING);
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
    size_t blanks = held.len - skip_blanks(held).len;

    buf_add(&thought->whole, (struct view){ held.data, blanks });
    buf_drop(&thought->held, blanks);
    if (thought->held.len == 0)
        return false;
    thought->state = THOUGHT_NONE;
    return true;
}

static void keep(struct reply *reply, struct view whole)
{
    reply_blocks_keep(&reply->blocks,
                      json_pack("{s:s, s:o}", "type", "inline", "text",
                                json_stringn(whole.data, whole.len)));
}

static void pass_on(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;

    if (thought->whole.len > 0)
        keep(reply, buf_view(&thought->whole));
    buf_clear(&thought->whole);
    reply_add_text(reply, buf_view(&thought->held));
    buf_clear(&thought->held);
}

void thought_feed(struct reply *reply, struct view text)
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
        pass_on(reply);
}

/* It never closed: then it is the answer, unless something else is, or it was
 * cut off. */
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

/* On a line of its own, before any code: with code, or in a sentence, it may
 * be part of an answer. */
static bool closes_alone(struct view text, size_t at)
{
    struct view before = { text.data, at };
    struct view after = rest_of(text, at + sizeof(CLOSING) - 1);

    return (at == 0 || text.data[at - 1] == '\n') &&
           (after.len == 0 || *after.data == '\n' || *after.data == '\r') &&
           find(before, "```") == at && find(before, OPENING) == at &&
           find(before, "<execute>") == at && find(before, "<code>") == at;
}

/* The opening mark was in the prompt: it has been told as text, and is taken
 * out of the answer. */
static void end_closing(struct reply *reply)
{
    struct view text = buf_view(&reply->content);
    size_t at = find(text, CLOSING);
    struct view after;

    if (at == text.len || reply->blocks.has_kept || !closes_alone(text, at))
        return;
    after = skip_blanks(rest_of(text, at + sizeof(CLOSING) - 1));
    if (after.len == 0)
        return;
    reply_blocks_finish(&reply->blocks);
    keep(reply, (struct view){ text.data, text.len - after.len });
    reply_blocks_text(&reply->blocks, after.len);
    buf_drop(&reply->content, text.len - after.len);
}

void thought_end(struct reply *reply)
{
    struct reply_thought *thought = &reply->thought;

    if (thought->state == THOUGHT_IN)
        end_open(reply);
    if (thought->held.len > 0 || thought->whole.len > 0)
        pass_on(reply);
    thought->state = THOUGHT_NONE;
    if (!reply->by_length)
        end_closing(reply);
}
