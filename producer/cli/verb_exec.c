/* verb_exec.c - quern exec: Python in a box, without a model.
 *
 * With --json one object per cell that ran, every member always there: programs
 * read it. The members are listed in exec_members.c. */
#include <stdlib.h>
#include <string.h>

#include "producer/cli/follow.h"
#include "producer/cli/show.h"
#include "schemas/json/convert.h"
#include "schemas/message/buf.h"

/* --- cells ---------------------------------------------------------------- */

static bool is_mark(const char *line)
{
    return strncmp(line, "# %%", 4) == 0 || strncmp(line, "#%%", 3) == 0;
}

static void add_cell(struct cells *cells, const char *code)
{
    bool blank = code[strspn(code, " \t\r\n")] == '\0';

    if (!blank && cells->count < MAX_CELLS + 1) /* one too many is refused */
        cells->items[cells->count++] = code;
}

/* Splits the text into cells, in place. A line that begins with "# %%" or "#%%"
 * stands between two cells and belongs to neither; a cell of blanks is left
 * out. A text without such a line is one cell, as it is. */
static void exec_split(char *text, struct cells *cells)
{
    char *start = text;
    bool marked = false;

    for (char *line = text, *next; line; line = next) {
        char *end = strchr(line, '\n');

        next = end ? end + 1 : NULL;
        if (!is_mark(line))
            continue;
        marked = true;
        *line = '\0';
        add_cell(cells, start);
        start = next ? next : line;
    }
    if (marked)
        add_cell(cells, start);
    else
        cells->items[cells->count++] = text;
}

/* Behind the byte order mark that some editors put before a text. */
static char *past_mark_of_utf8(char *text)
{
    return strncmp(text, "\xef\xbb\xbf", 3) == 0 ? text + 3 : text;
}

/* --- one object per cell -------------------------------------------------- */

/* A message as JSON with all of its members: programs need not ask whether one
 * is there. defaults: the members that a message leaves out when they are
 * empty; the reference is taken. */
static json_t *exec_whole_json(const struct schema *schema, const void *message,
                               json_t *defaults)
{
    json_t *json = json_from_message(schema, message);

    if (json)
        json_object_update(defaults, json);
    json_decref(json);
    return defaults;
}

/* Saves the blob when --out is given: the path, else null. */
static json_t *place(struct app *app, struct saver *saver, struct view name,
                     struct view blob)
{
    CLEANUP(buf_finish) struct buf path;

    buf_init(&path, 8192);
    if (blob.len == 0 || !app_save(app, saver, name, blob, &path))
        return json_null();
    return json_stringn(path.data, path.len);
}

static json_t *display_json(struct app *app, struct saver *saver,
                            const struct display *display)
{
    const struct display_part *parts = display->parts.items;
    json_t *list = json_array();

    for (size_t i = 0; i < display->parts.count; i++)
        json_array_append_new(
            list,
            exec_whole_json(
                &schema_display_part, &parts[i],
                json_pack("{s:i, s:i, s:i, s:b, s:o}", "bytes", 0, "width", 0,
                          "height", 0, "active", 0, "saved",
                          place(app, saver, parts[i].name, parts[i].blob))));
    const struct display bare = { .text = display->text, .id = display->id };
    json_t *json = exec_whole_json(
        &schema_display, &bare, json_pack("{s:s, s:s}", "text", "", "id", ""));

    json_object_set_new(json, "parts", list);
    return json;
}

static json_t *displays_json(struct app *app, struct saver *saver,
                             const struct cell *cell)
{
    const struct display *displays = cell->displays.items;
    json_t *list = json_array();

    for (size_t i = 0; i < cell->displays.count; i++)
        json_array_append_new(list, display_json(app, saver, &displays[i]));
    return list;
}

static json_t *files_json(struct app *app, struct saver *saver,
                          const struct cell *cell)
{
    const struct cell_file *files = cell->files.items;
    json_t *list = json_array();

    for (size_t i = 0; i < cell->files.count; i++) {
        const struct cell_file *file = &files[i];

        json_array_append_new(
            list, exec_whole_json(
                      &schema_cell_file, file,
                      json_pack("{s:s%, s:s, s:i, s:s, s:s, s:o}", "path",
                                file->name.data, file->name.len, "blob", "",
                                "bytes", 0, "mime", "", "note", "", "saved",
                                place(app, saver, file->name, file->blob))));
    }
    return list;
}

static json_t *error_json(const struct cell_error *error)
{
    if (error->name.len == 0)
        return json_null();
    return exec_whole_json(
        &schema_cell_error, error,
        json_pack("{s:s, s:s, s:s}", "name", "", "value", "", "traceback", ""));
}

static void print_cell(struct app *app, struct saver *saver,
                       const struct result *result, size_t at)
{
    const struct cell *cell = &((const struct cell *)result->cells.items)[at];
    struct cell plain = *cell;

    plain.code = (struct view){ 0 };
    plain.displays = plain.files = (struct list){ 0 };
    plain.error = (struct cell_error){ 0 };
    json_t *json = exec_whole_json(
        &schema_cell, &plain,
        json_pack("{s:s%, s:I, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:i, "
                  "s:i, s:i, s:i, s:s, s:s%}",
                  "job", result->id.data, result->id.len, "cell",
                  (json_int_t)at + 1, "status", "", "state", "", "reason", "",
                  "stdout", "", "stderr", "", "stdout_blob", "", "stderr_blob",
                  "", "stdout_bytes", 0, "stderr_bytes", 0, "line", 0,
                  "peak_bytes", 0, "ms", 0, "notes", "", "isolation",
                  result->isolation.data, result->isolation.len));
    if (!json_object_get(json, "result"))
        json_object_set_new(json, "result", json_string(""));
    json_object_set_new(json, "error", error_json(&cell->error));
    json_object_set_new(json, "displays", displays_json(app, saver, cell));
    json_object_set_new(json, "files", files_json(app, saver, cell));
    json_line(json);
}

/* Prints the job's error, unless it is that of a cell, whose object has it. */
static void say_error(struct app *app, const struct result *result)
{
    struct err err = { 0 };

    if (result->error.code.len == 0 ||
        view_is(result->error.code, "cell_failed"))
        return;
    err_set(&err, result->error.retryable ? ERR_RETRY : ERR_REJECT, "internal",
            "%.*s", VIEW_ARG(result->error.message));
    snprintf(err.code, sizeof(err.code), "%.*s", VIEW_ARG(result->error.code));
    app_fail_err(app, &err);
}

static int print_cells(struct app *app, const struct quern_status *status)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(cleanup_free) struct saver *saver = calloc(1, sizeof(*saver));
    struct view bytes = { status->result, status->result_size };
    struct result result;
    struct err err = { 0 };

    if (!saver)
        abort();
    if (!message_decode(&schema_result, bytes, &result, &arena, &err))
        return app_fail_err(app, &err);
    saver->quern = app->quern;
    saver->dir = app->options.out;
    for (size_t i = 0; i < result.cells.count; i++)
        print_cell(app, saver, &result, i);
    say_error(app, &result);
    return status_exit(status);
}

static int exec_json(struct app *app, const struct cells *cells)
{
    CLEANUP(quern_status_finish) struct quern_status status = { 0 };
    struct quern_error error = { 0 };
    struct quern_id id;

    if (!submission_send(app, NULL, cells, &id, NULL, &error) ||
        !quern_wait(app->quern, id.text, MAX_DEADLINE_MS, &status, &error))
        return app_fail(app, &error);
    return status.result ? print_cells(app, &status)
                         : app_show_status(app, id.text, &status);
}

int verb_exec(struct app *app)
{
    struct err err = { 0 };
    size_t size;
    CLEANUP(cleanup_free)
    char *text = read_text(app->options.words[0], MAX_JOB_BYTES, &size, &err);
    CLEANUP(cleanup_free) struct cells *cells = calloc(1, sizeof(*cells));

    if (text && size == 0)
        err_set(&err, ERR_REJECT, "missing_field", "%s has no code",
                app->options.words[0]);
    if (!text || size == 0)
        return app_fail_err(app, &err);
    if (!cells)
        abort();
    exec_split(past_mark_of_utf8(text), cells);
    return app->term.json ? exec_json(app, cells)
                          : follow_new(app, NULL, cells);
}
