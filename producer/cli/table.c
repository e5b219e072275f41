/* table.c - rows in columns that fit the terminal. */
#include "producer/cli/table.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_COLUMNS = 12,
    GAP = 2,   /* between two columns */
    LEAST = 6, /* characters that are left of a text that is cut */
};

struct table {
    const struct column *columns;
    size_t count;
    size_t widths[MAX_COLUMNS];
    char **texts; /* row by row */
    size_t used, room;
};

struct table *table_new(const struct column *columns, size_t count)
{
    struct table *table = calloc(1, sizeof(*table));

    if (!table || count == 0 || count > MAX_COLUMNS)
        abort();
    table->columns = columns;
    table->count = count;
    for (size_t i = 0; i < count; i++)
        table->widths[i] = strlen(columns[i].title);
    return table;
}

void table_free(struct table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->used; i++)
        free(table->texts[i]);
    free(table->texts);
    free(table);
}

void table_add(struct table *table, const char *const *texts)
{
    if (table->used + table->count > table->room) {
        table->room = 2 * table->room + 8 * table->count;
        table->texts =
            realloc(table->texts, table->room * sizeof(*table->texts));
        if (!table->texts)
            abort();
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t len = strlen(texts[i]);

        table->texts[table->used++] = view_dup(view_of(texts[i]));
        if (len > table->widths[i])
            table->widths[i] = len;
    }
}

/* The widest of the columns that may be cut, count when there is none. */
static size_t widest(const struct table *table, const size_t *widths)
{
    size_t found = table->count;

    for (size_t i = 0; i < table->count; i++)
        if (table->columns[i].cut && widths[i] > LEAST &&
            (found == table->count || widths[i] > widths[found]))
            found = i;
    return found;
}

static void fit(const struct table *table, size_t room, size_t *widths)
{
    size_t total = GAP * (table->count - 1);

    for (size_t i = 0; i < table->count; i++) {
        widths[i] = table->widths[i];
        total += widths[i];
    }
    for (; total > room; total--) {
        size_t column = widest(table, widths);

        if (column == table->count)
            return;
        widths[column]--;
    }
}

/* "a-long-name" in six: "a-lo..". */
static void print_text(struct pane *out, enum style style, const char *text,
                       const struct column *column, size_t width, bool last)
{
    size_t len = strlen(text);
    bool cut = column->cut && len > width;
    size_t shown = cut ? width - 2 : len;
    int blanks = len < width ? (int)(width - len) : 0;

    if (column->right)
        pane_printf(out, PLAIN, "%*s", blanks, "");
    pane_text(out, style, (struct view){ text, shown });
    if (cut)
        pane_printf(out, style, "..");
    if (last)
        pane_printf(out, PLAIN, "\n");
    else
        pane_printf(out, PLAIN, "%*s", column->right ? GAP : blanks + GAP, "");
}

void table_print(const struct table *table, struct pane *out, size_t width)
{
    size_t widths[MAX_COLUMNS];
    size_t last = table->count - 1;

    fit(table, width ? width : SIZE_MAX, widths);
    for (size_t i = 0; i < table->count; i++)
        print_text(out, BOLD, table->columns[i].title, &table->columns[i],
                   widths[i], i == last);
    for (size_t row = 0; row < table->used; row += table->count)
        for (size_t i = 0; i < table->count; i++)
            print_text(out, PLAIN, table->texts[row + i], &table->columns[i],
                       widths[i], i == last);
}
