/* block.c - the code of a block, as it is run. */
#include "consumer/conversation/block.h"

#include <string.h>

#include "consumer/conversation/markdown.h"
#include "consumer/conversation/tag.h"

static struct view part(struct view text, size_t start, size_t end)
{
    return (struct view){ text.data + start, end - start };
}

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

static struct view without(struct view text, size_t bytes)
{
    return (struct view){ text.data + bytes, text.len - bytes };
}

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

void block_add(struct buf *out, struct view body)
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
