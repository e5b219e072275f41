/* fold.h - turns a stream into the text that a terminal would show at its end.
 *
 * Escape sequences are left out. When a stream draws over a line, as progress
 * bars do, the text has the last state of the line: after \r, or after the
 * cursor went up to it (ESC [ A), by up to FOLD_ROWS lines. \b removes a
 * character; other control characters become their pictures (U+2400 ...). Head
 * and tail of the text are kept, however long the stream is. Bytes may come in
 * pieces of any size. */
#ifndef CONSUMER_FOLD_H
#define CONSUMER_FOLD_H

#include "consumer/text.h"

enum fold_state {
    FOLD_TEXT,
    FOLD_ESCAPE,     /* after ESC */
    FOLD_CONTROL,    /* after ESC [, up to a letter */
    FOLD_STRING,     /* after ESC ], up to BEL or ESC \ */
    FOLD_STRING_END, /* after the ESC of that */
};

enum { FOLD_ROWS = 8 };

/* A line that may still be drawn over. */
struct fold_row {
    struct buf text;
    bool windows; /* it ends in \r\n */
    bool begun; /* it is so long that its start is in kept already, for good */
};

struct fold {
    struct excerpt kept;
    struct fold_row rows[FOLD_ROWS]; /* the last ones; first is above */
    size_t first, count, at;         /* a ring; at: the row of the cursor */
    enum fold_state state;
    size_t string;   /* bytes since FOLD_STRING; bounded, so that a stray ESC ]
                        does   not hide all that follows */
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
