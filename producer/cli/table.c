/* table.c - rows in columns that fit the terminal. */
#include "producer/cli/table.h"

#include <stdlib.h>
#include <string.h>
#include <wchar.h>

enum {
    MAX_COLUMNS = 12,
    GAP = 2,   /* between two columns */
    LEAST = 6, /* a column is not made narrower than that */
};

struct table {
    const struct column *columns;
    size_t count;
    char **texts;      /* of all cells, row by row; owned */
    size_t used, room; /* cells */
};

struct table *table_new(const struct column *columns, size_t count)
{
    struct table *table = calloc(1, sizeof(*table));

    if (!table || count == 0 || count > MAX_COLUMNS)
        abort();
    table->columns = columns;
    table->count = count;
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
    for (size_t i = 0; i < table->count; i++)
        table->texts[table->used++] = view_dup(view_of(texts[i]));
}

/* Columns of the terminal that the first character takes; *len: its bytes. */
static size_t character_width(struct view text, size_t *len)
{
    uint32_t code = glyph_at(text, len);
    int width = code == GLYPH_BAD ? 1 : wcwidth((wchar_t)code);

    return width < 0 ? 1 : (size_t)width;
}

static size_t text_width(const char *text)
{
    struct view rest = view_of(text);
    size_t width = 0, len;

    for (; rest.len > 0; rest.data += len, rest.len -= len)
        width += character_width(rest, &len);
    return width;
}

/* How many bytes of the text fit into a width. */
static size_t fitting(const char *text, size_t width)
{
    struct view rest = view_of(text);
    size_t len;

    for (; rest.len > 0; rest.data += len, rest.len -= len) {
        size_t one = character_width(rest, &len);

        if (one > width)
            break;
        width -= one;
    }
    return (size_t)(rest.data - text);
}

/* Replaces hidden characters by numbers, for a terminal: before widths are
 * measured, as numbers are wider. */
static void show_all(struct table *table, const struct pane *out)
{
    for (size_t i = 0; out->tty && i < table->used; i++) {
        struct view text = view_of(table->texts[i]);
        struct buf shown;

        buf_init(&shown, GLYPH_BYTES * text.len + 1);
        glyph_add(&shown, text, READ_NAME);
        buf_append(&shown, "", 1);
        free(table->texts[i]);
        table->texts[i] = shown.data;
    }
}

static void measure(const struct table *table, size_t *widths)
{
    for (size_t i = 0; i < table->count; i++)
        widths[i] = strlen(table->columns[i].title);
    for (size_t row = 0; row < table->used; row += table->count)
        for (size_t i = 0; i < table->count; i++) {
            size_t width = text_width(table->texts[row + i]);

            widths[i] = width > widths[i] ? width : widths[i];
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

    measure(table, widths);
    for (size_t i = 0; i < table->count; i++)
        total += widths[i];
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
    size_t all = text_width(text);
    bool cut = column->cut && all > width;
    size_t shown = cut ? fitting(text, width - 2) : strlen(text);
    int blanks = all < width ? (int)(width - all) : 0;

    if (column->right)
        pane_printf(out, PLAIN, "%*s", blanks, "");
    pane_name(out, style, (struct view){ text, shown });
    if (cut)
        pane_printf(out, style, "..");
    if (last)
        pane_printf(out, PLAIN, "\n");
    else
        pane_printf(out, PLAIN, "%*s", column->right ? GAP : blanks + GAP, "");
}

void table_print(struct table *table, struct pane *out, size_t width)
{
    size_t widths[MAX_COLUMNS];
    size_t last = table->count - 1;

    show_all(table, out);
    fit(table, width ? width : SIZE_MAX, widths);
    for (size_t i = 0; i < table->count; i++)
        print_text(out, BOLD, table->columns[i].title, &table->columns[i],
                   widths[i], i == last);
    for (size_t row = 0; row < table->used; row += table->count)
        for (size_t i = 0; i < table->count; i++)
            print_text(out, PLAIN, table->texts[row + i], &table->columns[i],
                       widths[i], i == last);
}
