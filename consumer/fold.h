/* fold.h - a stream as a terminal would leave it, to be read as text.
 *
 * Escape sequences are gone; of a line that was drawn over, a progress bar's,
 * its last state stands: by \r, or by going up to it (ESC [ A), as bars below
 * one another do, up to FOLD_ROWS lines. \b takes a character back; other
 * control characters are shown by their pictures (U+2400 ...). Head and tail of
 * that are kept, however much comes. Bytes come in any pieces. */
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
    bool begun;   /* it is long: its start has gone to kept, and stays */
};

struct fold {
    struct excerpt kept;
    struct fold_row rows[FOLD_ROWS]; /* the last ones; first is above */
    size_t first, count, at;         /* a ring; at: the row of the cursor */
    enum fold_state state;
    size_t string;   /* bytes since FOLD_STRING: a stray ESC ] is no end */
    size_t argument; /* of FOLD_CONTROL, the first one */
    bool returned;   /* the last byte was a \r */
    bool over;       /* nor does what comes follow what its line has */
    bool changed;    /* what is kept is not what came */
};

/* max: bytes that are kept. */
void fold_init(struct fold *fold, size_t max);
void fold_finish(struct fold *fold);
void fold_add(struct fold *fold, struct view bytes);
/* So many did not come. */
void fold_skip(struct fold *fold, size_t bytes);

/* Appends what is kept, clean, with the gap stated, in at most max bytes.
 * False: it is not, byte for byte, what came. Nothing may come after. */
bool fold_print(struct fold *fold, struct buf *out, size_t max);

#endif
