/* help_man.c - the page for man, from the same tables and texts as the help
 * pages: so it cannot lack a verb, an option or a setting. */
#include <stdlib.h>
#include <string.h>

#include "producer/cli/cli.h"
#include "producer/cli/help.h"
#include "producer/cli/member.h"
#include "schemas/message/buf.h"
#include "schemas/settings/document.h"

static void section(FILE *out, const char *name)
{
    fprintf(out, ".SH %s\n", name);
}

/* Paragraphs are filled by man; what stays as it is goes between .nf and .fi.
 * A blank line ends a paragraph. */
static void man_text(FILE *out, const char *text)
{
    bool filled = true, begun = false;

    while (*text) {
        struct view line = { text, strcspn(text, "\n") };
        CLEANUP(cleanup_free) char *copy = view_dup(line);
        bool fills = line.len == 0 || !help_stays(line);

        text += line.len + (text[line.len] == '\n');
        if (fills != filled)
            fputs(fills ? ".fi\n" : ".PP\n.nf\n", out);
        if (line.len == 0)
            begun = false;
        else if (fills && !begun)
            fputs(".PP\n", out);
        begun = begun || line.len > 0;
        filled = fills;
        if (line.len == 0)
            continue;
        document_roff(out, copy);
        fputc('\n', out);
    }
    if (!filled)
        fputs(".fi\n", out);
}

static void man_option(FILE *out, const struct option *option)
{
    const char *value = option_value(option);
    CLEANUP(buf_finish) struct buf about = { .max = 1024 };

    fputs(".TP\n.B ", out);
    if (option->letter)
        fprintf(out, "\\-%c, ", option->letter);
    fputs("\\-\\-", out);
    document_roff(out, option->name);
    if (value) {
        fputc(' ', out);
        document_roff(out, value);
    }
    fputc('\n', out);
    option_describe(option, &about);
    buf_append(&about, "", 1);
    document_roff(out, about.data);
    fputc('\n', out);
}

/* verb NULL: those of every verb. */
static void man_options(FILE *out, const char *verb)
{
    for (size_t i = 0; i < option_count; i++) {
        const struct option *option = &option_table[i];

        if (verb ? option->verbs && option_is_of(option, verb) : !option->verbs)
            man_option(out, option);
    }
}

/* What the verb prints behind its options is a table already. */
static void man_more(FILE *out, const struct verb *verb)
{
    char *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);

    if (!memory)
        abort();
    verb->more(memory);
    fclose(memory);
    man_text(out, text);
    free(text);
}

static void man_verb(FILE *out, const struct verb *verb)
{
    const char *text = help_find(verb->name);

    fputs(".SS \"quern ", out);
    document_roff(out, verb->name);
    if (verb->words) {
        fputc(' ', out);
        document_roff(out, verb->words);
    }
    fputs("\"\n", out);
    document_roff(out, verb->about);
    fputs(".\n", out);
    if (text)
        man_text(out, text);
    man_options(out, verb->name);
    if (verb->more)
        man_more(out, verb);
}

void help_man(FILE *out)
{
    fprintf(out, ".TH QUERN 1 \"\" \"quern %s\" \"quern\"\n", quern_version());
    section(out, "NAME");
    fputs("quern \\- ask a model that may run Python, through a queue\n", out);
    section(out, "SYNOPSIS");
    fputs(".B quern\nVERB [OPTION]... [WORD]...\n", out);
    section(out, "DESCRIPTION");
    fputs(
        "The command puts jobs into queues in Redis, follows them, and prints "
        "their answers; operators look after queues, workers and sessions "
        "with it. Standard output carries what was asked for, standard error "
        "how it is going.\n",
        out);
    section(out, "VERBS");
    for (size_t i = 0; i < verb_count; i++)
        man_verb(out, &verbs[i]);
    section(out, "OPTIONS OF EVERY VERB");
    man_options(out, NULL);
    section(out, "SETTINGS");
    man_text(out, help_find("settings"));
    document_man_rows(&preferences_table, true, out);
    section(out, "ENVIRONMENT");
    man_text(out, help_find("environment"));
    section(out, "FILES");
    man_text(out, help_find("files"));
    section(out, "EXIT STATUS");
    man_text(out, help_find("exit status"));
    section(out, "SEE ALSO");
    fputs(".BR quern\\-consumer (8),\n.BR quern\\-executor (8)\n", out);
}
