/* app.c - what the verbs share. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "producer/cli/cli.h"
#include "producer/cli/show.h"
#include "schemas/message/buf.h"
#include "schemas/message/limits.h"

static const struct {
    const char *code;
    int exit;
} exits[] = {
    { "redis_unavailable", EXIT_UNAVAILABLE },
    { "redis_refused", EXIT_UNAVAILABLE },
    { "redis_full", EXIT_UNAVAILABLE },
    { "unknown_outcome", EXIT_UNAVAILABLE },
    { "bad_setting", EXIT_USAGE },
    { "not_saved", EXIT_OUTPUT },
    { "deadline_exceeded", EXIT_AGAIN },
};

int app_exit_of(const struct quern_error *error)
{
    for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++)
        if (strcmp(exits[i].code, error->code) == 0)
            return exits[i].exit;
    return error->kind == QUERN_RETRY ? EXIT_AGAIN : EXIT_INPUT;
}

int app_fail(struct app *app, const struct quern_error *error)
{
    struct pane *err;

    if (app->term.json) {
        json_t *object =
            json_pack("{s:s, s:{s:s, s:s, s:b}}", "type", "error", "error",
                      "code", error->code, "message", error->text, "retryable",
                      error->kind == QUERN_RETRY);

        CLEANUP(cleanup_free) char *text = json_dumps(object, JSON_COMPACT);

        json_decref(object);
        term_json(stderr, text ? text : "{}");
        return app_exit_of(error);
    }
    err = term_notice(&app->term);
    pane_printf(err, RED, "quern%s%s: ", app->verb ? " " : "",
                app->verb ? app->verb->name : "");
    pane_text(err, PLAIN, view_of(error->text));
    pane_printf(err, PLAIN, "\n");
    if (strcmp(error->code, "redis_unavailable") == 0 &&
        !app->options.redis_url && !getenv("REDIS_URL"))
        pane_printf(err, DIM,
                    "Neither --redis-url nor REDIS_URL says where Redis is: "
                    "this is the default\n");
    return app_exit_of(error);
}

bool error_of(struct quern_error *error, const struct err *err)
{
    error->kind = err->kind == ERR_RETRY ? QUERN_RETRY : QUERN_REJECT;
    memcpy(error->code, err->code, sizeof(error->code));
    memcpy(error->text, err->text, sizeof(error->text));
    return false;
}

int app_fail_err(struct app *app, const struct err *err)
{
    struct quern_error error;

    error_of(&error, err);
    return app_fail(app, &error);
}

static void cleanup_fd(const int *fd)
{
    if (*fd > STDIN_FILENO)
        close(*fd);
}

char *read_text(const char *path, size_t max, size_t *size, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    CLEANUP(cleanup_fd)
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char *text = malloc(max + 2);
    ssize_t n = fd < 0 ? -1 : 1;

    if (!text)
        abort();
    for (*size = 0; n > 0 && *size <= max; *size += n > 0 ? (size_t)n : 0)
        n = read(fd, text + *size, max + 1 - *size);
    if (n < 0)
        err_set(err, ERR_REJECT, "bad_field", "%s: %s", path, strerror(errno));
    else if (*size > max)
        err_set(err, ERR_REJECT, "too_large",
                "%s has more than %zu bytes, the limit", path, max);
    else if (memchr(text, '\0', *size))
        err_set(err, ERR_REJECT, "bad_field", "%s is not text: a NUL byte",
                path);
    else {
        text[*size] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* --- submitting ------------------------------------------------------------
 */

static bool read_schema(const char *path, struct asked *asked, struct err *err)
{
    size_t size;

    if (!path)
        return true;
    asked->schema = read_text(path, MAX_JOB_BYTES, &size, err);
    asked->job.output_schema = asked->schema;
    return asked->schema != NULL;
}

/* A value is JSON where it can be, else a text: low, 0.2, ["a", "b"]. */
static bool add_parameter(json_t *parameters, const char *text, struct err *err)
{
    const char *equals = strchr(text, '=');
    json_t *value;

    if (!equals || equals == text)
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--set: \"%.64s\" is not NAME=VALUE", text);
    value = json_loads(equals + 1, JSON_DECODE_ANY, NULL);
    if (!value)
        value = json_string(equals + 1);
    if (json_object_setn_new(parameters, text, (size_t)(equals - text), value))
        return err_set(err, ERR_REJECT, "bad_setting",
                       "--set: \"%.64s\" is not UTF-8", text);
    return true;
}

static bool list_parameters(const struct texts *texts, struct asked *asked,
                            struct err *err)
{
    json_t *parameters = json_object();
    bool good = true;

    for (size_t i = 0; i < texts->count && good; i++)
        good = add_parameter(parameters, texts->items[i], err);
    if (good && texts->count > 0)
        asked->parameters = json_dumps(parameters, JSON_COMPACT);
    asked->job.parameters = asked->parameters;
    json_decref(parameters);
    return good;
}

/* KEY=VALUE, cut in two. */
static bool list_metadata(const struct options *options, struct asked *asked,
                          struct err *err)
{
    for (size_t i = 0; i < options->metadata.count; i++) {
        const char *text = options->metadata.items[i];
        const char *equals = strchr(text, '=');

        if (!equals || equals == text)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "--metadata: \"%.64s\" is not KEY=VALUE", text);
        asked->keys[i] =
            view_dup((struct view){ text, (size_t)(equals - text) });
        asked->metadata[i] = (struct quern_pair){ asked->keys[i], equals + 1 };
    }
    return true;
}

/* NAME alone takes the value from our own environment: what stands in a command
 * can be seen by others. A wrong NAME=VALUE may be a secret, and is not shown.
 */
static bool list_env(const struct options *options, struct asked *asked,
                     struct err *err)
{
    for (size_t i = 0; i < options->env.count; i++) {
        const char *text = options->env.items[i];
        size_t len = strcspn(text, "=");
        const char *value = text[len] ? text + len + 1 : getenv(text);

        if (len == 0)
            return err_set(err, ERR_REJECT, "bad_setting",
                           "--env: there is no name before \"=\"");
        if (!value)
            return err_set(
                err, ERR_REJECT, "bad_setting",
                "--env: \"%.64s\" is not NAME=VALUE, and quern's own "
                "environment has no variable of that name",
                text);
        asked->names[i] = view_dup((struct view){ text, len });
        asked->env[i] = (struct quern_pair){ asked->names[i], value };
    }
    return true;
}

bool app_ask(const struct app *app, const char *question,
             const struct cells *cells, struct asked *asked, struct err *err)
{
    const struct options *options = &app->options;

    for (size_t i = 0; i < options->files.count; i++)
        asked->files[i] =
            (struct quern_file){ .path = options->files.items[i] };
    asked->job = (struct quern_job){
        .kind = cells ? QUERN_CODE : QUERN_CONVERSATION,
        .queue = options->queue,
        .priority = (enum quern_priority)options->priority,
        .tenant = options->tenant,
        .session = options->session,
        .prompt = question,
        .system = options->system,
        .history = (enum quern_history)options->history,
        .mode = (enum quern_mode)options->mode,
        .model = options->model,
        .tools = options->tools.items,
        .tool_count = options->tools.count,
        .approve = options->approve.items,
        .approve_count = options->approve.count,
        .cells = cells ? cells->items : NULL,
        .cell_count = cells ? cells->count : 0,
        .files = asked->files,
        .file_count = options->files.count,
        .max_turns = options->turns,
        .max_total_tokens = options->total_tokens,
        .max_cost = options->cost,
        .deadline_ms = options->deadline_ms,
        .delay_ms = options->delay_ms,
        .cell_ms = options->cell_ms,
        .memory_bytes = options->memory_bytes,
        .unique_key = options->unique,
        .idempotency_key = options->key,
        .metadata = asked->metadata,
        .metadata_count = options->metadata.count,
        .env = asked->env,
        .env_count = options->env.count,
    };
    asked->beside = (struct quern_beside){
        .files = asked->files,
        .file_count = options->files.count,
        .queue = options->queue,
        .priority =
            options_have(options, "priority") ? &asked->job.priority : NULL,
        .idempotency_key = options->key,
        .unique_key = options->unique,
        .delay_ms = options->delay_ms,
        .note = asked->note,
    };
    return read_schema(options->output_schema, asked, err) &&
           list_parameters(&options->parameters, asked, err) &&
           list_metadata(options, asked, err) && list_env(options, asked, err);
}

void asked_finish(struct asked *asked)
{
    for (size_t i = 0; i < MAX_TEXTS; i++) {
        free(asked->keys[i]);
        free(asked->names[i]);
    }
    free(asked->schema);
    free(asked->parameters);
}

void app_note(struct app *app, const struct asked *asked)
{
    const char *note = asked->note;

    if (note[0] == '\0')
        return;
    if (!app->term.json) {
        pane_printf(&app->term.err, PLAIN, "note: ");
        pane_text(&app->term.err, PLAIN, view_of(note));
        pane_printf(&app->term.err, PLAIN, "\n");
        return;
    }
    json_t *object = json_pack("{s:s, s:s}", "type", "note", "message", note);

    CLEANUP(cleanup_free) char *text = json_dumps(object, JSON_COMPACT);

    json_decref(object);
    term_json(stderr, text ? text : "{}");
}

static bool submit_file(struct app *app, struct asked *asked,
                        struct quern_id *id, bool *existed,
                        struct quern_error *error)
{
    struct err err = { 0 };
    size_t size;
    CLEANUP(cleanup_free)
    char *text = read_text(app->options.job, MAX_JOB_BYTES, &size, &err);

    if (!text)
        return error_of(error, &err);
    bool ok =
        quern_submit_json(app->quern, text, &asked->beside, id, existed, error);

    app_note(app, asked);
    return ok;
}

bool app_submit(struct app *app, const char *question,
                const struct cells *cells, struct quern_id *id, bool *existed,
                struct quern_error *error)
{
    CLEANUP(asked_finish) struct asked asked = { 0 };
    struct err err = { 0 };
    bool ok;

    if (!app_ask(app, question, cells, &asked, &err))
        return error_of(error, &err);
    if (app->options.job)
        ok = submit_file(app, &asked, id, existed, error);
    else
        ok = quern_submit(app->quern, &asked.job, id, existed, error);
    if (ok)
        app->job = *id;
    return ok;
}

/* --- telling what became of a job ------------------------------------------
 */

int status_exit(const struct quern_status *status)
{
    if (!quern_state_is_terminal(status->state))
        return EXIT_AGAIN;
    return status->state == QUERN_COMPLETED && !status->expired ? EXIT_DONE
                                                                : EXIT_JOB;
}

static void save_all(struct app *app, const struct result *result)
{
    struct saver *saver = calloc(1, sizeof(*saver));
    const struct image_ref *images = result->images.items;
    const struct file_ref *files = result->files.items;

    if (!saver)
        abort();
    saver->quern = app->quern;
    saver->dir = app->options.out;
    for (size_t i = 0; i < result->images.count; i++)
        show_image(app, saver, &images[i]);
    for (size_t i = 0; i < result->files.count; i++)
        show_file(app, saver, &files[i]);
    free(saver);
}

static int show_ended(struct app *app, const struct quern_status *status)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct view bytes = { status->result, status->result_size };
    struct result result;
    struct err err = { 0 };

    if (!message_decode(&schema_result, bytes, &result, &arena, &err))
        return app_fail_err(app, &err);
    save_all(app, &result);
    if (!app->term.json)
        show_result(app, &result, SHOW_OUTPUT | SHOW_ANSWER);
    return status_exit(status);
}

/* Where a job that has not ended stands, and why: what can be had of it. */
static json_t *json_of_waiting(struct app *app, const char *id,
                               const struct quern_status *status)
{
    json_t *object = json_of_status(id, status);
    struct quern_explanation job;

    if (quern_state_is_terminal(status->state) ||
        !quern_explain(app->quern, id, &job, NULL))
        return object;

    json_t *facts = json_of_explanation(&job);

    json_object_update_missing(object, facts);
    json_decref(facts);
    free(job.items);
    return object;
}

static void say_why(struct app *app, const char *id)
{
    struct quern_explanation job;

    if (!quern_explain(app->quern, id, &job, NULL))
        return;
    pane_text(&app->term.err, DIM, view_of(job.why));
    pane_line(&app->term.err);
    free(job.items);
}

int app_show_status(struct app *app, const char *id,
                    const struct quern_status *status)
{
    struct pane *err = &app->term.err;
    int code = status_exit(status);

    if (status->result)
        code = show_ended(app, status);
    if (app->term.json)
        json_line(json_of_waiting(app, id, status));
    else if (status->expired)
        pane_printf(err, YELLOW,
                    "%s, but the result is no longer kept (job %s)\n",
                    quern_state_name(status->state), id);
    else if (!status->result) {
        pane_printf(&app->term.out, PLAIN, "%s\n",
                    quern_state_name(status->state));
        say_why(app, id);
    }
    return code;
}
