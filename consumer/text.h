/* text.h - makes readable text of any bytes.
 *
 * What a cell writes may be any bytes, of any length. What people, models and
 * events get is UTF-8, bounded, and says how much was left out. "Clean" is
 * valid UTF-8, with U+FFFD for each byte that is not. */
#ifndef CONSUMER_TEXT_H
#define CONSUMER_TEXT_H

#include "schemas/message/buf.h"

/* Appends bytes with whatever is not UTF-8 replaced by U+FFFD. */
void text_add_clean(struct buf *out, struct view bytes);

/* Appends at most max bytes of text, clean, on one line: control characters
 * become spaces. */
void text_add_line(struct buf *out, struct view text, size_t max);

/* How many bytes at the end are the start of a character whose rest may still
 * come: 0 to 3. */
size_t text_unfinished(struct view bytes);

/* Appends text, clean, in at most max bytes: its head and its tail, and between
 * them "[... N bytes left out ...]". */
void text_add_clipped(struct buf *out, struct view text, size_t max);

/* The head and the tail of a stream of any length. */
struct excerpt {
    size_t max;   /* bytes kept: half of them head, half of them tail */
    size_t total; /* bytes of the stream so far */
    size_t lost;  /* of these: behind the head, up to the last excerpt_skip() */
    struct buf head;
    char *tail; /* a ring of max / 2 bytes; NULL: nothing has come to it */
};

void excerpt_init(struct excerpt *excerpt, size_t max);
void excerpt_finish(struct excerpt *excerpt);
void excerpt_add(struct excerpt *excerpt, struct view bytes);
/* So many bytes did not come: only what follows can be the tail. */
void excerpt_skip(struct excerpt *excerpt, size_t bytes);
/* Appends head and tail, clean, with the gap stated between them. */
void excerpt_print(const struct excerpt *excerpt, struct buf *out);

#endif
