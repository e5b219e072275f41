/* app.c - what the verbs share: failing, reading a file, showing where a job
 * stands. */
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

/* Error codes with an exit status of their own; all others are told by their
 * kind. */
static const struct {
    const char *code;
    int exit;
} exits[] = {
    { "redis_unavailable", EXIT_UNAVAILABLE },
    { "redis_refused", EXIT_UNAVAILABLE },
    { "redis_full", EXIT_UNAVAILABLE },
    { "unknown_outcome", EXIT_UNAVAILABLE },
    { "bad_setting", EXIT_USAGE },
    { "no_answer", EXIT_UNAVAILABLE },
    { "not_ready", EXIT_JOB },
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

void close_fd(int *fd)
{
    int before = errno;
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
    errno = before;
}

char *read_text(const char *path, size_t max, size_t *size, struct err *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    CLEANUP(close_fd)
    int file = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    int fd = is_stdin ? STDIN_FILENO : file;
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

/* The status of a job that has not ended, with its facts and why it waits, as
 * far as this login may read them. */
static json_t *json_of_waiting(struct app *app, const char *id,
                               const struct quern_status *status)
{
    json_t *object = operate_status_json(id, status);
    struct quern_explanation job;

    if (quern_state_is_terminal(status->state) ||
        !quern_explain(app->quern, id, &job, NULL))
        return object;

    json_t *facts = operate_explanation_json(&job);

    json_object_update_missing(object, facts);
    json_decref(facts);
    free(job.items);
    return object;
}

static void app_say_why(struct app *app, const char *id)
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
        app_say_why(app, id);
    }
    return code;
}
