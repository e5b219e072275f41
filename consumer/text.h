/* text.h - bytes of unknown worth, made fit to be shown.
 *
 * What a cell writes may be anything and of any length; what people, models
 * and events get is UTF-8 and bounded, and says what was left out. */
#ifndef CONSUMER_TEXT_H
#define CONSUMER_TEXT_H

#include "schemas/message/buf.h"

/* Appends bytes with whatever is not UTF-8 replaced by U+FFFD. */
void text_add_clean(struct buf *out, struct view bytes);

/* Appends at most max bytes of text, clean, on one line: control characters
 * are spaces. */
void text_add_line(struct buf *out, struct view text, size_t max);

/* How many bytes at the end are the start of a character whose rest may still
 * come: 0 to 3. */
size_t text_unfinished(struct view bytes);

/* Appends text, clean, in at most max bytes: its head and its tail, and between
 * them "[... N bytes left out ...]". */
void text_add_clipped(struct buf *out, struct view text, size_t max);

/* The head and the tail of a stream that may never end. */
struct excerpt {
    size_t max;   /* half of it head, half of it tail */
    size_t total; /* bytes of the stream */
    size_t lost;  /* of these between head and tail, before the last gap */
    struct buf head;
    char *tail; /* a ring */
};

void excerpt_init(struct excerpt *excerpt, size_t max);
void excerpt_finish(struct excerpt *excerpt);
void excerpt_add(struct excerpt *excerpt, struct view bytes);
/* So many did not come: what follows is the tail. */
void excerpt_skip(struct excerpt *excerpt, size_t bytes);
/* Appends what is there, clean, with the gap stated. */
void excerpt_print(const struct excerpt *excerpt, struct buf *out);

#endif
