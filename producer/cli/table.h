/* table.h - prints rows in columns that fit the terminal.
 *
 * Texts are copied. A column is as wide as its widest text. When the columns
 * are wider than the terminal, those that may be cut are made narrower, the
 * widest first. On a terminal, hidden characters are shown as numbers (term.h).
 * Widths are columns of the terminal: a wide character has two. */
#ifndef PRODUCER_CLI_TABLE_H
#define PRODUCER_CLI_TABLE_H

#include <stddef.h>

#include "producer/cli/term.h"

struct column {
    const char *title;
    bool right; /* numbers */
    bool cut;   /* may be, at its end */
};

struct table;

/* Borrows the columns, at most 12. */
struct table *table_new(const struct column *columns, size_t count);
void table_free(struct table *table);

/* One more row: as many texts as there are columns. */
void table_add(struct table *table, const char *const *texts);
/* width: of the terminal; 0: no limit. Call it once: it replaces hidden
 * characters in the texts. */
void table_print(struct table *table, struct pane *out, size_t width);

#endif
