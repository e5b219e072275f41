/* session_save.c - what a session that outlives jobs is, into Redis.
 *
 * Names as a picture, files of the workspace, each a blob; then one record that
 * says all. What is too much, or cannot be saved, is named in it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/blob.h"
#include "consumer/python/session_step.h"

enum {
    BLOB_MS = 3600 * 1000, /* until the record keeps it */
    PATHS_BYTES = 64 << 10,
};

/* Of one save; the record is put together in the arena. */
struct saving {
    struct arena arena;
    struct session_record next;
    struct session_file *files;
    size_t count, at;
    uint64_t bytes_left;
    struct call_name call;
    bool all_anew; /* blobs that should be there were not */
};

void saving_free(struct saving *saving)
{
    if (saving == NULL)
        return;
    arena_finish(&saving->arena);
    free(saving);
}

static struct saving *saving_new(struct session *session)
{
    struct saving *saving = calloc(1, sizeof(*saving));
    if (saving == NULL)
        abort();
    saving->next = session_record_next(&session->setup, &session->memo);
    saving->bytes_left = session->setup.files_bytes;
    struct session_record *next = &saving->next;
    next->holder = view_of(session->holder);
    next->job = session->setup.job;
    next->cells += session->wish.cells;
    next->picture = next->unsaved = (struct view){ 0 };
    next->picture_bytes = 0;
    next->missing = next->files = (struct list){ 0 };
    session_record_say(session, next);
    return saving;
}

/* blob: the name of its bytes. */
static void keep(struct session *session, struct view blob, struct view bytes)
{
    blob_put(session->setup.store, session->setup.names, blob, bytes, BLOB_MS,
             NULL, NULL);
}

static struct view name_of(struct saving *saving, struct view bytes)
{
    char blob[BLOB_NAME_LEN + 1];
    blob_name(bytes, blob);
    return arena_copy(&saving->arena, view_of(blob));
}

/* ------------------------------------------------------------------ names */

static void take_picture(struct session *session, const struct frame *done)
{
    struct saving *saving = session->saving;
    struct session_record *next = &saving->next;
    const struct cell *cell = &done->cell;
    struct variables_report report;
    if (cell->state == CELL_LOST)
        notice_add(&session->notice, CELL_LOST, "%.*s",
                   VIEW_ARG(view_head(cell->reason, 300)));
    if (cell->status != CELL_OK || done->picture.len == 0) {
        CLEANUP(buf_finish) struct buf text;
        buf_init(&text, 1000);
        buf_printf(&text, "saving them ended with \"%s\": %.*s",
                   cell_status_names[cell->status],
                   VIEW_ARG(view_head(session_why(cell), 300)));
        next->unsaved = arena_copy(&saving->arena, buf_view(&text));
        return; /* packages: as far as they are known */
    }
    report_read(&report, cell->result, &saving->arena);
    next->missing = report.left;
    if (report.cut)
        missing_add(&next->missing, "and more", "there are more of them",
                    &saving->arena);
    next->packages = report.packages;
    next->picture = name_of(saving, done->picture);
    keep(session, next->picture, done->picture);
    next->picture_bytes = done->picture.len;
}

static void on_saved(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL ||
        (frame->type != FRAME_DONE && frame->type != FRAME_FAILED))
        return; /* what its own code prints while it is pickled */
    if (frame->type == FRAME_DONE)
        take_picture(session, frame);
    session_answered(session, frame);
}

enum pace session_saving(void *owner)
{
    struct session *session = owner;
    if (!session->begun) {
        saving_free(session->saving);
        session->saving = saving_new(session);
        struct saving *saving = session->saving;
        if (!session->setup.saves) {
            saving->next.unsaved = VIEW("this consumer saves none");
            missing_add(&saving->next.missing, "files",
                        "this consumer saves none", &saving->arena);
            session_enter(session, SESSION_WRITING);
            return AGAIN;
        }
        char call[64];
        snprintf(call, sizeof(call), "save-%" PRIu64 "-%u",
                 session->setup.holding.epoch, ++session->saves);
        saving->call = session_call_name(session, view_of(call));
        struct frame save = { .type = FRAME_RUN,
                              .call = view_of(saving->call.text),
                              .task = TASK_SAVE,
                              .cell_ms = SAVE_MS };
        return session_ask(session, &save, on_saved);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    struct frame forget = { .type = FRAME_FORGET,
                            .session = view_of(session->name),
                            .call = view_of(session->saving->call.text) };
    executor_ask(session->setup.executor, &forget, NULL, NULL);
    session_enter(session, SESSION_LISTING);
    return AGAIN;
}

/* ------------------------------------------------------------------ files */

static void list_file(struct saving *saving, const struct workspace_file *from)
{
    saving->files[saving->count++] = (struct session_file){
        .name = arena_copy(&saving->arena, from->name),
        .bytes = from->bytes,
    };
}

static void on_listing(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    struct saving *saving = session->saving;
    const struct workspace_file *all = frame->files.items;
    size_t paths = 0;
    saving->files =
        arena_alloc(&saving->arena, MAX_SESSION_FILES * sizeof(*saving->files));
    size_t i = 0;
    for (; i < frame->files.count && saving->count < MAX_SESSION_FILES; i++) {
        paths += all[i].name.len;
        if (paths > PATHS_BYTES)
            break;
        list_file(saving, &all[i]);
    }
    if (i < frame->files.count) {
        char name[64];
        snprintf(name, sizeof(name), "%zu more files", frame->files.count - i);
        missing_add(&saving->next.missing, name,
                    "there are more than are saved", &saving->arena);
    }
    session_answered(session, frame);
}

enum pace session_listing(void *owner)
{
    struct session *session = owner;
    struct frame list = { .type = FRAME_LIST };
    if (!session->begun)
        return session_ask(session, &list, on_listing);
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    session_enter(session, SESSION_COLLECTING);
    return AGAIN;
}

/* Its bytes are known to be there: the last record keeps them. */
static bool is_known(const struct session *session, struct view blob)
{
    const struct list *list = &session->memo.record.files;
    const struct session_file *files = list->items;
    if (session->saving->all_anew || !memo_is_open(&session->memo))
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (view_equal(files[i].blob, blob))
            return true;
    return false;
}

static void take_file(struct session *session, struct session_file *file)
{
    struct saving *saving = session->saving;
    struct view bytes = buf_view(&session->file);
    if (session->answer.kind != ERR_NONE) {
        file->blob = (struct view){ 0 };
        file->note = arena_copy(&saving->arena,
                                view_head(view_of(session->answer.text), 150));
        return;
    }
    file->blob = name_of(saving, bytes);
    if (!is_known(session, file->blob))
        keep(session, file->blob, bytes);
    file->bytes = bytes.len;
    saving->bytes_left -=
        bytes.len < saving->bytes_left ? bytes.len : saving->bytes_left;
}

/* Why it is not even asked for. */
static const char *refusal(const struct saving *saving,
                           const struct session_file *file)
{
    if (file->bytes > MAX_FILE_BYTES)
        return "not saved, it is larger than " MAX_FILE_WORDS;
    if (file->bytes > saving->bytes_left)
        return "not saved, the files of the session are too large together";
    return NULL;
}

enum pace session_collecting(void *owner)
{
    struct session *session = owner;
    struct saving *saving = session->saving;
    if (session->begun && !session->landed)
        return WAIT;
    if (session->begun)
        take_file(session, &saving->files[saving->at++]);
    while (saving->at < saving->count) {
        struct session_file *file = &saving->files[saving->at];
        const char *why = refusal(saving, file);
        if (why == NULL) {
            session_enter(session, SESSION_COLLECTING);
            return session_fetch(session, file->name);
        }
        file->note = view_of(why);
        saving->at++;
    }
    saving->next.files = (struct list){ saving->files, saving->count };
    session_enter(session, SESSION_WRITING);
    return AGAIN;
}

/* Somebody has deleted what the last record names. */
static enum pace collect_anew(struct session *session)
{
    struct saving *saving = session->saving;
    saving->all_anew = true;
    saving->at = 0;
    saving->bytes_left = session->setup.files_bytes;
    session_enter(session, SESSION_COLLECTING);
    return AGAIN;
}

enum pace session_writing(void *owner)
{
    struct session *session = owner;
    struct saving *saving = session->saving;
    if (!session->begun) {
        saving->next.updated_ms = session_wall_ms();
        session_record_tell(session, &saving->next);
        return session_write(session, &saving->next);
    }
    if (!session->landed)
        return WAIT;
    if (record_forget_history(&saving->next, &session->answer))
        return session_write_again(session);
    if (strcmp(session->answer.code, "missing_blob") == 0 && !saving->all_anew)
        return collect_anew(session);
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    return session_done(session);
}
