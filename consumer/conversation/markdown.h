/* markdown.h - what a line of a message may be: a fence, an item of a list, a
 * label.
 *
 * Fences are CommonMark's: three or more backticks or tildes, closed by as many
 * of the same or more on a line of their own. */
#ifndef CONSUMER_MARKDOWN_H
#define CONSUMER_MARKDOWN_H

#include "schemas/message/view.h"

/* The line that begins at `at`, without its ending (\n, \r\n or \r), and where
 * the next one begins. */
struct view markdown_line(struct view text, size_t at, size_t *next);

bool markdown_starts_line(struct view text, size_t at);

enum fence_language {
    FENCE_PYTHON,
    FENCE_BARE,     /* it says none */
    FENCE_MARKDOWN, /* fences inside are examples */
    FENCE_OTHER,
};

struct fence {
    char mark;     /* ` or ~ */
    size_t length; /* how many of them */
    size_t indent; /* columns before it */
    enum fence_language language;
};

/* item: the column in which the text of the list's item begins, 0 outside. A
 * fence may stand three columns further in, or behind the item's mark. */
bool fence_opens(struct fence *fence, struct view line, size_t item);
/* A fence behind other text, as models write "Thought: ...: ```python": only
 * one that says Python, since CommonMark knows no such fence. rest: from its
 * first mark on, to the end of the text. */
bool fence_opens_late(struct fence *fence, struct view rest);
bool fence_closes(const struct fence *fence, struct view line);

/* What item is after that line. */
size_t item_after(struct view line, size_t item);

enum label {
    LABEL_NONE,
    LABEL_ANSWER,      /* FINAL ANSWER: */
    LABEL_OBSERVATION, /* Observation:, Output:, [Executed */
};

/* Which label begins a line, plain or in bold or a heading, in any case.
 * value: what stands behind it. stars: those before it that are not closed
 * again before the value: the value ends with as many. */
enum label label_of(struct view line, struct view *value, size_t *stars);

/* Whether the line has FINAL ANSWER: in capitals, behind other text. */
bool label_answers_late(struct view line, struct view *value);

#endif
