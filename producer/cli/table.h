/* table.h - rows in columns that fit the terminal.
 *
 * Texts are copied. Columns are as wide as their widest text; where that is
 * more than there is room for, those that may be cut are, the widest first.
 * A terminal is shown numbers for what is hidden in a text (term.h). Widths are
 * counted in columns of the terminal. */
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

struct table *table_new(const struct column *columns, size_t count);
void table_free(struct table *table);

/* One more row: as many texts as there are columns. */
void table_add(struct table *table, const char *const *texts);
/* width: of the terminal; 0: there is no end of it. */
void table_print(struct table *table, struct pane *out, size_t width);

#endif
