/* python.c - tells whether a text may be whole Python, without a parser. */
#include "consumer/conversation/python.h"

#include <ctype.h>
#include <string.h>

#include "consumer/conversation/markdown.h"

/* How many bytes the line's ending has that stands there; 0: none does. */
static size_t ending(struct view at)
{
    if (at.len > 1 && at.data[0] == '\r' && at.data[1] == '\n')
        return 2;
    return at.len > 0 && (at.data[0] == '\n' || at.data[0] == '\r');
}

static struct view behind(struct view at, size_t bytes)
{
    return (struct view){ at.data + bytes, at.len - bytes };
}

static bool three_quotes(struct view at)
{
    return at.len > 2 && at.data[1] == at.data[0] && at.data[2] == at.data[0];
}

/* Each of these functions reads at least one byte, and returns how many. */

static size_t in_string(struct python *python, struct view at)
{
    char byte = at.data[0];

    if (byte == '\\' && at.len > 1) {
        size_t line = ending(behind(at, 1));

        return line > 0 ? 1 + line : 2;
    }
    if (ending(at) > 0 && !python->triple)
        python->broken = true;
    if (byte != python->quote)
        return 1;
    if (python->triple && !three_quotes(at))
        return 1;
    python->quote = 0;
    return python->triple ? 3 : 1;
}

static size_t open_string(struct python *python, struct view at)
{
    python->quote = at.data[0];
    python->last = python->quote;
    python->triple = three_quotes(at);
    return python->triple ? 3 : 1;
}

static size_t close_bracket(struct python *python, char byte)
{
    const char *pair = strchr("()[]{}", byte) - 1;

    if (python->depth == 0 || python->open[python->depth - 1] != *pair)
        python->broken = true;
    else
        python->depth--;
    python->last = byte;
    return 1;
}

static size_t open_bracket(struct python *python, char byte)
{
    if (python->depth == PYTHON_MAX_DEPTH)
        python->broken = true;
    else
        python->open[python->depth++] = byte;
    python->last = byte;
    return 1;
}

static size_t backslash(struct python *python, struct view at)
{
    size_t line = ending(behind(at, 1));

    if (at.len == 1)
        python->continued = true;
    else if (line == 0)
        python->broken = true;
    else
        python->continued = at.len == 1 + line;
    return 1 + line;
}

static size_t in_code(struct python *python, struct view at)
{
    char byte = at.data[0];

    python->continued = false;
    switch (byte) {
    case '\'':
    case '"':
        return open_string(python, at);
    case '(':
    case '[':
    case '{':
        return open_bracket(python, byte);
    case ')':
    case ']':
    case '}':
        return close_bracket(python, byte);
    case '\\':
        return backslash(python, at);
    case '#':
        python->comment = true;
        return 1;
    case '`': /* in no Python 3 */
    case '\0':
        python->broken = true;
        return 1;
    default:
        if (!isspace((unsigned char)byte))
            python->last = byte;
        return 1;
    }
}

void python_feed(struct python *python, struct view piece)
{
    while (piece.len > 0 && !python->broken) {
        size_t taken = 1;

        if (python->comment)
            python->comment = ending(piece) == 0;
        else if (python->quote != 0)
            taken = in_string(python, piece);
        else
            taken = in_code(python, piece);
        piece = behind(piece, taken);
    }
}

bool python_in_text(const struct python *python)
{
    return !python->broken && (python->quote != 0 || python->comment);
}

bool python_between(const struct python *python)
{
    return python->broken ||
           (python->quote == 0 && python->depth == 0 && !python->continued);
}

/* Behind a colon there must be a body, behind an equals sign a value. */
static bool may_end(const struct python *python)
{
    return !python->broken && python->quote == 0 && python->depth == 0 &&
           !python->continued && python->last != ':' && python->last != '=';
}

bool python_is_whole(struct view code)
{
    struct python python = { 0 };

    if (code.len == 0)
        return true;
    if (memchr(code.data, '\0', code.len))
        return false;
    python_feed(&python, code);
    return may_end(&python);
}

static bool in_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_' || (byte & 0x80) != 0;
}

static struct view first_word(struct view text)
{
    size_t len = 0;

    while (len < text.len && in_word(text.data[len]))
        len++;
    return (struct view){ text.data, len };
}

static bool is_among(struct view word, const char *const *words)
{
    for (size_t i = 0; words[i]; i++) {
        if (view_is(word, words[i]))
            return true;
    }
    return false;
}

static bool python_has(struct view text, const char *part)
{
    return memmem(text.data, text.len, part, strlen(part));
}

static const char *const heads[] = { "def",     "class", "for",   "while",
                                     "if",      "elif",  "else",  "try",
                                     "with",    "async", "match", "except",
                                     "finally", NULL };
static const char *const simple[] = { "return", "raise",    "assert", "del",
                                      "global", "yield",    "await",  "not",
                                      "lambda", "nonlocal", NULL };
static const char *const between[] = { "in", "is",  "and", "or",
                                       "if", "not", "for", NULL };

/* By what stands behind a name that begins a line and is no keyword. */
static enum python_guess guess_behind(struct view rest)
{
    struct view next = view_trimmed(rest);

    if (next.len == 0 || next.data[0] == '#')
        return PYTHON_MAYBE;
    if (next.data != rest.data && in_word(next.data[0]))
        return is_among(first_word(next), between) ? PYTHON_MAYBE : PYTHON_NO;
    if (rest.data[0] == '(')
        return PYTHON_YES;
    if (next.data[0] == '=' && next.len > 1 && next.data[1] != '=')
        return PYTHON_YES;
    if (rest.data[0] == '.' && rest.len > 1 && in_word(rest.data[1])) {
        rest = behind(rest, 1);
        rest = behind(rest, first_word(rest).len);
        return rest.len > 0 && rest.data[0] == '(' ? PYTHON_YES : PYTHON_MAYBE;
    }
    return python_has(next, "= ") && !python_has(next, "== ") ? PYTHON_YES
                                                              : PYTHON_MAYBE;
}

static enum python_guess guess_line(struct view line)
{
    struct view text = view_trimmed(line);
    struct view word = first_word(text);

    if (text.len > 0 && text.data[0] == '@')
        return PYTHON_YES;
    if (word.len == 0 || is_among(word, simple))
        return PYTHON_MAYBE;
    if (view_is(word, "import"))
        return PYTHON_YES;
    if (view_is(word, "from"))
        return python_has(text, " import ") ? PYTHON_YES : PYTHON_NO;
    if (is_among(word, heads))
        return python_has(text, ":") || python_has(text, "(") ? PYTHON_YES
                                                              : PYTHON_NO;
    return guess_behind(behind(text, word.len));
}

enum python_guess python_guess(struct view code)
{
    struct python python = { 0 };
    enum python_guess guess = PYTHON_MAYBE;
    size_t next;

    if (!python_is_whole(code))
        return PYTHON_NO;
    for (size_t at = 0; at < code.len; at = next) {
        struct view line = markdown_line(code, at, &next);
        enum python_guess found = PYTHON_MAYBE;

        if (python_between(&python))
            found = guess_line(line);
        if (found == PYTHON_NO)
            return found;
        if (found == PYTHON_YES)
            guess = found;
        python_feed(&python, (struct view){ code.data + at, next - at });
    }
    return guess;
}
