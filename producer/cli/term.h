/* term.h - writing for people, and not letting what we print drive their
 * terminal.
 *
 * stdout carries what was asked for, stderr how it is going. Text of models,
 * of code and of files is hostile: on a terminal its control characters are
 * replaced, or it could move the cursor, rename the window or fake a prompt.
 * Into a pipe it goes byte for byte. */
#ifndef PRODUCER_CLI_TERM_H
#define PRODUCER_CLI_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "schemas/message/view.h"

enum style { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };

/* One of the two streams. */
struct pane {
    FILE *file;
    bool tty;
    bool colour;
    bool mid_line; /* the cursor stands behind something */
};

struct term {
    struct pane out;
    struct pane err;
    const char *bar; /* before quoted lines: "│ ", or "| " where not UTF-8 */
    bool json;
};

/* Asks isatty(), NO_COLOR, TERM and the locale. */
void term_init(struct term *term, bool json);

/* Our own words. */
void pane_printf(struct pane *pane, enum style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Others' words, made harmless on a terminal. */
void pane_text(struct pane *pane, enum style style, struct view text);

/* The same as a quotation: bar before every line. Pieces may follow each
 * other. */
void pane_quote(struct pane *pane, enum style style, const char *bar,
                struct view text);

/* Ends a line that was begun. */
void pane_line(struct pane *pane);

/* stderr, for words of our own on a new line: ends what was begun there, and on
 * stdout when both may be the same terminal. */
struct pane *term_notice(struct term *term);

/* 18.2 KiB; 3.2 s; 5 days. Of the last few calls each; good for one printf. */
const char *term_size(uint64_t bytes);
const char *term_time(uint64_t ms);
const char *term_age(uint64_t ms);
/* 5 days: since that time, in ms since 1970. */
const char *term_since(uint64_t ms);

/* Characters of a line; 0: it is no terminal. */
size_t pane_width(const struct pane *pane);

#endif
