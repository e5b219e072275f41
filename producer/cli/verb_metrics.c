/* verb_metrics.c - quern metrics, quern probe: what the fleet does, and how a
 * process is. */
#include <stdlib.h>
#include <string.h>

#include "producer/cli/cli.h"
#include "producer/cli/greeting.h"
#include "producer/cli/place.h"
#include "producer/numbers/fleet_numbers.h"

enum { PROBE_MS = 1000, METRICS_MS = 5000, MOST_TEXT = 5 << 20 };

static uint64_t timeout_of(const struct app *app, uint64_t normal)
{
    uint64_t given = app->options.follow.timeout_ms;

    return given > 0 ? given : normal;
}

/* What is at the place is none of ours, or an older one. */
static bool answers_that(const char *place, const char *path,
                         unsigned int status, struct err *err)
{
    return err_set(err, ERR_RETRY, "no_answer",
                   "%.100s answers %s with the status %u: is it the place of "
                   "--metrics?",
                   place, path, status);
}

/* ---------------------------------------------------------- quern metrics */

static int metrics_of_place(struct app *app, const char *place)
{
    CLEANUP(buf_finish) struct buf bytes;
    struct place_answer answer;
    struct err err;

    buf_init(&bytes, PLACE_MOST_BYTES);
    if (!place_get(place, "/metrics", timeout_of(app, METRICS_MS), &bytes,
                   &answer, &err) ||
        (answer.status != 200 &&
         !answers_that(place, "/metrics", answer.status, &err)))
        return app_fail_err(app, &err);
    pane_text(&app->term.out, PLAIN, answer.body);
    return EXIT_DONE;
}

static int metrics_of_fleet(struct app *app)
{
    CLEANUP(fleet_numbers_finish) struct fleet_numbers numbers;
    CLEANUP(buf_finish) struct buf out;
    struct quern_error error;

    fleet_numbers_init(&numbers);
    buf_init(&out, MOST_TEXT);
    if (!fleet_numbers_collect(&numbers, app->quern, &error))
        return app_fail(app, &error);
    fleet_numbers_write(&numbers, &out);
    pane_text(&app->term.out, PLAIN, buf_view(&out));
    return EXIT_DONE;
}

int verb_metrics(struct app *app)
{
    if (app->options.word_count > 0)
        return metrics_of_place(app, app->options.words[0]);
    return metrics_of_fleet(app);
}

/* ------------------------------------------------------------ quern probe */

/* A container has one process and its variables: so a probe there needs no
 * place. */
static const char *probe_place(const struct app *app)
{
    const char *set = getenv("QUERN_METRICS");

    if (app->options.word_count > 1)
        return app->options.words[1];
    return set && *set ? set : "127.0.0.1:9464";
}

/* It has no --metrics, as it does not speak HTTP. */
static int probe_executor(struct app *app)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    char bytes[GREETING_BYTES];
    const char *path =
        app->options.word_count > 1 ? app->options.words[1] : greeting_socket();
    uint64_t timeout_ms = timeout_of(app, PROBE_MS);
    struct frame welcome;
    struct err err;
    int fault;

    if (greeting_exchange(path, timeout_ms, &welcome, bytes, &arena, &fault))
        return EXIT_DONE;
    if (fault)
        err_set(&err, ERR_RETRY, "no_answer", "%s: %s", path, strerror(fault));
    else
        err_set(&err, ERR_RETRY, "no_answer", "%s: no answer within %llu ms",
                path, (unsigned long long)timeout_ms);
    return app_fail_err(app, &err);
}

int verb_probe(struct app *app)
{
    const char *what = app->options.words[0], *place = probe_place(app);
    bool live = strcmp(what, "live") == 0;
    const char *path = live ? "/livez" : "/readyz";
    CLEANUP(buf_finish) struct buf bytes;
    struct place_answer answer;
    struct err err;

    buf_init(&bytes, PLACE_MOST_BYTES);
    if (strcmp(what, "executor") == 0)
        return probe_executor(app);
    if (!live && strcmp(what, "ready") != 0)
        err_set(&err, ERR_REJECT, "bad_setting",
                "a probe is live, ready or executor, not \"%.32s\"", what);
    else if (!place_get(place, path, timeout_of(app, PROBE_MS), &bytes, &answer,
                        &err))
        ; /* it says why */
    else if (answer.status == 200)
        return EXIT_DONE;
    else if (answer.status == 503)
        err_set(&err, ERR_RETRY, "not_ready", "%.*s",
                VIEW_ARG(view_head(view_trimmed(answer.body), 400)));
    else
        answers_that(place, path, answer.status, &err);
    return app_fail_err(app, &err);
}
