/* document.c - a table of settings, told to people: --help, a sample file,
 * Markdown. */
#include "schemas/settings/document.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "schemas/settings/amount.h"

enum { INDENT = 26, LEAST_WIDTH = 60, MOST_WIDTH = 120, USUAL_WIDTH = 80 };

static const char *const rules[] = {
    "A setting \"some-name\" is the flag --some-name VALUE, the variable "
    "QUERN_SOME_NAME=VALUE, and the line QUERN_SOME_NAME=VALUE of the file "
    "that --config names. A flag wins over a variable, and a variable over the "
    "file. Where a "
    "variable has another name, or a setting has none, it is told below.",
    "A time is written 500ms, 30s, 5m, 2h or 1d, and a size 64K, 512M or 2G; "
    "only 0 needs no unit. Words of a list have commas between them.",
};
static const char secrets[] =
    "A secret may stand in a file of its own, which VARIABLE_FILE names: "
    "nobody reads it then in a list of processes or of their variables.";

static bool has_secrets(const struct setting_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].type == SETTING_SECRET)
            return true;
    return false;
}

const char *document_rule(const struct setting_table *table, size_t number)
{
    size_t count = sizeof(rules) / sizeof(rules[0]);
    if (number < count)
        return rules[number];
    return number == count && has_secrets(table) ? secrets : NULL;
}

size_t document_width(void)
{
    const char *text = getenv("COLUMNS");
    struct winsize window = { 0 };
    unsigned long width = text ? strtoul(text, NULL, 10) : 0;
    if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0)
        width = window.ws_col;
    if (width == 0)
        return USUAL_WIDTH;
    if (width < LEAST_WIDTH)
        return LEAST_WIDTH;
    return width < MOST_WIDTH ? width : MOST_WIDTH;
}

void document_wrap(FILE *out, const char *text, size_t column, size_t indent,
                   size_t width)
{
    while (*text) {
        size_t len = strcspn(text, " ");
        if (column > indent && column + 1 + len > width) {
            fputc('\n', out);
            column = 0;
        }
        if (column < indent)
            fprintf(out, "%*s", (int)(indent - column), "");
        else if (column > indent)
            fputc(' ', out);
        column = (column <= indent ? indent : column + 1) + len;
        fprintf(out, "%.*s", (int)len, text);
        text += len;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void document_range(struct buf *out, const struct setting *row)
{
    struct amount_range range;
    char text[AMOUNT_RANGE_BYTES];
    for (int i = 0; row->choices && row->choices[i]; i++) {
        const char *before = !row->choices[i + 1] ? " or " : ", ";
        buf_printf(out, "%s%s", i > 0 ? before : "", row->choices[i]);
    }
    if (!setting_range(row, &range))
        return;
    amount_write_range(text, &range);
    buf_printf(out, "%s", text);
}

static const char *default_of(const struct setting *row)
{
    if (row->normally)
        return row->normally;
    return row->normal ? row->normal : "";
}

static bool has_own_variable(const struct setting *row)
{
    return row->variable || row->type == SETTING_SECRET;
}

/* --- help ----------------------------------------------------------------- */

static void add_fact(struct buf *text, const char *label, const char *fact)
{
    if (*fact)
        buf_printf(text, "%s%s%s", text->len > 0 ? "; " : "", label, fact);
}

/* "[default 30s; 300ms to 1h]" */
static void add_facts(struct buf *out, const struct setting *row)
{
    CLEANUP(buf_finish) struct buf range = { .max = 256 };
    CLEANUP(buf_finish) struct buf text = { .max = 512 };
    char variable[SETTING_NAME_BYTES];
    setting_variable(row, variable);
    if (has_own_variable(row)) {
        add_fact(&text, "$", variable);
        if (row->type == SETTING_SECRET)
            buf_printf(&text, " or $%s_FILE", variable);
    } else if (row->is_flag_only) {
        add_fact(&text, "", "a flag only");
    }
    add_fact(&text, "default ", default_of(row));
    document_range(&range, row);
    buf_append(&range, "", 1);
    add_fact(&text, "", range.data);
    add_fact(&text, "", row->is_reloaded ? "read again upon HUP" : "");
    if (text.len > 0)
        buf_printf(out, " [%.*s]", VIEW_ARG(buf_view(&text)));
}

static void help_row(const struct setting *row, bool with_facts, size_t width,
                     FILE *out)
{
    CLEANUP(buf_finish) struct buf text = { .max = 4096 };
    int column = fprintf(out, "  --%s %s", row->name, setting_value_name(row));
    buf_printf(&text, "%s", row->about);
    if (with_facts)
        add_facts(&text, row);
    buf_append(&text, "", 1);
    if (column >= INDENT - 1) {
        fputc('\n', out);
        column = 0;
    }
    document_wrap(out, text.data, (size_t)column, INDENT, width);
}

void document_rows(const struct setting_table *table, bool with_facts,
                   size_t width, FILE *out)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].group)
            fprintf(out, "\n%s:\n", table->rows[i].group);
        help_row(&table->rows[i], with_facts, width, out);
    }
}

/* Paragraphs of one line each. */
static void help_details(const char *text, size_t width, FILE *out)
{
    while (text && *text) {
        size_t len = strcspn(text, "\n");
        CLEANUP(cleanup_free) char *line = view_dup((struct view){ text, len });
        fputc('\n', out);
        document_wrap(out, line, 0, 0, width);
        text += len + (text[len] == '\n');
    }
}

void document_help(const struct setting_table *table, size_t width, FILE *out)
{
    fprintf(out, "usage: %s [--SETTING VALUE]...\n\n", table->program);
    document_wrap(out, table->about, 0, 0, width);
    const char *rule;
    for (size_t i = 0; (rule = document_rule(table, i)); i++) {
        fputc('\n', out);
        document_wrap(out, rule, 0, 0, width);
    }
    document_rows(table, true, width, out);
    document_rows(&setting_common, false, width, out);
    help_details(table->details, width, out);
    if (table->examples)
        fprintf(out, "\nExamples:\n%s", table->examples);
}

/* --- a settings file ------------------------------------------------------ */

/* As document_wrap(), in a comment. */
static void comment(FILE *out, const char *text)
{
    char *lines = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&lines, &len);
    if (!memory)
        abort();
    document_wrap(memory, text, 0, 0, USUAL_WIDTH - 2);
    fclose(memory);
    for (char *rest = lines, *line; (line = strsep(&rest, "\n")) && rest;)
        fprintf(out, "# %s\n", line);
    free(lines);
}

static void sample_row(const struct setting *row, FILE *out)
{
    CLEANUP(buf_finish) struct buf text = { .max = 4096 };
    CLEANUP(buf_finish) struct buf range = { .max = 1024 };
    char variable[SETTING_NAME_BYTES];
    if (row->is_flag_only)
        return;
    setting_variable(row, variable);
    buf_printf(&text, "%s", row->about);
    document_range(&range, row);
    if (range.len > 0)
        buf_printf(&text, " (%.*s)", VIEW_ARG(buf_view(&range)));
    if (row->normally)
        buf_printf(&text, " Without it: %s.", row->normally);
    if (row->type == SETTING_SECRET)
        buf_printf(&text, " Or its file: %s_FILE.", variable);
    buf_append(&text, "", 1);
    fputc('\n', out);
    comment(out, text.data);
    fprintf(out, "#%s=%s\n", variable, row->normal ? row->normal : "");
}

void document_sample(const struct setting_table *table, FILE *out)
{
    fprintf(out,
            "# Settings of %s, with their defaults. To change one, take "
            "the # away.\n",
            table->program);
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].group)
            fprintf(out, "\n# --- %s\n", table->rows[i].group);
        sample_row(&table->rows[i], out);
    }
}

/* --- Markdown ------------------------------------------------------------- */

/* In a cell of a table a | ends the cell. */
static void cell(FILE *out, const char *text)
{
    for (; *text; text++)
        if (*text == '|')
            fputs("\\|", out);
        else
            fputc(*text, out);
}

static void markdown_row(const struct setting *row, FILE *out)
{
    CLEANUP(buf_finish) struct buf range = { .max = 1024 };
    const char *normal = row->normal ? row->normal : "";
    char variable[SETTING_NAME_BYTES];
    setting_variable(row, variable);
    fprintf(out, "| `--%s`", row->name);
    if (has_own_variable(row))
        fprintf(out, " `%s`%s", variable,
                row->type == SETTING_SECRET ? " (`_FILE`)" : "");
    document_range(&range, row);
    if (row->is_flag_only)
        buf_printf(&range, "%sa flag only", range.len > 0 ? "; " : "");
    buf_append(&range, "", 1);
    if (row->normally)
        fprintf(out, " | %s | ", row->normally);
    else
        fprintf(out, *normal ? " | `%s` | " : " | %s | ", normal);
    cell(out, range.data);
    fprintf(out, " | %s | ", row->is_reloaded ? "HUP" : "restart");
    cell(out, row->about);
    fprintf(out, " |\n");
}

void document_markdown(const struct setting_table *table, FILE *out)
{
    for (size_t i = 0; i < table->count; i++) {
        if (i == 0 || table->rows[i].group)
            fprintf(out,
                    "%s**%s**\n\n| setting | default | range | takes effect "
                    "after | |\n|---|---|---|---|---|\n",
                    i > 0 ? "\n" : "",
                    table->rows[i].group ? table->rows[i].group : "Settings");
        markdown_row(&table->rows[i], out);
    }
}

/* -------------------------------------------------------------------------- */

void setting_print(const struct setting_table *table,
                   enum setting_request request, const char *version, FILE *out)
{
    switch (request) {
    case SETTING_HELP:
        document_help(table, document_width(), out);
        break;
    case SETTING_VERSION:
        fprintf(out, "%s %s\n", table->program, version);
        break;
    case SETTING_MAN:
        document_man(table, version, out);
        break;
    case SETTING_SAMPLE:
        document_sample(table, out);
        break;
    case SETTING_MARKDOWN:
        document_markdown(table, out);
        break;
    case SETTING_RUN:
        break;
    }
}
