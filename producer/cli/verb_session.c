/* verb_session.c - quern session: variables and files that outlive jobs.
 *
 * ls and show read what Redis keeps of sessions. The rest is a job of the
 * session's own, which takes its turn there: we wait for it, but not for ever,
 * and take it back when that was too long. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "producer/cli/show.h"
#include "producer/cli/table.h"
#include "schemas/json/convert.h"
#include "schemas/message/buf.h"

enum {
    PATIENCE_MS = 60000, /* unless --deadline says otherwise */
    SILENCE_MS = 1500,   /* then a person is told what we wait for */
    GRACE_MS = 5000,     /* of a job that ends at its deadline */
};

/* --- what is kept --------------------------------------------------------- */

static bool read_record(const struct quern_record *record,
                        struct session_record *session, struct arena *arena,
                        struct err *err)
{
    return message_decode(&schema_session_record,
                          (struct view){ record->bytes, record->size }, session,
                          arena, err) ||
           err_prefix(err, "what is kept of a session");
}

static uint64_t since(uint64_t ms)
{
    struct timespec now;
    uint64_t now_ms;

    clock_gettime(CLOCK_REALTIME, &now);
    now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
    return now_ms > ms ? now_ms - ms : 0;
}

static uint64_t bytes_of(const struct session_record *session)
{
    const struct session_file *files = session->files.items;
    uint64_t bytes = session->picture_bytes;

    for (size_t i = 0; i < session->files.count; i++)
        bytes += files[i].bytes;
    return bytes;
}

static void add_row(struct table *table, const struct session_record *session)
{
    CLEANUP(cleanup_free) char *name = view_dup(session->name);
    CLEANUP(cleanup_free) char *tenant = view_dup(session->tenant);
    CLEANUP(cleanup_free) char *holder = view_dup(session->holder);
    char cells[24], files[24];

    snprintf(cells, sizeof(cells), "%" PRIu64, session->cells);
    snprintf(files, sizeof(files), "%zu", session->files.count);
    table_add(table, (const char *[]){ name, tenant, cells, files,
                                       term_size(bytes_of(session)),
                                       term_age(since(session->updated_ms)),
                                       *holder ? holder : "-" });
}

/* What cannot be read is told, and does not hide the others. */
static int list_sessions(struct app *app, const struct quern_records *records,
                         struct table *table)
{
    int code = EXIT_DONE;

    for (size_t i = 0; i < records->count; i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct session_record session;
        struct err err = { 0 };

        if (!read_record(&records->items[i], &session, &arena, &err))
            code = app_fail_err(app, &err);
        else if (app->term.json)
            json_line(json_from_message(&schema_session_record, &session));
        else
            add_row(table, &session);
    }
    return code;
}

int verb_session_ls(struct app *app)
{
    static const struct column columns[] = {
        { .title = "NAME", .cut = true },
        { .title = "TENANT", .cut = true },
        { .title = "CELLS", .right = true },
        { .title = "FILES", .right = true },
        { .title = "SIZE", .right = true },
        { .title = "AGE", .right = true },
        { .title = "WHERE", .cut = true },
    };
    CLEANUP(quern_records_finish) struct quern_records records = { 0 };
    struct quern_error error;
    struct table *table;
    int code;

    if (!quern_sessions(app->quern, app->options.tenant, &records, &error))
        return app_fail(app, &error);
    table = table_new(columns, sizeof(columns) / sizeof(columns[0]));
    code = list_sessions(app, &records, table);
    if (!app->term.json && records.count > 0)
        table_print(table, &app->term.out, pane_width(&app->term.out));
    else if (!app->term.json)
        pane_printf(&app->term.err, DIM, "no sessions are kept\n");
    table_free(table);
    return code;
}

/* --- one of them ---------------------------------------------------------- */

static void say_fact(struct pane *out, const char *what, struct view text)
{
    if (text.len == 0)
        return;
    pane_printf(out, BOLD, "%-10s ", what);
    pane_text(out, PLAIN, text);
    pane_line(out);
}

__attribute__((format(printf, 3, 4))) static void
say(struct pane *out, const char *what, const char *format, ...)
{
    char text[256];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    say_fact(out, what, view_of(text));
}

static void show_missing(struct pane *out, const struct session_record *session)
{
    const struct pair *missing = session->missing.items;

    say_fact(out, "not saved", session->unsaved);
    for (size_t i = 0; i < session->missing.count; i++) {
        pane_printf(out, BOLD, "%-10s ",
                    i == 0 && session->unsaved.len == 0 ? "not saved" : "");
        pane_text(out, PLAIN, missing[i].key);
        pane_printf(out, PLAIN, ": ");
        pane_text(out, DIM, missing[i].value);
        pane_line(out);
    }
}

static void show_packages(struct pane *out, const struct list *packages)
{
    const struct view *names = packages->items;

    for (size_t i = 0; i < packages->count; i++)
        say_fact(out, i == 0 ? "packages" : "", names[i]);
}

/* Names come last: they may be of any width. */
static void show_files(struct pane *out, const struct list *list)
{
    const struct session_file *files = list->items;

    for (size_t i = 0; i < list->count; i++) {
        pane_printf(out, PLAIN, "%10s  ", term_size(files[i].bytes));
        pane_text(out, PLAIN, files[i].name);
        if (files[i].note.len > 0) {
            pane_printf(out, DIM, "  ");
            pane_text(out, DIM, files[i].note);
        }
        pane_line(out);
    }
}

static void show_record(struct app *app, const struct session_record *session)
{
    struct pane *out = &app->term.out;

    if (app->term.json) {
        json_line(json_from_message(&schema_session_record, session));
        return;
    }
    say(out, "session", "%.*s of tenant %.*s", VIEW_ARG(session->name),
        VIEW_ARG(session->tenant));
    say(out, "used", "%s ago, %" PRIu64 " cells",
        term_age(since(session->updated_ms)), session->cells);
    say_fact(out, "last job", session->job);
    say_fact(out, "where", session->holder);
    if (session->state != CELL_KEPT)
        say(out, "state", "%s: %.*s", cell_state_names[session->state],
            VIEW_ARG(view_head(session->note, 200)));
    if (session->picture.len > 0)
        say(out, "variables", "%s", term_size(session->picture_bytes));
    show_missing(out, session);
    show_packages(out, &session->packages);
    say(out, "files", "%zu", session->files.count);
    show_files(out, &session->files);
}

int verb_session_show(struct app *app)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct session_record session;
    struct quern_record record;
    struct quern_error error;
    struct err err = { 0 };
    bool ok;

    if (!quern_session(app->quern, app->options.tenant, app->options.words[0],
                       &record, &error))
        return app_fail(app, &error);
    ok = read_record(&record, &session, &arena, &err);
    if (ok)
        show_record(app, &session);
    free(record.bytes);
    return ok ? EXIT_DONE : app_fail_err(app, &err);
}

/* --- jobs of the session -------------------------------------------------- */

/* What a verb has asked for, when it is there. */
struct answer {
    struct quern_status status;
    struct arena arena;
    struct result result;
};

static void answer_finish(struct answer *answer)
{
    quern_status_finish(&answer->status);
    arena_finish(&answer->arena);
}

/* Too long: nobody shall do later what nobody waits for. */
static bool take_back(struct app *app, struct quern_error *error)
{
    const char *name = app->options.words[0];
    enum quern_cancelled outcome;

    if (!quern_cancel(app->quern, app->job.text, "nobody waits for it",
                      &outcome, NULL))
        return false;
    snprintf(error->text, sizeof(error->text),
             outcome == QUERN_CANCELLED_NOW
                 ? "nobody has taken the job for session %.64s in %s: see "
                   "quern doctor"
                 : "session %.64s has not answered in %s: it may be busy; "
                   "more time: --deadline",
             name, term_time(app->options.deadline_ms));
    return false;
}

static bool await(struct app *app, struct answer *answer,
                  struct quern_error *error)
{
    const char *id = app->job.text;
    uint64_t all_ms = app->options.deadline_ms + GRACE_MS;
    bool watched = app->term.err.tty && !app->term.json;

    if (quern_wait(app->quern, id, SILENCE_MS, &answer->status, error))
        return true;
    if (strcmp(error->code, "timeout") != 0)
        return false;
    if (watched)
        pane_printf(&app->term.err, DIM, "waiting for session %s (job %s)\n",
                    app->options.words[0], id);
    if (quern_wait(app->quern, id, all_ms, &answer->status, error))
        return true;
    return strcmp(error->code, "timeout") == 0 ? take_back(app, error) : false;
}

/* The job's own error, as if the call had failed. */
static bool fail_as(const struct result *result, struct quern_error *error)
{
    const struct result_error *why = &result->error;
    struct err err;

    if (why->message.len > 0)
        err_set(&err, why->retryable ? ERR_RETRY : ERR_REJECT, "internal",
                "%.*s", VIEW_ARG(why->message));
    else
        err_set(&err, ERR_RETRY, "internal", "the job was %s",
                job_state_names[result->status]);
    if (why->code.len > 0)
        snprintf(err.code, sizeof(err.code), "%.*s", VIEW_ARG(why->code));
    return error_of(error, &err);
}

static bool read_answer(struct answer *answer, struct quern_error *error)
{
    struct view bytes = { answer->status.result, answer->status.result_size };
    struct err err = { 0 };

    if (answer->status.expired)
        err_set(&err, ERR_RETRY, "expired", "its result is no longer kept");
    else if (message_decode(&schema_result, bytes, &answer->result,
                            &answer->arena, &err))
        return answer->result.status == STATE_COMPLETED ||
               fail_as(&answer->result, error);
    return error_of(error, &err);
}

/* Fills in what is the same for all of them, submits, waits. */
static bool act(struct app *app, struct quern_job job, struct answer *answer,
                struct quern_error *error)
{
    struct options *options = &app->options;

    if (options->deadline_ms == 0)
        options->deadline_ms = PATIENCE_MS;
    job.kind = QUERN_SESSION;
    job.queue = options->queue;
    job.priority = (enum quern_priority)options->priority;
    job.tenant = options->tenant;
    job.session = options->words[0];
    job.deadline_ms = options->deadline_ms;
    return quern_submit(app->quern, &job, &app->job, NULL, error) &&
           await(app, answer, error) && read_answer(answer, error);
}

int verb_session_files(struct app *app)
{
    CLEANUP(answer_finish) struct answer answer = { 0 };
    const struct list *listing = &answer.result.listing;
    const struct session_file *files;
    struct quern_error error;

    if (!act(app, (struct quern_job){ .action = QUERN_FILES }, &answer, &error))
        return app_fail(app, &error);
    files = listing->items;
    for (size_t i = 0; app->term.json && i < listing->count; i++)
        json_line(json_from_message(&schema_session_file, &files[i]));
    if (!app->term.json)
        show_files(&app->term.out, listing);
    return EXIT_DONE;
}

int verb_session_put(struct app *app)
{
    CLEANUP(answer_finish) struct answer answer = { 0 };
    struct quern_file files[MAX_FILES];
    size_t count = (size_t)app->options.word_count - 1;
    struct quern_error error;

    for (size_t i = 0; i < count; i++)
        files[i] = (struct quern_file){ .path = app->options.words[i + 1] };
    if (!act(app,
             (struct quern_job){
                 .action = QUERN_PUT, .files = files, .file_count = count },
             &answer, &error))
        return app_fail(app, &error);
    for (size_t i = 0; app->term.json && i < count; i++)
        json_line(json_pack("{s:s, s:s, s:s}", "type", "put", "session",
                            app->options.words[0], "path", files[i].path));
    return EXIT_DONE;
}

/* Where each is now: alone on standard output, for scripts. */
static void save_answer(struct app *app, const struct list *list,
                        const char *dir)
{
    struct saver *saver = calloc(1, sizeof(*saver));
    const struct file_ref *files = list->items;

    if (!saver)
        abort();
    saver->quern = app->quern;
    saver->dir = dir;
    for (size_t i = 0; i < list->count; i++) {
        CLEANUP(buf_finish) struct buf path;

        buf_init(&path, 8192);
        if (!app_save(app, saver, files[i].name, files[i].blob, &path))
            continue;
        if (app->term.json)
            json_line(json_pack("{s:s, s:s%, s:s%, s:I, s:s%}", "type", "saved",
                                "name", files[i].name.data, files[i].name.len,
                                "path", path.data, path.len, "bytes",
                                (json_int_t)files[i].bytes, "blob",
                                files[i].blob.data, files[i].blob.len));
        else
            pane_text(&app->term.out, PLAIN, buf_view(&path));
        if (!app->term.json)
            pane_printf(&app->term.out, PLAIN, "\n");
    }
    free(saver);
}

int verb_session_get(struct app *app)
{
    CLEANUP(answer_finish) struct answer answer = { 0 };
    const char *dir = app->options.out ? app->options.out : "quern-out";
    struct quern_error error;

    if (!act(app,
             (struct quern_job){ .action = QUERN_GET,
                                 .paths = app->options.words + 1,
                                 .path_count =
                                     (size_t)app->options.word_count - 1 },
             &answer, &error))
        return app_fail(app, &error);
    save_answer(app, &answer.result.files, dir);
    return EXIT_DONE;
}

int verb_session_close(struct app *app)
{
    CLEANUP(answer_finish) struct answer answer = { 0 };
    struct quern_error error;

    if (!act(app, (struct quern_job){ .action = QUERN_CLOSE }, &answer, &error))
        return app_fail(app, &error);
    if (app->term.json)
        json_line(json_pack("{s:s, s:s}", "type", "closed", "session",
                            app->options.words[0]));
    return EXIT_DONE;
}

int verb_session_fork(struct app *app)
{
    CLEANUP(answer_finish) struct answer answer = { 0 };
    const char *to = app->options.words[1];
    struct quern_error error;

    if (!act(app, (struct quern_job){ .action = QUERN_FORK, .to = to }, &answer,
             &error))
        return app_fail(app, &error);
    if (app->term.json)
        show_record(app, &answer.result.record);
    else
        show_missing(term_notice(&app->term), &answer.result.record);
    return EXIT_DONE;
}
