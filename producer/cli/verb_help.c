/* verb_help.c - help pages, made from the tables of verbs and options. */
#include <string.h>

#include "producer/cli/cli.h"

static void overview(FILE *out)
{
    fprintf(out, "quern - ask a model that may run Python, through a queue\n\n"
                 "  quern VERB [OPTION]... [WORD]\n\n");
    for (size_t i = 0; i < verb_count; i++)
        fprintf(out, "  %-7s %-10s %s\n", verbs[i].name,
                verbs[i].words ? verbs[i].words : "", verbs[i].about);
    fprintf(out, "\nOptions of every verb (quern help VERB for its own):\n");
    options_help(NULL, out);
    fprintf(out, "\nThe options ");
    options_list_settings(out);
    fprintf(out,
            "\nare settings too: QUERN_<OPTION> in the environment, then lines "
            "\"name = value\"\nin the settings file, say what the command line "
            "does not.\n\n"
            "Exit codes: 0 done, 1 the job failed or is incomplete, 64 usage, "
            "65 bad input,\n69 Redis unavailable, 75 try again.\n");
}

int verb_help(struct app *app)
{
    const char *name = app->options.words[0];

    if (!name) {
        overview(stdout);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < verb_count; i++) {
        const struct verb *verb = &verbs[i];

        if (strcmp(verb->name, name) != 0)
            continue;
        printf("quern %s %s%s- %s\n\n%s%s", verb->name,
               verb->words ? verb->words : "", verb->words ? " " : "",
               verb->about, verb->details, *verb->details ? "\n" : "");
        options_help(verb->name, stdout);
        return EXIT_DONE;
    }
    fprintf(stderr, "quern help: there is no verb \"%.64s\"\n", name);
    return EXIT_USAGE;
}
