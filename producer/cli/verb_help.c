/* verb_help.c - help pages, made from the tables of verbs and options. */
#include <string.h>

#include "producer/cli/cli.h"
#include "producer/cli/help.h"
#include "schemas/settings/document.h"

const char *help_find(const char *name)
{
    char file[64];

    snprintf(file, sizeof(file), "%s", name);
    if (strchr(file, ' '))
        *strchr(file, ' ') = '-';
    for (const struct help_text *at = help_texts; at->file; at++)
        if (strcmp(at->file, file) == 0)
            return at->text;
    return NULL;
}

bool help_stays(struct view line)
{
    return line.len == 0 || line.data[0] == ' ' ||
           memmem(line.data, line.len, "  ", 2);
}

static void print_paragraph(struct buf *paragraph, size_t width, FILE *out)
{
    if (paragraph->len == 0)
        return;
    buf_append(paragraph, "", 1);
    document_wrap(out, paragraph->data, 0, 0, width);
    buf_clear(paragraph);
}

static void help_print(const char *text, size_t width, FILE *out)
{
    CLEANUP(buf_finish) struct buf paragraph;

    buf_init(&paragraph, 64 << 10);
    while (*text) {
        struct view line = { text, strcspn(text, "\n") };

        text += line.len + (text[line.len] == '\n');
        if (help_stays(line)) {
            print_paragraph(&paragraph, width, out);
            fprintf(out, "%.*s\n", VIEW_ARG(line));
        } else {
            buf_printf(&paragraph, "%s%.*s", paragraph.len > 0 ? " " : "",
                       VIEW_ARG(line));
        }
    }
    print_paragraph(&paragraph, width, out);
}

static void list_verb(const struct verb *verb, FILE *out)
{
    char left[40];

    snprintf(left, sizeof(left), "%s %s", verb->name,
             verb->words ? verb->words : "");
    fprintf(out, "  %-32s %s\n", left, verb->about);
}

/* Those that may stand in the environment and the settings file as well. */
static void list_settings(FILE *out)
{
    char text[1024] = "The options";
    size_t len = strlen(text);

    for (size_t i = 0; i < preferences_table.count; i++)
        len +=
            (size_t)snprintf(text + len, sizeof(text) - len, "%s --%s",
                             i > 0 ? "," : "", preferences_table.rows[i].name);
    snprintf(text + len, sizeof(text) - len,
             " are settings too, which the environment and a file may have: "
             "quern help settings.");
    fputc('\n', out);
    document_wrap(out, text, 0, 0, document_width());
}

static int overview(FILE *out)
{
    fprintf(out, "quern - ask a model that may run Python, through a queue\n\n"
                 "  quern VERB [OPTION]... [WORD]...\n\n");
    for (size_t i = 0; i < verb_count; i++)
        list_verb(&verbs[i], out);
    fprintf(out, "\nOptions of every verb (quern help VERB for its own):\n");
    options_help(NULL, out);
    list_settings(out);
    fputc('\n', out);
    help_print(help_find("exit status"), document_width(), out);
    return EXIT_DONE;
}

static int group_page(const char *group, FILE *out)
{
    fprintf(out, "quern %s VERB\n\n", group);
    for (size_t i = 0; i < verb_count; i++)
        if (verb_within(&verbs[i], group))
            list_verb(&verbs[i], out);
    fprintf(out, "\nSee quern help %s VERB for each.\n", group);
    return EXIT_DONE;
}

static int page(const struct verb *verb, FILE *out)
{
    const char *text = help_find(verb->name);

    fprintf(out, "quern %s %s%s- %s\n\n", verb->name,
            verb->words ? verb->words : "", verb->words ? " " : "",
            verb->about);
    if (text) {
        help_print(text, document_width(), out);
        fputc('\n', out);
    }
    options_help(verb->name, out);
    if (verb->more)
        verb->more(out);
    return EXIT_DONE;
}

/* form: sample, markdown; or NULL for people. */
static int settings_page(const char *form, FILE *out)
{
    if (form && strcmp(form, "sample") == 0) {
        document_sample(&preferences_table, out);
    } else if (form && strcmp(form, "markdown") == 0) {
        document_markdown(&preferences_table, out);
    } else if (!form) {
        help_print(help_find("settings"), document_width(), out);
        document_rows(&preferences_table, true, document_width(), out);
    } else {
        fprintf(stderr,
                "quern help settings: \"%.64s\" is neither sample nor "
                "markdown\n",
                form);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

int verb_help(struct app *app)
{
    const char *first = app->options.words[0], *second = app->options.words[1];
    const struct verb *verb;

    if (!first)
        return overview(stdout);
    if (strcmp(first, "settings") == 0)
        return settings_page(second, stdout);
    if (strcmp(first, "man") == 0) {
        help_man(stdout);
        return EXIT_DONE;
    }
    verb = verb_find(first, second);
    if (verb)
        return page(verb, stdout);
    if (!second && verb_is_group(first))
        return group_page(first, stdout);
    fprintf(stderr, "quern help: there is no verb \"%.64s%s%.64s\"\n", first,
            second ? " " : "", second ? second : "");
    return EXIT_USAGE;
}
