/* fold.h - a stream as a terminal would leave it, to be read as text.
 *
 * Escape sequences are gone; of a line that was drawn over (\r, a progress
 * bar's), its last state stands; \b takes a character back; other control
 * characters are shown by their pictures (U+2400 ...). Head and tail of that
 * are kept, however much comes. Bytes come in any pieces. */
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

struct fold {
    struct excerpt kept;
    struct buf line; /* the one that may still be drawn over */
    enum fold_state state;
    size_t string;  /* bytes since FOLD_STRING: a stray ESC ] is no end */
    bool returned;  /* the last byte was a \r */
    bool long_line; /* its start has gone to kept: it stays */
    bool changed;   /* nor is what is kept */
};

/* max: bytes that are kept. */
void fold_init(struct fold *fold, size_t max);
void fold_finish(struct fold *fold);
void fold_add(struct fold *fold, struct view bytes);

/* Appends what is kept, clean, with the gap stated, in at most max bytes.
 * False: it is not, byte for byte, what came. Nothing may come after. */
bool fold_print(struct fold *fold, struct buf *out, size_t max);

#endif
