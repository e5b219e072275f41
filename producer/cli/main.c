/* main.c - the quern command: finds the verb, reads the command line and the
 * settings, opens the handle, runs the verb, and makes sure that what it
 * printed has arrived. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/cli.h"
#include "schemas/message/buf.h"
#include "schemas/settings/spell.h"

/* The word at that place, from 0, of a verb's words: of "NAME FILE...". */
static struct view word_name(const char *words, int place)
{
    while (place-- > 0)
        words += strcspn(words, " ") + 1;
    return (struct view){ words, strcspn(words, " .") };
}

static bool too_much(const struct verb *verb, const char *word, bool asks,
                     struct err *err)
{
    if (verb->words && strstr(verb->words, "...")) {
        int before = 0; /* words before the one that may be repeated */

        for (const char *at = verb->words; *at; at++)
            before += *at == ' ';
        return err_set(err, ERR_REJECT, "bad_setting",
                       "\"%.64s\" is one word too many: at most %d at once",
                       word, verb->max_words - before);
    }
    return err_set(err, ERR_REJECT, "bad_setting",
                   "unexpected word \"%.64s\"%s", word,
                   asks ? ": put the question in quotes" : "");
}

/* Whether the verb has as many words as it takes. Of a question, --job and
 * --jobs exactly one must be given. */
static bool check_words(const struct app *app, struct err *err)
{
    const struct verb *verb = app->verb;
    int count = app->options.word_count;
    bool scheduled = verb->run == verb_schedule_add;
    bool asks = scheduled || verb->run == verb_run || verb->run == verb_submit;
    int question = scheduled ? 2 : 0; /* its place among the words */
    const char *job = app->options.submit.job ? "--job" : NULL;

    if (app->options.submit.jobs && job)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "give --job or --jobs, not both");
    if (app->options.submit.jobs)
        job = "--jobs";
    if (count > verb->max_words)
        return too_much(verb, app->options.words[verb->max_words], asks, err);
    if (count < verb->min_words ||
        (asks && count == question && !job && !app->options.change.dry_run))
        return err_set(err, ERR_REJECT, "bad_setting", "%.*s is missing%s",
                       VIEW_ARG(word_name(verb->words, count)),
                       asks ? " (or --job FILE)" : "");
    if (asks && count > question && job)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "give a question or %s, not both", job);
    return true;
}

static bool open_quern(struct app *app, struct quern_error *error)
{
    const struct quern_options options = {
        .url = app->options.redis_url,
        .prefix = app->options.prefix,
        .role = "cli",
        .durability = app->options.durability,
    };

    if (!app->verb->offline)
        app->quern = quern_open(&options, error);
    return app->verb->offline || app->quern;
}

/* The options come before the settings, which only fill what the command line
 * left open;
 * --help wins over a wrong number of words. */
static int run_verb(struct app *app, int argc, char **argv)
{
    struct options *options = &app->options;
    struct quern_error error;
    struct err err = { 0 };
    bool ok;

    ok = options_parse(options, app->verb->name, argc, argv, &err);
    term_init(&app->term, options->json);
    if (ok && options->help) {
        options->words[0] = app->verb->name;
        options->words[1] = NULL;
        return verb_help(app);
    }
    if (!ok || !check_words(app, &err) || !options_check_job(options, &err) ||
        !options_settle(options, app->verb->name, &err)) {
        int code = app_fail_err(app, &err);

        if (!app->term.json && app->verb->hint)
            pane_printf(&app->term.err, DIM, "%s\n", app->verb->hint);
        if (!app->term.json)
            pane_printf(&app->term.err, DIM, "See quern help %s\n",
                        app->verb->name);
        return code;
    }
    if (!open_quern(app, &error))
        return app_fail(app, &error);
    return app->verb->run(app);
}

/* An answer that could not be written (a full disk, a closed pipe) is no
 * success, however the verb ended. When a job was submitted, its id is told and
 * the error is one that a repetition does not cure: it would submit another
 * job. */
static int flush_answer(struct app *app, int code)
{
    const char *job = app->job.text;
    struct err err;

    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    err_set(&err, *job ? ERR_REJECT : ERR_RETRY, "not_saved",
            "cannot write to standard output: %s%s%s%s", strerror(errno),
            *job ? "; job " : "", job, *job ? " was submitted" : "");
    int fault = app_fail_err(app, &err);

    return code == EXIT_DONE ? fault : code;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The name of the verb that is spelled most alike, and the length of its first
 * word; group: among the verbs of that group, by their second word. NULL: none
 * is alike. */
static const char *near_verb(const char *word, const char *group, size_t *len)
{
    unsigned int nearest = SPELL_FAR;
    const char *found = NULL;

    for (size_t i = 0; i < verb_count; i++) {
        const char *name =
            group ? verb_within(&verbs[i], group) : verbs[i].name;
        char first[32];
        unsigned int distance;

        if (!name)
            continue;
        snprintf(first, sizeof(first), "%.*s", (int)strcspn(name, " "), name);
        distance = spell_distance(word, strlen(word), first);
        if (distance < nearest) {
            nearest = distance;
            found = name;
            *len = strlen(first);
        }
    }
    return found;
}

static int no_verb(const char *first, const char *second)
{
    const char *group = verb_is_group(first) ? first : NULL;
    const char *word = group && second ? second : first;
    size_t len = 0;
    const char *near = near_verb(word, group, &len);

    fprintf(stderr, "quern%s%s: there is no verb \"%.64s\"", group ? " " : "",
            group ? group : "", word);
    if (near)
        fprintf(stderr, "; did you mean %.*s?", (int)len, near);
    fprintf(stderr, "\nSee quern help%s%s\n", group ? " " : "",
            group ? group : "");
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct app app = { 0 };
    const char *name = argc > 1 ? argv[1] : "help";
    const char *second = argc > 2 ? argv[2] : NULL;
    int used = 2; /* of argv */
    int code;

    term_init(&app.term, false);
    if (strcmp(name, "--version") == 0) {
        printf("quern %s\n", quern_version());
        return flush_answer(&app, EXIT_DONE);
    }
    if (is_help(name))
        name = "help";
    app.verb = verb_find(name, second);
    if (app.verb && verb_within(app.verb, name)) {
        used = 3;
    } else if (verb_is_group(name) && (!second || is_help(second))) {
        app.verb = verb_find("help", NULL); /* the group's page */
        argc = 2;
        used = 1;
    }
    if (!app.verb)
        return no_verb(name, second);
    code = run_verb(&app, argc > used ? argc - used : 0, argv + used);
    if (code == EXIT_DONE)
        code = app.unsaved;
    quern_close(app.quern);
    options_finish(&app.options);
    return flush_answer(&app, code);
}
