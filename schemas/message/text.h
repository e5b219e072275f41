/* text.h - makes readable text of any bytes.
 *
 * What a cell writes may be any bytes, of any length. What people, models and
 * events get is UTF-8, bounded, and says how much was left out. "Clean" is
 * valid UTF-8, with U+FFFD for each byte that is not. */
#ifndef SCHEMAS_MESSAGE_TEXT_H
#define SCHEMAS_MESSAGE_TEXT_H

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

/* Where in an escape sequence a stream is. */
enum fold_state {
    FOLD_TEXT,
    FOLD_ESCAPE,     /* after ESC */
    FOLD_CONTROL,    /* after ESC [, up to a letter */
    FOLD_STRING,     /* after ESC ], up to BEL or ESC \ */
    FOLD_STRING_END, /* after the ESC of that */
};

enum { FOLD_ROWS = 8 };

/* The head and the tail of a text of any length; fold_print() states the gap.
 */
struct excerpt {
    size_t max;   /* bytes kept: half of them head, half of them tail */
    size_t total; /* bytes of the stream so far */
    size_t lost;  /* of these: behind the head, up to the last fold_skip() */
    struct buf head;
    char *tail; /* a ring of max / 2 bytes; NULL: nothing has come to it */
};

/* A line that may still be drawn over. */
struct fold_row {
    struct buf text;
    bool windows; /* it ends in \r\n */
    bool begun; /* it is so long that its start is in kept already, for good */
};

/* Turns a stream into the text that a terminal would show at its end. Escape
 * sequences are left out. When a stream draws over a line, as progress bars do,
 * the text has the last state of the line: after \r, or after the cursor went
 * up to it (ESC [ A), by up to FOLD_ROWS lines. \b removes a character; other
 * control characters become their pictures (U+2400 ...). Head and tail of the
 * text are kept, however long the stream is. Bytes may come in pieces of any
 * size. */
struct fold {
    struct excerpt kept;
    struct fold_row rows[FOLD_ROWS]; /* the last ones; first is above */
    size_t first, count, at;         /* a ring; at: the row of the cursor */
    enum fold_state state;
    size_t string;   /* bytes since FOLD_STRING; bounded, so that a stray ESC ]
                        does not hide all that follows */
    size_t argument; /* of FOLD_CONTROL: the first number */
    bool returned; /* the last byte was a \r: what comes draws over the line */
    bool over;     /* the same, since the cursor has moved to the line */
    bool changed;  /* the text differs from the bytes that came */
};

/* max: how many bytes of the text are kept. */
void fold_init(struct fold *fold, size_t max);
void fold_finish(struct fold *fold);
void fold_add(struct fold *fold, struct view bytes);
/* So many bytes did not come. */
void fold_skip(struct fold *fold, size_t bytes);

/* Appends what is kept as UTF-8, with the gap stated, in at most max bytes.
 * True: it is byte for byte what came. Nothing may be added after this. */
bool fold_print(struct fold *fold, struct buf *out, size_t max);

#endif
