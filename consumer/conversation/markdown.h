/* markdown.h - the marks in a message: fences, items of lists, labels, and tags
 * like <execute> and <think>.
 *
 * Fences are CommonMark's: three or more backticks or tildes, closed by as many
 * of the same or more on a line of their own. Tags are known in any case. */
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

enum tag_use { TAG_CODE, TAG_ANSWER, TAG_THOUGHT };

struct tag {
    const char *name;
    enum tag_use use;
    bool own_line; /* it must begin and end lines; elsewhere it is HTML */
    bool template; /* chat templates of models open it, before the text */
    unsigned bit;  /* its own, for sets of tags */
};

/* A tag that stands in a text. */
struct tag_mark {
    const struct tag *tag;
    bool closing;
    size_t start, end; /* of all of it, in the text */
};

/* Whether a tag begins there. An opening one in quotes is only mentioned: none
 * does. */
bool tag_at(struct view text, size_t at, struct tag_mark *mark);

/* The text without a closing tag at its end, whole or broken off: "4</solu". */
struct view tag_cut_broken(struct view text);
/* Finds the next tag from there on, of any name. */
bool tag_next(struct view text, size_t at, struct tag_mark *mark);

/* There are only blanks before that place in its line, or behind it. */
bool tag_begins_line(struct view text, size_t at);
bool tag_ends_line(struct view text, size_t at);

/* It begins or ends a line. Elsewhere prose and code may only mention it. */
bool tag_stands_apart(struct view text, const struct tag_mark *mark);

#endif
