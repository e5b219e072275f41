/* tag.h - <execute>, <think> and the like in a message, in any case. */
#ifndef CONSUMER_TAG_H
#define CONSUMER_TAG_H

#include "schemas/message/view.h"

enum tag_use { TAG_CODE, TAG_ANSWER, TAG_THOUGHT };

struct tag {
    const char *name;
    enum tag_use use;
    bool own_line; /* begins and ends lines; elsewhere it is HTML */
    bool template; /* chat templates open it, before the text */
    unsigned bit;  /* its own */
};

/* A tag that stands in a text. */
struct tag_mark {
    const struct tag *tag;
    bool closing;
    size_t start, end;
};

/* Whether one begins there; an opening one in quotes is only spoken of. */
bool tag_at(struct view text, size_t at, struct tag_mark *mark);

/* The text without a closing tag at its end, whole or broken off: "4</solu". */
struct view tag_cut_broken(struct view text);
/* The next one from there on, of any name. */
bool tag_next(struct view text, size_t at, struct tag_mark *mark);

/* There are only blanks before that place in its line, or behind it. */
bool tag_begins_line(struct view text, size_t at);
bool tag_ends_line(struct view text, size_t at);

/* It begins or ends a line: prose and code name tags elsewhere, too. */
bool tag_stands_apart(struct view text, const struct tag_mark *mark);

#endif
