/* verb_worker.c - quern worker ls, drain, resume. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"

static const char *mode_of(const struct quern_worker *worker)
{
    if (worker->seen_at == 0)
        return "drained";
    if (worker->draining)
        return "draining";
    return *worker->mode ? worker->mode : "-";
}

/* "ready", "none", "absent 5m". */
static void print_executor(const struct quern_worker *worker, uint64_t now,
                           char *text, size_t size)
{
    uint64_t since = worker->executor_away_since;

    if (worker->seen_at == 0 || *worker->executor == '\0')
        snprintf(text, size, "-");
    else if (strcmp(worker->executor, "none") == 0)
        snprintf(text, size, "none");
    else if (*worker->executor_away == '\0')
        snprintf(text, size, "ready");
    else
        snprintf(text, size, "%s %s", worker->executor_away,
                 term_age(now > since ? now - since : 0));
}

static const char *age_of(uint64_t at, uint64_t now)
{
    return at == 0 ? "-" : term_age(now > at ? now - at : 0);
}

static void worker_add_row(struct table *table,
                           const struct quern_worker *worker, uint64_t now)
{
    char running[48], executor[64];

    print_executor(worker, now, executor, sizeof(executor));
    snprintf(running, sizeof(running), "%" PRIu64 "/%" PRIu64, worker->running,
             worker->slots);
    table_add(table,
              (const char *[]){ worker->name, mode_of(worker), running,
                                age_of(worker->started_at, now),
                                age_of(worker->seen_at, now), worker->version,
                                executor, worker->queues,
                                worker->jobs ? worker->jobs : "" });
}

/* Tells of an executor that is away: its consumer takes no jobs until an
 * operator brings it back. */
static void show_away(struct app *app, const struct quern_worker *worker,
                      uint64_t now)
{
    if (*worker->executor_away == '\0')
        return;
    pane_printf(&app->term.err, YELLOW,
                "%s takes no jobs: its executor at %s on %s has been away for "
                "%s (%s)\n",
                worker->name, worker->executor, worker->host,
                age_of(worker->executor_away_since, now),
                worker->executor_reason);
}

int verb_worker_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "WORKER", .cut = true },
        { .title = "MODE" },
        { .title = "JOBS", .right = true },
        { .title = "UP", .right = true },
        { .title = "SEEN", .right = true },
        { .title = "VERSION" },
        { .title = "EXECUTOR" },
        { .title = "QUEUES", .cut = true },
        { .title = "RUNS", .cut = true },
    };
    struct quern_workers workers;
    struct quern_error error;
    struct table *table;

    if (!quern_workers(app->quern, &workers, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < workers.count; i++)
        if (app->term.json)
            json_line(operate_worker_json(&workers.items[i]));
        else
            worker_add_row(table, &workers.items[i], workers.now);
    if (!app->term.json && workers.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM,
                    "no worker has reported lately; start one: "
                    "quern-consumer\n");
    for (size_t i = 0; !app->term.json && i < workers.count; i++)
        show_away(app, &workers.items[i], workers.now);
    quern_workers_free(&workers);
    table_free(table);
    return EXIT_DONE;
}

static int worker_drain(struct app *app, bool request)
{
    struct quern_error error;
    int code = EXIT_DONE;

    for (int i = 0; i < app->options.word_count; i++) {
        const char *name = app->options.words[i];

        if (!quern_drain(app->quern, name, request, &error))
            code = app_fail(app, &error);
        else if (app->term.json)
            json_line(json_pack("{s:s, s:b}", "worker", name, "draining",
                                (int)request));
        else
            pane_printf(
                &app->term.out, PLAIN, "%s %s\n", name,
                request ? "takes no more jobs, exits when its jobs have ended, "
                          "and stays drained until quern worker resume"
                        : "may work again: start it if it has exited");
    }
    return code;
}

int verb_worker_drain(struct app *app)
{
    return worker_drain(app, true);
}

int verb_worker_resume(struct app *app)
{
    return worker_drain(app, false);
}
