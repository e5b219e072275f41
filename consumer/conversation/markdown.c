/* markdown.c - the marks in a message: fences, items of lists, labels, and tags
 * like <execute>. */
#include "consumer/conversation/markdown.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum {
    MIN_MARKS = 3,
    MAX_INDENT = 3, /* more makes it text, in CommonMark */
    TAB_COLUMNS = 4,
    MAX_DIGITS = 9, /* of an item's number */
    MAX_INFO = 80,  /* bytes, behind a fence in the middle of a line */
};

/* ---------------------------------------------------- lines, items of lists */

static struct view behind(struct view text, size_t bytes)
{
    return (struct view){ text.data + bytes, text.len - bytes };
}

static bool markdown_is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

struct view markdown_line(struct view text, size_t at, size_t *next)
{
    size_t end = at;

    while (end < text.len && text.data[end] != '\n' && text.data[end] != '\r')
        end++;
    *next = end < text.len ? end + 1 : end;
    if (end + 1 < text.len && text.data[end] == '\r' &&
        text.data[end + 1] == '\n')
        *next = end + 2;
    return (struct view){ text.data + at, end - at };
}

bool markdown_starts_line(struct view text, size_t at)
{
    return at == 0 || text.data[at - 1] == '\n' || text.data[at - 1] == '\r';
}

/* How many such bytes the text begins with. */
static size_t run_of(struct view text, bool (*is_so)(char))
{
    size_t len = 0;

    while (len < text.len && is_so(text.data[len]))
        len++;
    return len;
}

static struct view without_blanks(struct view text)
{
    return behind(text, run_of(text, markdown_is_blank));
}

/* Takes the blanks off a line; column: where it stands after them. */
static struct view indented(struct view line, size_t *column)
{
    size_t i = 0;

    for (; i < line.len && markdown_is_blank(line.data[i]); i++)
        *column +=
            line.data[i] == '\t' ? TAB_COLUMNS - *column % TAB_COLUMNS : 1;
    return behind(line, i);
}

/* How long the mark of a list's item is that the text begins with: "-", "12.";
 * 0: none does. */
static size_t item_mark(struct view text)
{
    size_t len = 0;

    while (len < text.len && len < MAX_DIGITS &&
           isdigit((unsigned char)text.data[len]))
        len++;
    if (len == text.len)
        return 0;
    if (!strchr(len == 0 ? "-*+" : ".)", text.data[len]) ||
        text.data[len] == '\0')
        return 0;
    len++;
    return len == text.len || markdown_is_blank(text.data[len]) ? len : 0;
}

/* What stands behind the marks of items, and in which column that is. */
static struct view item_text(struct view line, size_t *column)
{
    struct view text = indented(line, column);
    size_t mark;

    while ((mark = item_mark(text)) > 0) {
        *column += mark;
        text = indented(behind(text, mark), column);
    }
    return text;
}

size_t item_after(struct view line, size_t item)
{
    size_t column = 0;
    struct view text = indented(line, &column);

    if (text.len == 0)
        return item;
    if (item_mark(text) > 0) {
        column = 0;
        item_text(line, &column);
        return column;
    }
    return column < item ? column : item;
}

/* ------------------------------------------------------------------- fences */

static bool in_language(char byte)
{
    return isalnum((unsigned char)byte) ||
           (byte != '\0' && strchr("_+#-", byte));
}

static bool names(struct view word, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        if (strlen(words[i]) == word.len &&
            strncasecmp(word.data, words[i], word.len) == 0)
            return true;
    }
    return false;
}

static bool before_language(char byte)
{
    return markdown_is_blank(byte) || byte == '{' || byte == '.';
}

/* python, py title=x, {python}, {.python}: attributes say nothing to us. */
static enum fence_language language_of(struct view info)
{
    static const char *const python[] = { "python",  "py",       "python3",
                                          "ipython", "ipython3", "pycon",
                                          NULL };
    static const char *const markdown[] = { "markdown", "md", NULL };
    struct view word = behind(info, run_of(info, before_language));

    if (view_trimmed(info).len == 0)
        return FENCE_BARE;
    word.len = run_of(word, in_language);
    if (names(word, python))
        return FENCE_PYTHON;
    return names(word, markdown) ? FENCE_MARKDOWN : FENCE_OTHER;
}

static size_t marks_of(struct view text)
{
    size_t len = 0;

    if (text.len == 0 || (text.data[0] != '`' && text.data[0] != '~'))
        return 0;
    while (len < text.len && text.data[len] == text.data[0])
        len++;
    return len;
}

bool fence_opens(struct fence *fence, struct view line, size_t item)
{
    size_t column = 0;
    size_t indent = 0;
    struct view text = item_text(line, &column);
    struct view info;

    indented(line, &indent);
    *fence = (struct fence){ .length = marks_of(text), .indent = column };
    if (fence->length < MIN_MARKS || indent > item + MAX_INDENT)
        return false;
    fence->mark = text.data[0];
    info = behind(text, fence->length);
    if (fence->mark == '`' && memchr(info.data, '`', info.len))
        return false;
    fence->language = language_of(info);
    return true;
}

bool fence_opens_late(struct fence *fence, struct view rest)
{
    size_t marks = marks_of(rest);
    struct view info = behind(rest, marks);
    size_t len = 0;

    if (marks < MIN_MARKS)
        return false;
    while (len < info.len && len < MAX_INFO &&
           !byte_is_of(info.data[len], "\n\r`"))
        len++;
    if (len == info.len || (info.data[len] != '\n' && info.data[len] != '\r'))
        return false;
    info.len = len;
    *fence = (struct fence){ .mark = rest.data[0],
                             .length = marks,
                             .language = language_of(info) };
    return fence->language == FENCE_PYTHON;
}

/* However far it is indented: no Python has a line of backticks alone. */
bool fence_closes(const struct fence *fence, struct view line)
{
    size_t column = 0;
    struct view text = indented(line, &column);
    size_t marks = marks_of(text);

    if (marks < fence->length || text.data[0] != fence->mark)
        return false;
    if (fence->language != FENCE_PYTHON && column > fence->indent + MAX_INDENT)
        return false;
    return view_trimmed(behind(text, marks)).len == 0;
}

/* ------------------------------------------------------------------- labels */

static bool is_emphasis(char byte)
{
    return byte == '*' || byte == '_';
}

static bool is_decoration(char byte)
{
    return markdown_is_blank(byte) || is_emphasis(byte) || byte == '#' ||
           byte == '>' || byte == '-';
}

/* The words, in any case, at the head: how many bytes they take; 0: not
 * there. A blank in the words stands for any number of blanks or for "_". */
static size_t words_at(struct view text, const char *words)
{
    size_t at = 0;

    for (; *words != '\0'; words++) {
        size_t from = at;

        while (*words == ' ' && at < text.len &&
               (markdown_is_blank(text.data[at]) || text.data[at] == '_'))
            at++;
        if (at > from)
            continue;
        if (at == text.len ||
            tolower((unsigned char)text.data[at]) != (unsigned char)*words)
            return 0;
        at++;
    }
    return at;
}

/* A colon, as people write it here and in China. */
static size_t colon_at(struct view text)
{
    if (view_starts(text, ":"))
        return 1;
    return view_starts(text, "\xef\xbc\x9a") ? 3 : 0;
}

static size_t emphasis_at(struct view text)
{
    return run_of(text, is_emphasis);
}

static size_t emphasis_before(struct view text)
{
    size_t len = 0;

    while (len < text.len && is_emphasis(text.data[text.len - 1 - len]))
        len++;
    return len;
}

/* The words and then a colon; in a heading or in bold they may also stand
 * alone. */
static bool is_label(struct view line, const char *words, struct view *value,
                     size_t *stars)
{
    struct view front = { line.data, run_of(line, is_decoration) };
    struct view text = behind(line, front.len);
    size_t len = words_at(text, words);
    size_t opened = emphasis_before(front);
    size_t colon;

    if (len == 0)
        return false;
    text = behind(text, len);
    size_t closed = emphasis_at(text);
    text = without_blanks(behind(text, closed));
    colon = colon_at(text);
    *value = behind(text, colon);
    if (opened > 0 && closed == 0) {
        struct view inner = without_blanks(*value);

        closed = emphasis_at(inner) == opened ? opened : 0;
        *value = closed > 0 ? behind(inner, closed) : inner;
    }
    *stars = closed > 0 ? 0 : opened;
    return colon > 0 || (view_trimmed(*value).len == 0 &&
                         (opened > 0 || memchr(front.data, '#', front.len)));
}

enum label label_of(struct view line, struct view *value, size_t *stars)
{
    static const struct {
        const char *words;
        enum label label;
    } labels[] = {
        { "final answer", LABEL_ANSWER },
        { "\xe6\x9c\x80\xe7\xbb\x88\xe7\xad\x94\xe6\xa1\x88", LABEL_ANSWER },
        { "observation", LABEL_OBSERVATION },
        { "output", LABEL_OBSERVATION },
    };

    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        if (is_label(line, labels[i].words, value, stars))
            return labels[i].label;
    }
    if (view_starts(without_blanks(line), "[Executed "))
        return LABEL_OBSERVATION;
    return LABEL_NONE;
}

bool label_answers_late(struct view line, struct view *value)
{
    static const char words[] = "FINAL ANSWER";
    const size_t len = sizeof(words) - 1;
    const char *found = memmem(line.data, line.len, words, len);
    struct view text;
    size_t colon;

    if (!found)
        return false;
    if (found > line.data && byte_is_of(found[-1], "`\"'"))
        return false;
    text = behind(line, (size_t)(found - line.data) + len);
    text = behind(text, emphasis_at(text));
    colon = colon_at(text);
    text = behind(text, colon);
    *value = behind(text, emphasis_at(text));
    return colon > 0;
}

/* --------------------------------------------------------------------- tags */

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

bool tag_begins_line(struct view text, size_t at)
{
    while (at > 0 && markdown_is_blank(text.data[at - 1]))
        at--;
    return markdown_starts_line(text, at);
}

bool tag_ends_line(struct view text, size_t at)
{
    while (at < text.len && markdown_is_blank(text.data[at]))
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
