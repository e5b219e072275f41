/* save.c - saves a session with a name in Redis. */
#include "consumer/python/save.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/blob.h"
#include "consumer/python/report.h"
#include "consumer/python/state.h"

enum {
    BLOB_MS = 3600 * 1000,  /* by then the record must name and so keep it */
    PATHS_BYTES = 64 << 10, /* of all paths together: they go into the record */
};

/* The record in the making. Its parts are in the arena. */
struct session_draft {
    struct arena arena;
    struct session_record next;
    struct session_file *files; /* of the workspace */
    size_t count, at;           /* of files; the next one to be saved */
    uint64_t bytes_left;        /* that files may still have together */
    struct call_name call;      /* that saves the variables */
    bool all_anew; /* write all blobs: one that should be in Redis was not */
};

static void draft_free(struct session_draft *draft)
{
    if (!draft)
        return;
    arena_finish(&draft->arena);
    free(draft);
}

void save_finish(struct session_saving *saving)
{
    draft_free(saving->draft);
}

static struct session_draft *draft_new(const struct python_session *session)
{
    struct session_draft *draft = calloc(1, sizeof(*draft));
    if (!draft)
        abort();
    draft->next = record_next(&session->setup, &session->memo);
    draft->bytes_left = session->setup.files_bytes;
    struct session_record *next = &draft->next;
    next->holder = view_of(session->opening.holder);
    next->job = session->setup.job;
    next->cells += session->request.cells;
    next->picture = next->unsaved = (struct view){ 0 };
    next->picture_bytes = 0;
    next->missing = next->files = (struct list){ 0 };
    record_add_history(session, next);
    return draft;
}

/* Writes a blob. No answer is waited for: requests are carried out in order,
 * and Redis refuses the record if a blob that it names is missing. blob: its
 * name. */
static void save_keep_blob(const struct python_session *session,
                           struct view blob, struct view bytes)
{
    blob_put(session->setup.store, session->setup.names, blob, bytes, BLOB_MS,
             NULL, NULL);
}

static struct view save_blob_name(struct session_draft *draft,
                                  struct view bytes)
{
    char blob[BLOB_NAME_LEN + 1];
    blob_name(bytes, blob);
    return arena_copy(&draft->arena, view_of(blob));
}

/* -------------------------------------------------------------- variables */

static void take_variables(struct python_session *session,
                           const struct frame *done)
{
    struct session_draft *draft = session->saving.draft;
    struct session_record *next = &draft->next;
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
                   VIEW_ARG(view_head(report_why(cell), 300)));
        next->unsaved = arena_copy(&draft->arena, buf_view(&text));
        return; /* packages: those of the last record */
    }
    report_read(&report, cell->result, &draft->arena);
    next->missing = report.left;
    if (report.cut)
        missing_add(&next->missing, "and more", "there are more of them",
                    &draft->arena);
    next->packages = report.packages;
    next->picture = save_blob_name(draft, done->picture);
    save_keep_blob(session, next->picture, done->picture);
    next->picture_bytes = done->picture.len;
}

static void on_saved(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    if (!frame || (frame->type != FRAME_DONE && frame->type != FRAME_FAILED))
        return; /* what code prints while its objects are pickled */
    if (frame->type == FRAME_DONE)
        take_variables(session, frame);
    session_answered(session, frame);
}

static enum pace save_nothing(struct python_session *session)
{
    struct session_draft *draft = session->saving.draft;
    draft->next.unsaved = VIEW("this consumer saves none");
    missing_add(&draft->next.missing, "files", "this consumer saves none",
                &draft->arena);
    return session_enter(session, WRITING_RECORD);
}

enum pace save_enter_variables(void *owner)
{
    struct python_session *session = owner;
    struct session_saving *saving = &session->saving;
    draft_free(saving->draft);
    saving->draft = draft_new(session);
    if (!session->setup.saves)
        return save_nothing(session);
    char call[64];
    snprintf(call, sizeof(call), "save-%" PRIu64 "-%u",
             session->setup.lease.epoch, ++saving->saves);
    saving->draft->call = session_call_name(session, view_of(call));
    struct frame save = { .type = FRAME_RUN,
                          .call = view_of(saving->draft->call.text),
                          .task = TASK_SAVE,
                          .cell_ms = SAVE_MS };
    return session_ask(session, &save, on_saved);
}

enum pace save_variables_landed(void *owner)
{
    struct python_session *session = owner;
    if (session->exchange.answer.kind != ERR_NONE)
        return session_fail(session, &session->exchange.answer);
    struct frame forget = {
        .type = FRAME_FORGET,
        .session = view_of(session->name),
        .call = view_of(session->saving.draft->call.text),
    };
    executor_ask(session->setup.executor, &forget, NULL, NULL);
    return session_enter(session, LISTING_FILES);
}

/* ------------------------------------------------------------------ files */

static void list_file(struct session_draft *draft,
                      const struct workspace_file *from)
{
    draft->files[draft->count++] = (struct session_file){
        .name = arena_copy(&draft->arena, from->name),
        .bytes = from->bytes,
    };
}

static void on_listed(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    if (!frame)
        return;
    struct session_draft *draft = session->saving.draft;
    const struct workspace_file *all = frame->files.items;
    size_t paths = 0, i = 0;
    draft->files =
        arena_alloc(&draft->arena, MAX_SESSION_FILES * sizeof(*draft->files));
    for (; i < frame->files.count && draft->count < MAX_SESSION_FILES; i++) {
        paths += all[i].name.len;
        if (paths > PATHS_BYTES)
            break;
        list_file(draft, &all[i]);
    }
    if (i < frame->files.count) {
        char name[64];
        snprintf(name, sizeof(name), "%zu more files", frame->files.count - i);
        missing_add(&draft->next.missing, name, "there are more than are saved",
                    &draft->arena);
    }
    session_answered(session, frame);
}

enum pace save_enter_list(void *owner)
{
    struct frame list = { .type = FRAME_LIST };
    return session_ask(owner, &list, on_listed);
}

enum pace save_listed(void *owner)
{
    struct python_session *session = owner;
    if (session->exchange.answer.kind != ERR_NONE)
        return session_fail(session, &session->exchange.answer);
    return session_enter(session, SAVING_FILES);
}

/* Whether Redis has the blob already, because the last record names it. */
static bool save_is_kept(const struct python_session *session, struct view blob)
{
    const struct list *list = &session->memo.record.files;
    const struct session_file *files = list->items;
    if (session->saving.draft->all_anew || !memo_is_open(&session->memo))
        return false;
    for (size_t i = 0; i < list->count; i++)
        if (view_equal(files[i].blob, blob))
            return true;
    return false;
}

static void take_file(struct python_session *session, struct session_file *file)
{
    struct session_draft *draft = session->saving.draft;
    struct view bytes = buf_view(&session->file);
    const struct err *answer = &session->exchange.answer;
    if (answer->kind != ERR_NONE) {
        file->blob = (struct view){ 0 };
        file->note =
            arena_copy(&draft->arena, view_head(view_of(answer->text), 150));
        return;
    }
    file->blob = save_blob_name(draft, bytes);
    if (!save_is_kept(session, file->blob))
        save_keep_blob(session, file->blob, bytes);
    file->bytes = bytes.len;
    draft->bytes_left -=
        bytes.len < draft->bytes_left ? bytes.len : draft->bytes_left;
}

/* Why the executor is not even asked for the file, or NULL. */
static const char *save_refusal(const struct session_draft *draft,
                                const struct session_file *file)
{
    if (file->bytes > MAX_FILE_BYTES)
        return "not saved, it is larger than " MAX_FILE_WORDS;
    if (file->bytes > draft->bytes_left)
        return "not saved, the files of the session are too large together";
    return NULL;
}

/* Asks for the next file that can be saved. */
enum pace save_enter_files(void *owner)
{
    struct python_session *session = owner;
    struct session_draft *draft = session->saving.draft;
    for (; draft->at < draft->count; draft->at++) {
        struct session_file *file = &draft->files[draft->at];
        const char *why = save_refusal(draft, file);
        if (!why)
            return run_ask_file(session, file->name);
        file->note = view_of(why);
    }
    draft->next.files = (struct list){ draft->files, draft->count };
    return session_enter(session, WRITING_RECORD);
}

enum pace save_file_read(void *owner)
{
    struct python_session *session = owner;
    struct session_draft *draft = session->saving.draft;
    take_file(session, &draft->files[draft->at++]);
    return session_enter(session, SAVING_FILES);
}

/* ----------------------------------------------------------------- record */

/* A blob that the last record names is gone: save_is_kept() was wrong. */
static enum pace save_files_anew(struct python_session *session)
{
    struct session_draft *draft = session->saving.draft;
    draft->all_anew = true;
    draft->at = 0;
    draft->bytes_left = session->setup.files_bytes;
    return session_enter(session, SAVING_FILES);
}

enum pace save_enter_record(void *owner)
{
    struct python_session *session = owner;
    struct session_record *next = &session->saving.draft->next;
    next->updated_ms = record_wall_ms();
    record_add_notice(session, next);
    return record_write(session, next);
}

enum pace save_record_written(void *owner)
{
    struct python_session *session = owner;
    struct session_draft *draft = session->saving.draft;
    const struct err *answer = &session->exchange.answer;
    if (record_forget_history(&draft->next, answer))
        return session_enter(session, WRITING_RECORD);
    if (strcmp(answer->code, "missing_blob") == 0 && !draft->all_anew)
        return save_files_anew(session);
    if (answer->kind != ERR_NONE)
        return session_fail(session, answer);
    return session_done(session);
}
