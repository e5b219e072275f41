/* verb_session_job.c - quern session files, put, get, close, fork. Each is a
 * job of kind session, which waits for the jobs before it in the session's
 * line. We wait for its end, and cancel it when that takes too long. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/show.h"
#include "schemas/json/convert.h"
#include "schemas/message/buf.h"

enum {
    PATIENCE_MS = 60000, /* the deadline, where --deadline gives none */
    SILENCE_MS = 1500,   /* then a person is told what we wait for */
    GRACE_MS = 1000, /* longer than the deadline, so that a job that ends by it
                        can tell so itself */
};

/* The outcome of a session's job; result borrows from the two others. */
struct action_answer {
    struct quern_status status;
    struct arena arena;
    struct result result;
};

static void answer_finish(struct action_answer *answer)
{
    quern_status_finish(&answer->status);
    arena_finish(&answer->arena);
}

/* For a person: how it is going. */
__attribute__((format(printf, 2, 3))) static void
action_tell(struct app *app, const char *format, ...)
{
    char text[300];
    va_list args;

    if (app->term.json || !app->term.err.tty)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pane_printf(term_notice(&app->term), DIM, "%s\n", text);
}

static bool too_long(const struct app *app, bool taken,
                     struct quern_error *error)
{
    const char *name = app->options.words[0];
    const char *time = term_time(app->options.deadline_ms);
    struct err err;

    if (taken)
        err_set(&err, ERR_RETRY, "timeout",
                "session %.64s has not answered in %s: it may be busy; give it "
                "more time with --deadline",
                name, time);
    else
        err_set(&err, ERR_RETRY, "timeout",
                "no consumer has taken the job for session %.64s in %s: see "
                "quern doctor",
                name, time);
    return error_of(error, &err);
}

/* Cancels the job, since nobody waits for it any more: it must not change the
 * session an hour later. True: it has ended meanwhile, or before it could be
 * stopped, and its outcome counts. */
static bool take_back(struct app *app, struct action_answer *answer,
                      struct quern_error *error)
{
    const char *id = app->job.text;
    enum quern_cancel_outcome outcome;

    if (!quern_cancel(app->quern, id, "nobody waits for it", &outcome, error))
        return false;
    if (outcome == QUERN_CANCELLED_NOW)
        return too_long(app, false, error);
    if (quern_wait(app->quern, id, GRACE_MS, &answer->status, error))
        return answer->status.state != QUERN_CANCELLED ||
               too_long(app, true, error);
    return strcmp(error->code, "timeout") == 0 && too_long(app, true, error);
}

static bool action_await(struct app *app, struct action_answer *answer,
                         struct quern_error *error)
{
    const char *id = app->job.text;
    uint64_t all_ms = app->options.deadline_ms + GRACE_MS;
    uint64_t first_ms = all_ms < SILENCE_MS ? all_ms : SILENCE_MS;

    if (quern_wait(app->quern, id, first_ms, &answer->status, error))
        return true;
    if (strcmp(error->code, "timeout") != 0)
        return false;
    action_tell(app, "waiting for session %s (job %s)", app->options.words[0],
                id);
    if (quern_wait(app->quern, id, all_ms - first_ms, &answer->status, error))
        return true;
    return strcmp(error->code, "timeout") == 0 && take_back(app, answer, error);
}

/* Gives the job's error as that of the call. */
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

static bool read_answer(struct action_answer *answer, struct quern_error *error)
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

/* Fills in what is the same for all of these jobs, submits it, waits for its
 * end and reads its result. */
static bool act(struct app *app, struct quern_job job,
                struct action_answer *answer, struct quern_error *error)
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
    if (quern_submit(app->quern, &job, &app->job, NULL, error) &&
        action_await(app, answer, error) && read_answer(answer, error))
        return true;
    return strcmp(error->code, "deadline_exceeded") == 0 &&
           too_long(app, true, error);
}

int verb_session_files(struct app *app)
{
    CLEANUP(answer_finish) struct action_answer answer = { 0 };
    const struct list *listing = &answer.result.listing;
    const struct session_file *files;
    struct quern_error error;

    if (!act(app, (struct quern_job){ .action = QUERN_FILES }, &answer, &error))
        return app_fail(app, &error);
    files = listing->items;
    for (size_t i = 0; app->term.json && i < listing->count; i++)
        json_line(json_from_message(&schema_session_file, &files[i]));
    if (!app->term.json)
        show_workspace(&app->term.out, listing);
    if (listing->count == 0)
        action_tell(app, "session %s has no files", app->options.words[0]);
    return EXIT_DONE;
}

int verb_session_put(struct app *app)
{
    CLEANUP(answer_finish) struct action_answer answer = { 0 };
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
    action_tell(app, "session %s has %s", app->options.words[0],
                count == 1 ? "it" : "them");
    return EXIT_DONE;
}

/* Saves the files, and prints the path of each on a line of stdout, for
 * scripts. */
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
            pane_name(&app->term.out, PLAIN, buf_view(&path));
        if (!app->term.json)
            pane_printf(&app->term.out, PLAIN, "\n");
    }
    free(saver);
}

int verb_session_get(struct app *app)
{
    CLEANUP(answer_finish) struct action_answer answer = { 0 };
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
    CLEANUP(answer_finish) struct action_answer answer = { 0 };
    struct quern_error error;

    if (!act(app, (struct quern_job){ .action = QUERN_CLOSE }, &answer, &error))
        return app_fail(app, &error);
    if (app->term.json)
        json_line(json_pack("{s:s, s:s}", "type", "closed", "session",
                            app->options.words[0]));
    action_tell(app, "session %s is closed", app->options.words[0]);
    return EXIT_DONE;
}

/* Checked here, so that the error speaks of NEW, a word of the command line,
 * and not of a member of the job. */
static bool check_fork(const char *name, const char *to, struct err *err)
{
    return label_check("NEW", view_of(to), err) &&
           (strcmp(name, to) != 0 ||
            err_set(err, ERR_REJECT, "bad_field",
                    "NEW is the session %.64s itself", to));
}

int verb_session_fork(struct app *app)
{
    CLEANUP(answer_finish) struct action_answer answer = { 0 };
    const char *name = app->options.words[0], *to = app->options.words[1];
    struct quern_error error;
    struct err err;

    if (!check_fork(name, to, &err))
        return app_fail_err(app, &err);
    if (!act(app, (struct quern_job){ .action = QUERN_FORK, .to = to }, &answer,
             &error))
        return app_fail(app, &error);
    if (app->term.json)
        show_record(app, &answer.result.record);
    else
        show_missing(term_notice(&app->term), &answer.result.record);
    action_tell(app, "session %s begins as %s is", to, name);
    return EXIT_DONE;
}
