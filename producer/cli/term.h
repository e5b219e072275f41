/* term.h - writing for people, and not letting what we print drive their
 * terminal.
 *
 * stdout carries what was asked for, stderr how it is going. Text of models,
 * of code and of files is hostile: it could move the cursor, rename the window,
 * fake a prompt, or show a person other code than what runs. So a terminal gets
 * control characters and hidden ones as numbers (schemas/message/glyph.h). A
 * pipe gets every byte as it is. */
#ifndef PRODUCER_CLI_TERM_H
#define PRODUCER_CLI_TERM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "schemas/message/glyph.h"

enum style { PLAIN, BOLD, DIM, RED, GREEN, YELLOW, CYAN };

/* One of the two streams, stdout or stderr. */
struct pane {
    FILE *file;
    bool tty;
    bool colour;
    bool mid_line;   /* the last character that was printed ended no line */
    uint32_t before; /* the last character of the prose so far: whether the next
                        one is hidden may depend on it */
};

struct term {
    struct pane out;
    struct pane err;
    const char *bar; /* before quoted lines: "│ ", or "| " where not UTF-8 */
    bool json;
};

/* Asks isatty(), NO_COLOR, TERM and the locale. */
void term_init(struct term *term, bool json);

/* Our own sentences. Hidden characters are shown as in code, since names that
 * others chose stand among the words. */
void pane_printf(struct pane *pane, enum style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Wipes the terminal line of the cursor, to print it anew. */
void pane_redraw(struct pane *pane);

/* Text of others. pane_name(): a name, kept on one line. pane_text(): code,
 * errors and whatever a person decides by; every hidden character shows.
 * pane_prose(): an answer or the output of code; its pieces may follow each
 * other. */
void pane_name(struct pane *pane, enum style style, struct view text);
void pane_text(struct pane *pane, enum style style, struct view text);
void pane_prose(struct pane *pane, enum style style, struct view text);

/* Code or prose as a quotation, with bar before every line. Pieces may follow
 * each other. */
void pane_quote(struct pane *pane, enum style style, const char *bar,
                enum glyph_use reading, struct view text);

/* Ends a line that was begun. */
void pane_line(struct pane *pane);

/* stderr, at the beginning of a line: ends a line that was begun there, and on
 * stdout when that is a terminal, which may be the same one. */
struct pane *term_notice(struct term *term);

/* "18.2 KiB", "3.2 s", "5 days". The text is static, and overwritten by the
 * fourth further call: good for one printf(). */
const char *term_size(uint64_t bytes);
const char *term_time(uint64_t ms);
const char *term_cost(uint64_t micro); /* $0.0123, of micro-dollars */
const char *term_age(uint64_t ms);
/* 5 days: since that time, or until then, in ms since 1970. */
const char *term_since(uint64_t ms);
const char *term_until(uint64_t ms);

/* Prints a line of JSON. On a terminal, hidden characters are written as
 * \u202e. */
void term_json(FILE *file, const char *json);

/* Columns of the terminal; 0: it is no terminal. */
size_t pane_width(const struct pane *pane);

#endif
