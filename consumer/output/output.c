/* output.c - the output of a cell: its streams, what clears it, its files, and
 * all of it put together. */
#include "consumer/output/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/blob.h"
#include "consumer/consumer.h"
#include "schemas/message/glyph.h"
#include "schemas/message/limits.h"

enum {
    TOLD_BYTES = 256 << 10,             /* of a stream, in events */
    KEPT_BYTES = MAX_STREAM_BYTES - 64, /* the rest is to state the gap */
    WHOLE_BYTES = 16 << 20,             /* more than an executor passes on */
    LAST_NOTE_BYTES = 128,              /* for the note that there were more */
    JOB_DISPLAY_BYTES = 256 << 20,      /* stored of one job's displays */
    PATHS_BYTES = 64 << 10,             /* of one cell, in its record */
};

/* Followers are told of the first FREE_CLEARS clears at once, then of one each
 * LEAST_MS at most, or each 1/SHARE of the cell's time, if that is longer. */
enum { FREE_CLEARS = 32, LEAST_MS = 100, SHARE = 100 };

static const char *const stream_names[OUTPUT_STREAMS] = { "stdout", "stderr" };

void output_init(struct output *output, const struct output_setup *setup)
{
    *output = (struct output){ .setup = *setup };
}

static void forget_whole(struct output *output, struct output_stream *stream)
{
    *output->setup.memory_left += stream->whole.len;
    buf_finish(&stream->whole);
}

static void reset(struct output *output)
{
    for (size_t i = 0; output->streams && i < OUTPUT_STREAMS; i++) {
        forget_whole(output, &output->streams[i]);
        fold_finish(&output->streams[i].fold);
    }
    free(output->streams);
    output->streams = NULL;
    arena_finish(&output->arena);
    buf_finish(&output->notes);
    output->arena = (struct arena){ 0 };
    output->images = output->files = (struct list){ 0 };
    output->displays = output->changes = (struct list){ 0 };
    output->updates = (struct list){ 0 };
    output->display_at = output->displays_seen = output->change_at = 0;
    output->displays_came = 0;
    output->clearing = (struct clear_state){ 0 };
    output->cell = (struct cell){ 0 };
    output->ended = output->emptied = false;
}

void output_finish(struct output *output)
{
    if (output && output->setup.memory_left)
        reset(output);
}

/* Not below 0, whatever the journal says: it lies in Redis. */
static uint64_t left_of(uint64_t share, uint64_t taken)
{
    return taken < share ? share - taken : 0;
}

static void count_parts(const struct list *list, size_t *parts, uint64_t *bytes)
{
    const struct display *displays = list->items;
    for (size_t i = 0; i < list->count; i++) {
        const struct display_part *of = displays[i].parts.items;
        *parts += displays[i].parts.count;
        for (size_t j = 0; j < displays[i].parts.count; j++)
            *bytes += of[j].bytes;
    }
}

/* One of the first so many records has a file of that name for clients. */
static bool output_file_is_kept(const struct earlier_output *earlier,
                                size_t records, struct view name)
{
    for (size_t i = 0; i < records; i++) {
        const struct list *list = &earlier->records[i].files;
        const struct file_ref *files = list->items;
        for (size_t j = 0; j < list->count; j++)
            if (view_equal(files[j].name, name))
                return true;
    }
    return false;
}

/* How many files earlier cells have left; one that was written again counts
 * once. */
static size_t output_kept_files(const struct earlier_output *earlier)
{
    size_t count = 0;
    for (size_t i = 0; i < earlier->count; i++) {
        const struct file_ref *files = earlier->records[i].files.items;
        for (size_t j = 0; j < earlier->records[i].files.count; j++)
            count += !output_file_is_kept(earlier, i, files[j].name);
    }
    return count;
}

/* The job's shares, less what earlier cells took. */
static void count_past(struct output *output)
{
    size_t images = 0, parts = 0;
    uint64_t bytes = *output->setup.void_bytes;
    output->cell_at = 0;
    for (size_t i = 0; i < output->earlier.count; i++) {
        const struct record *record = &output->earlier.records[i];
        output->cell_at += record->cell.code.len > 0;
        images += record->images.count;
        count_parts(&record->cell.displays, &parts, &bytes);
        count_parts(&record->cell.updates, &parts, &bytes);
    }
    output->images_left = left_of(MAX_IMAGES, images);
    output->parts_left = left_of(MAX_PARTS, parts);
    output->files_left =
        left_of(MAX_FILES, output_kept_files(&output->earlier));
    output->bytes_left = left_of(JOB_DISPLAY_BYTES, bytes);
}

static void begin_stream(struct output_stream *stream)
{
    fold_init(&stream->fold, KEPT_BYTES);
    buf_init(&stream->whole, WHOLE_BYTES);
}

static void output_prepare(struct output *output)
{
    reset(output);
    count_past(output);
    output->streams = calloc(OUTPUT_STREAMS, sizeof(*output->streams));
    if (!output->streams)
        abort();
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        begin_stream(&output->streams[i]);
    buf_init(&output->notes, MAX_NOTES_BYTES);
    struct arena *arena = &output->arena;
    output->images.items =
        arena_alloc(arena, MAX_IMAGES * sizeof(struct image_ref));
    output->files.items =
        arena_alloc(arena, MAX_FILES * sizeof(struct file_ref));
    output->displays.items =
        arena_alloc(arena, MAX_DISPLAYS * sizeof(struct display));
    output->updates.items =
        arena_alloc(arena, MAX_DISPLAYS * sizeof(struct display));
    output->clearing.started_ms = uv_now(output->setup.progress->loop);
}

void output_begin(struct output *output, struct view call, uint64_t item,
                  struct earlier_output earlier)
{
    output->call = call;
    output->item = item;
    output->earlier = earlier;
    output_prepare(output);
}

bool output_any(const struct output *output)
{
    const struct output_stream *streams = output->streams;
    return streams && (streams[0].seen > 0 || streams[1].seen > 0 ||
                       output->displays_seen > 0);
}

void output_start(struct output *output, bool again)
{
    if (!again || !output->streams) {
        output_prepare(output);
        return;
    }
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output->streams[i].at = 0;
    output->display_at = 0;
}

void output_note(struct output *output, struct view name, const char *why)
{
    struct buf *notes = &output->notes;
    if (!buf_ok(notes))
        return;
    size_t start = notes->len;
    buf_printf(notes, "[%.*s: %s]\n", VIEW_ARG(view_head(name, 100)), why);
    if (buf_ok(notes) && notes->len + LAST_NOTE_BYTES <= notes->max)
        return;
    notes->overflow = false;
    buf_truncate(notes, start);
    buf_add(notes, VIEW("[... more was dropped]\n"));
    notes->overflow = true; /* so that buf_ok() is false: no other note */
}

static struct view output_store(struct output *output, struct view blob,
                                struct view bytes)
{
    const struct output_setup *setup = &output->setup;
    blob_put(setup->progress->setup.store, setup->names, blob, bytes,
             setup->blob_ttl_ms, setup->stored, setup->owner);
    return arena_copy(&output->arena, blob);
}

struct view output_blob(struct output *output, struct view bytes)
{
    char blob[BLOB_NAME_LEN + 1];
    blob_name(bytes, blob);
    return output_store(output, view_of(blob), bytes);
}

/* ------------------------------------------------------------- streams */

static void tell_stream(struct output *output, size_t index, struct view bytes)
{
    struct output_stream *stream = &output->streams[index];
    struct event_data about = { .call = output->call,
                                .item = output->item,
                                .stream = view_of(stream_names[index]) };
    size_t room = TOLD_BYTES - stream->told;
    if (bytes.len > room)
        bytes.len = room;
    if (bytes.len == 0)
        return;
    output->clearing.fresh = false;
    stream->told += bytes.len;
    progress_text(output->setup.progress, "tool.output", &about, bytes);
    if (stream->told == TOLD_BYTES)
        progress_text(output->setup.progress, "tool.output", &about,
                      VIEW("\n[... more: see the result ...]\n"));
}

/* Keeps the bytes of a stream while there is memory: all cells that run share
 * it. A stream for which it does not suffice is given up as a whole, and frees
 * its share. */
static void output_keep_bytes(struct output *output,
                              struct output_stream *stream, struct view bytes)
{
    size_t *left = output->setup.memory_left;
    if (stream->torn)
        return;
    if (bytes.len <= *left && buf_add(&stream->whole, bytes)) {
        *left -= bytes.len;
        return;
    }
    forget_whole(output, stream);
    stream->torn = true;
}

void output_stream(struct output *output, struct view name, uint64_t offset,
                   struct view bytes)
{
    size_t index = view_is(name, stream_names[1]);
    struct output_stream *stream = &output->streams[index];
    uint64_t at = offset > 0 ? offset : stream->at;
    uint64_t end = stream->at = at + bytes.len;
    if (end <= stream->seen)
        return;
    if (at > stream->seen) {
        fold_skip(&stream->fold, at - stream->seen);
        stream->gap = true;
        stream->seen = at;
    } else {
        bytes.data += stream->seen - at;
        bytes.len = end - stream->seen;
    }
    if (bytes.len > 0)
        output_more(output, output->clearing.asked);
    stream->seen = end;
    fold_add(&stream->fold, bytes);
    if (!stream->gap)
        output_keep_bytes(output, stream, bytes);
    if (!output_is_held(output, false))
        tell_stream(output, index, bytes);
}

/* The text of a stream as it is read; and in blob its bytes, if the text
 * differs from them. all: how many bytes were written, as the executor counted;
 * then those since the last clear. */
static struct view settle_stream(struct output *output, size_t index,
                                 uint64_t *all, struct view *blob)
{
    struct output_stream *stream = &output->streams[index];
    struct view name = view_of(stream_names[index]);
    CLEANUP(buf_finish) struct buf text;
    buf_init(&text, MAX_STREAM_BYTES);
    bool same = fold_print(&stream->fold, &text, MAX_STREAM_BYTES);
    char why[128];
    if (*all < stream->seen)
        *all = stream->seen;
    *all -= stream->cleared;
    if (!same && stream->torn) {
        snprintf(why, sizeof(why),
                 "shown in part, the rest is not kept: cells that run have %d "
                 "MiB together",
                 CONSUMER_STREAM_BYTES >> 20);
        output_note(output, name, why);
    } else if (*all > stream->whole.len) {
        snprintf(why, sizeof(why), "of its %llu bytes the first %zu are kept",
                 (unsigned long long)*all, stream->whole.len);
        output_note(output, name, why);
    }
    if (!same && !stream->torn)
        *blob = output_blob(output, buf_view(&stream->whole));
    forget_whole(output, stream);
    return arena_copy(&output->arena, buf_view(&text));
}

/* ------------------------------------------------------------ clearing */

static bool is_due(const struct output *output)
{
    const struct clear_state *clearing = &output->clearing;
    uint64_t now_ms = uv_now(output->setup.progress->loop);
    uint64_t share_ms = (now_ms - clearing->started_ms) / SHARE;
    return clearing->told < FREE_CLEARS ||
           now_ms - clearing->told_ms >=
               (share_ms > LEAST_MS ? share_ms : LEAST_MS);
}

static void tell_clear(struct output *output)
{
    struct clear_state *clearing = &output->clearing;
    struct event_data data = { .call = output->call, .item = output->item };
    clearing->held = false;
    if (clearing->fresh)
        return;
    clearing->fresh = true;
    clearing->told++;
    clearing->told_ms = uv_now(output->setup.progress->loop);
    progress_event(output->setup.progress, "tool.cleared", &data);
}

/* Tells followers of the clear, and of what stands since then. */
static void catch_up(struct output *output)
{
    tell_clear(output);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        const struct output_stream *stream = &output->streams[i];
        tell_stream(output, i, buf_view(&stream->whole));
    }
    const struct display *displays = output->displays.items;
    for (size_t i = 0; i < output->displays.count; i++)
        output_tell_display(output, &displays[i]);
}

bool output_is_held(struct output *output, bool last)
{
    if (!output->clearing.held)
        return false;
    if (last || is_due(output))
        catch_up(output);
    return true;
}

static void clear_streams(struct output *output)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        struct output_stream *stream = &output->streams[i];
        forget_whole(output, stream);
        fold_finish(&stream->fold);
        begin_stream(stream);
        stream->cleared = stream->seen;
        stream->told = 0;
        stream->torn = stream->gap = false;
    }
}

static void clear_now(struct output *output)
{
    struct clear_state *clearing = &output->clearing;
    output_clear_displays(output);
    clear_streams(output);
    clearing->done = clearing->asked;
    clearing->waits = false;
    progress_drop(output->setup.progress, "tool.output");
    if (is_due(output))
        tell_clear(output);
    else
        clearing->held = true;
}

void output_more(struct output *output, uint64_t clears)
{
    struct clear_state *clearing = &output->clearing;
    if (!clearing->waits || clears < clearing->first)
        return;
    clear_now(output);
    if (clears >= clearing->asked)
        return;
    clearing->done = clears; /* those after it still wait */
    clearing->first = clears + 1;
    clearing->waits = true;
}

void output_clear(struct output *output, const struct frame *frame)
{
    if (!output_is_new(output, frame->number))
        return;
    struct clear_state *clearing = &output->clearing;
    clearing->asked++;
    if (!frame->wait)
        clear_now(output);
    else if (!clearing->waits)
        clearing->first = clearing->asked;
    clearing->waits = frame->wait;
}

/* --------------------------------------------------------------- files */

/* The executor compares the workspace before and after the cell, from outside:
 * a file that has another inode, size or time may have changed. If it then has
 * the same bytes as before, it has not. A path may be any bytes; clients get a
 * base name for it, which throughout the job stands for this path and no other.
 */

static struct view path_of(const struct cell_file *file)
{
    return file->path.len > 0 ? file->path : file->name;
}

/* The first file of the list that has the path, or, with path NULL, the name.
 */
static const struct cell_file *output_file_find(const struct list *list,
                                                const struct view *path,
                                                struct view name)
{
    const struct cell_file *files = list->items;
    for (size_t i = 0; i < list->count; i++)
        if (path ? view_equal(path_of(&files[i]), *path)
                 : view_equal(files[i].name, name))
            return &files[i];
    return NULL;
}

static const struct cell_file *
find_any(const struct output *output, const struct view *path, struct view name)
{
    const struct cell_file *file =
        output_file_find(&output->changes, path, name);
    for (size_t i = 0; !file && i < output->earlier.count; i++)
        file = output_file_find(&output->earlier.records[i].cell.files, path,
                                name);
    return file;
}

struct view file_name_of(struct view path, struct arena *arena)
{
    CLEANUP(buf_finish) struct buf clean, name;
    buf_init(&clean, path.len * 3 + 1);
    text_add_clean(&clean, path);
    for (size_t i = 0; i < clean.len; i++)
        if (clean.data[i] == '/')
            clean.data[i] = '_';
    buf_init(&name, clean.len + 1);
    glyph_add_name(&name, buf_view(&clean));
    return arena_copy(arena,
                      view_head(buf_view(&name), MAX_FILE_NAME_BYTES - 8));
}

/* For dir/a.csv it is dir_a.csv; if another file has that name, 2_dir_a.csv. */
static struct view output_file_name(struct output *output, struct view path)
{
    const struct cell_file *same = find_any(output, &path, path);
    if (same)
        return same->name;
    char name[MAX_FILE_NAME_BYTES + 1];
    struct view head = file_name_of(path, &output->arena);
    snprintf(name, sizeof(name), "%.*s", VIEW_ARG(head));
    for (int n = 2; find_any(output, NULL, view_of(name)); n++)
        snprintf(name, sizeof(name), "%d_%.*s", n, VIEW_ARG(head));
    return arena_copy(&output->arena, view_of(name));
}

static struct view output_file_note(struct output *output, const char *why)
{
    return arena_copy(&output->arena, view_of(why));
}

/* Why a file that is there is not kept; empty: it is, or it was deleted. A file
 * that is kept already takes no further place. */
static struct view output_file_refusal(struct output *output,
                                       const struct cell_file *file)
{
    if (file->change == FILE_DELETED)
        return (struct view){ 0 };
    if (file->bytes > MAX_FILE_BYTES)
        return output_file_note(output,
                                "not kept, it is larger than " MAX_FILE_WORDS);
    if (output_file_is_kept(&output->earlier, output->earlier.count,
                            file->name))
        return (struct view){ 0 };
    if (output->files_left == 0)
        return output_file_note(output, "not kept, a job may have 64 files");
    return (struct view){ 0 };
}

static void add_change(struct output *output, const struct workspace_file *from)
{
    struct cell_file *changes = output->changes.items;
    struct cell_file file = {
        .name = output_file_name(output, from->name),
        .bytes = from->bytes,
        .change = from->change,
    };
    if (!view_equal(file.name, from->name))
        file.path = arena_copy(&output->arena, from->name);
    file.mime = mime_of(file.name);
    changes[output->changes.count++] = file;
}

static void output_list_changes(struct output *output, const struct list *files)
{
    const struct workspace_file *all = files->items;
    size_t most = files->count < MAX_CELL_FILES ? files->count : MAX_CELL_FILES;
    size_t paths = 0, left_out = 0;
    output->changes.items =
        arena_alloc(&output->arena, (most + 1) * sizeof(struct cell_file));
    for (size_t i = 0; i < files->count; i++) {
        paths += all[i].name.len;
        if (output->changes.count < most && paths <= PATHS_BYTES)
            add_change(output, &all[i]);
        else
            left_out++;
    }
    if (left_out == 0)
        return;
    char why[64];
    snprintf(why, sizeof(why), "%zu more were changed, not listed", left_out);
    output_note(output, VIEW("files"), why);
}

static struct cell_file *current(struct output *output)
{
    return (struct cell_file *)output->changes.items + output->change_at;
}

/* Settles the current change: clients get the file, or a note why not. */
static void give_out(struct output *output)
{
    const struct cell_file *from = current(output);
    struct file_ref *files = output->files.items;
    struct file_ref file = { .name = from->name,
                             .blob = from->blob,
                             .bytes = from->bytes,
                             .mime = from->mime,
                             .note = from->note };
    output->change_at++;
    if (from->change == FILE_DELETED || output->files.count == MAX_FILES)
        return;
    files[output->files.count++] = file;
    struct event_data data = { .call = output->call,
                               .item = output->item,
                               .file = file };
    progress_event(output->setup.progress, "file", &data);
}

struct view output_wanted(struct output *output)
{
    while (output->change_at < output->changes.count) {
        struct cell_file *file = current(output);
        file->note = output_file_refusal(output, file);
        if (file->change != FILE_DELETED && file->note.len == 0)
            return path_of(file);
        give_out(output);
    }
    return (struct view){ 0 };
}

/* The blob of the file as it was before the cell; empty: not known, because it
 * was too large or nobody has kept it. When a session is emptied, files of
 * cells and of earlier jobs are lost, but the job's own files are put there
 * again. */
static struct view blob_before(const struct earlier_output *earlier,
                               struct view path)
{
    const struct file_ref *given = earlier->given->items;
    const struct session_file *saved = earlier->saved->items;
    bool emptied = false;
    for (size_t i = earlier->count; i-- > 0 && !emptied;) {
        const struct record *record = &earlier->records[i];
        const struct cell_file *file =
            output_file_find(&record->cell.files, &path, path);
        if (file)
            return file->blob;
        emptied = record->emptied;
    }
    /* The last one first: they are put there in their order. */
    for (size_t i = earlier->given->count; i-- > 0;)
        if (view_equal(given[i].name, path))
            return given[i].blob;
    for (size_t i = 0; i < earlier->saved->count && !emptied; i++)
        if (view_equal(saved[i].name, path))
            return saved[i].blob;
    return (struct view){ 0 };
}

static bool is_as_before(const struct output *output,
                         const struct cell_file *file, struct view blob)
{
    return file->change == FILE_CHANGED &&
           view_equal(blob_before(&output->earlier, path_of(file)), blob);
}

static void leave_out(struct output *output)
{
    struct cell_file *file = current(output);
    size_t after = --output->changes.count - output->change_at;
    memmove(file, file + 1, after * sizeof(*file));
}

void output_file(struct output *output, struct view bytes,
                 const struct err *why)
{
    struct cell_file *file = current(output);
    char blob[BLOB_NAME_LEN + 1];
    if (why && why->kind != ERR_NONE) {
        file->note = output_file_note(output, why->text);
        give_out(output);
        return;
    }
    blob_name(bytes, blob);
    if (is_as_before(output, file, view_of(blob))) {
        leave_out(output);
        return;
    }
    file->blob = output_store(output, view_of(blob), bytes);
    file->bytes = bytes.len;
    if (!output_file_is_kept(&output->earlier, output->earlier.count,
                             file->name))
        output->files_left--;
    give_out(output);
}

/* ----------------------------------------------------------- the whole */

static void note_lost_displays(struct output *output, uint64_t all)
{
    char why[128];
    if (all <= output->displays_came)
        return;
    snprintf(why, sizeof(why),
             "%llu of %llu are lost: the link to the executor broke, and they "
             "were too much to keep",
             (unsigned long long)(all - output->displays_came),
             (unsigned long long)all);
    output_note(output, VIEW("displays"), why);
}

void output_cell(struct output *output, const struct cell *cell,
                 uint64_t displays, const struct list *files, bool emptied)
{
    struct arena *arena = &output->arena;
    output->ended = true;
    output->emptied = emptied;
    output->cell = *cell;
    output->cell.reason = arena_copy(arena, cell->reason);
    output->cell.result = arena_copy(arena, cell->result);
    output->cell.error.name = arena_copy(arena, cell->error.name);
    output->cell.error.value = arena_copy(arena, cell->error.value);
    output->cell.error.traceback = arena_copy(arena, cell->error.traceback);
    if (cell->result.len > 0 || cell->error.name.len > 0)
        /* As in notebooks, a result or an error ends the wait of a clear. */
        output_more(output, output->clearing.asked);
    output_is_held(output, true);
    note_lost_displays(output, displays);
    output_list_changes(output, files);
}

void output_record(struct output *output, struct view code,
                   struct record *record)
{
    struct cell *cell = &record->cell;
    *cell = output->cell;
    cell->code = code;
    cell->out = settle_stream(output, 0, &cell->out_bytes, &cell->out_blob);
    cell->errout =
        settle_stream(output, 1, &cell->errout_bytes, &cell->errout_blob);
    cell->displays = output->displays;
    cell->updates = output->updates;
    cell->files = output->changes;
    cell->notes = buf_view(&output->notes);
    record->emptied = output->emptied;
    record->images = output->images;
    record->files = output->files;
}
