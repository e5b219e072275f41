/* document.h - prints a table of settings for people: as --help, as a sample
 * file, as Markdown and as a man page. */
#ifndef SCHEMAS_SETTINGS_DOCUMENT_H
#define SCHEMAS_SETTINGS_DOCUMENT_H

#include "schemas/message/buf.h"
#include "schemas/settings/setting.h"

/* Lines of at most width bytes. */
void document_help(const struct setting_table *table, size_t width, FILE *out);
/* Its rows alone, with_facts: and what they may be. */
void document_rows(const struct setting_table *table, bool with_facts,
                   size_t width, FILE *out);
void document_sample(const struct setting_table *table, FILE *out);
void document_markdown(const struct setting_table *table, FILE *out);

/* Columns of the terminal that standard output is, as COLUMNS says or the
 * kernel; else 80. */
size_t document_width(void);

/* Writes words from `indent` columns on in each line; `column` is where the
 * line stands now. Ends the line. */
void document_wrap(FILE *out, const char *text, size_t column, size_t indent,
                   size_t width);

/* "300ms to 1h", "science or bare"; "" where anything will do. */
void document_range(struct buf *out, const struct setting *row);

/* How settings are given, a paragraph each; NULL: there are no more. */
const char *document_rule(const struct setting_table *table, size_t number);

/* -------- document_man.c: roff, in the macros of man(7) */

/* A page of section 8. */
void document_man(const struct setting_table *table, const char *version,
                  FILE *out);
/* The rows alone, a tagged paragraph each. */
void document_man_rows(const struct setting_table *table, bool with_facts,
                       FILE *out);
/* Text that roff shows as it is; lines begin where text has them. */
void document_roff(FILE *out, const char *text);

#endif
