/* tag.c - <execute>, <think> and the like in a message. */
#include "consumer/conversation/tag.h"

#include <string.h>
#include <strings.h>

#include "consumer/conversation/markdown.h"

static const struct tag tags[] = {
    { "execute", TAG_CODE, false, false, 1 << 0 },
    { "code", TAG_CODE, true, false, 1 << 1 },
    { "python", TAG_CODE, true, false, 1 << 2 },
    { "solution", TAG_ANSWER, false, false, 1 << 3 },
    { "think", TAG_THOUGHT, false, true, 1 << 4 },
    { "thinking", TAG_THOUGHT, false, true, 1 << 5 },
    { "reasoning", TAG_THOUGHT, false, true, 1 << 6 },
    { "thought", TAG_THOUGHT, false, false, 1 << 7 },
};
enum { TAGS = sizeof(tags) / sizeof(tags[0]) };

static bool tag_is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

bool tag_begins_line(struct view text, size_t at)
{
    while (at > 0 && tag_is_blank(text.data[at - 1]))
        at--;
    return markdown_starts_line(text, at);
}

bool tag_ends_line(struct view text, size_t at)
{
    while (at < text.len && tag_is_blank(text.data[at]))
        at++;
    return at == text.len || markdown_starts_line(text, at + 1);
}

/* In quotes a tag is only mentioned. */
static bool is_quoted(struct view text, size_t at)
{
    return at > 0 && byte_is_of(text.data[at - 1], "`\"'");
}

bool tag_at(struct view text, size_t at, struct tag_mark *mark)
{
    size_t name = at + 1;

    if (text.data[at] != '<')
        return false;
    mark->start = at;
    mark->closing = name < text.len && text.data[name] == '/';
    name += mark->closing;
    for (size_t i = 0; i < TAGS; i++) {
        size_t len = strlen(tags[i].name);

        if (text.len - name > len && text.data[name + len] == '>' &&
            strncasecmp(text.data + name, tags[i].name, len) == 0) {
            mark->tag = &tags[i];
            mark->end = name + len + 1;
            return mark->closing || !is_quoted(text, at);
        }
    }
    return false;
}

static bool begins_name(struct view part)
{
    for (size_t i = 0; i < TAGS; i++)
        if (part.len <= strlen(tags[i].name) &&
            strncasecmp(part.data, tags[i].name, part.len) == 0)
            return true;
    return false;
}

/* A closing tag, whole or its beginning, is all that follows. */
static bool closes(struct view text, size_t at)
{
    struct tag_mark mark;
    struct view name = { text.data + at + 2, text.len - at - 2 };

    return begins_name(name) ||
           (tag_at(text, at, &mark) && mark.end == text.len);
}

struct view tag_cut_broken(struct view text)
{
    enum { LONGEST = 16 };
    struct view whole = view_trimmed(text);
    size_t at = whole.len;

    while (at > 0 && whole.len - at < LONGEST && whole.data[at - 1] != '<')
        at--;
    if (at == 0 || whole.data[at - 1] != '<' ||
        (at == whole.len ? !tag_begins_line(whole, at - 1)
                         : whole.data[at] != '/' || !closes(whole, at - 1)))
        return text;
    return view_trimmed((struct view){ whole.data, at - 1 });
}

bool tag_next(struct view text, size_t at, struct tag_mark *mark)
{
    while (at < text.len) {
        const char *found = memchr(text.data + at, '<', text.len - at);

        if (!found)
            return false;
        at = (size_t)(found - text.data);
        if (tag_at(text, at, mark))
            return true;
        at++;
    }
    return false;
}

bool tag_stands_apart(struct view text, const struct tag_mark *mark)
{
    return tag_begins_line(text, mark->start) || tag_ends_line(text, mark->end);
}
