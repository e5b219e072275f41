/* reload.c - new values for a running program. */
#include "schemas/settings/reload.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/settings/load.h"

/* What a program has made of a text of its own form cannot be compared. */
static bool leave_unread(void *settings, const char *text, struct err *err)
{
    (void)settings, (void)text, (void)err;
    return true;
}

/* Fills scratch, which setting_finish() frees. */
static bool load_anew(const struct setting_table *table, void *scratch,
                      char *const *argv, struct setting_files *files,
                      struct err *err)
{
    struct setting rows[SETTING_MOST_ROWS];
    struct setting_table readable = *table;
    enum setting_request request;
    if (table->count > SETTING_MOST_ROWS)
        abort(); /* of our own table */
    memcpy(rows, table->rows, table->count * sizeof(rows[0]));
    for (size_t i = 0; i < table->count; i++)
        if (rows[i].type == SETTING_OF_READER)
            rows[i].read = leave_unread;
    readable.rows = rows;
    return setting_load_files(&readable, scratch, argv, &request, files, err);
}

/* ------------------------------------------------------------------- values */

static bool is_text(const struct setting *row)
{
    return row->type == SETTING_TEXT || row->type == SETTING_SECRET ||
           row->type == SETTING_LIST;
}

static size_t value_bytes(const struct setting *row)
{
    if (is_text(row))
        return sizeof(char *);
    if (row->type == SETTING_SWITCH)
        return sizeof(bool);
    return row->type == SETTING_CHOICE ? sizeof(int) : sizeof(uint64_t);
}

static bool is_same(const struct setting *row, const void *a, const void *b)
{
    if (!is_text(row))
        return memcmp(a, b, value_bytes(row)) == 0;
    const char *one = *(char *const *)a, *other = *(char *const *)b;
    return one && other ? strcmp(one, other) == 0 : one == other;
}

static void swap(const struct setting *row, void *a, void *b)
{
    unsigned char kept[sizeof(uint64_t)];
    memcpy(kept, a, value_bytes(row));
    memcpy(a, b, value_bytes(row));
    memcpy(b, kept, value_bytes(row));
}

static void tell(struct buf *names, const struct setting *row)
{
    buf_printf(names, "%s%s", names->len > 0 ? ", " : "", row->name);
}

static void apply(const struct setting *row, char *settings, char *scratch,
                  struct setting_changes *changes)
{
    void *now = settings + row->offset, *next = scratch + row->offset;
    if (row->is_flag_only || row->type == SETTING_OF_READER ||
        is_same(row, now, next))
        return;
    if (row->is_reloaded)
        swap(row, now, next);
    tell(row->is_reloaded ? &changes->applied : &changes->restart, row);
}

void setting_changes_finish(struct setting_changes *changes)
{
    buf_finish(&changes->applied);
    buf_finish(&changes->restart);
}

static bool differs(const struct setting_table *table, const char *settings,
                    const char *scratch)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct setting *row = &table->rows[i];
        if (!row->is_flag_only && row->type != SETTING_OF_READER &&
            !is_same(row, settings + row->offset, scratch + row->offset))
            return true;
    }
    return false;
}

/* A file is empty whose values would change by that: it is being written. */
static bool is_emptied(const struct setting_table *table, const char *settings,
                       const char *scratch, const struct setting_files *files)
{
    for (size_t i = 0; i < files->blank_count; i++) {
        const char *now = *(char *const *)(settings + files->blanks[i]);
        const char *next = *(char *const *)(scratch + files->blanks[i]);
        if (now && *now && (!next || strcmp(now, next) != 0))
            return true;
    }
    return files->is_blank && differs(table, settings, scratch);
}

bool setting_reload(const struct setting_table *table, void *settings,
                    char *const *argv, struct setting_changes *changes,
                    struct err *err)
{
    CLEANUP(cleanup_free) char *scratch = calloc(1, table->size);
    struct setting_files files = { .count = 0 };
    if (!scratch)
        abort();
    buf_init(&changes->applied, 4096);
    buf_init(&changes->restart, 4096);
    bool loaded = load_anew(table, scratch, argv, &files, err);
    if (loaded && is_emptied(table, settings, scratch, &files))
        loaded = err_set(err, ERR_REJECT, "bad_setting",
                         "a file of settings or of a secret is empty, as if it "
                         "were being written");
    if (loaded && table->check)
        loaded = table->check(scratch, err);
    for (size_t i = 0; loaded && i < table->count; i++)
        apply(&table->rows[i], settings, scratch, changes);
    setting_files_finish(&files);
    setting_finish(table, scratch);
    return loaded;
}

/* -------------------------------------------------------------------- files */

void setting_files_find(const struct setting_table *table, char *const *argv,
                        struct setting_files *files)
{
    CLEANUP(cleanup_free) char *scratch = calloc(1, table->size);
    struct err err;
    if (!scratch)
        abort();
    *files = (struct setting_files){ .count = 0 };
    load_anew(table, scratch, argv, files, &err);
    setting_finish(table, scratch);
}

void setting_files_finish(struct setting_files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->paths[i]);
    files->count = 0;
}
