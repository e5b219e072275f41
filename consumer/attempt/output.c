/* output.c - what a cell gives: streams, displays, files. */
#include "consumer/attempt/output.h"

#include <stdio.h>
#include <string.h>

#include "consumer/attempt/blob.h"
#include "schemas/message/limits.h"

enum {
    TOLD_BYTES = 256 << 10, /* of a stream, in events */
    DISPLAY_TEXT_BYTES = 4 << 10,
    MAX_DISPLAYS = 64,
    KEPT_BYTES = MAX_STREAM_BYTES - 64, /* the gap is stated in the rest */
};

static const char *const stream_names[OUTPUT_STREAMS] = { "stdout", "stderr" };

void output_init(struct output *output, struct progress *progress,
                 const struct names *names, uint64_t blob_ttl_ms,
                 store_done *stored, void *owner)
{
    *output = (struct output){ .progress = progress,
                               .names = names,
                               .blob_ttl_ms = blob_ttl_ms,
                               .stored = stored,
                               .owner = owner };
}

static void clear(struct output *output)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        excerpt_finish(&output->streams[i].kept);
    memset(output->streams, 0, sizeof(output->streams));
    arena_finish(&output->arena);
    buf_finish(&output->notes);
    output->arena = (struct arena){ 0 };
    output->images = output->files = (struct list){ 0 };
    output->displays = output->wanted = (struct list){ 0 };
    output->displays_seen = output->displays_skip = 0;
    output->cell = (struct cell){ 0 };
    output->ended = false;
}

void output_finish(struct output *output)
{
    if (output != NULL)
        clear(output);
}

static void prepare(struct output *output)
{
    clear(output);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        excerpt_init(&output->streams[i].kept, KEPT_BYTES);
    buf_init(&output->notes, 4096);
    struct arena *arena = &output->arena;
    output->images.items =
        arena_alloc(arena, MAX_IMAGES * sizeof(struct image_ref));
    output->files.items =
        arena_alloc(arena, MAX_FILES * sizeof(struct file_ref));
    output->displays.items =
        arena_alloc(arena, MAX_DISPLAYS * sizeof(struct view));
}

void output_begin(struct output *output, struct view call, uint64_t cell_at,
                  size_t images_before, size_t files_before)
{
    prepare(output);
    output->call = call;
    output->cell_at = cell_at;
    output->images_before = images_before;
    output->files_before = files_before;
}

void output_start(struct output *output, bool again)
{
    if (!again) {
        prepare(output);
        return;
    }
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output->streams[i].skip = output->streams[i].kept.total;
    output->displays_skip = output->displays_seen;
}

void output_stream(struct output *output, struct view name, struct view bytes)
{
    size_t index = view_is(name, stream_names[1]);
    struct output_stream *stream = &output->streams[index];
    size_t skip = bytes.len < stream->skip ? bytes.len : stream->skip;
    stream->skip -= skip;
    bytes.data += skip;
    bytes.len -= skip;
    excerpt_add(&stream->kept, bytes);
    size_t room = TOLD_BYTES - stream->told;
    if (bytes.len > room)
        bytes.len = room;
    if (bytes.len == 0)
        return;
    stream->told += bytes.len;
    struct event_data about = { .call = output->call,
                                .stream = view_of(stream_names[index]) };
    progress_text(output->progress, "tool.output", &about, bytes);
    if (stream->told == TOLD_BYTES)
        progress_text(output->progress, "tool.output", &about,
                      VIEW("\n[... more: see the result ...]\n"));
}

/* ------------------------------------------------------------- displays */

static struct view of_type(const struct list *bundle, const char *mime)
{
    const struct pair *pairs = bundle->items;
    for (size_t i = 0; i < bundle->count; i++)
        if (view_is(pairs[i].key, mime))
            return pairs[i].value;
    return (struct view){ 0 };
}

static void note(struct output *output, struct view name, const char *why)
{
    buf_printf(&output->notes, "[%.*s: %s]\n", VIEW_ARG(view_head(name, 100)),
               why);
}

static struct view arena_text(struct arena *arena, const char *text)
{
    return arena_copy(arena, view_of(text));
}

static void add_image(struct output *output, const char *mime,
                      const char *ending, struct view bytes)
{
    size_t number = output->images_before + output->images.count + 1;
    char name[64];
    snprintf(name, sizeof(name), "figure-%zu.%s", number, ending);
    if (number > MAX_IMAGES || bytes.len > MAX_BLOB_BYTES) {
        note(output, view_of(name),
             number > MAX_IMAGES ? "dropped, a job may have 64 images"
                                 : "dropped, it is larger than 32 MiB");
        return;
    }
    char blob[BLOB_NAME_LEN + 1];
    blob_put(output->progress->setup.store, output->names, bytes,
             output->blob_ttl_ms, output->stored, output->owner, blob);
    struct image_ref *images = output->images.items;
    struct image_ref *image = &images[output->images.count++];
    *image = (struct image_ref){
        .name = arena_text(&output->arena, name),
        .mime = view_of(mime),
        .blob = arena_text(&output->arena, blob),
        .bytes = bytes.len,
        .from_cell = output->cell_at,
    };
    if (!image_size(bytes, &image->width, &image->height))
        image->width = image->height = 0;
    struct event_data data = { .call = output->call, .image = *image };
    progress_event(output->progress, "image", &data);
}

void output_display(struct output *output, const struct list *bundle)
{
    static const struct {
        const char *mime, *ending;
    } kinds[] = { { "image/png", "png" },
                  { "image/jpeg", "jpg" },
                  { "image/svg+xml", "svg" } };
    if (output->displays_skip > 0) {
        output->displays_skip--;
        return;
    }
    output->displays_seen++;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct view bytes = of_type(bundle, kinds[i].mime);
        if (bytes.len > 0) {
            add_image(output, kinds[i].mime, kinds[i].ending, bytes);
            return;
        }
    }
    struct view text = of_type(bundle, "text/plain");
    if (text.len == 0 || output->displays.count >= MAX_DISPLAYS)
        return;
    CLEANUP(buf_finish) struct buf shown;
    buf_init(&shown, DISPLAY_TEXT_BYTES);
    text_add_clipped(&shown, text, DISPLAY_TEXT_BYTES);
    struct view *displays = output->displays.items;
    displays[output->displays.count++] =
        arena_copy(&output->arena, buf_view(&shown));
}

/* ---------------------------------------------------------------- files */

static bool is_gone(const struct workspace_file *file)
{
    return file->change != FILE_NEW && file->change != FILE_CHANGED;
}

void output_cell(struct output *output, const struct cell *cell,
                 const struct list *files)
{
    struct arena *arena = &output->arena;
    output->ended = true;
    output->cell = *cell;
    output->cell.reason = arena_copy(arena, cell->reason);
    output->cell.result = arena_copy(arena, cell->result);
    output->cell.error.name = arena_copy(arena, cell->error.name);
    output->cell.error.value = arena_copy(arena, cell->error.value);
    output->cell.error.traceback = arena_copy(arena, cell->error.traceback);
    const struct workspace_file *all = files->items;
    struct workspace_file *wanted =
        arena_alloc(arena, (files->count + 1) * sizeof(*wanted));
    size_t count = 0;
    for (size_t i = 0; i < files->count; i++) {
        if (is_gone(&all[i]))
            continue;
        if (count + output->files_before >= MAX_FILES) {
            note(output, all[i].name, "not kept, a job may have 64 files");
            break;
        }
        wanted[count] = all[i];
        wanted[count++].name = arena_copy(arena, all[i].name);
    }
    output->wanted = (struct list){ wanted, count };
}

static bool name_is_taken(const struct output *output, struct view name)
{
    const struct file_ref *files = output->files.items;
    for (size_t i = 0; i < output->files.count; i++)
        if (view_equal(files[i].name, name))
            return true;
    return false;
}

/* A base name that nobody else in this cell has: of dir/a.csv, dir_a.csv. */
static struct view out_name(struct output *output, struct view path)
{
    CLEANUP(buf_finish) struct buf clean;
    buf_init(&clean, path.len * 3 + 1);
    text_add_clean(&clean, path);
    for (size_t i = 0; i < clean.len; i++)
        if (clean.data[i] == '/' || (unsigned char)clean.data[i] < 0x20 ||
            clean.data[i] == 0x7f)
            clean.data[i] = '_';
    char name[MAX_FILE_NAME_BYTES + 1];
    struct view head = view_head(buf_view(&clean), MAX_FILE_NAME_BYTES - 8);
    snprintf(name, sizeof(name), "%.*s", VIEW_ARG(head));
    if (name[0] == '.' && (name[1] == '\0' || strcmp(name, "..") == 0))
        name[0] = '_';
    for (int n = 2; name_is_taken(output, view_of(name)); n++)
        snprintf(name, sizeof(name), "%d_%.*s", n, VIEW_ARG(head));
    return arena_text(&output->arena, name);
}

void output_file(struct output *output, const struct workspace_file *from,
                 struct view bytes, const struct err *why)
{
    struct file_ref *files = output->files.items;
    struct file_ref file = {
        .name = out_name(output, from->name),
        .bytes = from->bytes,
    };
    file.mime = mime_of(file.name);
    if (why != NULL && why->kind != ERR_NONE) {
        file.note = arena_text(&output->arena, why->text);
    } else {
        char blob[BLOB_NAME_LEN + 1];
        blob_put(output->progress->setup.store, output->names, bytes,
                 output->blob_ttl_ms, output->stored, output->owner, blob);
        file.blob = arena_text(&output->arena, blob);
        file.bytes = bytes.len;
    }
    files[output->files.count++] = file;
    struct event_data data = { .call = output->call, .file = file };
    progress_event(output->progress, "file", &data);
}

/* --------------------------------------------------------------- record */

static struct view print_stream(struct output *output, size_t index)
{
    CLEANUP(buf_finish) struct buf all;
    buf_init(&all, (size_t)KEPT_BYTES * 4);
    excerpt_print(&output->streams[index].kept, &all);
    CLEANUP(buf_finish) struct buf fit;
    buf_init(&fit, MAX_STREAM_BYTES);
    text_add_clipped(&fit, buf_view(&all), MAX_STREAM_BYTES);
    return arena_copy(&output->arena, buf_view(&fit));
}

void output_record(struct output *output, struct view code,
                   struct record *record)
{
    record->cell = output->cell;
    record->cell.code = code;
    record->cell.out = print_stream(output, 0);
    record->cell.errout = print_stream(output, 1);
    if (record->cell.out_bytes < output->streams[0].kept.total)
        record->cell.out_bytes = output->streams[0].kept.total;
    if (record->cell.errout_bytes < output->streams[1].kept.total)
        record->cell.errout_bytes = output->streams[1].kept.total;
    record->cell.displays = output->displays;
    record->images = output->images;
    record->files = output->files;
}
