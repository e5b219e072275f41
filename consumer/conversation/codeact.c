/* codeact.c - what a message of a model in CodeAct mode says. */
#include "consumer/conversation/codeact.h"

#include <string.h>

#include "consumer/conversation/block.h"
#include "consumer/conversation/markdown.h"
#include "consumer/conversation/passage.h"
#include "consumer/conversation/python.h"
#include "consumer/conversation/tag.h"

#define NOWHERE ((size_t)-1)

static struct view without(struct view text, size_t bytes)
{
    return (struct view){ text.data + bytes, text.len - bytes };
}

static bool is_whole(const struct codeact_rules *rules, struct view code)
{
    return rules->parses != NULL ? rules->parses(rules->owner, code)
                                 : python_is_whole(code);
}

/* As passages.h asks: of a block as it stands in the text. */
static bool block_is_whole(void *owner, struct view body)
{
    const struct codeact_rules *rules = owner;
    CLEANUP(buf_finish) struct buf code = { .max = body.len + 2 };

    block_add(&code, body);
    return is_whole(rules, buf_view(&code));
}

/* What has happened in the text so far. */
struct story {
    bool coded;
    bool bare; /* there was a bare fence that looks like Python */
    bool answered;
};

static bool looks_like_python(struct view body)
{
    CLEANUP(buf_finish) struct buf code = { .max = body.len + 2 };

    block_add(&code, body);
    return python_guess(buf_view(&code)) == PYTHON_YES;
}

/* false: an observation that nobody has made. In prose without code "Output:"
 * is a word like others. */
static bool follow_prose(struct story *story, const struct passage *passage)
{
    struct view value;
    size_t stars;
    enum label label = LABEL_NONE;

    if (passage->starts_line)
        label = label_of(passage->whole, &value, &stars);
    if (label == LABEL_OBSERVATION)
        return !story->coded && (!story->bare || story->answered);
    if (label == LABEL_ANSWER || label_answers_late(passage->whole, &value))
        story->answered = true;
    return true;
}

/* As follow_prose(). Code that counts is noted by who has found it. */
static bool follow(struct story *story, const struct passage *passage)
{
    switch (passage->kind) {
    case PASSAGE_PROSE:
        return follow_prose(story, passage);
    case PASSAGE_BARE:
        story->bare = story->bare || looks_like_python(passage->body);
        return true;
    case PASSAGE_SOLUTION:
        if (!passage->closed || view_trimmed(passage->body).len > 0)
            story->answered = true;
        return true;
    case PASSAGE_CLOSING:
        story->bare = story->bare && story->coded;
        story->answered = story->answered && story->coded;
        return true;
    case PASSAGE_CODE:
    case PASSAGE_OTHER:
    case PASSAGE_THOUGHT:
        return true;
    }
    return true;
}

struct reading {
    struct codeact *out; /* its answer: all that can be seen, until the end */
    const struct codeact_rules *rules;
    struct story story;
    struct buf tagged; /* code of the blocks in tags */
    size_t tagged_blocks;
    struct buf bare; /* code of the bare fences */
    size_t bares;
    bool bare_cut; /* the last of them was cut off */
    /* In what can be seen: the answer; its end: NOWHERE: that of the text. */
    size_t start, end;
    size_t stars; /* that the answer's line ends with and were opened before */
    size_t visible; /* what comes before is reasoning */
};

static void set_answer(struct reading *reading, size_t start, size_t end,
                       size_t stars)
{
    reading->start = start;
    reading->end = end;
    reading->stars = stars;
}

static void read_prose(struct reading *reading, const struct passage *passage)
{
    struct buf *seen = &reading->out->answer;
    struct view whole = passage->whole;
    struct view value;
    size_t stars = 0;

    if (passage->starts_line &&
        label_of(whole, &value, &stars) == LABEL_ANSWER) {
        set_answer(reading, seen->len, NOWHERE, stars);
        buf_add(seen, value);
    } else if (label_answers_late(whole, &value)) {
        set_answer(reading, seen->len + (size_t)(value.data - whole.data),
                   NOWHERE, 0);
        buf_add(seen, whole);
    } else {
        buf_add(seen, whole);
    }
}

static void read_solution(struct reading *reading,
                          const struct passage *passage)
{
    struct buf *seen = &reading->out->answer;
    size_t start = seen->len;

    buf_add(seen, passage->whole);
    if (!passage->closed)
        set_answer(reading, seen->len, NOWHERE, 0);
    else if (view_trimmed(passage->body).len > 0) {
        start += (size_t)(passage->body.data - passage->whole.data);
        set_answer(reading, start, start + passage->body.len, 0);
    }
}

static void add_block(struct buf *blocks, const struct buf *code)
{
    if (blocks->len > 0)
        buf_append(blocks, "\n\n", 2);
    buf_add(blocks, buf_view(code));
}

static void read_code(struct reading *reading, const struct passage *passage)
{
    struct codeact *out = reading->out;
    CLEANUP(buf_finish) struct buf code = { .max = passage->body.len + 2 };

    block_add(&code,
              passage->closed ? passage->body : tag_cut_broken(passage->body));
    if (!passage->closed && !(reading->rules->stopped &&
                              is_whole(reading->rules, buf_view(&code)))) {
        out->unclosed = true;
        return;
    }
    if (code.len == 0)
        return;
    add_block(&out->code, &code);
    out->blocks++;
    if (view_starts(passage->whole, "<")) {
        add_block(&reading->tagged, &code);
        reading->tagged_blocks++;
    }
    reading->story.coded = true;
}

static void read_bare(struct reading *reading, const struct passage *passage)
{
    buf_add(&reading->out->answer, passage->whole);
    if (!looks_like_python(passage->body))
        return;
    if (!passage->closed && !reading->rules->stopped) {
        reading->bare_cut = true;
        return;
    }
    block_add(&reading->bare, passage->body);
    reading->bares++;
}

/* What was before was reasoning, unless code was: then it ends nothing. */
static void read_closing(struct reading *reading)
{
    if (reading->story.coded)
        return;
    reading->visible = reading->out->answer.len;
    set_answer(reading, NOWHERE, NOWHERE, 0);
    buf_clear(&reading->bare);
    reading->bares = 0;
}

static void read_passage(struct reading *reading, const struct passage *passage)
{
    switch (passage->kind) {
    case PASSAGE_PROSE:
        read_prose(reading, passage);
        return;
    case PASSAGE_CODE:
        read_code(reading, passage);
        return;
    case PASSAGE_BARE:
        read_bare(reading, passage);
        return;
    case PASSAGE_SOLUTION:
        read_solution(reading, passage);
        return;
    case PASSAGE_OTHER:
        buf_add(&reading->out->answer, passage->whole);
        return;
    case PASSAGE_CLOSING:
        read_closing(reading);
        return;
    case PASSAGE_THOUGHT:
        return;
    }
}

static struct view seen_from(const struct reading *reading, size_t start,
                             size_t end)
{
    struct view seen = buf_view(&reading->out->answer);

    if (start == NOWHERE || seen.len == 0)
        return VIEW("");
    return view_trimmed(without(
        (struct view){ seen.data, end == NOWHERE ? seen.len : end }, start));
}

/* The emphasis that was opened before the answer, off its first line: how many
 * bytes before that line's end. */
static size_t emphasis_end(struct view answer, size_t stars, size_t *after)
{
    size_t next;
    struct view line = view_trimmed(markdown_line(answer, 0, &next));
    size_t found = 0;

    *after = line.len;
    while (found < line.len && (line.data[line.len - 1 - found] == '*' ||
                                line.data[line.len - 1 - found] == '_'))
        found++;
    return found >= stars ? line.len - stars : line.len;
}

/* What can be seen becomes the answer. A label with nothing behind it, a lone
 * tag at the end, are none. */
static void finish_answer(struct reading *reading)
{
    struct codeact *out = reading->out;
    CLEANUP(buf_finish) struct buf plain = { 0 };
    struct view answer = seen_from(reading, reading->start, reading->end);
    size_t after;
    size_t head;

    if (answer.len == 0)
        answer = seen_from(reading, reading->visible, NOWHERE);
    if (answer.len == 0)
        answer = seen_from(reading, 0, NOWHERE);
    answer = tag_cut_broken(answer);
    buf_init(&plain, answer.len);
    if (answer.len > 0) {
        head = emphasis_end(answer, reading->stars, &after);
        buf_append(&plain, answer.data, head);
        buf_add(&plain, without(answer, after));
    }
    buf_clear(&out->answer);
    buf_add(&out->answer, view_trimmed(buf_view(&plain)));
    out->final = out->answer.len > 0;
}

/* One line that only gives something a value: "x = 5" is an answer as well. */
static bool is_equation(struct view text)
{
    size_t next;
    struct view line = markdown_line(text, 0, &next);

    return view_trimmed(without(text, next)).len == 0 &&
           memchr(line.data, '=', line.len) != NULL &&
           memchr(line.data, '(', line.len) == NULL;
}

/* Nothing but Python, without a fence: it was meant to be run. A single name or
 * number is an answer. */
static void read_plain(struct reading *reading)
{
    struct view text =
        tag_cut_broken(seen_from(reading, reading->visible, NOWHERE));
    CLEANUP(buf_finish) struct buf lines = { .max = text.len + 1 };

    buf_append(&lines, "\n", 1); /* block_add() reads the byte before */
    buf_add(&lines, text);
    text = without(buf_view(&lines), 1);
    if (!looks_like_python(text) || is_equation(text))
        return;
    block_add(&reading->out->code, text);
    reading->out->blocks = reading->out->code.len > 0;
}

static void finish_reading(struct reading *reading)
{
    struct codeact *out = reading->out;
    bool alone =
        out->blocks == 0 && !out->unclosed && reading->start == NOWHERE;

    if (alone && reading->bares > 0) {
        buf_add(&out->code, buf_view(&reading->bare));
        out->blocks = reading->bares;
    } else if (alone && !reading->bare_cut && reading->rules->stopped) {
        read_plain(reading);
    } else if (reading->tagged_blocks > 0) {
        buf_clear(&out->code);
        buf_add(&out->code, buf_view(&reading->tagged));
        out->blocks = reading->tagged_blocks;
    }
    if (alone && reading->bare_cut)
        out->unclosed = true;
    if (out->code.len > 0 || out->unclosed)
        buf_finish(&out->answer);
    else
        finish_answer(reading);
    buf_finish(&reading->bare);
    buf_finish(&reading->tagged);
}

void codeact_read(struct codeact *out, struct view text,
                  const struct codeact_rules *rules)
{
    static const struct codeact_rules defaults;
    struct codeact_rules own = rules != NULL ? *rules : defaults;
    struct reading reading = { .out = out, .rules = &own };
    struct passages passages = {
        .text = text.data != NULL ? text : VIEW(""),
        .parses = own.parses != NULL ? block_is_whole : NULL,
        .owner = &own,
        .stopped = own.stopped,
    };
    struct passage passage;

    /* Marks take more bytes than what joins the blocks. */
    *out = (struct codeact){ .cut = text.len };
    buf_init(&out->code, text.len);
    buf_init(&out->answer, text.len);
    buf_init(&reading.bare, text.len);
    buf_init(&reading.tagged, text.len);
    set_answer(&reading, NOWHERE, NOWHERE, 0);
    passages.at = passages_start(passages.text);
    while (!out->invented && passages_next(&passages, &passage)) {
        if (!follow(&reading.story, &passage)) {
            out->invented = true;
            out->cut = (size_t)(passage.whole.data - text.data);
        } else {
            read_passage(&reading, &passage);
        }
    }
    finish_reading(&reading);
}

void codeact_finish(struct codeact *out)
{
    if (out == NULL)
        return;
    buf_finish(&out->code);
    buf_finish(&out->answer);
}
