/* observation.c - what a model is shown of a cell. */
#include "consumer/conversation/observation.h"

#include <assert.h>

#include "consumer/text.h"

/* Shares of the whole; the rest is for names and sentences. */
enum {
    OUT_BYTES = 10 << 10,
    ERROUT_BYTES = 4 << 10,
    RESULT_BYTES = 6 << 10,
    TRACEBACK_BYTES = 6 << 10,
    DISPLAY_BYTES = 3 << 10,
};

static void add_part(struct buf *out, const char *title, struct view text,
                     size_t max)
{
    if (text.len == 0)
        return;
    buf_printf(out, "%s:\n", title);
    text_add_clipped(out, text, max);
    if (out->data[out->len - 1] != '\n')
        buf_add(out, VIEW("\n"));
}

static void add_status(struct buf *out, const struct cell *cell)
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
    if (sentences[cell->status] != NULL)
        buf_printf(out, "%s\n", sentences[cell->status]);
    static const char *const states[] = {
        [CELL_KEPT] = NULL,
        [CELL_ROLLED_BACK] = "Variables are as they were before this code",
        [CELL_RESTORED] = "The session was restored",
        [CELL_LOST] = "The session was restarted: variables and the files "
                      "that code wrote are gone, uploaded files are there",
    };
    assert(cell->state >= 0 && cell->state <= CELL_LOST);
    if (states[cell->state] == NULL && cell->reason.len == 0)
        return;
    const char *state = states[cell->state];
    buf_printf(out, "%s%s%.*s.\n", state == NULL ? "" : state,
               state == NULL || cell->reason.len == 0 ? "" : ": ",
               VIEW_ARG(view_head(cell->reason, 400)));
}

static void add_names(struct buf *out, const struct record *record)
{
    const struct image_ref *images = record->images.items;
    for (size_t i = 0; i < record->images.count; i++)
        buf_printf(out, "[image: %.*s]\n", VIEW_ARG(images[i].name));
    const struct file_ref *files = record->files.items;
    for (size_t i = 0; i < record->files.count; i++)
        buf_printf(out, "[file: %.*s, %llu bytes%s%.*s]\n",
                   VIEW_ARG(files[i].name), (unsigned long long)files[i].bytes,
                   files[i].note.len > 0 ? ", " : "",
                   VIEW_ARG(view_head(files[i].note, 200)));
}

void observation_write(struct buf *out, const struct record *record,
                       struct view notes)
{
    const struct cell *cell = &record->cell;
    CLEANUP(buf_finish) struct buf all;
    buf_init(&all, (size_t)MAX_OBSERVATION_BYTES * 4);
    add_status(&all, cell);
    size_t said = all.len;
    add_part(&all, "stdout", cell->out, OUT_BYTES);
    add_part(&all, "stderr", cell->errout, ERROUT_BYTES);
    const struct view *displays = cell->displays.items;
    for (size_t i = 0; i < cell->displays.count && i < 8; i++)
        if (!view_equal(displays[i], cell->result))
            add_part(&all, "display", displays[i], DISPLAY_BYTES);
    add_part(&all, "result", cell->result, RESULT_BYTES);
    struct view trace = cell->error.traceback;
    if (trace.len == 0 && cell->error.name.len > 0)
        buf_printf(&all, "%.*s: %.*s\n", VIEW_ARG(cell->error.name),
                   VIEW_ARG(view_head(cell->error.value, TRACEBACK_BYTES)));
    add_part(&all, "traceback", trace, TRACEBACK_BYTES);
    add_names(&all, record);
    if (all.len == said && cell->status == CELL_OK)
        buf_add(&all, VIEW("(no output)\n"));
    buf_add(&all, notes);
    buf_init(out, MAX_OBSERVATION_BYTES);
    text_add_clipped(out, buf_view(&all), MAX_OBSERVATION_BYTES);
}
