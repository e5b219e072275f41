/* record.c - the record in Redis of a session with a name: claims it for a job,
 * writes it, and saves the session into it. */
#include "consumer/python/record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "consumer/blob.h"
#include "consumer/python/state.h"

enum {
    FIRST_WAIT_MS = 20, /* for the job's turn, then doubled */
    MOST_WAIT_MS = 500,
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

/* ------------------------------------------------------------ what it tells */

bool memo_read(struct session_memo *memo, struct view bytes, struct err *err)
{
    memo_finish(memo);
    if (bytes.len == 0)
        return true;
    struct view kept = arena_copy(&memo->arena, bytes);
    memo->exists = message_decode(&schema_session_record, kept, &memo->record,
                                  &memo->arena, err);
    return memo->exists;
}

void memo_finish(struct session_memo *memo)
{
    arena_finish(&memo->arena);
    *memo = (struct session_memo){ 0 };
}

bool memo_is_open(const struct session_memo *memo)
{
    return memo->exists && !memo->record.closed;
}

bool memo_is_held_by(const struct session_memo *memo, struct view holder)
{
    return memo->exists && holder.len > 0 &&
           view_equal(memo->record.holder, holder);
}

bool memo_is_blank(const struct session_memo *memo)
{
    const struct session_record *record = &memo->record;
    return memo_is_open(memo) && record->updated_ms > 0 &&
           record->holder.len == 0 && record->cells == 0 &&
           record->picture.len == 0 && record->unsaved.len == 0 &&
           record->files.count == 0;
}

bool memo_has_history(const struct session_memo *memo, struct view history)
{
    return history.len == 0 || view_equal(memo->record.history, history);
}

bool memo_is_saved_by(const struct session_memo *memo, struct view job)
{
    return memo->exists && memo->record.updated_ms > 0 &&
           view_equal(memo->record.job, job);
}

/* The error's sentence names the blob. */
static bool is_missing(struct view blob, const struct err *why)
{
    char name[65];
    snprintf(name, sizeof(name), "%.*s", VIEW_ARG(blob));
    return *name != '\0' && strcmp(why->code, "missing_blob") == 0 &&
           strstr(why->text, name);
}

static bool record_forget_history(struct session_record *record,
                                  const struct err *why)
{
    if (!is_missing(record->history, why))
        return false;
    record->history = (struct view){ 0 };
    record->history_bytes = record->exchanges = 0;
    return true;
}

bool record_forget_blob(struct session_record *record, const struct err *why)
{
    struct session_file *files = record->files.items;
    bool any = record_forget_history(record, why);
    if (is_missing(record->picture, why)) {
        record->picture = (struct view){ 0 };
        record->picture_bytes = 0;
        record->unsaved = VIEW("what was saved of them is gone");
        any = true;
    }
    for (size_t i = 0; i < record->files.count; i++) {
        if (!is_missing(files[i].blob, why))
            continue;
        files[i].blob = (struct view){ 0 };
        files[i].note = VIEW("gone");
        any = true;
    }
    return any;
}

/* ------------------------------------------------------------------- life */

static void draft_free(struct session_draft *draft)
{
    if (!draft)
        return;
    arena_finish(&draft->arena);
    free(draft);
}

void record_finish(struct python_session *session)
{
    buf_finish(&session->claim.record);
    memo_finish(&session->memo);
    draft_free(session->saving.draft);
}

/* --------------------------------------------------------------- claiming */

/* Takes the notice from the record: what an earlier attempt, or job, had to
 * tell the next cell and did not. */
static void recall_notice(struct python_session *session)
{
    const struct session_record *record = &session->memo.record;
    notice_finish(&session->notice);
    notice_init(&session->notice);
    if (memo_is_open(&session->memo) && record->note.len > 0 &&
        !session->claim.notice_told)
        notice_add(&session->notice, (enum cell_state)record->state, "%.*s",
                   VIEW_ARG(record->note));
}

/* Asks again after a while. on_stuck() may free the session: nothing may follow
 * it. */
static void wait_for_turn(struct python_session *session, bool somebody_works)
{
    struct session_claim *claim = &session->claim;
    uint64_t next_ms = claim->wait_ms * 2;
    if (claim->wait_ms == 0)
        next_ms = FIRST_WAIT_MS;
    claim->wait_ms = next_ms < MOST_WAIT_MS ? next_ms : MOST_WAIT_MS;
    claim->state = CLAIM_WAITS;
    alarm_set(session->alarm, claim->wait_ms);
    if (!somebody_works && claim->wait_ms == MOST_WAIT_MS)
        session->events.on_stuck(session->owner);
}

static void on_claimed(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct python_session *session = owner;
    struct err *answer = &session->exchange.answer;
    struct session_claim_reply claim;
    if (!session_heard(session, CLAIMING))
        return;
    if (!reply) {
        *answer = *why;
    } else if (!transition_session_claimed(reply, &claim, answer)) {
        assert(answer->kind != ERR_NONE);
    } else if (!claim.mine) {
        wait_for_turn(session, claim.runs);
        return;
    } else if (memo_read(&session->memo, claim.record, answer)) {
        session->claim.state = CLAIM_OURS;
        recall_notice(session);
    } else {
        err_prefix(answer, "what is kept of the session");
    }
    session_land(session);
}

enum pace record_enter_claim(void *owner)
{
    struct python_session *session = owner;
    const struct session_setup *setup = &session->setup;
    struct command command;
    session->claim.state = CLAIM_NONE;
    transition_session_claim(&command, setup->names, setup->lease, setup->key,
                             setup->ttl_ms);
    session->exchange.sent++;
    store_send(setup->store, &command, on_claimed, session);
    command_finish(&command);
    return WAIT;
}

enum pace record_claimed(void *owner)
{
    struct python_session *session = owner;
    const struct session_request *request = &session->request;
    if (session->exchange.answer.kind != ERR_NONE)
        return session_fail(session, &session->exchange.answer);
    session->claim.wait_ms = 0;
    bool is_saved = memo_is_saved_by(&session->memo, session->setup.job) &&
                    memo_has_history(&session->memo, request->saved.blob);
    if (request->verb == SESSION_REMEMBER)
        return session_enter(session, WRITING_HISTORY);
    if (request->verb == SESSION_CLAIM ||
        (request->verb == SESSION_SAVE && is_saved))
        return session_done(session);
    return session_enter(session, AWAY);
}

/* ---------------------------------------------------------------- writing */

static uint64_t record_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct session_record record_next(const struct session_setup *setup,
                                  const struct session_memo *memo)
{
    struct session_record next = { .created_ms = record_wall_ms(),
                                   .job = setup->job };
    if (memo_is_open(memo))
        next = memo->record;
    next.name = setup->key.name;
    next.tenant = setup->key.tenant;
    next.holder = (struct view){ 0 };
    next.generation = (memo->exists ? memo->record.generation : 0) + 1;
    return next;
}

bool record_send(struct python_session *session, struct session_key key,
                 uint64_t generation, const struct session_record *record,
                 store_done *done, void *owner, struct err *err)
{
    const struct session_setup *setup = &session->setup;
    struct buf *bytes = &session->claim.record;
    struct command command;
    buf_finish(bytes);
    buf_init(bytes, MAX_SESSION_BYTES);
    if (!message_encode(&schema_session_record, record, bytes, err))
        return false;
    struct session_save save = {
        .lease = setup->lease,
        .session = key,
        .generation = generation,
        .closed = record->closed,
        .ttl_ms = setup->ttl_ms,
        .kept_ms = setup->kept_ms,
        .record = buf_view(bytes),
        .picture = record->picture,
        .history = record->history,
        .files = record->files,
    };
    transition_session_save(&command, setup->names, &save);
    store_commit(setup->store, &command, done, owner);
    command_finish(&command);
    return true;
}

static void record_add_history(const struct python_session *session,
                               struct session_record *record)
{
    const struct saved_history *saved = &session->request.saved;
    if (saved->blob.len == 0)
        return;
    record->history = saved->blob;
    record->history_bytes = saved->bytes;
    record->exchanges = saved->exchanges;
}

static void record_add_notice(const struct python_session *session,
                              struct session_record *record)
{
    record->state = (int)session->notice.state;
    record->note = buf_view(&session->notice.text);
}

static void on_written(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct python_session *session = owner;
    struct err *answer = &session->exchange.answer;
    enum python_state state = session->machine.state;
    bool writes = state == NAMING_HOLDER || state == WRITING_HISTORY;
    if (!session_heard(session, writes ? state : WRITING_RECORD))
        return;
    if (!reply) {
        *answer = *why;
        session->claim.state = CLAIM_NONE;
        /* Another job has written: the next attempt reads what. */
        if (strcmp(why->code, "misplaced") == 0)
            answer->kind = ERR_RETRY;
    } else {
        memo_read(&session->memo, buf_view(&session->claim.record), answer);
    }
    session_land(session);
}

static enum pace record_write(struct python_session *session,
                              const struct session_record *record)
{
    struct err why;
    session->exchange.sent++;
    if (record_send(session, session->setup.key, record->generation - 1, record,
                    on_written, session, &why))
        return WAIT;
    session->exchange.sent--;
    return session_fail(session, &why);
}

/* ----------------------------------------------- its holder, its history */

enum pace record_enter_holder(void *owner)
{
    struct python_session *session = owner;
    struct session_record next = record_next(&session->setup, &session->memo);
    next.holder = view_of(session->opening.holder);
    record_add_notice(session, &next);
    return record_write(session, &next);
}

enum pace record_holder_named(void *owner)
{
    struct python_session *session = owner;
    const struct err *answer = &session->exchange.answer;
    if (record_forget_blob(&session->memo.record, answer))
        return session_enter(session, NAMING_HOLDER);
    if (answer->kind != ERR_NONE)
        return session_fail(session, answer);
    session->claim.holder_due = session->claim.notice_told = false;
    return session_next(session);
}

/* Variables, files and holder stay as they are in the record. */
enum pace record_enter_history(void *owner)
{
    struct python_session *session = owner;
    const struct session_memo *memo = &session->memo;
    struct session_record next = record_next(&session->setup, memo);
    if (memo_is_open(memo))
        next.holder = memo->record.holder;
    else
        next.updated_ms = next.created_ms; /* it has nothing else to save */
    record_add_history(session, &next);
    return record_write(session, &next);
}

enum pace record_history_written(void *owner)
{
    struct python_session *session = owner;
    const struct err *answer = &session->exchange.answer;
    if (record_forget_blob(&session->memo.record, answer))
        return session_enter(session, WRITING_HISTORY);
    if (answer->kind != ERR_NONE)
        return session_fail(session, answer);
    return session_done(session);
}

/* -------------------------------------------------- saving: the variables */

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

/* ------------------------------------------------------- saving: the files */

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

/* A file of this job, or of an earlier one, that has the same bytes still. */
static bool file_is_given(const struct python_session *session,
                          const struct session_file *file)
{
    const struct list *saved = &session->memo.record.files;
    const struct session_file *earlier = saved->items;
    const struct list *put = &session->setup.files;
    const struct file_ref *own = put->items;
    for (size_t i = 0; i < put->count; i++)
        if (view_equal(own[i].name, file->name))
            return view_equal(own[i].blob, file->blob);
    for (size_t i = 0; i < saved->count; i++)
        if (view_equal(earlier[i].name, file->name))
            return earlier[i].given && view_equal(earlier[i].blob, file->blob);
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
    file->given = file_is_given(session, file);
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

/* ------------------------------------------------------ saving: the record */

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
