/* verb_help.c - help pages, made from the tables of verbs and options. */
#include <string.h>

#include "producer/cli/cli.h"

static void list_verb(const struct verb *verb, FILE *out)
{
    char left[40];

    snprintf(left, sizeof(left), "%s %s", verb->name,
             verb->words ? verb->words : "");
    fprintf(out, "  %-32s %s\n", left, verb->about);
}

static int overview(FILE *out)
{
    fprintf(out, "quern - ask a model that may run Python, through a queue\n\n"
                 "  quern VERB [OPTION]... [WORD]...\n\n");
    for (size_t i = 0; i < verb_count; i++)
        list_verb(&verbs[i], out);
    fprintf(out, "\nOptions of every verb (quern help VERB for its own):\n");
    options_help(NULL, out);
    fprintf(out, "\nThe options ");
    options_list_settings(out);
    fprintf(out,
            "\nare settings too: QUERN_<OPTION> in the environment, then lines "
            "\"name = value\"\nin the settings file, say what the command line "
            "does not.\n\n"
            "Exit codes: 0 done, 1 the job failed or is incomplete, 64 usage, "
            "65 bad input,\n69 Redis unavailable, 74 done, but what came of "
            "it could not be written,\n75 try again.\n");
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
    fprintf(out, "quern %s %s%s- %s\n\n%s%s", verb->name,
            verb->words ? verb->words : "", verb->words ? " " : "", verb->about,
            verb->details, *verb->details ? "\n" : "");
    options_help(verb->name, out);
    if (verb->more)
        verb->more(out);
    return EXIT_DONE;
}

int verb_help(struct app *app)
{
    const char *first = app->options.words[0], *second = app->options.words[1];
    const struct verb *verb;

    if (!first)
        return overview(stdout);
    verb = verb_find(first, second);
    if (verb)
        return page(verb, stdout);
    if (!second && verb_is_group(first))
        return group_page(first, stdout);
    fprintf(stderr, "quern help: there is no verb \"%.64s%s%.64s\"\n", first,
            second ? " " : "", second ? second : "");
    return EXIT_USAGE;
}
