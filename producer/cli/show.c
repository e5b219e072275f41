/* show.c - prints results of jobs, and saves their images and files. */
#include "producer/cli/show.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/json/convert.h"

void json_line(json_t *object)
{
    CLEANUP(cleanup_free)
    char *text = json_dumps(object, JSON_COMPACT | JSON_ENCODE_ANY);

    json_decref(object);
    term_json(stdout, text ? text : "null");
}

static void show_bytes(struct app *app, const char *stream, struct view text,
                       uint64_t all)
{
    struct term *term = &app->term;
    bool errors = strcmp(stream, "stderr") == 0;

    pane_prose(errors ? &term->err : &term->out, PLAIN, text);
    if (all > text.len)
        pane_printf(&term->err, DIM, "(%s of %s are kept of %s)\n",
                    term_size(text.len), term_size(all), stream);
}

void show_display(struct app *app, const struct display *display)
{
    const struct display_part *parts = display->parts.items;
    struct pane *out = &app->term.out;

    if (display->text.len == 0 ||
        (display->parts.count > 0 && view_starts(parts->mime, "image/")))
        return;
    pane_line(out);
    pane_prose(out, PLAIN, display->text);
    pane_line(out);
}

static void show_displays(struct app *app, const struct cell *cell)
{
    const struct display *displays = cell->displays.items;

    for (size_t i = 0; i < cell->displays.count; i++)
        show_display(app, &displays[i]);
}

/* The value of the last expression has been shown already: as the last display.
 */
static bool is_displayed(const struct cell *cell)
{
    const struct display *displays = cell->displays.items;
    size_t count = cell->displays.count;

    return count > 0 && view_equal(displays[count - 1].text, cell->result);
}

static void show_cell(struct app *app, const struct cell *cell,
                      unsigned int what)
{
    struct term *term = &app->term;

    if (what & SHOW_OUTPUT) {
        show_bytes(app, "stdout", cell->out, cell->out_bytes);
        show_bytes(app, "stderr", cell->errout, cell->errout_bytes);
    }
    if (what & SHOW_OUTPUT)
        show_displays(app, cell);
    if (cell->result.len > 0 && !is_displayed(cell)) {
        pane_line(&term->out);
        pane_prose(&term->out, PLAIN, cell->result);
        pane_line(&term->out);
    }
    if (cell->error.traceback.len > 0) {
        pane_text(term_notice(term), RED, cell->error.traceback);
        pane_line(&term->err);
    }
    if (cell->state != CELL_KEPT) {
        term_notice(term);
        pane_printf(&term->err, YELLOW, "variables and files: %s",
                    cell_state_names[cell->state]);
        if (cell->reason.len > 0) {
            pane_printf(&term->err, YELLOW, ": ");
            pane_text(&term->err, YELLOW, cell->reason);
        }
        pane_line(&term->err);
    }
}

static void show_summary(struct app *app, const struct result *result)
{
    struct pane *err = term_notice(&app->term);
    const struct usage *usage = &result->usage;

    if (result->error.message.len > 0) {
        pane_printf(err, RED, "%s: ", job_state_names[result->status]);
        pane_text(err, PLAIN, result->error.message);
        pane_printf(err, DIM, " (");
        pane_name(err, DIM, result->error.code);
        pane_printf(err, DIM, ")\n");
    } else if (result->status != STATE_COMPLETED) {
        pane_printf(err, RED, "%s\n", job_state_names[result->status]);
    }
    if (result->notes.len > 0) {
        pane_text(err, DIM, result->notes);
        pane_line(err);
    }
    if (!err->tty || result->error.message.len > 0)
        return;
    pane_printf(err, DIM, "%s in %s", job_state_names[result->status],
                term_time(result->timings.total));
    if (usage->model_calls > 0)
        pane_printf(err, DIM, ", %" PRIu64 " model call%s, %" PRIu64 " tokens",
                    usage->model_calls, usage->model_calls == 1 ? "" : "s",
                    usage->input_tokens + usage->output_tokens +
                        usage->uncounted_tokens);
    if (usage->cost > 0)
        pane_printf(err, DIM, ", %s", term_cost(usage->cost));
    pane_printf(err, DIM, "\n");
}

/* Of a job with an output_schema only the value is printed, so that a program
 * can read it; the answer may have words around it. */
static void show_answer(struct app *app, const struct result *result)
{
    struct pane *out = &app->term.out;

    pane_line(out);
    if (result->output) {
        json_line(json_from_value(result->output));
        return;
    }
    pane_prose(out, PLAIN, result->answer);
    pane_line(out);
}

void show_result(struct app *app, const struct result *result,
                 unsigned int what)
{
    const struct cell *cells = result->cells.items;
    bool is_code = !result->messages && result->cells.count > 0;

    if (is_code)
        for (size_t i = 0; i < result->cells.count; i++)
            show_cell(app, &cells[i], what);
    if (what & SHOW_ANSWER && result->answer.len > 0 && !is_code)
        show_answer(app, result);
    show_summary(app, result);
}

bool app_save(struct app *app, struct saver *saver, struct view name,
              struct view sha256, struct buf *path)
{
    struct err err = { 0 };

    if (saver_save(saver, name, sha256, path, &err))
        return path->len > 0;
    err_prefix(&err, "not saved: %.*s", VIEW_ARG(view_head(name, 100)));
    app->unsaved = app_fail_err(app, &err);
    return false;
}

static bool ends_with(struct view path, struct view name)
{
    return path.len >= name.len &&
           memcmp(path.data + path.len - name.len, name.data, name.len) == 0;
}

static void say_saved(struct app *app, const char *what, struct view name,
                      const char *facts, struct view path)
{
    struct pane *pane;

    if (app->term.json) {
        json_line(json_pack("{s:s, s:s%, s:s%}", "type", "saved", "name",
                            name.data, name.len, "path", path.data, path.len));
        return;
    }
    pane = term_notice(&app->term);
    pane_printf(pane, CYAN, "%s ", what);
    pane_name(pane, PLAIN, path);
    if (!ends_with(path, name)) { /* another file has that name already */
        pane_printf(pane, DIM, ", called ");
        pane_name(pane, DIM, name);
        pane_printf(pane, DIM, " in the answer");
    }
    pane_printf(pane, DIM, "  %s\n", facts);
}

/* The file was not kept: it is too large, or was gone already. With --json the
 * event or the result says so. */
static void say_left_out(struct app *app, const struct file_ref *file)
{
    struct pane *pane;

    if (app->term.json || file->note.len == 0)
        return;
    pane = term_notice(&app->term);
    pane_printf(pane, YELLOW, "file ");
    pane_name(pane, PLAIN, file->name);
    pane_printf(pane, DIM, "  %s, ", term_size(file->bytes));
    pane_name(pane, YELLOW, file->note);
    pane_line(pane);
}

void show_image(struct app *app, struct saver *saver,
                const struct image_ref *image)
{
    CLEANUP(buf_finish) struct buf path;
    char facts[64];

    buf_init(&path, 8192);
    if (!app_save(app, saver, image->name, image->blob, &path))
        return;
    snprintf(facts, sizeof(facts), "%" PRIu64 "x%" PRIu64 ", %s", image->width,
             image->height, term_size(image->bytes));
    say_saved(app, "image", image->name, facts, buf_view(&path));
}

void show_file(struct app *app, struct saver *saver,
               const struct file_ref *file)
{
    CLEANUP(buf_finish) struct buf path;

    buf_init(&path, 8192);
    if (file->blob.len == 0)
        say_left_out(app, file);
    else if (app_save(app, saver, file->name, file->blob, &path))
        say_saved(app, "file", file->name, term_size(file->bytes),
                  buf_view(&path));
}
