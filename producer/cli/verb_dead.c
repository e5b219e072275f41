/* verb_dead.c - quern dead ls, show, requeue, rm; quern retry. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/progress.h"
#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "producer/client/quern_operate.h"
#include "schemas/json/convert.h"
#include "schemas/message/buf.h"

enum { LIMIT = 50, PAGE = 500 };

/* --- the list ------------------------------------------------------------- */

static void dead_add_row(struct table *table, const struct quern_dead_job *dead)
{
    char attempts[24];

    snprintf(attempts, sizeof(attempts), "%" PRIu64, dead->attempts);
    table_add(table, (const char *[]){ dead->id, dead->queue, dead->tenant,
                                       attempts, term_since(dead->finished_at),
                                       dead->error_code });
}

static void say_rest(struct app *app, uint64_t shown, uint64_t total)
{
    if (total == 0)
        pane_printf(&app->term.err, DIM, "none is dead\n");
    else if (shown < total && app->term.err.tty)
        pane_printf(&app->term.err, DIM,
                    "%" PRIu64 " to %" PRIu64 " of %" PRIu64
                    "; go on with --skip %" PRIu64 "\n",
                    app->options.filter.skip + 1, shown, total, shown);
}

/* Reads the list page by page: there may be very many. */
static int list_dead(struct app *app)
{
    static const struct column columns[] = {
        { .title = "ID" },
        { .title = "QUEUE", .cut = true },
        { .title = "TENANT", .cut = true },
        { .title = "TRIES", .right = true },
        { .title = "AGE", .right = true },
        { .title = "ERROR", .cut = true },
    };
    uint64_t left =
        app->options.filter.limit ? app->options.filter.limit : LIMIT;
    uint64_t skip = app->options.filter.skip;
    struct table *table =
        table_new(columns, sizeof(columns) / sizeof(columns[0]));
    struct quern_dead_jobs deads = { 0 };
    struct quern_error error;
    int code = EXIT_DONE;

    do {
        free(deads.items);
        if (!quern_dead_list(app->quern, app->options.queue, skip,
                             left < PAGE ? left : PAGE, &deads, &error)) {
            code = app_fail(app, &error);
            break;
        }
        for (size_t i = 0; i < deads.count; i++)
            if (app->term.json)
                json_line(operate_dead_json(&deads.items[i]));
            else
                dead_add_row(table, &deads.items[i]);
        skip += deads.count;
        left -= deads.count;
    } while (left > 0 && deads.count > 0);
    if (!app->term.json && code == EXIT_DONE) {
        if (skip > app->options.filter.skip)
            table_print(table, &app->term.out, pane_width(&app->term.out));
        say_rest(app, skip, deads.total);
    }
    table_free(table);
    free(deads.items);
    return code;
}

int verb_dead_ls(struct app *app)
{
    int code = app_check_queue(app, app->options.queue);

    return code == EXIT_DONE ? list_dead(app) : code;
}

/* --- one of them ---------------------------------------------------------- */

static void show_facts(struct app *app, const struct quern_status *status,
                       json_t *result, json_t *job)
{
    struct pane *out = &app->term.out;
    json_t *error = json_object_get(result, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    char *text = json_dumps(job, JSON_INDENT(2) | JSON_ENCODE_ANY);

    pane_printf(out, BOLD, "%-10s ", "error");
    pane_text(out, RED, view_of(status->error_code));
    if (message) {
        pane_printf(out, PLAIN, ": ");
        pane_text(out, PLAIN, view_of(message));
    }
    pane_printf(out, PLAIN, "\n");
    pane_printf(out, BOLD, "%-10s ", "tries");
    pane_printf(out, PLAIN, "%" PRIu64 "\n", status->attempts);
    pane_printf(out, BOLD, "%-10s ", "submitted");
    pane_printf(out, PLAIN, "%s ago\n", term_since(status->submitted_at));
    pane_printf(out, BOLD, "%-10s ", "died");
    pane_printf(out, PLAIN, "%s ago\n", term_since(status->finished_at));
    pane_printf(out, BOLD, "job\n");
    pane_text(out, PLAIN, view_of(text ? text : "null"));
    pane_printf(out, PLAIN, "\n");
    free(text);
}

int verb_dead_show(struct app *app)
{
    CLEANUP(quern_status_finish) struct quern_status status = { 0 };
    CLEANUP(cleanup_free) void *bytes = NULL;
    const char *id = app->options.words[0];
    struct quern_error error;
    size_t size = 0;
    json_t *result, *job;

    /* An entry that was not a job has no status. */
    bool entry = strncmp(id, "entry-", 6) == 0;

    if (!entry && !quern_get(app->quern, id, &status, &error))
        return app_fail(app, &error);
    if (!quern_body(app->quern, id, &bytes, &size, &error) &&
        strcmp(error.code, "expired") != 0)
        return app_fail(app, &error);
    if (entry)
        snprintf(status.error_code, sizeof(status.error_code), "bad_entry");
    result = operate_result_json(&status);
    job = operate_body_json(bytes, size);
    if (app->term.json)
        json_line(json_pack(
            "{s:s, s:s, s:I, s:I, s:I, s:O, s:O}", "id", id, "error_code",
            status.error_code, "attempts", (json_int_t)status.attempts,
            "submitted_at", (json_int_t)status.submitted_at, "finished_at",
            (json_int_t)status.finished_at, "result", result, "job", job));
    else
        show_facts(app, &status, result, job);
    json_decref(result);
    json_decref(job);
    return EXIT_DONE;
}

/* --- back again, or gone -------------------------------------------------- */

/* What a verb does with dead jobs: requeues or forgets them. */
struct dead_action {
    bool (*do_one)(struct app *app, const char *id, struct quern_error *error);
    const char *word;   /* "requeued" */
    const char *offer;  /* "Put %d back into their queues?" */
    bool skips_entries; /* what was no job cannot be one again */
};

static bool dead_requeue(struct app *app, const char *id,
                         struct quern_error *error)
{
    return quern_requeue(app->quern, id, app->options.change.anew, error);
}

static bool dead_forget(struct app *app, const char *id,
                        struct quern_error *error)
{
    return quern_forget(app->quern, id, error);
}

static const struct dead_action requeueing = { dead_requeue, "requeued",
                                               "Put back into the queue",
                                               true };
static const struct dead_action forgetting = { dead_forget, "forgotten",
                                               "Remove for ever", false };

static void say_one(struct app *app, const struct dead_action *action,
                    const char *id)
{
    if (app->term.json)
        json_line(json_pack("{s:s, s:s, s:b}", "id", id, "outcome",
                            action->word, "dry_run",
                            (int)app->options.change.dry_run));
}

static int say_all(struct app *app, const struct dead_action *action,
                   uint64_t count)
{
    if (!app->term.json)
        pane_printf(&app->term.out, PLAIN, "%" PRIu64 " job%s %s%s\n", count,
                    count == 1 ? "" : "s",
                    app->options.change.dry_run ? "would be " : "",
                    action->word);
    return EXIT_DONE;
}

/* Does it with one of --all. One that is no longer dead is no error: somebody
 * else was faster. */
static bool do_one(struct app *app, const struct dead_action *action,
                   const char *id, bool *done, struct quern_error *error)
{
    *done = app->options.change.dry_run || action->do_one(app, id, error);
    if (*done)
        say_one(app, action, id);
    return *done || strcmp(error->code, "not_dead") == 0 ||
           strcmp(error->code, "unknown_job") == 0;
}

struct dead_ids {
    char (*items)[QUERN_NAME];
    size_t count, room;
};

static void ids_add(struct dead_ids *ids, const char *id)
{
    if (ids->count == ids->room) {
        ids->room = 2 * ids->room + PAGE;
        ids->items = realloc(ids->items, ids->room * sizeof(*ids->items));
        if (!ids->items)
            abort();
    }
    snprintf(ids->items[ids->count++], QUERN_NAME, "%s", id);
}

/* Reads all ids first: a job that is requeued and dies again must not be
 * requeued for ever. */
static bool read_ids(struct app *app, const struct dead_action *action,
                     uint64_t total, struct dead_ids *ids,
                     struct quern_error *error)
{
    struct quern_dead_jobs deads = { 0 };
    struct progress_bar progress;
    uint64_t skip = 0;
    bool ok;

    progress_init(&progress, &app->term, "listed", total);
    do {
        ok = quern_dead_list(app->quern, app->options.queue, skip, PAGE, &deads,
                             error);
        for (size_t i = 0; ok && i < deads.count; i++)
            if (!action->skips_entries ||
                strncmp(deads.items[i].id, "entry-", 6) != 0)
                ids_add(ids, deads.items[i].id);
        skip += deads.count;
        progress_add(&progress, deads.count);
        free(deads.items);
    } while (ok && deads.count > 0 && skip < total);
    progress_finish(&progress);
    return ok;
}

/* The one that died first goes first: the list has the latest first. */
static bool do_each(struct app *app, const struct dead_action *action,
                    const struct dead_ids *ids, uint64_t *done,
                    struct quern_error *error)
{
    struct progress_bar progress;
    bool ok = true;

    progress_init(&progress, &app->term, action->word, ids->count);
    for (size_t i = ids->count; ok && i > 0; i--) {
        bool one = false;

        ok = do_one(app, action, ids->items[i - 1], &one, error);
        *done += one;
        progress_add(&progress, 1);
    }
    progress_finish(&progress);
    return ok;
}

/* The number of dead jobs is read first, for the question; the ids only when
 * the person has confirmed. */
static int do_all(struct app *app, const struct dead_action *action)
{
    struct quern_dead_jobs deads = { 0 };
    struct dead_ids ids = { 0 };
    struct quern_error error;
    uint64_t done = 0;
    bool ok;
    int code = app_check_queue(app, app->options.queue);

    if (code != EXIT_DONE)
        return code;
    if (!quern_dead_list(app->quern, app->options.queue, 0, 1, &deads, &error))
        return app_fail(app, &error);
    free(deads.items);
    if (deads.total > 0 && !app->options.change.dry_run &&
        !app_confirm(app, &code, "%s: %" PRIu64 " job%s?", action->offer,
                     deads.total, deads.total == 1 ? "" : "s"))
        return code;
    ok = read_ids(app, action, deads.total, &ids, &error);
    ok = ok && do_each(app, action, &ids, &done, &error);
    free(ids.items);
    say_all(app, action, done);
    return ok ? EXIT_DONE : app_fail(app, &error);
}

static int do_named(struct app *app, const struct dead_action *action)
{
    const struct options *options = &app->options;
    struct quern_error error;
    uint64_t done = 0;
    int code = EXIT_DONE;

    if (action == &forgetting && !options->change.dry_run &&
        !app_confirm(app, &code, "%s: %d job%s?", action->offer,
                     options->word_count, options->word_count == 1 ? "" : "s"))
        return code;
    for (int i = 0; i < options->word_count; i++)
        if (options->change.dry_run ||
            action->do_one(app, options->words[i], &error)) {
            say_one(app, action, options->words[i]);
            done++;
        } else {
            code = app_fail(app, &error);
        }
    say_all(app, action, done);
    return code;
}

static int do_action(struct app *app, const struct dead_action *action)
{
    bool named = app->options.word_count > 0;
    struct err err = { 0 };

    if (named != app->options.change.all)
        return named ? do_named(app, action) : do_all(app, action);
    err_set(&err, ERR_REJECT, "bad_setting",
            named ? "give ids or --all, not both"
                  : "ID is missing; give --all for all dead jobs, or those of "
                    "--queue");
    return app_fail_err(app, &err);
}

int verb_dead_requeue(struct app *app)
{
    return do_action(app, &requeueing);
}

int verb_dead_rm(struct app *app)
{
    return do_action(app, &forgetting);
}

int verb_retry(struct app *app)
{
    return do_named(app, &requeueing);
}
