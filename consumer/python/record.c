/* record.c - the record of a session with a name: what it tells, and how it is
 * read and written. */
#include "consumer/python/record.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "consumer/python/state.h"

enum {
    FIRST_WAIT_MS = 20,
    MOST_WAIT_MS = 500,
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

bool record_forget_history(struct session_record *record, const struct err *why)
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

/* --------------------------------------------------------------- claiming */

void record_finish(struct session_claim *claim)
{
    buf_finish(&claim->record);
}

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

uint64_t record_wall_ms(void)
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

void record_add_history(const struct python_session *session,
                        struct session_record *record)
{
    const struct saved_history *saved = &session->request.saved;
    if (saved->blob.len == 0)
        return;
    record->history = saved->blob;
    record->history_bytes = saved->bytes;
    record->exchanges = saved->exchanges;
}

void record_add_notice(const struct python_session *session,
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
    /* save.c writes in WRITING_RECORD. */
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

enum pace record_write(struct python_session *session,
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

/* ----------------------------------------------------------------- states */

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
