/* open.c - opens a session at the executor, and puts in what it lacks there. */
#include <stdio.h>

#include "consumer/blob.h"
#include "consumer/python/state.h"
#include "schemas/message/text.h"

enum { MAX_DROPS = 3 };

/* ------------------------------------------------------------ what is due */

void restore_files(struct python_session *session)
{
    session->restore.files_due = true;
    session->restore.file_at = 0;
}

/* Makes files, unless files_there, and earlier cells due, and goes on. Ends the
 * request when its call has lost its session too often. */
static enum pace begin_restoring(struct python_session *session,
                                 bool files_there)
{
    struct session_restore *restore = &session->restore;
    restore->files_due = !files_there;
    restore->file_at = 0;
    restore->cells_due = true;
    restore->cell_at = 0;
    run_lose_session(session);
    session->run.rerun_killed = 0;
    run_note_reruns(session);
    if (session->request.verb == SESSION_READ) {
        struct err why;
        err_set(&why, ERR_REJECT, "session_failed",
                "the executor went away before the file was read");
        return session_fail(session, &why);
    }
    return run_is_lost(session) ? run_give_up(session) : session_next(session);
}

/* The record names the packages that were installed when the variables were
 * saved; they are not there, either. */
static void lose_variables(struct python_session *session, const char *what,
                           struct view why)
{
    notice_add(&session->notice, CELL_LOST, "%s: %.*s", what,
               VIEW_ARG(view_head(why, 200)));
    notice_add_packages(&session->notice, "packages to install again",
                        &session->memo.record.packages);
}

static void tell_unsaved(struct python_session *session)
{
    const struct session_record *record = &session->memo.record;
    struct notice *notice = &session->notice;
    notice_add(notice, CELL_RESTORED,
               "the session was made again of what was saved of it");
    if (record->unsaved.len > 0)
        lose_variables(session, "variables were not saved", record->unsaved);
    notice_add_names(notice, "not saved", &record->missing, false);
    notice_add_files(notice, "files not saved", &record->files);
}

/* The executor has made a fresh session. Decides what is put in from the
 * record, and adds to the notice what was not saved.
 *
 * A record that already names this fresh session was written when everything
 * had been put in, by a request that was given up afterwards: nothing is due.
 */
static void plan_from_record(struct python_session *session)
{
    const struct session_record *record = &session->memo.record;
    bool is_made =
        memo_is_held_by(&session->memo, view_of(session->opening.holder));
    session->claim.holder_due = session_is_named(session) && !is_made;
    session->restore.record_due = false;
    if (!session->claim.holder_due || !memo_is_open(&session->memo) ||
        memo_is_blank(&session->memo))
        return;
    if (record->updated_ms > 0) {
        session->restore.record_due = true;
        tell_unsaved(session);
    } else if (!view_equal(record->job, session->setup.job)) {
        notice_add(&session->notice, CELL_LOST,
                   "the executor that had the session is gone, and neither "
                   "variables nor files of it were saved");
    }
}

/* ---------------------------------------------------------------- opening */

enum pace open_away(void *owner)
{
    struct python_session *session = owner;
    if (session_is_named(session) && session->claim.state != CLAIM_OURS)
        return session_enter(session, CLAIMING);
    if (executor_is_off(session->setup.executor)) {
        struct err why;
        err_set(&why, ERR_REJECT, "executor_unavailable",
                "the consumer that took the job has no executor "
                "(QUERN_EXECUTOR is " EXECUTOR_NONE ")");
        return session_fail(session, &why);
    }
    if (!executor_is_ready(session->setup.executor))
        return WAIT;
    return session_enter(session, OPENING);
}

static bool is_call(const struct python_session *session, struct view running,
                    struct view call)
{
    struct call_name name = session_call_name(session, call);
    return view_is(running, name.text);
}

/* Whether this request wants the outcome of the call that runs: the link was
 * lost while it ran, or an earlier attempt has sent it. It is the call itself,
 * or an earlier one that runs again. */
static bool is_awaited(const struct python_session *session,
                       struct view running)
{
    const struct session_request *request = &session->request;
    for (size_t i = 0; i < request->earlier.count; i++)
        if (is_call(session, running, request->earlier.cells[i].call))
            return true;
    return session->run.progress != CALL_UNSENT &&
           is_call(session, running, request->call);
}

/* A cell of an attempt that lost the job, or of a job that ended meanwhile: it
 * may wait for a tool whose answer nobody will send, and all that this attempt
 * asks for would wait behind it. */
static bool is_obsolete(const struct python_session *session,
                        struct view running)
{
    return running.len > 0 && !is_awaited(session, running);
}

static void on_opened(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    struct session_opening *opening = &session->opening;
    if (frame) {
        snprintf(opening->holder, sizeof(opening->holder), "%.*s",
                 VIEW_ARG(frame->holder));
        if (is_obsolete(session, frame->call))
            session_interrupt(session);
    }
    session_answered(session, frame);
}

enum pace open_enter(void *owner)
{
    struct python_session *session = owner;
    struct frame open = { .type = FRAME_OPEN, .limits = session->setup.limits };
    session->opening.presence = PRESENCE_ASKED;
    return session_ask(session, &open, on_opened);
}

/* Whether the executor's session is not the one of the record: it is left over
 * from before another executor had it, is half made, or the record has expired.
 */
static bool is_stale(const struct python_session *session)
{
    return session_is_named(session) && !session->exchange.fresh &&
           !memo_is_held_by(&session->memo, view_of(session->opening.holder));
}

enum pace open_landed(void *owner)
{
    struct python_session *session = owner;
    if (session->exchange.answer.kind != ERR_NONE)
        return session_fail(session, &session->exchange.answer);
    session->opening.presence = PRESENCE_OPEN;
    if (is_stale(session))
        return session_enter(session, DROPPING);
    if (session->exchange.fresh) {
        plan_from_record(session);
        return begin_restoring(session, false);
    }
    session->claim.holder_due = false;
    if (session->request.earlier.count == 0)
        return session_next(session);
    session->opening.check_first = false;
    return session_enter(session, CHECKING);
}

/* --------------------------------------------------------------- dropping */

enum pace open_enter_drop(void *owner)
{
    struct frame close = { .type = FRAME_CLOSE };
    return session_ask(owner, &close, session_answered);
}

enum pace open_dropped(void *owner)
{
    struct python_session *session = owner;
    session->opening.presence = PRESENCE_ASKED;
    if (++session->opening.drops > MAX_DROPS) {
        struct err why;
        err_set(&why, ERR_RETRY, "session_failed",
                "an older session of that name does not end");
        return session_fail(session, &why);
    }
    return session_enter(session, OPENING);
}

/* --------------------------------------------------------------- checking */

static size_t cell_to_check(const struct python_session *session)
{
    return session->opening.check_first ? 0
                                        : session->request.earlier.count - 1;
}

enum pace open_enter_check(void *owner)
{
    struct python_session *session = owner;
    const struct earlier_cell *cells = session->request.earlier.cells;
    struct call_name name =
        session_call_name(session, cells[cell_to_check(session)].call);
    /* Its answer tells whether the session knows the call; an earlier cell has
     * ended, and nobody needs its result any more. */
    struct frame ask = { .type = FRAME_FORGET, .call = view_of(name.text) };
    return session_ask(session, &ask, session_answered);
}

enum pace open_checked(void *owner)
{
    struct python_session *session = owner;
    bool seen = session->exchange.answer.kind == ERR_NONE;
    if (session->opening.check_first)
        return begin_restoring(session, seen);
    if (!seen) {
        session->opening.check_first = true;
        return session_enter(session, CHECKING);
    }
    /* An attempt that ran the last cell again may have died meanwhile. The cell
     * may still run, or its code wait for a tool: so it is sent once more. */
    session->restore.cells_due = true;
    session->restore.cell_at = cell_to_check(session);
    return session_next(session);
}

/* ------------------------------------------------------------------ files */

static size_t record_files(const struct python_session *session)
{
    return session->restore.record_due ? session->memo.record.files.count : 0;
}

/* The next file if it is one of the record; NULL: it is one of the job. */
static struct session_file *record_file(const struct python_session *session)
{
    struct session_file *files = session->memo.record.files.items;
    size_t at = session->restore.file_at;
    return at < record_files(session) ? &files[at] : NULL;
}

static struct session_file current_file(const struct python_session *session)
{
    const struct session_file *saved = record_file(session);
    const struct file_ref *files = session->setup.files.items;
    if (saved)
        return *saved;
    files += session->restore.file_at - record_files(session);
    return (struct session_file){ .name = files->name, .blob = files->blob };
}

/* Goes on without a file of the record, and tells the next cell. False: it is a
 * file of the job, without which the job cannot run. */
static bool do_without(struct python_session *session, struct view why)
{
    struct session_file *file = record_file(session);
    if (!file)
        return false;
    CLEANUP(buf_finish) struct buf name;
    buf_init(&name, 400);
    text_add_line(&name, file->name, 100);
    notice_add(&session->notice, CELL_RESTORED, "the file %.*s is gone: %.*s",
               VIEW_ARG(buf_view(&name)), VIEW_ARG(view_head(why, 120)));
    file->blob = (struct view){ 0 };
    file->note = VIEW("gone");
    session->exchange.answer = (struct err){ 0 };
    return true;
}

/* Sends all pieces of the file at once, as one request: the bytes are borrowed
 * from the reply of Redis. */
static void put_file(struct python_session *session, struct view bytes)
{
    struct executor *executor = session->setup.executor;
    struct frame put = { .type = FRAME_PUT,
                         .session = view_of(session->name),
                         .name = current_file(session).name };
    uint64_t *ref = &session->exchange.ref;
    bool first = true;
    do {
        size_t len = bytes.len < MAX_CHUNK_BYTES ? bytes.len : MAX_CHUNK_BYTES;
        put.data = (struct view){ bytes.data, len };
        put.last = len == bytes.len;
        if (first)
            *ref = executor_ask(executor, &put, session_answered, session);
        else
            executor_add(executor, &put, *ref);
        first = false;
        put.offset += len;
        bytes.data += len;
        bytes.len -= len;
    } while (bytes.len > 0);
}

/* Why the bytes of the blob cannot be used; NULL: they can. err is for the job,
 * in case it cannot do without the file. */
static const char *blob_flaw(const struct session_file *file,
                             const redisReply *reply, struct err *err)
{
    if (reply->type != REDIS_REPLY_STRING) {
        err_set(err, ERR_REJECT, "missing_blob",
                "the blob %.*s of the file \"%.*s\" is not there any more",
                VIEW_ARG(file->blob), VIEW_ARG(view_head(file->name, 64)));
        return "its bytes are not there any more";
    }
    if (!blob_is_sound(file->blob, (struct view){ reply->str, reply->len })) {
        err_set(err, ERR_REJECT, "bad_blob",
                "the blob of the file \"%.*s\" holds other bytes than its "
                "name %.*s says",
                VIEW_ARG(view_head(file->name, 64)), VIEW_ARG(file->blob));
        return "somebody has replaced its bytes";
    }
    return NULL;
}

static enum pace next_file(struct python_session *session)
{
    session->restore.file_at++;
    return session_enter(session, FETCHING_FILE);
}

static void on_file_blob(void *owner, const redisReply *reply,
                         const struct err *why)
{
    struct python_session *session = owner;
    if (!session_heard(session, FETCHING_FILE))
        return; /* asked before the connection broke */
    if (!reply) {
        session->exchange.answer = *why;
        session_land(session);
        return;
    }
    struct session_file file = current_file(session);
    const char *flaw = blob_flaw(&file, reply, &session->exchange.answer);
    if (!flaw) {
        session_enter(session, PUTTING_FILE);
        put_file(session, (struct view){ reply->str, reply->len });
    } else if (do_without(session, view_of(flaw))) {
        next_file(session);
    } else {
        session_land(session);
        return;
    }
    session_run(session);
}

enum pace restore_enter_fetch(void *owner)
{
    struct python_session *session = owner;
    struct session_restore *restore = &session->restore;
    while (record_file(session) && current_file(session).blob.len == 0)
        restore->file_at++; /* it was not saved, and the notice says so */
    if (restore->file_at < record_files(session) + session->setup.files.count)
        return session_fetch_blob(session, current_file(session).blob,
                                  on_file_blob);
    restore->files_due = false;
    return session_next(session);
}

enum pace restore_not_fetched(void *owner)
{
    struct python_session *session = owner;
    return session_fail(session, &session->exchange.answer);
}

enum pace restore_file_put(void *owner)
{
    struct python_session *session = owner;
    const struct err *answer = &session->exchange.answer;
    if (answer->kind != ERR_NONE && !do_without(session, view_of(answer->text)))
        return session_fail(session, answer);
    return next_file(session);
}

/* -------------------------------------------------------------- variables */

static const char not_restored[] = "variables could not be brought back";

static void on_restored(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct variables_report report;
    if (!frame || (frame->type != FRAME_DONE && frame->type != FRAME_FAILED))
        return; /* what code prints while its objects are unpickled */
    if (frame->type == FRAME_DONE) {
        const struct cell *cell = &frame->cell;
        report_read(&report, cell->result, &arena);
        if (cell->status != CELL_OK)
            lose_variables(session, not_restored, report_why(cell));
        notice_add_names(&session->notice, "not brought back", &report.left,
                         report.cut);
    }
    session_answered(session, frame);
}

static void send_variables(struct python_session *session,
                           struct view variables)
{
    struct call_name name = session_call_name(session, VIEW("restore"));
    struct frame restore = { .type = FRAME_RUN,
                             .call = view_of(name.text),
                             .task = TASK_RESTORE,
                             .picture = variables,
                             .cell_ms = RESTORE_MS };
    session_enter(session, RESTORING_VARIABLES);
    session_ask(session, &restore, on_restored);
    session_run(session);
}

static void forget_variables(struct python_session *session, const char *why)
{
    struct session_record *record = &session->memo.record;
    record->picture = (struct view){ 0 };
    record->unsaved = view_of(why);
    lose_variables(session, not_restored, record->unsaved);
}

/* Why the variables in the reply cannot be used; NULL: they can. */
static const char *variables_flaw(const struct python_session *session,
                                  const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING)
        return "what was saved of them is gone";
    if (reply->len > MAX_PICTURE_BYTES)
        return "what was saved of them is too large";
    if (!blob_is_sound(session->memo.record.picture,
                       (struct view){ reply->str, reply->len }))
        return "somebody has replaced what was saved of them";
    return NULL;
}

static void on_variables(void *owner, const redisReply *reply,
                         const struct err *why)
{
    struct python_session *session = owner;
    if (!session_heard(session, FETCHING_VARIABLES))
        return;
    const char *flaw = reply ? variables_flaw(session, reply) : NULL;
    if (reply && !flaw) {
        send_variables(session, (struct view){ reply->str, reply->len });
        return;
    }
    if (flaw)
        forget_variables(session, flaw);
    else
        session->exchange.answer = *why;
    session_land(session);
}

enum pace restore_enter_variables(void *owner)
{
    struct python_session *session = owner;
    return session_fetch_blob(session, session->memo.record.picture,
                              on_variables);
}

static enum pace end_variables(struct python_session *session)
{
    session->restore.record_due = false;
    return session_next(session);
}

enum pace restore_no_variables(void *owner)
{
    struct python_session *session = owner;
    if (session->exchange.answer.kind != ERR_NONE)
        return session_fail(session, &session->exchange.answer);
    return end_variables(session);
}

enum pace restore_variables_landed(void *owner)
{
    struct python_session *session = owner;
    if (session->exchange.answer.kind != ERR_NONE)
        return session_fail(session, &session->exchange.answer);
    session_forget(session, VIEW("restore"));
    return end_variables(session);
}

/* ---------------------------------------------------------- earlier cells */

static const struct earlier_cell *
current_cell(const struct python_session *session)
{
    return &session->request.earlier.cells[session->restore.cell_at];
}

static void on_rerun(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    if (!frame)
        return;
    struct view call = current_cell(session)->call;
    if (frame->type == FRAME_RESTART) {
        session_resume_clock(session);
        session->events.on_rerun(session->owner, call);
    }
    if (frame->type == FRAME_TOOL)
        session_hear_tool(session, call, frame, true);
    /* The session was lost over the earlier cell: the ones behind it would run
     * without the variables of those before. */
    if (frame->type == FRAME_DONE && frame->cell.state == CELL_LOST) {
        session->restore.cells_due = false;
        session->restore.files_due = frame->emptied;
        session->restore.file_at = 0;
    }
    if (frame->type == FRAME_DONE)
        run_count_rerun(session, &frame->cell);
    if (frame->type == FRAME_DONE || frame->type == FRAME_FAILED)
        session_answered(session, frame);
}

enum pace restore_enter_cell(void *owner)
{
    struct python_session *session = owner;
    if (session->restore.cell_at >= session->request.earlier.count) {
        session->restore.cells_due = false;
        return session_next(session);
    }
    const struct earlier_cell *cell = current_cell(session);
    struct call_name name = session_call_name(session, cell->call);
    struct frame again =
        session_run_frame(session, &name, cell->code, cell->number);
    session->events.on_rerun(session->owner, cell->call);
    return session_ask(session, &again, on_rerun);
}

enum pace restore_cell_landed(void *owner)
{
    struct python_session *session = owner;
    if (session->exchange.answer.kind != ERR_NONE)
        return session_fail(session, &session->exchange.answer);
    session->restore.cell_at++;
    if (session->exchange.fresh) /* else it had ended before it was sent */
        run_note_reruns(session);
    return session_next(session);
}
