/* output_file.c - the files that a cell wrote, changed or deleted.
 *
 * The executor compares the workspace before and after the cell, from outside:
 * a file that has another inode, size or time may have changed. If it then has
 * the same bytes as before, it has not. A path may be any bytes; clients get a
 * base name for it, which throughout the job stands for this path and no other.
 */
#include <stdio.h>
#include <string.h>

#include "consumer/blob.h"
#include "consumer/output/output.h"
#include "schemas/message/glyph.h"
#include "schemas/message/limits.h"

enum { PATHS_BYTES = 64 << 10 }; /* of one cell, in its record */

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

size_t output_kept_files(const struct earlier_output *earlier)
{
    size_t count = 0;
    for (size_t i = 0; i < earlier->count; i++) {
        const struct file_ref *files = earlier->records[i].files.items;
        for (size_t j = 0; j < earlier->records[i].files.count; j++)
            count += !output_file_is_kept(earlier, i, files[j].name);
    }
    return count;
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

void output_list_changes(struct output *output, const struct list *files)
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
    struct event_data data = { .call = output->call, .file = file };
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
