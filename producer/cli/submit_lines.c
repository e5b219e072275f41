/* submit_lines.c - quern submit --jobs: many jobs, one a line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "producer/cli/show.h"
#include "producer/cli/submission.h"
#include "schemas/message/buf.h"

enum {
    BATCH = 1000, /* lines that are submitted by one call of the library */
    MAX_LINE_BYTES = 4 * MAX_JOB_BYTES, /* a job's JSON may be longer than
                                           its encoding */
};

/* The lines of the file that were read last, without blank ones. */
struct job_lines {
    FILE *file;
    uint64_t number; /* of the last line that was read, from 1 */
    char *texts[BATCH];
    uint64_t numbers[BATCH];
    size_t count;
};

static void lines_clear(struct job_lines *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->texts[i]);
    lines->count = 0;
}

static void lines_free(struct job_lines **lines)
{
    if (!*lines)
        return;
    lines_clear(*lines);
    if ((*lines)->file && (*lines)->file != stdin)
        fclose((*lines)->file);
    free(*lines);
}

static struct job_lines *lines_open(const char *path, struct err *err)
{
    struct job_lines *lines = calloc(1, sizeof(*lines));

    if (!lines)
        abort();
    lines->file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    if (lines->file)
        return lines;
    err_set(err, ERR_REJECT, "bad_field", "%s: %s", path, strerror(errno));
    lines_free(&lines);
    return NULL;
}

static bool submit_line_is_blank(const char *text)
{
    return text[strspn(text, " \t\r\n")] == '\0';
}

static bool keep_line(struct job_lines *lines, char *text, size_t len,
                      struct err *err)
{
    if (strlen(text) != len || len > MAX_LINE_BYTES)
        return err_set(err, ERR_REJECT, "bad_field",
                       "line %llu is not text of at most %d bytes",
                       (unsigned long long)lines->number, MAX_LINE_BYTES);
    lines->texts[lines->count] = view_dup((struct view){ text, len });
    lines->numbers[lines->count++] = lines->number;
    return true;
}

/* Reads the next BATCH lines; fewer at the end of the file, or before a line
 * that is wrong: then err says why, and the lines before it are submitted
 * first. */
static void lines_read(struct job_lines *lines, struct err *err)
{
    CLEANUP(cleanup_free) char *text = NULL;
    size_t room = 0;

    lines_clear(lines);
    while (lines->count < BATCH) {
        ssize_t len = getline(&text, &room, lines->file);

        if (len < 0 && ferror(lines->file))
            err_set(err, ERR_REJECT, "bad_field", "reading: %s",
                    strerror(errno));
        if (len < 0)
            return;
        lines->number++;
        if (!submit_line_is_blank(text) &&
            !keep_line(lines, text, (size_t)len, err))
            return;
    }
}

/* --- telling -------------------------------------------------------------- */

static void tell_json(uint64_t line,
                      const struct quern_submit_outcome *submitted)
{
    const struct quern_error *error = &submitted->error;
    const char *note = submitted->note[0] ? submitted->note : NULL;

    if (error->kind == 0)
        json_line(json_pack("{s:I, s:s, s:b, s:s*}", "line", (json_int_t)line,
                            "id", submitted->id.text, "existed",
                            (int)submitted->existed, "note", note));
    else
        json_line(json_pack("{s:I, s:{s:s, s:s, s:b}, s:s*}", "line",
                            (json_int_t)line, "error", "code", error->code,
                            "message", error->text, "retryable",
                            error->kind == QUERN_RETRY, "note", note));
}

static void submit_lines_tell(struct app *app, uint64_t line,
                              const struct quern_submit_outcome *submitted)
{
    struct quern_error error = submitted->error;

    if (app->term.json) {
        tell_json(line, submitted);
    } else if (error.kind == 0) {
        printf("%s\n", submitted->id.text);
    } else {
        snprintf(error.text, sizeof(error.text), "line %llu: %.280s",
                 (unsigned long long)line, submitted->error.text);
        app_fail(app, &error);
    }
    if (app->term.json || submitted->note[0] == '\0')
        return;
    pane_printf(&app->term.err, PLAIN,
                "note: line %llu: ", (unsigned long long)line);
    pane_text(&app->term.err, PLAIN, view_of(submitted->note));
    pane_printf(&app->term.err, PLAIN, "\n");
}

/* Only when the ids go into a file or pipe: then nothing else shows that it
 * goes on. */
static void tell_progress(struct app *app, uint64_t jobs)
{
    if (!app->term.err.tty || app->term.out.tty)
        return;
    pane_redraw(&app->term.err);
    pane_printf(&app->term.err, DIM, "%llu jobs", (unsigned long long)jobs);
}

/* Submits the lines and prints the outcome of each. *code: exit status of the
 * first one that does not stand. False: do not go on. A refusal concerns one
 * job; but without Redis, or when the ids can no longer be printed, further
 * jobs would be lost or nobody would know their ids. */
static bool submit_batch(struct app *app, const struct job_lines *lines,
                         const struct quern_submit_options *options, int *code)
{
    CLEANUP(cleanup_free)
    struct quern_submit_outcome *submitted =
        calloc(lines->count, sizeof(*submitted));
    bool away = false;

    if (!submitted)
        abort();
    quern_submit_many_json(app->quern, (const char *const *)lines->texts,
                           lines->count, options, submitted, NULL);
    for (size_t i = 0; i < lines->count; i++) {
        const struct quern_error *error = &submitted[i].error;

        submit_lines_tell(app, lines->numbers[i], &submitted[i]);
        if (error->kind != 0 && *code == EXIT_DONE)
            *code = app_exit_of(error);
        away |= error->kind != 0 && app_exit_of(error) == EXIT_UNAVAILABLE;
    }
    return !away && fflush(stdout) == 0;
}

/* A line that cannot be read ends the run, but only after the lines before it
 * have been submitted and told. The exit status is that of the first fault. */
int submit_lines(struct app *app)
{
    CLEANUP(submission_finish) struct submission submission = { 0 };
    struct err err = { 0 };
    CLEANUP(lines_free)
    struct job_lines *lines =
        submission_read(&submission, &app->options, NULL, NULL, &err)
            ? lines_open(app->options.submit.jobs, &err)
            : NULL;
    uint64_t jobs = 0;
    int code = EXIT_DONE;

    while (lines && err.kind == ERR_NONE) {
        lines_read(lines, &err);
        if (lines->count == 0 ||
            !submit_batch(app, lines, &submission.options, &code))
            break;
        tell_progress(app, jobs += lines->count);
    }
    if (jobs > 0)
        pane_line(&app->term.err);
    if (err.kind == ERR_NONE)
        return code;
    int fault = app_fail_err(app, &err);
    return code != EXIT_DONE ? code : fault;
}
