/* verb_job.c - quern job ls, show, rm; queue history. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/progress.h"
#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"

enum { LIMIT = 50 };

/* --- the list ------------------------------------------------------------- */

static uint64_t since(uint64_t now, uint64_t ms)
{
    return now > ms ? now - ms : 0;
}

/* How long it has run, or ran; 0: it has not started. */
static uint64_t ran_ms(const struct quern_listed_job *job, uint64_t now)
{
    uint64_t end = job->finished_at ? job->finished_at : now;

    return job->started_at ? since(end, job->started_at) : 0;
}

static void show_job(const struct quern_listed_job *job, uint64_t now)
{
    json_t *line = operate_job_json(job);

    json_object_set_new(
        line, "age_ms",
        json_integer((json_int_t)since(now, job->submitted_at)));
    json_object_set_new(line, "runtime_ms",
                        json_integer((json_int_t)ran_ms(job, now)));
    json_line(line);
}

static void job_add_row(struct table *table, const struct quern_listed_job *job,
                        uint64_t now)
{
    char state[64];

    snprintf(state, sizeof(state), "%s%s%s", quern_state_name(job->state),
             *job->reason ? ": " : "", job->reason);
    table_add(table, (const char *[]){
                         job->id, state, job->queue, job->tenant,
                         *job->session ? job->session : "-",
                         term_age(since(now, job->submitted_at)),
                         job->started_at ? term_time(ran_ms(job, now)) : "-",
                         *job->worker ? job->worker : "-",
                         *job->error_code ? job->error_code : "-" });
}

static void print_jobs(struct app *app, const struct quern_listing *listing)
{
    static const struct column columns[] = {
        { .title = "ID" },
        { .title = "STATE" },
        { .title = "QUEUE", .cut = true },
        { .title = "TENANT", .cut = true },
        { .title = "SESSION", .cut = true },
        { .title = "AGE", .right = true },
        { .title = "RAN", .right = true },
        { .title = "WORKER", .cut = true },
        { .title = "ERROR" },
    };
    struct table *table =
        table_new(columns, sizeof(columns) / sizeof(columns[0]));

    for (size_t i = 0; i < listing->count; i++)
        if (app->term.json)
            show_job(&listing->items[i], listing->now);
        else
            job_add_row(table, &listing->items[i], listing->now);
    if (!app->term.json && listing->count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    table_free(table);
}

/* --newer and --older count back from now by Redis's clock, which the times of
 * jobs are by. */
static bool read_filter(const struct app *app, struct quern_filter *filter,
                        struct quern_error *error)
{
    const struct options *options = &app->options;
    uint64_t now = 0;

    *filter = (struct quern_filter){
        .states = options->filter.state,
        .queue = options->queue,
        .tenant = options->tenant,
        .session = options->filter.session,
        .worker = options->filter.worker,
        .error_code = options->filter.error_code,
        .reason = options->reason,
        .model = options->filter.model,
        .metadata = options->filter.metadata,
        .sort = (enum quern_sort)options->filter.sort,
        .skip = options->filter.skip,
        .limit = options->filter.limit ? options->filter.limit : LIMIT,
    };
    if ((options->filter.newer_ms || options->filter.older_ms) &&
        !quern_clock(app->quern, &now, error))
        return false;
    if (options->filter.newer_ms)
        filter->since = since(now, options->filter.newer_ms);
    if (options->filter.older_ms)
        filter->until = since(now, options->filter.older_ms);
    return true;
}

int verb_job_ls(struct app *app)
{
    struct quern_filter filter;
    struct quern_listing listing;
    struct quern_error error;
    int code = app_check_queue(app, app->options.queue);

    if (code != EXIT_DONE)
        return code;
    if (!read_filter(app, &filter, &error) ||
        !quern_list(app->quern, &filter, &listing, &error))
        return app_fail(app, &error);
    print_jobs(app, &listing);
    if (!app->term.json && listing.count == 0)
        pane_printf(&app->term.err, DIM, "no such job\n");
    else if (!app->term.json && app->term.err.tty &&
             listing.count == filter.limit)
        pane_printf(&app->term.err, DIM,
                    "there may be more: --limit N, or go on with --skip "
                    "%" PRIu64 "\n",
                    filter.skip + listing.count);
    free(listing.items);
    return EXIT_DONE;
}

/* --- one of them ---------------------------------------------------------- */

static bool is_time(const struct quern_fact *fact)
{
    static const char *const ends[] = { "_at", "_until", "not_before" };
    size_t len = strlen(fact->name);

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        size_t size = strlen(ends[i]);

        if (len >= size && strcmp(fact->name + len - size, ends[i]) == 0)
            return fact->number;
    }
    return false;
}

/* "2 min ago", "in 5 s"; by Redis's clock. */
static void show_time(struct pane *out, uint64_t at, uint64_t now)
{
    if (at == 0)
        pane_printf(out, PLAIN, "-\n");
    else if (at > now)
        pane_printf(out, PLAIN, "in %s\n", term_age(at - now));
    else
        pane_printf(out, PLAIN, "%s ago\n", term_age(now - at));
}

static void show_fact(struct pane *out, const struct quern_fact *fact,
                      uint64_t now)
{
    if (strcmp(fact->name, "now") == 0 || strcmp(fact->name, "epoch") == 0)
        return;
    pane_printf(out, BOLD, "%-20s ", fact->name);
    if (is_time(fact)) {
        show_time(out, strtoull(fact->text, NULL, 10), now);
    } else {
        pane_text(out, PLAIN, view_of(fact->text));
        pane_printf(out, PLAIN, "\n");
    }
}

static uint64_t now_of(const struct quern_explanation *job)
{
    for (size_t i = 0; i < job->count; i++)
        if (strcmp(job->items[i].name, "now") == 0)
            return strtoull(job->items[i].text, NULL, 10);
    return 0;
}

int verb_job_show(struct app *app)
{
    const char *id = app->options.words[0];
    struct quern_explanation job;
    struct quern_error error;
    struct pane *out = &app->term.out;

    if (!quern_explain(app->quern, id, &job, &error))
        return app_fail(app, &error);
    if (app->term.json) {
        json_t *object = operate_explanation_json(&job);

        json_object_set_new(object, "id", json_string(id));
        json_line(object);
    } else {
        pane_printf(out, BOLD, "%-20s ", "id");
        pane_printf(out, PLAIN, "%s\n", id);
        for (size_t i = 0; i < job.count; i++)
            show_fact(out, &job.items[i], now_of(&job));
        pane_printf(out, BOLD, "%-20s ", "why");
        pane_text(out, PLAIN, view_of(job.why));
        pane_printf(out, PLAIN, "\n");
    }
    free(job.items);
    return EXIT_DONE;
}

/* --- old ones go ---------------------------------------------------------- */

static int say_removed(struct app *app, uint64_t jobs, bool dry)
{
    if (app->term.json)
        json_line(json_pack("{s:I, s:b}", "jobs", (json_int_t)jobs, "dry_run",
                            (int)dry));
    else
        pane_printf(&app->term.out, PLAIN, "%" PRIu64 " job%s %s\n", jobs,
                    jobs == 1 ? "" : "s", dry ? "would be removed" : "removed");
    return EXIT_DONE;
}

/* --older must be given, though 0 would do: a forgotten option must not remove
 * everything. The jobs are counted first (dry), for the question. */
int verb_job_rm(struct app *app)
{
    const struct options *options = &app->options;
    struct quern_error error;
    struct err err = { 0 };
    uint64_t jobs;
    int code;

    if (!options_have(options, "older")) {
        err_set(&err, ERR_REJECT, "bad_setting",
                "--older TIME is missing: jobs that ended longer ago go");
        return app_fail_err(app, &err);
    }
    code = app_check_queue(app, options->queue);
    if (code != EXIT_DONE)
        return code;
    if (!quern_tidy(app->quern, options->filter.older_ms, options->filter.state,
                    options->queue, true, &jobs, &error))
        return app_fail(app, &error);
    if (options->change.dry_run || jobs == 0)
        return say_removed(app, jobs, options->change.dry_run);
    if (!app_confirm(app, &code,
                     "Remove %" PRIu64 " job%s and what came of %s?", jobs,
                     jobs == 1 ? "" : "s", jobs == 1 ? "it" : "them"))
        return code;
    if (!quern_tidy(app->quern, options->filter.older_ms, options->filter.state,
                    options->queue, false, &jobs, &error))
        return app_fail(app, &error);
    return say_removed(app, jobs, false);
}

/* --- counts of a queue by minute ------------------------------------------ */

/* The bound of the bucket that the median falls into. */
static const char *median_of(const uint64_t *buckets)
{
    uint64_t sum = 0, passed = 0;

    for (size_t i = 0; i < QUERN_BUCKETS; i++)
        sum += buckets[i];
    for (size_t i = 0; sum > 0 && i < QUERN_BUCKETS; i++) {
        passed += buckets[i];
        if (2 * passed >= sum)
            return i + 1 < QUERN_BUCKETS ? term_time(quern_bucket_ms(i))
                                         : "long";
    }
    return "-";
}

static void add_minute(struct table *table, const struct quern_minute *minute)
{
    const uint64_t counts[] = { minute->started,    minute->completed,
                                minute->incomplete, minute->failed,
                                minute->cancelled,  minute->tokens };
    char numbers[6][24];

    for (int i = 0; i < 6; i++)
        snprintf(numbers[i], sizeof(numbers[i]), "%" PRIu64, counts[i]);
    table_add(table, (const char *[]){
                         term_since(minute->at), numbers[0], numbers[1],
                         numbers[2], numbers[3], numbers[4], numbers[5],
                         median_of(minute->waits), median_of(minute->runs) });
}

int verb_queue_history(struct app *app)
{
    static const struct column columns[] = {
        { .title = "AGO", .right = true },
        { .title = "STARTED", .right = true },
        { .title = "COMPLETED", .right = true },
        { .title = "INCOMPLETE", .right = true },
        { .title = "FAILED", .right = true },
        { .title = "CANCELLED", .right = true },
        { .title = "TOKENS", .right = true },
        { .title = "WAIT", .right = true },
        { .title = "RUN", .right = true },
    };
    const struct options *options = &app->options;
    uint64_t newer =
                 options->filter.newer_ms ? options->filter.newer_ms : 3600000,
             now;
    struct quern_minutes minutes;
    const char *queue = options->word_count > 0 ? options->words[0] : NULL;
    struct quern_error error;
    struct table *table;
    int code = app_check_queue(app, queue);

    if (code != EXIT_DONE)
        return code;
    if (!quern_clock(app->quern, &now, &error) ||
        !quern_figures(app->quern, queue ? queue : "default", since(now, newer),
                       &minutes, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < minutes.count; i++)
        if (app->term.json)
            json_line(operate_minute_json(&minutes.items[i]));
        else
            add_minute(table, &minutes.items[i]);
    if (!app->term.json && minutes.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "nothing started or ended\n");
    table_free(table);
    free(minutes.items);
    return EXIT_DONE;
}
