/* verb_submit.c - quern submit, get, wait, watch, cancel: one call each. */
#include <string.h>

#include "producer/cli/follow.h"
#include "producer/cli/show.h"

int verb_submit(struct app *app)
{
    struct quern_error error = { 0 };
    struct quern_id id;
    bool existed = false;

    if (app->options.submit.jobs)
        return submit_lines(app);
    if (!submission_send(app, app->options.words[0], NULL, &id, &existed,
                         &error))
        return app_fail(app, &error);
    if (app->term.json)
        json_line(
            json_pack("{s:s, s:b}", "id", id.text, "existed", (int)existed));
    else
        printf("%s\n", id.text);
    return EXIT_DONE;
}

int verb_get(struct app *app)
{
    CLEANUP(quern_status_finish) struct quern_status status = { 0 };
    const char *id = app->options.words[0];
    struct quern_error error;

    if (!quern_get(app->quern, id, &status, &error))
        return app_fail(app, &error);
    return app_show_status(app, id, &status);
}

int verb_wait(struct app *app)
{
    CLEANUP(quern_status_finish) struct quern_status status = { 0 };
    const char *id = app->options.words[0];
    uint64_t timeout_ms = app->options.follow.timeout_ms;
    struct quern_error error;

    if (!(app->options.follow.timeout_ms))
        timeout_ms = (uint64_t)MAX_DEADLINE_MS;
    if (!quern_wait(app->quern, id, timeout_ms, &status, &error))
        return app_fail(app, &error);
    return app_show_status(app, id, &status);
}

/* Asks for the status first: a job that is not known, or a Redis that is not
 * there, is an error at once, where following would wait for it. A login that
 * may not read the status may still follow events. */
int verb_watch(struct app *app)
{
    CLEANUP(quern_status_finish) struct quern_status status = { 0 };
    const char *id = app->options.words[0];
    struct quern_error error;

    if (!quern_get(app->quern, id, &status, &error) &&
        strcmp(error.code, "redis_refused") != 0)
        return app_fail(app, &error);
    return follow_job(app, id, app->options.follow.from, false,
                      app->options.out);
}

int verb_cancel(struct app *app)
{
    static const struct {
        const char *word;
        const char *sentence;
    } outcomes[] = {
        [QUERN_CANCELLED_NOW] = { "cancelled", "cancelled" },
        [QUERN_CANCEL_ASKED] = { "asked", "its consumer has been asked to "
                                          "stop it" },
        [QUERN_CANCEL_LATE] = { "late", "it had already ended" },
    };
    const char *id = app->options.words[0];
    enum quern_cancel_outcome outcome;
    struct quern_error error;

    if (!quern_cancel(app->quern, id, app->options.reason, &outcome, &error))
        return app_fail(app, &error);
    if (app->term.json)
        json_line(json_pack("{s:s, s:s}", "id", id, "outcome",
                            outcomes[outcome].word));
    else
        printf("%s\n", outcomes[outcome].sentence);
    return EXIT_DONE;
}
