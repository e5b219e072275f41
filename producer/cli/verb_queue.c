/* verb_queue.c - quern queue ls, stats, pause, resume, set, purge. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/progress.h"
#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"
#include "schemas/message/buf.h"

__attribute__((format(printf, 3, 4))) static void
add_words(char *text, size_t size, const char *format, ...)
{
    size_t len = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + len, size - len, format, args);
    va_end(args);
}

/* "open, 2 wait for a budget". */
static void name_state(const struct quern_queue *queue, char *text, size_t size)
{
    const struct {
        uint64_t jobs;
        const char *what;
    } holds[] = {
        { queue->held_by_budget, "a budget" },
        { queue->held_by_endpoint, "an endpoint" },
    };

    snprintf(text, size, "%s", queue->paused ? "paused" : "open");
    if (queue->paused && queue->waiting > 0)
        add_words(text, size, ", holds %" PRIu64, queue->waiting);
    for (size_t i = 0; i < sizeof(holds) / sizeof(holds[0]); i++)
        if (holds[i].jobs > 0)
            add_words(text, size, ", %" PRIu64 " wait%s for %s", holds[i].jobs,
                      holds[i].jobs == 1 ? "s" : "", holds[i].what);
}

static void queue_add_row(struct table *table, const struct quern_queue *queue)
{
    char numbers[4][24], state[160];
    const uint64_t counts[] = { queue->waiting, queue->running,
                                queue->scheduled, queue->dead };

    for (int i = 0; i < 4; i++)
        snprintf(numbers[i], sizeof(numbers[i]), "%" PRIu64, counts[i]);
    name_state(queue, state, sizeof(state));
    table_add(table,
              (const char *[]){
                  queue->name, numbers[0], numbers[1], numbers[2], numbers[3],
                  queue->may_start > 0 ? term_age(queue->oldest_ms) : "-",
                  state });
}

int verb_queue_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "QUEUE", .cut = true },
        { .title = "WAITING", .right = true },
        { .title = "RUNNING", .right = true },
        { .title = "LATER", .right = true },
        { .title = "DEAD", .right = true },
        { .title = "OLDEST", .right = true },
        { .title = "STATE" },
    };
    struct quern_queues queues;
    struct quern_error error;
    struct table *table;

    if (!quern_queues(app->quern, NULL, &queues, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    for (size_t i = 0; i < queues.count; i++)
        if (app->term.json)
            json_line(operate_queue_json(&queues.items[i]));
        else
            queue_add_row(table, &queues.items[i]);
    if (!app->term.json && queues.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "no queue has ever held a job\n");
    table_free(table);
    free(queues.items);
    return EXIT_DONE;
}

static const char *queue_named(const struct app *app)
{
    return app->options.word_count > 0 ? app->options.words[0] : "default";
}

static void say_limit(struct pane *out, const char *what, uint64_t limit)
{
    if (limit > 0)
        pane_printf(out, PLAIN, "%-10s %" PRIu64 " %s\n", "limit", limit, what);
}

/* "a day", or "in 1h". */
static const char *budget_time(const struct quern_queue *queue)
{
    static char text[40];

    if (queue->tenant_budget_ms == 0)
        return "a day";
    snprintf(text, sizeof(text), "in %s", term_time(queue->tenant_budget_ms));
    return text;
}

/* How many of the jobs that wait may start, and why the others may not. */
static void say_held_up(struct pane *out, const struct quern_queue *queue)
{
    uint64_t held = queue->waiting - queue->may_start;

    if (queue->may_start > 0)
        pane_printf(out, PLAIN, "; %" PRIu64 " may start, the first since %s",
                    queue->may_start, term_age(queue->oldest_ms));
    if (held > 0 && queue->paused)
        pane_printf(out, PLAIN, "; none may start: the queue is paused");
    else if (held > 0)
        pane_printf(out, PLAIN,
                    "; %" PRIu64 " wait%s for their turn, a limit or their "
                    "session",
                    held, held == 1 ? "s" : "");
}

/* Of the jobs that come later, those that wait for a budget or an endpoint. */
static void say_resting(struct pane *out, const struct quern_queue *queue)
{
    uint64_t budget = queue->held_by_budget, rest = queue->held_by_endpoint;

    if (budget > 0)
        pane_printf(out, PLAIN, "; %" PRIu64 " wait%s for the tenant's budget",
                    budget, budget == 1 ? "s" : "");
    if (rest > 0)
        pane_printf(out, PLAIN,
                    "; %" PRIu64 " wait%s for a model endpoint that is left "
                    "alone",
                    rest, rest == 1 ? "s" : "");
}

static void show_queue(struct pane *out, const struct quern_queue *queue)
{
    pane_printf(out, PLAIN, "%-10s %s%s\n", "queue", queue->name,
                queue->paused ? ", paused: nothing starts" : "");
    pane_printf(out, PLAIN, "%-10s %" PRIu64, "waiting", queue->waiting);
    say_held_up(out, queue);
    pane_printf(out, PLAIN, "\n%-10s %" PRIu64 "\n", "running", queue->running);
    pane_printf(out, PLAIN, "%-10s %" PRIu64, "later", queue->scheduled);
    say_resting(out, queue);
    pane_printf(out, PLAIN, "\n");
    pane_printf(out, PLAIN, "%-10s %" PRIu64 "\n", "dead", queue->dead);
    say_limit(out, "jobs that wait, or come later (max_depth)",
              queue->max_depth);
    say_limit(out, "that wait, of one tenant (tenant_depth)",
              queue->tenant_depth);
    say_limit(out, "of one tenant at once (tenant_running)",
              queue->tenant_running);
    if (queue->tenant_rate > 0)
        pane_printf(
            out, PLAIN, "%-10s %" PRIu64 " of one tenant in %s (tenant_rate)\n",
            "limit", queue->tenant_rate, term_time(queue->tenant_rate_ms));
    if (queue->tenant_tokens > 0)
        pane_printf(out, PLAIN,
                    "%-10s %" PRIu64
                    " tokens of one tenant %s (tenant_tokens)\n",
                    "limit", queue->tenant_tokens, budget_time(queue));
    if (queue->tenant_cost > 0)
        pane_printf(out, PLAIN, "%-10s %s of one tenant %s (tenant_cost)\n",
                    "limit", term_cost(queue->tenant_cost), budget_time(queue));
}

static void show_limits(struct pane *out,
                        const struct quern_tenant_limits *limits)
{
    for (size_t i = 0; i < limits->count; i++) {
        const struct quern_tenant_limit *limit = &limits->items[i];

        pane_printf(out, PLAIN, "%-10s %" PRIu64 " (%s) of tenant ", "limit",
                    limit->value, limit->setting);
        pane_text(out, PLAIN, view_of(limit->tenant));
        pane_printf(out, PLAIN, "\n");
    }
}

static bool takes_create(const struct app *app)
{
    for (size_t i = 0; i < option_count; i++)
        if (strcmp(option_table[i].name, "create") == 0)
            return option_is_of(&option_table[i], app->verb->name);
    return false;
}

int app_check_queue(struct app *app, const char *queue)
{
    struct quern_error error;
    struct err err = { 0 };
    bool known;

    if (!queue)
        return EXIT_DONE;
    if (!quern_queue_is_known(app->quern, queue, &known, &error))
        return app_fail(app, &error);
    if (known || app->options.change.create)
        return EXIT_DONE;
    err_set(&err, ERR_REJECT, "unknown_queue",
            "no job and no setting has ever named queue %.64s: see quern queue "
            "ls%s",
            queue, takes_create(app) ? ", or make it with --create" : "");
    return app_fail_err(app, &err);
}

int verb_queue_stats(struct app *app)
{
    struct quern_tenant_limits limits;
    struct quern_queues queues;
    struct quern_error error;
    int code = app_check_queue(app, queue_named(app));

    if (code != EXIT_DONE)
        return code;
    if (!quern_tenant_limits(app->quern, queue_named(app), &limits, &error))
        return app_fail(app, &error);
    if (!quern_queues(app->quern, queue_named(app), &queues, &error)) {
        free(limits.items);
        return app_fail(app, &error);
    }
    if (app->term.json) {
        json_t *line = operate_queue_json(&queues.items[0]);

        json_object_set_new(line, "limits", operate_limits_json(&limits));
        json_line(line);
    } else {
        show_queue(&app->term.out, &queues.items[0]);
        show_limits(&app->term.out, &limits);
    }
    free(queues.items);
    free(limits.items);
    return EXIT_DONE;
}

/* --- settings ------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void
say_done(struct app *app, const char *format, ...)
{
    char text[300];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!app->term.json)
        pane_printf(&app->term.out, PLAIN, "%s\n", text);
}

static int set_paused(struct app *app, bool paused)
{
    const char *queue = app->options.words[0];
    const struct quern_pair pair = { "paused", paused ? "1" : "" };
    struct quern_error error;
    int code = app_check_queue(app, queue);

    if (code != EXIT_DONE)
        return code;
    if (!quern_queue_set(app->quern, queue, &pair, 1, &error))
        return app_fail(app, &error);
    if (app->term.json)
        json_line(
            json_pack("{s:s, s:b}", "queue", queue, "paused", (int)paused));
    say_done(app, "queue %s %s", queue,
             paused ? "is paused: jobs are accepted, none starts; what runs "
                      "goes on"
                    : "goes on");
    return EXIT_DONE;
}

int verb_queue_pause(struct app *app)
{
    return set_paused(app, true);
}

int verb_queue_resume(struct app *app)
{
    return set_paused(app, false);
}

/* The last "=" splits: a tenant's name in "tenant_running:a=b=20" may have one,
 * a value never has. */
int verb_queue_set(struct app *app)
{
    const struct options *options = &app->options;
    const char *queue = options->words[0];
    struct quern_pair pairs[MAX_WORDS];
    char *keys[MAX_WORDS];
    size_t count = 0;
    struct quern_error error;
    struct err err = { 0 };
    bool ok = true;
    int code = app_check_queue(app, queue);

    if (code != EXIT_DONE)
        return code;
    for (int i = 1; ok && i < options->word_count; i++) {
        const char *equals = strrchr(options->words[i], '=');

        ok = equals ||
             err_set(&err, ERR_REJECT, "bad_setting",
                     "\"%.64s\" is not SETTING=VALUE", options->words[i]);
        if (!ok)
            break;
        keys[count] = view_dup((struct view){
            options->words[i], (size_t)(equals - options->words[i]) });
        pairs[count] = (struct quern_pair){ keys[count], equals + 1 };
        count++;
    }
    ok = ok ? quern_queue_set(app->quern, queue, pairs, count, &error)
            : error_of(&error, &err);
    for (size_t i = 0; i < count; i++)
        free(keys[i]);
    if (!ok)
        return app_fail(app, &error);
    say_done(app, "%zu setting%s of queue %s changed:", count,
             count == 1 ? "" : "s", queue);
    return verb_queue_stats(app);
}

/* --- emptying one --------------------------------------------------------- */

static int say_purged(struct app *app, const char *queue, uint64_t jobs,
                      bool dry)
{
    if (app->term.json)
        json_line(json_pack("{s:s, s:I, s:b}", "queue", queue, "jobs",
                            (json_int_t)jobs, "dry_run", (int)dry));
    else
        pane_printf(&app->term.out, PLAIN, "%" PRIu64 " job%s %s\n", jobs,
                    jobs == 1 ? "" : "s",
                    dry ? "would be cancelled" : "cancelled");
    return EXIT_DONE;
}

/* quern_purge() cancels some hundreds in a call, so that Redis serves others in
 * between, and Ctrl-C leaves a queue that is purged in part. */
int verb_queue_purge(struct app *app)
{
    const char *queue = app->options.words[0];
    struct progress_bar progress;
    struct quern_error error;
    uint64_t waiting, jobs;
    bool more = true;
    int code = app_check_queue(app, queue);

    if (code != EXIT_DONE)
        return code;
    if (!quern_purge(app->quern, queue, true, &waiting, &more, &error))
        return app_fail(app, &error);
    if (app->options.change.dry_run || waiting == 0)
        return say_purged(app, queue, waiting, app->options.change.dry_run);
    if (!app_confirm(app, &code, "Cancel the %" PRIu64 " job%s in queue %s?",
                     waiting, waiting == 1 ? " that waits" : "s that wait",
                     queue))
        return code;
    progress_init(&progress, &app->term, "jobs cancelled", waiting);
    for (more = true; more;) {
        if (!quern_purge(app->quern, queue, false, &jobs, &more, &error)) {
            progress_finish(&progress);
            say_purged(app, queue, progress.done, false);
            return app_fail(app, &error);
        }
        progress_add(&progress, jobs);
    }
    progress_finish(&progress);
    return say_purged(app, queue, progress.done, false);
}
