/* passage.c - splits a message into passages: prose, reasoning, code, answers.
 */
#include "consumer/conversation/passage.h"

#include "consumer/conversation/markdown.h"
#include "consumer/conversation/python.h"

#define NOWHERE ((size_t)-1)

/* How much may be read ahead in vain in any text, beside its own length. */
enum { FREE_BYTES = 4 << 20 };

/* Whether what may stand at a place does. */
enum lookup { NOTHING, FOUND };

static struct view part(struct view text, size_t start, size_t end)
{
    return (struct view){ text.data + start, end - start };
}

size_t passages_start(struct view text)
{
    struct tag_mark mark;
    unsigned opened = 0;

    for (size_t at = 0; tag_next(text, at, &mark); at = mark.end) {
        unsigned bit = mark.tag->bit;

        if (!mark.tag->template || (opened & bit) != 0)
            continue;
        if (!mark.closing)
            opened |= bit;
        else if (tag_stands_apart(text, &mark))
            return mark.end;
    }
    return 0;
}

/* Whether there is still time to read ahead. */
static bool is_patient(const struct passages *passages)
{
    return passages->in_vain <= passages->text.len + FREE_BYTES;
}

/* A block of code that is being read. */
struct code_block {
    struct python python;
    const struct fence *fence; /* one of these is what holds it */
    const struct tag *tag;
    size_t start;    /* of its code */
    size_t at;       /* read so far */
    size_t end;      /* of its code; NOWHERE: not closed so far */
    size_t after;    /* its closing mark */
    size_t held_end; /* of the first mark that stood in a string */
    size_t held_after;
    size_t label; /* a line that is a label, and no Python */
    bool again;   /* opened again: the first mark was only spoken of */
};

static struct code_block block_at(size_t start)
{
    return (struct code_block){
        .start = start,
        .at = start,
        .end = NOWHERE,
        .held_end = NOWHERE,
        .label = NOWHERE,
    };
}

static bool passages_block_is_whole(struct passages *passages,
                                    const struct code_block *block, size_t end)
{
    if (!is_patient(passages))
        return true;
    if (!passages->parses)
        return !python_in_text(&block->python) || block->python.comment;
    if (passages->parses(passages->owner,
                         part(passages->text, block->start, end)))
        return true;
    passages->in_vain += end - block->start;
    return false;
}

/* A mark that closes the block, unless it stands in a string. */
static void meet_end(struct passages *passages, struct code_block *block,
                     size_t end, size_t after)
{
    if (passages_block_is_whole(passages, block, end)) {
        block->end = end;
        block->after = after;
    } else if (block->held_end == NOWHERE) {
        block->held_end = end;
        block->held_after = after;
    }
}

static void feed_to(struct passages *passages, struct code_block *block,
                    size_t end)
{
    python_feed(&block->python, part(passages->text, block->at, end));
    block->at = end;
}

static void note_label(struct code_block *block, struct view line)
{
    struct view value;
    size_t stars;

    if (block->label == NOWHERE && python_between(&block->python) &&
        label_of(line, &value, &stars) != LABEL_NONE)
        block->label = block->at;
}

/* A line of a fenced block. A fence that says Python, outside of strings, ends
 * it: the closing one was forgotten. */
static void passages_read_line(struct passages *passages,
                               struct code_block *block)
{
    struct fence inner;
    size_t next;
    struct view line = markdown_line(passages->text, block->at, &next);

    note_label(block, line);
    if (fence_closes(block->fence, line))
        meet_end(passages, block, block->at, next);
    else if (!python_in_text(&block->python) &&
             fence_opens(&inner, line, block->fence->indent) &&
             inner.language == FENCE_PYTHON)
        block->end = block->after = block->at;
    if (block->end == NOWHERE)
        feed_to(passages, block, next);
}

/* What comes of a block in tags up to the next < or the line's end. */
static void read_piece(struct passages *passages, struct code_block *block)
{
    struct view text = passages->text;
    struct tag_mark mark;
    size_t next = block->at;

    if (markdown_starts_line(text, block->at))
        note_label(block, markdown_line(text, block->at, &next));
    next = block->at;
    if (tag_at(text, next, &mark) && mark.tag == block->tag) {
        if (mark.closing)
            meet_end(passages, block, mark.start, mark.end);
        else if (is_patient(passages) && !python_in_text(&block->python))
            block->again = true;
    }
    if (block->end != NOWHERE || block->again)
        return;
    for (next++; next < text.len && text.data[next] != '<'; next++) {
        if (markdown_starts_line(text, next) &&
            !(text.data[next] == '\n' && text.data[next - 1] == '\r'))
            break;
    }
    feed_to(passages, block, next);
}

/* Where a block ends that nothing closes: at the first mark that seemed to
 * stand in a string, or where a label says that its author has gone on. */
static enum lookup end_without_mark(struct passages *passages,
                                    struct code_block *block)
{
    size_t len = passages->text.len;

    if (block->held_end != NOWHERE) {
        block->end = block->held_end;
        block->after = block->held_after;
    } else if (block->label != NOWHERE && is_patient(passages)) {
        block->end = block->after = block->label;
    } else {
        block->end = block->after = len;
        return NOTHING;
    }
    passages->in_vain += len - block->after;
    return FOUND;
}

/* Reads to the block's end. NOTHING: it has none. */
static enum lookup read_block(struct passages *passages,
                              struct code_block *block)
{
    while (block->at < passages->text.len && block->end == NOWHERE &&
           !block->again) {
        if (block->fence)
            passages_read_line(passages, block);
        else
            read_piece(passages, block);
    }
    if (block->end != NOWHERE)
        return FOUND;
    if (block->again)
        return NOTHING;
    return end_without_mark(passages, block);
}

static enum lookup passages_give(struct passages *passages, struct passage *out,
                                 enum passage_kind kind, size_t end)
{
    out->kind = kind;
    out->whole = part(passages->text, passages->at, end);
    passages->at = end;
    return FOUND;
}

static enum lookup give_block(struct passages *passages, struct passage *out,
                              enum passage_kind kind,
                              const struct code_block *block)
{
    out->body = part(passages->text, block->start, block->end);
    return passages_give(passages, out, kind, block->after);
}

/* Nothing is lost when it is never closed: its first line is prose then, and
 * what follows is read as if it were not there. */
static enum lookup take_other(struct passages *passages, struct passage *out,
                              const struct fence *fence, size_t start)
{
    struct view text = passages->text;
    struct fence inner;
    size_t next;

    for (size_t at = start; at < text.len; at = next) {
        struct view line = markdown_line(text, at, &next);

        if (fence_closes(fence, line))
            return passages_give(passages, out, PASSAGE_OTHER, next);
        if (fence->language != FENCE_MARKDOWN &&
            fence_opens(&inner, line, fence->indent) &&
            inner.language == FENCE_PYTHON && inner.length >= fence->length)
            return passages_give(passages, out, PASSAGE_OTHER, at);
    }
    if (!is_patient(passages))
        return passages_give(passages, out, PASSAGE_OTHER, text.len);
    passages->in_vain += text.len - start;
    return NOTHING;
}

/* One that is never closed is code only when it cannot be anything else. */
static enum lookup take_bare(struct passages *passages, struct passage *out,
                             struct code_block *block)
{
    struct view body;

    out->closed = read_block(passages, block) == FOUND;
    body = part(passages->text, block->start, block->end);
    if (!out->closed && is_patient(passages) &&
        python_guess(body) != PYTHON_YES) {
        passages->in_vain += body.len;
        return NOTHING;
    }
    return give_block(passages, out, PASSAGE_BARE, block);
}

static enum lookup take_fence(struct passages *passages, struct passage *out,
                              const struct fence *fence, size_t start)
{
    struct code_block block = block_at(start);

    block.fence = fence;
    if (fence->language == FENCE_BARE)
        return take_bare(passages, out, &block);
    if (fence->language != FENCE_PYTHON)
        return take_other(passages, out, fence, start);
    out->closed = read_block(passages, &block) == FOUND;
    return give_block(passages, out, PASSAGE_CODE, &block);
}

/* A tag that is only spoken of is prose. */
static enum lookup take_execute(struct passages *passages, struct passage *out,
                                const struct tag_mark *mark)
{
    struct view text = passages->text;
    struct code_block block = block_at(mark->end);
    bool own = tag_begins_line(text, mark->start);

    if (mark->tag->own_line && !own)
        return NOTHING;
    block.tag = mark->tag;
    out->closed = read_block(passages, &block) == FOUND;
    if (block.again) {
        passages->in_vain += block.at - block.start;
        return NOTHING;
    }
    if (mark->tag->own_line && out->closed &&
        !tag_ends_line(text, block.after)) {
        passages->in_vain += block.after - block.start;
        return NOTHING;
    }
    if (!out->closed && (!own || mark->tag->own_line) && is_patient(passages) &&
        python_guess(part(text, block.start, block.end)) == PYTHON_NO) {
        passages->in_vain += block.end - block.start;
        return NOTHING;
    }
    return give_block(passages, out, PASSAGE_CODE, &block);
}

/* Finds the tag that closes mark. */
static bool find_closing(struct passages *passages, const struct tag_mark *mark,
                         struct tag_mark *closing)
{
    unsigned bit = mark->tag->bit;

    if ((passages->never & bit) != 0)
        return false;
    for (size_t at = mark->end; tag_next(passages->text, at, closing);
         at = closing->end) {
        if (closing->tag == mark->tag && closing->closing)
            return true;
    }
    passages->never |= bit;
    return false;
}

/* Reasoning that is never closed: if the model stopped by itself, what follows
 * the tag is what it has to say, and only the tag is left out. If it was cut
 * off, it was still reasoning. */
static enum lookup take_thought(struct passages *passages, struct passage *out,
                                const struct tag_mark *mark)
{
    struct tag_mark closing;

    if (mark->closing)
        return tag_stands_apart(passages->text, mark)
                   ? passages_give(passages, out, PASSAGE_CLOSING, mark->end)
                   : NOTHING;
    if (find_closing(passages, mark, &closing))
        return passages_give(passages, out, PASSAGE_THOUGHT, closing.end);
    return passages_give(passages, out, PASSAGE_THOUGHT,
                         passages->stopped ? mark->end : passages->text.len);
}

/* Behind a tag that is only spoken of comes another before it is closed. */
static enum lookup take_solution(struct passages *passages, struct passage *out,
                                 const struct tag_mark *mark)
{
    struct view text = passages->text;
    struct tag_mark closing;
    unsigned bit = mark->tag->bit;
    size_t at = mark->end;

    if (mark->closing)
        return NOTHING;
    while ((passages->never & bit) == 0) {
        if (!tag_next(text, at, &closing)) {
            passages->never |= bit;
            break;
        }
        at = closing.end;
        if (closing.tag == mark->tag && closing.closing) {
            out->body = part(text, mark->end, closing.start);
            out->closed = true;
            return passages_give(passages, out, PASSAGE_SOLUTION, closing.end);
        }
        if (!closing.closing &&
            (closing.tag == mark->tag ||
             (closing.tag->use == TAG_CODE && !closing.tag->own_line)))
            return NOTHING;
    }
    return passages_give(passages, out, PASSAGE_SOLUTION, mark->end);
}

static enum lookup passages_take_mark(struct passages *passages,
                                      struct passage *out)
{
    struct tag_mark mark;

    if (!tag_at(passages->text, passages->at, &mark))
        return NOTHING;
    switch (mark.tag->use) {
    case TAG_CODE:
        return mark.closing ? NOTHING : take_execute(passages, out, &mark);
    case TAG_ANSWER:
        return take_solution(passages, out, &mark);
    case TAG_THOUGHT:
        return take_thought(passages, out, &mark);
    }
    return NOTHING;
}

/* "Thought: ...: ```python". Not in a quotation, whose lines all have marks. */
static bool opens_late(const struct passages *passages, size_t at,
                       struct fence *fence)
{
    struct view text = passages->text;

    if (tag_begins_line(text, at) || text.data[at - 1] == text.data[at] ||
        !fence_opens_late(fence, part(text, at, text.len)))
        return false;
    while (!markdown_starts_line(text, at))
        at--;
    return text.data[at] != '>';
}

static enum lookup passages_take_line(struct passages *passages,
                                      struct passage *out)
{
    struct fence fence;
    size_t next;
    size_t item = passages->item;
    struct view line = markdown_line(passages->text, passages->at, &next);

    passages->item = item_after(line, item);
    if (!fence_opens(&fence, line, passages->item))
        return NOTHING;
    return take_fence(passages, out, &fence, next);
}

static enum lookup take_late(struct passages *passages, struct passage *out)
{
    struct fence fence;
    size_t next;

    if (!opens_late(passages, passages->at, &fence))
        return NOTHING;
    markdown_line(passages->text, passages->at, &next);
    return take_fence(passages, out, &fence, next);
}

/* To the line's end, or to what may be no prose any more. */
static enum lookup take_prose(struct passages *passages, struct passage *out)
{
    struct view text = passages->text;
    struct tag_mark mark;
    struct fence fence;
    size_t at = passages->at + 1;

    while (at < text.len && !markdown_starts_line(text, at)) {
        if (tag_at(text, at, &mark))
            break;
        if ((text.data[at] == '`' || text.data[at] == '~') &&
            opens_late(passages, at, &fence))
            break;
        at++;
    }
    if (at < text.len && text.data[at] == '\n' && text.data[at - 1] == '\r')
        at++;
    return passages_give(passages, out, PASSAGE_PROSE, at);
}

bool passages_next(struct passages *passages, struct passage *out)
{
    enum lookup found = NOTHING;

    if (passages->at >= passages->text.len)
        return false;
    *out = (struct passage){
        .starts_line = markdown_starts_line(passages->text, passages->at),
    };
    if (out->starts_line)
        found = passages_take_line(passages, out);
    if (found == NOTHING)
        found = passages_take_mark(passages, out);
    if (found == NOTHING && !out->starts_line)
        found = take_late(passages, out);
    if (found == NOTHING)
        found = take_prose(passages, out);
    return found == FOUND;
}
