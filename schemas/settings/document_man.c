/* document_man.c - a table of settings as a page for man, in roff's man macros.
 *
 * In running text \ - . and ' at the head of a line mean something to roff. */
#include <ctype.h>
#include <string.h>

#include "schemas/settings/document.h"

void document_roff(FILE *out, const char *text)
{
    bool at_head = true;
    for (; *text; text++) {
        if (at_head && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        at_head = *text == '\n';
    }
}

static void paragraph(FILE *out, const char *text)
{
    fputs(".PP\n", out);
    document_roff(out, text);
    fputc('\n', out);
}

/* "Default 30s, 300ms to 1h." */
static void facts(const struct setting *row, FILE *out)
{
    CLEANUP(buf_finish) struct buf range = { .max = 1024 };
    const char *normal = row->normally ? row->normally : row->normal;
    char variable[SETTING_NAME_BYTES];
    setting_variable(row, variable);
    document_range(&range, row);
    buf_append(&range, "", 1);
    fputs(".br\n", out);
    if (row->is_flag_only)
        fputs("A flag only.", out);
    else
        fprintf(out, "Variable %s%s%s%s.", variable,
                row->type == SETTING_SECRET ? " or " : "",
                row->type == SETTING_SECRET ? variable : "",
                row->type == SETTING_SECRET ? "_FILE" : "");
    if (normal && *normal) {
        fputs(" Default: ", out);
        document_roff(out, normal);
        fputc('.', out);
    }
    if (*range.data) {
        fputs(" Values: ", out);
        document_roff(out, range.data);
        fputc('.', out);
    }
    fprintf(out, "%s\n", row->is_reloaded ? " Read again upon HUP." : "");
}

void document_man_rows(const struct setting_table *table, bool with_facts,
                       FILE *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct setting *row = &table->rows[i];
        if (row->group) {
            fputs(".SS ", out);
            document_roff(out, row->group);
            fputc('\n', out);
        }
        fputs(".TP\n.BI \"\\-\\-", out);
        document_roff(out, row->name);
        fprintf(out, "\" \" %s\"\n", setting_value_name(row));
        document_roff(out, row->about);
        fputc('\n', out);
        if (with_facts)
            facts(row, out);
    }
}

static void man_details(const char *text, FILE *out)
{
    while (text && *text) {
        size_t len = strcspn(text, "\n");
        CLEANUP(cleanup_free) char *line = view_dup((struct view){ text, len });
        paragraph(out, line);
        text += len + (text[len] == '\n');
    }
}

void document_man(const struct setting_table *table, const char *version,
                  FILE *out)
{
    fputs(".TH \"", out);
    for (const char *at = table->program; *at; at++)
        fputc(toupper((unsigned char)*at), out);
    fprintf(out, "\" 8 \"\" \"quern %s\" \"quern\"\n.SH NAME\n", version);
    document_roff(out, table->program);
    fputs(" \\- ", out);
    document_roff(out, table->about);
    fputs("\n.SH SYNOPSIS\n.B ", out);
    document_roff(out, table->program);
    fputs("\n[\\-\\-SETTING VALUE]...\n.SH DESCRIPTION\n", out);
    const char *rule;
    for (size_t i = 0; (rule = document_rule(table, i)); i++)
        paragraph(out, rule);
    man_details(table->details, out);
    fputs(".SH SETTINGS\n", out);
    document_man_rows(table, true, out);
    document_man_rows(&setting_common, false, out);
    if (!table->examples)
        return;
    fputs(".SH EXAMPLES\n.nf\n", out);
    document_roff(out, table->examples);
    fputs(".fi\n", out);
}
