/* session_record.c - a session that outlives jobs: claimed, made again of what
 * was saved of it, and held. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "consumer/blob.h"
#include "consumer/python/session_step.h"

enum {
    FIRST_WAIT_MS = 20,
    MOST_WAIT_MS = 500,
    MAX_DROPS = 3,
};

bool session_is_named(const struct session *session)
{
    return session->setup.key.name.len > 0;
}

/* An answer of Redis that the state does not wait for any more? */
bool session_heard(struct session *session, enum session_state state)
{
    session->fetched++;
    return session->machine.state == state &&
           session->fetched == session->fetches;
}

static void session_send(struct session *session, struct command *command,
                         store_done *done)
{
    session->begun = true;
    session->fetches++;
    store_send(session->setup.store, command, done, session);
    command_finish(command);
}

enum pace session_read(struct session *session, struct view blob,
                       store_done *done)
{
    session->begun = true;
    session->fetches++;
    blob_get(session->setup.store, session->setup.names, blob, done, session);
    return WAIT;
}

/* ------------------------------------------------------------- whose turn */

bool session_waits(const struct session *session)
{
    return session->machine.state == SESSION_CLAIMING && session->waiting;
}

/* What an earlier attempt, or job, had to tell and did not. */
static void recall_notice(struct session *session)
{
    const struct session_record *record = &session->memo.record;
    notice_finish(&session->notice);
    notice_init(&session->notice);
    if (memo_is_open(&session->memo) && record->note.len > 0 &&
        !session->reported)
        notice_add(&session->notice, (enum cell_state)record->state, "%.*s",
                   VIEW_ARG(record->note));
}

static void on_claimed(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct session *session = owner;
    struct session_turn turn;
    if (!session_heard(session, SESSION_CLAIMING))
        return;
    if (reply == NULL) {
        session->answer = *why;
    } else if (!transition_session_claimed(reply, &turn, &session->answer)) {
        assert(session->answer.kind != ERR_NONE);
    } else if (!turn.mine) {
        session->wait_ms = session->wait_ms == 0 ? FIRST_WAIT_MS
                           : session->wait_ms * 2 < MOST_WAIT_MS
                               ? session->wait_ms * 2
                               : MOST_WAIT_MS;
        session->waiting = true;
        alarm_set(session->alarm, session->wait_ms);
        if (!turn.runs && session->wait_ms == MOST_WAIT_MS)
            session->events.on_stuck(session->owner);
        return; /* the session may be gone */
    } else if (memo_read(&session->memo, turn.record, &session->answer)) {
        session->claimed = true;
        recall_notice(session);
    } else {
        err_prefix(&session->answer, "what is kept of the session");
    }
    session->landed = true;
    session_run(session);
}

enum pace session_claiming(void *owner)
{
    struct session *session = owner;
    if (!session->begun) {
        struct command command;
        const struct session_setup *setup = &session->setup;
        session->waiting = false;
        transition_session_claim(&command, setup->names, setup->holding,
                                 setup->key, setup->ttl_ms);
        session_send(session, &command, on_claimed);
        return WAIT;
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    session->wait_ms = 0;
    bool saved = memo_is_saved_by(&session->memo, session->setup.job) &&
                 memo_has_history(&session->memo, session->wish.said.blob);
    if (session->wish.kind == WISH_NOTE) {
        session_enter(session, SESSION_NOTING);
        return AGAIN;
    }
    if (session->wish.kind == WISH_CLAIM ||
        (session->wish.kind == WISH_SAVE && saved))
        return session_done(session);
    session_enter(session, SESSION_AWAY);
    return AGAIN;
}

/* ------------------------------------------------- what is under its name */

/* Not the one that was saved last: it stayed behind, is half made, or what was
 * known of it has expired. */
bool session_is_stale(const struct session *session)
{
    return session_is_named(session) && !session->fresh &&
           !memo_is_held_by(&session->memo, view_of(session->holder));
}

enum pace session_dropping(void *owner)
{
    struct session *session = owner;
    struct frame close = { .type = FRAME_CLOSE };
    struct err why;
    if (!session->begun)
        return session_ask(session, &close, session_answered);
    if (!session->landed)
        return WAIT;
    session->opened = false;
    if (++session->drops > MAX_DROPS) {
        err_set(&why, ERR_RETRY, "session_failed",
                "an older session of that name does not end");
        return session_fail(session, &why);
    }
    session_enter(session, SESSION_OPENING);
    return AGAIN;
}

/* Packages come with the picture. */
static void lose_variables(struct session *session, const char *what,
                           struct view why)
{
    notice_add(&session->notice, CELL_LOST, "%s: %.*s", what,
               VIEW_ARG(view_head(why, 200)));
    notice_add_packages(&session->notice, "packages to install again",
                        &session->memo.record.packages);
}

/* A fresh one, in the place of what is memo. When the record names it already
 * it has been made, and all of it is there: who made it was called off while
 * that was written. */
void session_remake(struct session *session)
{
    const struct session_record *record = &session->memo.record;
    struct notice *notice = &session->notice;
    bool made = memo_is_held_by(&session->memo, view_of(session->holder));
    session->hold_due = session_is_named(session) && !made;
    session->record_due = false;
    if (!session->hold_due || !memo_is_open(&session->memo) ||
        memo_is_blank(&session->memo))
        return;
    if (record->updated_ms == 0) {
        if (!view_equal(record->job, session->setup.job))
            notice_add(notice, CELL_LOST,
                       "the executor that had the session is gone, and neither "
                       "variables nor files of it were saved");
        return;
    }
    session->record_due = true;
    notice_add(notice, CELL_RESTORED,
               "the session was made again of what was saved of it");
    if (record->unsaved.len > 0)
        lose_variables(session, "variables were not saved", record->unsaved);
    notice_add_names(notice, "not saved", &record->missing, false);
    notice_add_files(notice, "files not saved", &record->files);
}

/* ------------------------------------------------------- its names again */

struct view session_why(const struct cell *cell)
{
    if (cell->error.value.len > 0)
        return cell->error.value;
    return cell->reason.len > 0 ? cell->reason : cell->error.name;
}

static void on_restored(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct variables_report report;
    if (frame == NULL ||
        (frame->type != FRAME_DONE && frame->type != FRAME_FAILED))
        return; /* what its own code prints while it is unpickled */
    if (frame->type == FRAME_DONE) {
        const struct cell *cell = &frame->cell;
        report_read(&report, cell->result, &arena);
        if (cell->status != CELL_OK)
            lose_variables(session, "variables could not be brought back",
                           session_why(cell));
        notice_add_names(&session->notice, "not brought back", &report.left,
                         report.cut);
    }
    session_answered(session, frame);
}

static void restore_from(struct session *session, struct view picture)
{
    struct call_name name = session_call_name(session, VIEW("restore"));
    struct frame restore = { .type = FRAME_RUN,
                             .call = view_of(name.text),
                             .task = TASK_RESTORE,
                             .picture = picture,
                             .cell_ms = RESTORE_MS };
    session_enter(session, SESSION_RESTORING);
    session_ask(session, &restore, on_restored);
}

static void forget_picture(struct session *session, const char *why)
{
    struct session_record *record = &session->memo.record;
    record->picture = (struct view){ 0 };
    record->unsaved = view_of(why);
    lose_variables(session, "variables could not be brought back",
                   record->unsaved);
}

/* Why they cannot be brought back of it, or NULL. */
static const char *picture_flaw(const struct session *session,
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

static void on_picture(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct session *session = owner;
    if (!session_heard(session, SESSION_PICTURING))
        return;
    if (reply == NULL) {
        session->answer = *why;
    } else {
        const char *flaw = picture_flaw(session, reply);
        if (flaw == NULL) {
            restore_from(session, (struct view){ reply->str, reply->len });
            return;
        }
        forget_picture(session, flaw);
    }
    session->landed = true;
    session_run(session);
}

enum pace session_picturing(void *owner)
{
    struct session *session = owner;
    if (!session->begun)
        return session_read(session, session->memo.record.picture, on_picture);
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    session->record_due = false;
    return session_settle(session);
}

enum pace session_restoring(void *owner)
{
    struct session *session = owner;
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    session_forget(session, VIEW("restore"));
    session->record_due = false;
    return session_settle(session);
}

/* ---------------------------------------------------------------- records */

uint64_t session_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct session_record session_record_next(const struct session_setup *setup,
                                          const struct session_memo *memo)
{
    struct session_record next = { .created_ms = session_wall_ms(),
                                   .job = setup->job };
    if (memo_is_open(memo))
        next = memo->record;
    next.name = setup->key.name;
    next.tenant = setup->key.tenant;
    next.holder = (struct view){ 0 };
    next.generation = (memo->exists ? memo->record.generation : 0) + 1;
    return next;
}

bool session_record_send(struct session *session, struct session_key key,
                         uint64_t generation,
                         const struct session_record *record, store_done *done,
                         void *owner, struct err *err)
{
    const struct session_setup *setup = &session->setup;
    struct command command;
    buf_finish(&session->sent_out);
    buf_init(&session->sent_out, MAX_SESSION_BYTES);
    if (!message_encode(&schema_session_record, record, &session->sent_out,
                        err))
        return false;
    struct session_save save = {
        .holding = setup->holding,
        .session = key,
        .generation = generation,
        .closed = record->closed,
        .ttl_ms = setup->ttl_ms,
        .kept_ms = setup->kept_ms,
        .record = buf_view(&session->sent_out),
        .picture = record->picture,
        .history = record->history,
        .files = record->files,
    };
    transition_session_save(&command, setup->names, &save);
    store_commit(setup->store, &command, done, owner);
    command_finish(&command);
    return true;
}

void session_record_say(const struct session *session,
                        struct session_record *record)
{
    const struct said *said = &session->wish.said;
    if (said->blob.len == 0)
        return;
    record->history = said->blob;
    record->history_bytes = said->bytes;
    record->exchanges = said->exchanges;
}

enum pace session_write_again(struct session *session)
{
    session->begun = session->landed = false;
    session->answer = (struct err){ 0 };
    return AGAIN;
}

static void on_written(void *owner, const redisReply *reply,
                       const struct err *why)
{
    struct session *session = owner;
    enum session_state state = session->machine.state;
    bool writes = state == SESSION_HOLDING || state == SESSION_NOTING;
    if (!session_heard(session, writes ? state : SESSION_WRITING))
        return;
    if (reply == NULL) {
        session->answer = *why;
        session->claimed = false;
        if (strcmp(why->code, "misplaced") == 0) /* somebody else has written */
            session->answer.kind = ERR_RETRY;
    } else {
        memo_read(&session->memo, buf_view(&session->sent_out),
                  &session->answer);
    }
    session->landed = true;
    session_run(session);
}

enum pace session_write(struct session *session,
                        const struct session_record *record)
{
    struct err why;
    session->begun = true;
    session->fetches++;
    if (session_record_send(session, session->setup.key, record->generation - 1,
                            record, on_written, session, &why))
        return WAIT;
    session->fetches--;
    return session_fail(session, &why);
}

/* What is still to be told is kept with it. */
void session_record_tell(const struct session *session,
                         struct session_record *record)
{
    record->state = (int)session->notice.state;
    record->note = buf_view(&session->notice.text);
}

enum pace session_holding(void *owner)
{
    struct session *session = owner;
    if (!session->begun) {
        struct session_record next =
            session_record_next(&session->setup, &session->memo);
        next.holder = view_of(session->holder);
        session_record_tell(session, &next);
        return session_write(session, &next);
    }
    if (!session->landed)
        return WAIT;
    if (record_forget_blob(&session->memo.record, &session->answer))
        return session_write_again(session);
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    session->hold_due = session->reported = false;
    return session_settle(session);
}

/* What was said: variables and files are as they were, and where. */
enum pace session_noting(void *owner)
{
    struct session *session = owner;
    const struct session_memo *memo = &session->memo;
    if (!session->begun) {
        struct session_record next = session_record_next(&session->setup, memo);
        if (memo_is_open(memo))
            next.holder = memo->record.holder;
        else
            next.updated_ms = next.created_ms; /* all that there is */
        session_record_say(session, &next);
        return session_write(session, &next);
    }
    if (!session->landed)
        return WAIT;
    if (record_forget_blob(&session->memo.record, &session->answer))
        return session_write_again(session);
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    return session_done(session);
}
