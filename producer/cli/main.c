/* main.c - the quern command: finds the verb, settles the options, runs it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/cli.h"
#include "schemas/message/buf.h"

const struct verb verbs[] = {
    { .name = "run",
      .words = "QUESTION",
      .max_words = 1,
      .about = "ask a question and follow the work to its answer",
      .details =
          "The model may run Python to find out. The answer goes to standard\n"
          "output, progress to standard error, images and files into a "
          "folder.\n"
          "QUESTION - is read from standard input.\n"
          "\n"
          "  quern run \"What sells best?\" --file sales.csv\n",
      .run = verb_run },
    { .name = "exec",
      .words = "FILE",
      .min_words = 1,
      .max_words = 1,
      .about = "run Python in a box, without a model",
      .details =
          "Prints what it prints, and the value of its last expression. FILE "
          "-\n"
          "is read from standard input. Lines that begin with \"# %%\" part it "
          "into\n"
          "cells, which run until one fails. With --json one object per "
          "cell.\n"
          "\n"
          "  echo 'sum(range(10))' | quern exec -\n"
          "  quern exec --session lab load.py && quern exec --session lab "
          "plot.py\n"
          "  quern exec --json --deadline-ms 5000 --out here plot.py | jq "
          ".displays\n",
      .run = verb_exec },
    { .name = "submit",
      .words = "QUESTION",
      .max_words = 1,
      .about = "put a job into the queue and print its id",
      .details = "Ask for it later with get, wait or watch.\n",
      .run = verb_submit },
    { .name = "get",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "print a job's answer, or where it stands",
      .details = "Ends with 75 while the job has not ended.\n",
      .run = verb_get },
    { .name = "wait",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "wait for a job's end, then print its answer",
      .details = "Ends with 75 when it has not ended in time.\n",
      .run = verb_wait },
    { .name = "watch",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "follow a job from its beginning to its answer",
      .details = "Also a job that has ended: what happened is shown again.\n",
      .run = verb_watch },
    { .name = "cancel",
      .words = "ID",
      .min_words = 1,
      .max_words = 1,
      .about = "stop a job, or take it out of the queue",
      .details = "",
      .run = verb_cancel },
    { .name = "doctor",
      .offline = true,
      .about = "look for what could be wrong here",
      .details = "Every finding comes with what to do about it. Ends with 69 "
                 "when\njobs cannot run.\n",
      .run = verb_doctor },
    { .name = "help",
      .words = "VERB",
      .max_words = 1,
      .offline = true,
      .about = "this page, or a verb's own",
      .details = "",
      .run = verb_help },
};
const size_t verb_count = sizeof(verbs) / sizeof(verbs[0]);

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; i < verb_count; i++)
        if (strcmp(verbs[i].name, name) == 0)
            return &verbs[i];
    return NULL;
}

/* A job's words and --job exclude each other; one of them must be there. */
static bool check_words(const struct app *app, struct err *err)
{
    const struct verb *verb = app->verb;
    int count = app->options.word_count;
    bool asks = verb->run == verb_run || verb->run == verb_submit;

    if (count > verb->max_words)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "\"%.64s\" is too much%s",
                       app->options.words[verb->max_words],
                       asks ? ": put the question in quotes" : "");
    if (count < verb->min_words || (asks && count == 0 && !app->options.job))
        return err_set(err, ERR_REJECT, "bad_setting", "%s is missing%s",
                       verb->words, asks ? " (or --job FILE)" : "");
    if (asks && count > 0 && app->options.job)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "a question and --job: only one of them");
    return true;
}

static bool open_quern(struct app *app, struct quern_error *error)
{
    const struct quern_options options = {
        .url = app->options.redis_url,
        .prefix = app->options.prefix,
        .role = "cli",
    };

    if (!app->verb->offline)
        app->quern = quern_open(&options, error);
    return app->verb->offline || app->quern;
}

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
        options->word_count = 1;
        return verb_help(app);
    }
    if (!ok || !check_words(app, &err) ||
        !options_settle(options, app->verb->name, &err)) {
        int code = app_fail_err(app, &err);

        if (!app->term.json)
            pane_printf(&app->term.err, DIM, "See quern help %s\n",
                        app->verb->name);
        return code;
    }
    if (!open_quern(app, &error))
        return app_fail(app, &error);
    return app->verb->run(app);
}

/* An answer that did not arrive where it was sent is no success. */
static int flush_answer(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "quern: cannot write to standard output: %s\n",
            strerror(errno));
    return code == EXIT_DONE ? EXIT_AGAIN : code;
}

int main(int argc, char **argv)
{
    struct app app = { 0 };
    const char *name = argc > 1 ? argv[1] : "help";
    int code;

    if (strcmp(name, "--version") == 0) {
        printf("quern %s\n", quern_version());
        return EXIT_DONE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    app.verb = find_verb(name);
    if (!app.verb) {
        fprintf(stderr, "quern: there is no verb \"%.64s\"; see quern help\n",
                name);
        return EXIT_USAGE;
    }
    code = run_verb(&app, argc > 2 ? argc - 2 : 0, argv + 2);
    if (code == EXIT_DONE)
        code = app.unsaved;
    quern_close(app.quern);
    options_finish(&app.options);
    return flush_answer(code);
}
