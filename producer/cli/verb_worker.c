/* verb_worker.c - quern worker ls, drain, resume. */
#include <inttypes.h>
#include <stdlib.h>

#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"

static const char *mode_of(const struct quern_worker *worker)
{
    if (worker->draining)
        return "draining";
    return *worker->mode ? worker->mode : "-";
}

static void show_line(const struct quern_worker *worker)
{
    json_line(json_pack(
        "{s:s, s:s, s:I, s:s, s:s, s:b, s:s, s:I, s:I, s:I, s:I}", "worker",
        worker->name, "host", worker->host, "pid", (json_int_t)worker->pid,
        "version", worker->version, "mode", worker->mode, "draining",
        (int)worker->draining, "queues", worker->queues, "slots",
        (json_int_t)worker->slots, "running", (json_int_t)worker->running,
        "started_at", (json_int_t)worker->started_at, "seen_at",
        (json_int_t)worker->seen_at));
}

static void add_row(struct table *table, const struct quern_worker *worker,
                    uint64_t now)
{
    char running[48];

    snprintf(running, sizeof(running), "%" PRIu64 "/%" PRIu64, worker->running,
             worker->slots);
    table_add(
        table,
        (const char *[]){
            worker->name, mode_of(worker), running,
            term_age(now > worker->started_at ? now - worker->started_at : 0),
            term_age(now > worker->seen_at ? now - worker->seen_at : 0),
            worker->version, worker->queues });
}

int verb_worker_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "WORKER", .cut = true }, { .title = "MODE" },
        { .title = "JOBS", .right = true }, { .title = "UP", .right = true },
        { .title = "SEEN", .right = true }, { .title = "VERSION" },
        { .title = "QUEUES", .cut = true },
    };
    struct quern_workers workers;
    struct quern_error error;
    struct table *table;

    if (!quern_workers(app->quern, &workers, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < workers.count; i++)
        if (app->term.json)
            show_line(&workers.items[i]);
        else
            add_row(table, &workers.items[i], workers.now);
    if (!app->term.json && workers.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM,
                    "no worker has reported lately; start one: "
                    "quern-consumer\n");
    table_free(table);
    free(workers.items);
    return EXIT_DONE;
}

static int drain(struct app *app, bool wish)
{
    struct quern_error error;
    int code = EXIT_DONE;

    for (int i = 0; i < app->options.word_count; i++) {
        const char *name = app->options.words[i];

        if (!quern_drain(app->quern, name, wish, &error))
            code = app_fail(app, &error);
        else if (app->term.json)
            json_line(
                json_pack("{s:s, s:b}", "worker", name, "draining", (int)wish));
        else if (app->term.err.tty)
            pane_printf(term_notice(&app->term), DIM, "%s %s\n", name,
                        wish ? "takes no more jobs, and leaves when those it "
                               "has are done"
                             : "goes on");
    }
    return code;
}

int verb_worker_drain(struct app *app)
{
    return drain(app, true);
}

int verb_worker_resume(struct app *app)
{
    return drain(app, false);
}
