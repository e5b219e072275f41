/* codeact.c - what a message of a model in CodeAct mode says: the code of its
 * blocks, as it is run, or its answer. */
#include "consumer/conversation/codeact.h"

#include <string.h>

#include "consumer/conversation/markdown.h"
#include "consumer/conversation/passage.h"
#include "consumer/conversation/python.h"

#define NOWHERE ((size_t)-1)

static struct view part(struct view text, size_t start, size_t end)
{
    return (struct view){ text.data + start, end - start };
}

static struct view without(struct view text, size_t bytes)
{
    return (struct view){ text.data + bytes, text.len - bytes };
}

/* ------------------------------------------------------ the code of a block */

/* One that begins and ends with a tag of code. */
static struct view without_tags(struct view body)
{
    struct tag_mark open, close;
    const char *last = memrchr(body.data, '<', body.len);

    if (body.len == 0 || !tag_at(body, 0, &open) || open.closing ||
        open.tag->use != TAG_CODE)
        return body;
    if (!tag_at(body, (size_t)(last - body.data), &close) || !close.closing ||
        close.tag != open.tag || close.end != body.len)
        return body;
    return part(body, open.end, close.start);
}

static struct view without_fence(struct view body)
{
    struct fence fence;
    size_t start;
    struct view first = markdown_line(body, 0, &start);
    size_t end = body.len;

    while (end > start && !markdown_starts_line(body, end))
        end--;
    if (!fence_opens(&fence, first, 0) || end <= start ||
        fence.language == FENCE_OTHER || fence.language == FENCE_MARKDOWN ||
        !fence_closes(&fence, part(body, end, body.len)))
        return body;
    return part(body, start, end);
}

/* Code in tags in a fence, or in a fence in tags, without the inner marks. */
static struct view unwrapped(struct view body)
{
    struct view inner = without_fence(view_trimmed(body));

    if (inner.len < view_trimmed(body).len)
        return inner;
    inner = without_tags(view_trimmed(body));
    return inner.len < view_trimmed(body).len ? inner : body;
}

/* How a block was written down, and what is taken off its lines. */
struct spelling {
    struct view indent; /* of all of it */
    bool prompts;       /* >>> */
    bool prompted;      /* the line before had one */
};

static size_t indent_of(struct view line)
{
    size_t len = 0;

    while (len < line.len && (line.data[len] == ' ' || line.data[len] == '\t'))
        len++;
    return len;
}

/* Takes ">>> " or "... " off a line. */
static bool take_prompt(struct view *line, const char *prompt)
{
    if (!view_starts(*line, prompt) || (line->len > 3 && line->data[3] != ' '))
        return false;
    *line = without(*line, line->len > 3 ? 4 : 3);
    return true;
}

/* Takes off what is no code; false: none of the line is. */
static bool respell(struct spelling *spelling, struct view *line)
{
    size_t indent = spelling->indent.len;

    if (line->len >= indent &&
        memcmp(line->data, spelling->indent.data, indent) == 0)
        *line = without(*line, indent);
    if (!spelling->prompts)
        return true;
    spelling->prompted = take_prompt(line, ">>>") ||
                         (spelling->prompted && take_prompt(line, "..."));
    return spelling->prompted;
}

/* Takes empty lines off the front. */
static struct view from_first_line(struct view body)
{
    size_t next;

    while (body.len > 0) {
        if (view_trimmed(markdown_line(body, 0, &next)).len > 0)
            break;
        body = without(body, next);
    }
    return body;
}

/* Appends the code of a block, as it is run, behind an empty line when out is
 * not empty: at most body.len + 2 bytes. Lines end with \n. What is taken off:
 * empty lines at both ends; the indentation of the first line, from all lines
 * that have it; prompts (>>> and ...), with the output that stands between
 * them; and marks inside the marks. body: what stands between a block's marks.
 * It must be a part of the text, because the byte before it is read. */
static void block_add(struct buf *out, struct view body)
{
    struct spelling spelling = { 0 };
    struct view code = from_first_line(unwrapped(body));
    struct view first;
    size_t next;
    size_t lines = 0;

    while (code.len > 0 && view_trimmed(without(code, code.len - 1)).len == 0)
        code.len--;
    if (code.len == 0)
        return;
    /* On its tag's own line it is not indented. A tag, or a line, is before. */
    if (code.data[-1] != '\n' && code.data[-1] != '\r')
        code = without(code, indent_of(code));
    spelling.indent = (struct view){ code.data, indent_of(code) };
    first = without(markdown_line(code, 0, &next), spelling.indent.len);
    spelling.prompts = take_prompt(&first, ">>>");
    if (out->len > 0)
        buf_append(out, "\n\n", 2);
    for (size_t at = 0; at < code.len; at = next) {
        struct view line = markdown_line(code, at, &next);

        if (!respell(&spelling, &line))
            continue;
        if (lines++ > 0)
            buf_append(out, "\n", 1);
        buf_add(out, line);
    }
}

/* -------------------------------------------------------------- the message */

static bool codeact_is_whole(const struct codeact_rules *rules,
                             struct view code)
{
    return rules->parses ? rules->parses(rules->owner, code)
                         : python_is_whole(code);
}

/* As struct passages asks: of a block as it stands in the text. */
static bool block_is_whole(void *owner, struct view body)
{
    const struct codeact_rules *rules = owner;
    CLEANUP(buf_finish) struct buf code = { .max = body.len + 2 };

    block_add(&code, body);
    return codeact_is_whole(rules, buf_view(&code));
}

/* What the text has had so far: it decides what a later passage means. */
struct text_events {
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

/* False: here begins an observation that the model has made up. Without code
 * before it "Output:" is a word like others. */
static bool follow_prose(struct text_events *events,
                         const struct passage *passage)
{
    struct view value;
    size_t stars;
    enum label label = LABEL_NONE;

    if (passage->starts_line)
        label = label_of(passage->whole, &value, &stars);
    if (label == LABEL_OBSERVATION)
        return !events->coded && (!events->bare || events->answered);
    if (label == LABEL_ANSWER || label_answers_late(passage->whole, &value))
        events->answered = true;
    return true;
}

/* As follow_prose(), of any passage. codeact_read_code() notes code that
 * counts. */
static bool codeact_follow(struct text_events *events,
                           const struct passage *passage)
{
    switch (passage->kind) {
    case PASSAGE_PROSE:
        return follow_prose(events, passage);
    case PASSAGE_BARE:
        events->bare = events->bare || looks_like_python(passage->body);
        return true;
    case PASSAGE_SOLUTION:
        if (!passage->closed || view_trimmed(passage->body).len > 0)
            events->answered = true;
        return true;
    case PASSAGE_CLOSING:
        events->bare = events->bare && events->coded;
        events->answered = events->answered && events->coded;
        return true;
    case PASSAGE_CODE:
    case PASSAGE_OTHER:
    case PASSAGE_THOUGHT:
        return true;
    }
    return true;
}

struct codeact_reader {
    struct codeact *out; /* until the end its answer holds all that is no
                            reasoning and no code */
    const struct codeact_rules *rules;
    struct text_events events;
    struct buf tagged; /* code of the blocks in tags */
    size_t tagged_blocks;
    struct buf bare; /* code of the bare fences */
    size_t bares;
    bool bare_cut; /* the last of them was cut off */
    /* Where the answer is in that; end NOWHERE: it goes to the end of the text.
     */
    size_t start, end;
    size_t stars;   /* of emphasis that was opened before the answer */
    size_t visible; /* in that, too: what comes before is reasoning */
};

static void set_answer(struct codeact_reader *reader, size_t start, size_t end,
                       size_t stars)
{
    reader->start = start;
    reader->end = end;
    reader->stars = stars;
}

static void read_prose(struct codeact_reader *reader,
                       const struct passage *passage)
{
    struct buf *seen = &reader->out->answer;
    struct view whole = passage->whole;
    struct view value;
    size_t stars = 0;

    if (passage->starts_line &&
        label_of(whole, &value, &stars) == LABEL_ANSWER) {
        set_answer(reader, seen->len, NOWHERE, stars);
        buf_add(seen, value);
    } else if (label_answers_late(whole, &value)) {
        set_answer(reader, seen->len + (size_t)(value.data - whole.data),
                   NOWHERE, 0);
        buf_add(seen, whole);
    } else {
        buf_add(seen, whole);
    }
}

static void read_solution(struct codeact_reader *reader,
                          const struct passage *passage)
{
    struct buf *seen = &reader->out->answer;
    size_t start = seen->len;

    buf_add(seen, passage->whole);
    if (!passage->closed)
        set_answer(reader, seen->len, NOWHERE, 0);
    else if (view_trimmed(passage->body).len > 0) {
        start += (size_t)(passage->body.data - passage->whole.data);
        set_answer(reader, start, start + passage->body.len, 0);
    }
}

static void join_block(struct buf *blocks, const struct buf *code)
{
    if (blocks->len > 0)
        buf_append(blocks, "\n\n", 2);
    buf_add(blocks, buf_view(code));
}

static void codeact_read_code(struct codeact_reader *reader,
                              const struct passage *passage)
{
    struct codeact *out = reader->out;
    CLEANUP(buf_finish) struct buf code = { .max = passage->body.len + 2 };

    block_add(&code,
              passage->closed ? passage->body : tag_cut_broken(passage->body));
    if (!passage->closed &&
        !(reader->rules->stopped &&
          codeact_is_whole(reader->rules, buf_view(&code)))) {
        out->unclosed = true;
        return;
    }
    if (code.len == 0)
        return;
    join_block(&out->code, &code);
    out->blocks++;
    if (view_starts(passage->whole, "<")) {
        join_block(&reader->tagged, &code);
        reader->tagged_blocks++;
    }
    reader->events.coded = true;
}

static void read_bare(struct codeact_reader *reader,
                      const struct passage *passage)
{
    buf_add(&reader->out->answer, passage->whole);
    if (!looks_like_python(passage->body))
        return;
    if (!passage->closed && !reader->rules->stopped) {
        reader->bare_cut = true;
        return;
    }
    block_add(&reader->bare, passage->body);
    reader->bares++;
}

/* A closing tag alone: all before it was reasoning, unless code that counts was
 * found: then the tag means nothing. */
static void read_closing(struct codeact_reader *reader)
{
    if (reader->events.coded)
        return;
    reader->visible = reader->out->answer.len;
    set_answer(reader, NOWHERE, NOWHERE, 0);
    buf_clear(&reader->bare);
    reader->bares = 0;
}

static void read_passage(struct codeact_reader *reader,
                         const struct passage *passage)
{
    switch (passage->kind) {
    case PASSAGE_PROSE:
        read_prose(reader, passage);
        return;
    case PASSAGE_CODE:
        codeact_read_code(reader, passage);
        return;
    case PASSAGE_BARE:
        read_bare(reader, passage);
        return;
    case PASSAGE_SOLUTION:
        read_solution(reader, passage);
        return;
    case PASSAGE_OTHER:
        buf_add(&reader->out->answer, passage->whole);
        return;
    case PASSAGE_CLOSING:
        read_closing(reader);
        return;
    case PASSAGE_THOUGHT:
        return;
    }
}

static struct view seen_from(const struct codeact_reader *reader, size_t start,
                             size_t end)
{
    struct view seen = buf_view(&reader->out->answer);

    if (start == NOWHERE || seen.len == 0)
        return VIEW("");
    return view_trimmed(without(
        (struct view){ seen.data, end == NOWHERE ? seen.len : end }, start));
}

/* "**FINAL ANSWER: 4**": how long the answer's first line is without the stars
 * that close what was opened before the label. *after: where that line ends. */
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

/* What is left becomes the answer: what stands behind the label, or, if that is
 * nothing, all that is no reasoning. */
static void finish_answer(struct codeact_reader *reader)
{
    struct codeact *out = reader->out;
    CLEANUP(buf_finish) struct buf plain = { 0 };
    struct view answer = seen_from(reader, reader->start, reader->end);
    size_t after;
    size_t head;

    if (answer.len == 0)
        answer = seen_from(reader, reader->visible, NOWHERE);
    if (answer.len == 0)
        answer = seen_from(reader, 0, NOWHERE);
    answer = tag_cut_broken(answer);
    buf_init(&plain, answer.len);
    if (answer.len > 0) {
        head = emphasis_end(answer, reader->stars, &after);
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
           memchr(line.data, '=', line.len) &&
           !memchr(line.data, '(', line.len);
}

/* Nothing but Python, without a fence: it was meant to be run. A single name or
 * number is an answer. */
static void read_plain(struct codeact_reader *reader)
{
    struct view text =
        tag_cut_broken(seen_from(reader, reader->visible, NOWHERE));
    CLEANUP(buf_finish) struct buf lines = { .max = text.len + 1 };

    buf_append(&lines, "\n", 1); /* block_add() reads the byte before */
    buf_add(&lines, text);
    text = without(buf_view(&lines), 1);
    if (!looks_like_python(text) || is_equation(text))
        return;
    block_add(&reader->out->code, text);
    reader->out->blocks = reader->out->code.len > 0;
}

static void finish_reading(struct codeact_reader *reader)
{
    struct codeact *out = reader->out;
    bool alone = out->blocks == 0 && !out->unclosed && reader->start == NOWHERE;

    if (alone && reader->bares > 0) {
        buf_add(&out->code, buf_view(&reader->bare));
        out->blocks = reader->bares;
    } else if (alone && !reader->bare_cut && reader->rules->stopped) {
        read_plain(reader);
    } else if (reader->tagged_blocks > 0) {
        buf_clear(&out->code);
        buf_add(&out->code, buf_view(&reader->tagged));
        out->blocks = reader->tagged_blocks;
    }
    if (alone && reader->bare_cut)
        out->unclosed = true;
    if (out->code.len > 0 || out->unclosed)
        buf_finish(&out->answer);
    else
        finish_answer(reader);
    buf_finish(&reader->bare);
    buf_finish(&reader->tagged);
}

void codeact_read(struct codeact *out, struct view text,
                  const struct codeact_rules *rules)
{
    static const struct codeact_rules defaults;
    struct codeact_rules own = rules ? *rules : defaults;
    struct codeact_reader reader = { .out = out, .rules = &own };
    struct passages passages = {
        .text = text.data ? text : VIEW(""),
        .parses = own.parses ? block_is_whole : NULL,
        .owner = &own,
        .stopped = own.stopped,
    };
    struct passage passage;

    /* Marks take more bytes than what joins the blocks. */
    *out = (struct codeact){ .cut = text.len };
    buf_init(&out->code, text.len);
    buf_init(&out->answer, text.len);
    buf_init(&reader.bare, text.len);
    buf_init(&reader.tagged, text.len);
    set_answer(&reader, NOWHERE, NOWHERE, 0);
    passages.at = passages_start(passages.text);
    while (!out->invented && passages_next(&passages, &passage)) {
        if (!codeact_follow(&reader.events, &passage)) {
            out->invented = true;
            out->cut = (size_t)(passage.whole.data - text.data);
        } else {
            read_passage(&reader, &passage);
        }
    }
    finish_reading(&reader);
}

void codeact_finish(struct codeact *out)
{
    if (!out)
        return;
    buf_finish(&out->code);
    buf_finish(&out->answer);
}
