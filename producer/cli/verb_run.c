/* verb_run.c - quern run: ask, follow, read the answer. */
#include "producer/cli/follow.h"
#include "producer/cli/show.h"
#include "schemas/message/buf.h"

/* Says which job it is: a person may want to come back to it. */
static void say_submitted(struct app *app, const char *id, bool existed)
{
    if (app->term.json)
        json_line(json_pack("{s:s, s:s, s:b}", "type", "submitted", "id", id,
                            "existed", (int)existed));
    else if (app->term.err.tty)
        pane_printf(&app->term.err, DIM, "job %s%s\n", id,
                    existed ? ", submitted before" : "");
}

int follow_new(struct app *app, const char *question, const struct cells *cells)
{
    struct quern_error error = { 0 };
    struct quern_id id;
    bool existed = false;

    if (!app_submit(app, question, cells, &id, &existed, &error))
        return app_fail(app, &error);
    say_submitted(app, id.text, existed);
    return follow_job(app, id.text, 0, cells != NULL,
                      app->options.out ? app->options.out : "quern-out");
}

/* "-" reads the question from standard input. */
int verb_run(struct app *app)
{
    CLEANUP(cleanup_free) char *text = NULL;
    struct err err = { 0 };
    const char *question = app->options.words[0];
    size_t size;

    if (question && view_is(VIEW("-"), question)) {
        text = read_text("-", MAX_TEXT_BYTES, &size, &err);
        if (!text)
            return app_fail_err(app, &err);
        question = text;
    }
    return follow_new(app, question, NULL);
}
