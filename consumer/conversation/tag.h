/* tag.h - <execute>, <think> and the like in a message, in any case. */
#ifndef CONSUMER_TAG_H
#define CONSUMER_TAG_H

#include "schemas/message/view.h"

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
