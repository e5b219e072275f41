/* observation.c - what a model is shown of a cell. */
#include "consumer/conversation/observation.h"

#include <assert.h>
#include <jansson.h>

#include "schemas/message/text.h"

/* Shares of the whole; the rest is for names and sentences. */
enum {
    OUT_BYTES = 10 << 10,
    ERROUT_BYTES = 4 << 10,
    RESULT_BYTES = 6 << 10,
    TRACEBACK_BYTES = 6 << 10,
    DISPLAY_BYTES = 3 << 10,
    SHOWN_DISPLAYS = 8,
};

static void observation_add_part(struct buf *out, const char *title,
                                 struct view text, size_t max)
{
    if (text.len == 0)
        return;
    buf_printf(out, "%s:\n", title);
    text_add_clipped(out, text, max);
    if (out->data[out->len - 1] != '\n')
        buf_add(out, VIEW("\n"));
}

/* all: how many bytes the cell wrote; blob: where they are, if they are not
 * just the text. */
static void add_stream(struct buf *out, const char *title, struct view text,
                       size_t max, uint64_t all, struct view blob)
{
    observation_add_part(out, title, text, max);
    if (blob.len > 0 && (all > text.len || text.len > max))
        buf_printf(out,
                   "[%s was %llu bytes. You see its beginning and its end; "
                   "the user gets it as a file. To see more, print only the "
                   "part that you need.]\n",
                   title, (unsigned long long)all);
}

/* ---------------------------------------------------------- how it ended */

static void add_ending(struct buf *out, const struct cell *cell)
{
    static const char *const sentences[] = {
        [CELL_OK] = NULL,
        [CELL_ERROR] = "The code raised an exception.",
        [CELL_EXIT] = "The code called sys.exit().",
        [CELL_TIMEOUT] = "The code ran into its time limit.",
        [CELL_MEMORY] = "The code ran into the memory limit.",
        [CELL_CRASHED] = "The Python interpreter died.",
        [CELL_INTERRUPTED] = "The code was interrupted.",
        [CELL_UNKNOWN] = "It is not known what became of this code.",
    };
    assert(cell->status >= 0 && cell->status <= CELL_UNKNOWN);
    if (sentences[cell->status])
        buf_printf(out, "%s\n", sentences[cell->status]);
    if (cell->line > 0)
        buf_printf(out, "It was at line %llu of the code.\n",
                   (unsigned long long)cell->line);
}

/* Which variables there are now, why, and what the model should do. */
static void add_state(struct buf *out, const struct cell *cell, bool emptied)
{
    static const struct {
        const char *what, *next;
    } states[] = {
        [CELL_KEPT] = { NULL, NULL },
        [CELL_ROLLED_BACK] = { "Variables are as they were before this code, "
                               "its files are kept",
                               "Go on from there with smaller steps; do not "
                               "run the same code again" },
        [CELL_RESTORED] = { "The session was restored", NULL },
        [CELL_LOST] = { "The session was restarted, its variables are gone",
                        "Import and load again what you need" },
    };
    assert(cell->state >= 0 && cell->state <= CELL_LOST);
    const char *what = states[cell->state].what;
    const char *next = states[cell->state].next;
    if (cell->state == CELL_LOST && emptied)
        what = "The session was restarted: variables and the files that code "
               "wrote are gone, uploaded files are there";
    if (!what && cell->reason.len == 0)
        return;
    buf_printf(out, "%s%s%.*s.\n", !what ? "" : what,
               !what || cell->reason.len == 0 ? "" : ": ",
               VIEW_ARG(cell->reason));
    if (next)
        buf_printf(out, "%s.\n", next);
}

/* --------------------------------------------------------- what it left */

/* An image is shown by its name, and a value as the result. */
static bool is_told(const struct display *display, const struct cell *cell)
{
    const struct display_part *parts = display->parts.items;
    return (display->parts.count > 0 && view_starts(parts->mime, "image/")) ||
           view_equal(display->text, cell->result);
}

static void add_displays(struct buf *out, const char *title,
                         const struct cell *cell, const struct list *list)
{
    const struct display *displays = list->items;
    size_t shown = 0;
    for (size_t i = 0; i < list->count && shown < SHOWN_DISPLAYS; i++)
        if (displays[i].text.len > 0 && !is_told(&displays[i], cell)) {
            observation_add_part(out, title, displays[i].text, DISPLAY_BYTES);
            shown++;
        }
}

static void observation_add_names(struct buf *out, const struct record *record)
{
    const struct image_ref *images = record->images.items;
    for (size_t i = 0; i < record->images.count; i++)
        buf_printf(out, "[image: %.*s]\n", VIEW_ARG(images[i].name));
    const struct cell_file *files = record->cell.files.items;
    for (size_t i = 0; i < record->cell.files.count; i++) {
        const struct cell_file *file = &files[i];
        struct view path = file->path.len > 0 ? file->path : file->name;
        if (file->change == FILE_DELETED)
            buf_printf(out, "[deleted: %.*s]\n",
                       VIEW_ARG(view_head(path, 255)));
        else
            buf_printf(out, "[file: %.*s, %llu bytes%s%.*s]\n",
                       VIEW_ARG(view_head(path, 255)),
                       (unsigned long long)file->bytes,
                       file->note.len > 0 ? ", " : "",
                       VIEW_ARG(view_head(file->note, 200)));
    }
}

void observation_write(struct buf *out, const struct record *record)
{
    const struct cell *cell = &record->cell;
    CLEANUP(buf_finish) struct buf all;
    buf_init(&all, (size_t)MAX_OBSERVATION_BYTES * 4);
    add_ending(&all, cell);
    add_state(&all, cell, record->emptied);
    size_t said = all.len;
    add_stream(&all, "stdout", cell->out, OUT_BYTES, cell->out_bytes,
               cell->out_blob);
    add_stream(&all, "stderr", cell->errout, ERROUT_BYTES, cell->errout_bytes,
               cell->errout_blob);
    add_displays(&all, "display", cell, &cell->displays);
    add_displays(&all, "earlier display, updated", cell, &cell->updates);
    observation_add_part(&all, "result", cell->result, RESULT_BYTES);
    struct view trace = cell->error.traceback;
    if (trace.len == 0 && cell->error.name.len > 0)
        buf_printf(&all, "%.*s: %.*s\n", VIEW_ARG(cell->error.name),
                   VIEW_ARG(view_head(cell->error.value, TRACEBACK_BYTES)));
    observation_add_part(&all, "traceback", trace, TRACEBACK_BYTES);
    observation_add_names(&all, record);
    if (all.len == said && cell->status == CELL_OK)
        buf_add(&all, VIEW("(no output)\n"));
    buf_add(&all, cell->notes);
    buf_init(out, MAX_OBSERVATION_BYTES);
    text_add_clipped(out, buf_view(&all), MAX_OBSERVATION_BYTES);
}

void observation_of_value(struct buf *out, struct view value)
{
    json_t *json = json_loadb(value.data, value.len,
                              JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    struct view text = value;
    if (json_is_string(json))
        text =
            (struct view){ json_string_value(json), json_string_length(json) };
    if (text.len == 0 || json_is_null(json))
        text = VIEW("(nothing)");
    text_add_clipped(out, text, MAX_OBSERVATION_BYTES);
    json_decref(json);
}
