/* session.c - one Python session as an attempt sees it. */
#include "consumer/session.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "schemas/message/limits.h"
#include "schemas/redis/names.h"

enum {
    OPEN_MS = 30000,
    FILE_MS = 60000,
    GRACE_MS = 30000, /* the executor's own deadline comes first */
    MAX_LOSSES = 2,
};

enum turn { AGAIN, WAIT };

struct rule {
    const char *name;
    unsigned int next;
    enum turn (*step)(struct session *session);
};
static const struct rule table[SESSION_STATES];

#define TO(state) (1u << (state))

static void run(struct session *session);

static uint64_t limit_ms(const struct session *session,
                         enum session_state state)
{
    if (state == SESSION_AWAY)
        return session->setup.away_ms;
    if (state == SESSION_OPENING)
        return OPEN_MS;
    if (state == SESSION_REPLAYING || state == SESSION_RUNNING)
        return session->setup.cell_ms + GRACE_MS;
    return FILE_MS;
}

static void enter(struct session *session, enum session_state next)
{
    assert(table[session->state].next & TO(next));
    session->state = next;
    session->begun = session->landed = false;
    session->answer = (struct err){ 0 };
    executor_dismiss(session->setup.executor, session->ref);
    session->ref = 0;
    if (next == SESSION_IDLE)
        alarm_stop(session->alarm);
    else
        alarm_set(session->alarm, limit_ms(session, next));
}

static enum turn done(struct session *session)
{
    enter(session, SESSION_IDLE);
    session->events.on_done(session->owner);
    return WAIT; /* the session may be gone */
}

static enum turn fail(struct session *session, const struct err *why)
{
    session->fault = *why;
    return done(session);
}

/* ------------------------------------------------------------- requests */

static void on_answer(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return; /* the watch is told as well */
    session->landed = true;
    session->fresh = frame->fresh;
    if (frame->type == FRAME_FAILED) {
        bool retry = frame->error.retryable;
        err_set(&session->answer, retry ? ERR_RETRY : ERR_REJECT,
                "session_failed", "%.*s", VIEW_ARG(frame->error.message));
    }
    run(session);
}

/* Sends the state's request once. */
static enum turn ask(struct session *session, struct frame *frame,
                     executor_answer *answer)
{
    frame->session = view_of(session->name);
    session->begun = true;
    session->ref =
        executor_ask(session->setup.executor, frame, answer, session);
    if (session->ref != 0 || !executor_is_ready(session->setup.executor))
        return WAIT; /* not ready: the watch will tell */
    struct err why;
    err_set(&why, ERR_REJECT, "too_large",
            "a request to the executor is larger than a frame");
    return fail(session, &why);
}

/* What the executor calls a call: unique among all jobs of the session. */
struct call_name {
    char text[MAX_NAME_BYTES + 1];
};

static struct call_name call_name(const struct session *session,
                                  struct view call)
{
    struct call_name name;
    snprintf(name.text, sizeof(name.text), "%.*s/%.*s",
             VIEW_ARG(session->setup.job), VIEW_ARG(call));
    return name;
}

static enum turn step_away(struct session *session)
{
    if (!executor_is_ready(session->setup.executor))
        return WAIT;
    enter(session, SESSION_OPENING);
    return AGAIN;
}

/* What the wish needs next, in an open session. */
static enum turn settle(struct session *session)
{
    if (session->wish.kind == WISH_GET) {
        enter(session, SESSION_GETTING);
        return AGAIN;
    }
    if (session->files_due)
        enter(session, SESSION_FETCHING);
    else if (session->past_due)
        enter(session, SESSION_REPLAYING);
    else if (session->wish.kind == WISH_RUN)
        enter(session, SESSION_RUNNING);
    else
        return done(session);
    return AGAIN;
}

static enum turn give_up(struct session *session)
{
    struct cell cell = {
        .status = CELL_UNKNOWN,
        .state = CELL_LOST,
        .reason = VIEW("the executor went away twice while this cell ran; "
                       "what it did is not known, and variables and files of "
                       "the session are gone"),
    };
    struct list none = { 0 };
    session->events.on_start(session->owner, false);
    session->events.on_cell(session->owner, &cell, &none);
    return done(session);
}

/* The session is new: nothing of before is in it. */
static enum turn begin_afresh(struct session *session)
{
    session->files_due = true;
    session->file_at = 0;
    session->past_due = true;
    session->past_at = 0;
    session->losses += session->sent;
    session->restored = session->restored || session->sent;
    session->sent = false;
    if (session->wish.kind == WISH_GET) {
        struct err why;
        err_set(&why, ERR_REJECT, "session_failed",
                "the executor went away before the file was read");
        return fail(session, &why);
    }
    return session->losses >= MAX_LOSSES ? give_up(session) : settle(session);
}

static enum turn step_opening(struct session *session)
{
    struct frame open = { .type = FRAME_OPEN, .limits = session->setup.limits };
    if (!session->begun)
        return ask(session, &open, on_answer);
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return fail(session, &session->answer);
    session->opened = true;
    return session->fresh ? begin_afresh(session) : settle(session);
}

/* ---------------------------------------------------------------- files */

static const struct file_ref *current_file(const struct session *session)
{
    const struct file_ref *files = session->setup.files.items;
    return &files[session->file_at];
}

/* The bytes go out at once, in pieces of one request: they are borrowed. */
static void put_file(struct session *session, struct view bytes)
{
    struct executor *executor = session->setup.executor;
    struct frame put = { .type = FRAME_PUT,
                         .session = view_of(session->name),
                         .name = current_file(session)->name };
    bool first = true;
    do {
        size_t len = bytes.len < MAX_CHUNK_BYTES ? bytes.len : MAX_CHUNK_BYTES;
        put.data = (struct view){ bytes.data, len };
        put.last = len == bytes.len;
        if (first)
            session->ref = executor_ask(executor, &put, on_answer, session);
        else
            executor_add(executor, &put, session->ref);
        first = false;
        put.offset += len;
        bytes.data += len;
        bytes.len -= len;
    } while (bytes.len > 0);
}

static void on_blob(void *owner, const redisReply *reply, const struct err *why)
{
    struct session *session = owner;
    session->fetched++;
    if (session->state != SESSION_FETCHING ||
        session->fetched != session->fetches)
        return; /* asked before the link broke */
    const struct file_ref *file = current_file(session);
    session->landed = true;
    if (reply == NULL) {
        session->answer = *why;
    } else if (reply->type != REDIS_REPLY_STRING) {
        err_set(&session->answer, ERR_REJECT, "missing_blob",
                "the blob %.*s of the file \"%.*s\" is not there any more",
                VIEW_ARG(file->blob), VIEW_ARG(view_head(file->name, 64)));
    } else {
        enter(session, SESSION_PUTTING);
        session->begun = true;
        put_file(session, (struct view){ reply->str, reply->len });
    }
    run(session);
}

static enum turn step_fetching(struct session *session)
{
    if (session->landed)
        return fail(session, &session->answer);
    if (session->begun)
        return WAIT;
    if (session->file_at >= session->setup.files.count) {
        session->files_due = false;
        return settle(session);
    }
    session->begun = true;
    session->fetches++;
    struct key key =
        names_blob(session->setup.names, current_file(session)->blob);
    struct command command;
    command_init(&command, "GET");
    command_add(&command, key_view(&key));
    store_send(session->setup.store, &command, on_blob, session);
    command_finish(&command);
    return WAIT;
}

static enum turn step_putting(struct session *session)
{
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return fail(session, &session->answer);
    session->file_at++;
    enter(session, SESSION_FETCHING);
    return AGAIN;
}

static void on_chunk(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    if (frame->type == FRAME_CHUNK) {
        if (frame->offset == session->file.len)
            buf_add(&session->file, frame->data);
        if (!frame->last && buf_ok(&session->file))
            return;
        if (!buf_ok(&session->file))
            err_set(&session->answer, ERR_REJECT, "too_large",
                    "the file is larger than %d bytes", MAX_BLOB_BYTES);
        session->landed = true;
        run(session);
        return;
    }
    on_answer(session, frame);
}

static enum turn step_getting(struct session *session)
{
    struct frame get = { .type = FRAME_GET, .name = session->wish.name };
    if (!session->begun) {
        buf_finish(&session->file);
        buf_init(&session->file, MAX_BLOB_BYTES);
        return ask(session, &get, on_chunk);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return fail(session, &session->answer);
    return done(session);
}

/* ---------------------------------------------------------------- cells */

static void on_replayed(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    if (frame->type == FRAME_DONE && frame->cell.state == CELL_LOST) {
        /* It does not end well this time: the call has an empty session. */
        session->unrestored = true;
        session->past_due = false;
        session->files_due = true;
        session->file_at = 0;
    }
    if (frame->type == FRAME_DONE || frame->type == FRAME_FAILED)
        on_answer(session, frame);
}

static enum turn step_replaying(struct session *session)
{
    const struct past_cell *cells = session->wish.past.items;
    if (session->past_at >= session->wish.past.count) {
        session->past_due = false;
        return settle(session);
    }
    if (!session->begun) {
        const struct past_cell *cell = &cells[session->past_at];
        struct call_name name = call_name(session, cell->call);
        struct frame again = { .type = FRAME_RUN,
                               .call = view_of(name.text),
                               .code = cell->code,
                               .cell_ms = session->setup.cell_ms };
        return ask(session, &again, on_replayed);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return fail(session, &session->answer);
    session->past_at++;
    session->restored = !session->unrestored;
    return settle(session);
}

/* The cell's state, as far as only we know it. */
static void report(struct session *session, const struct frame *frame)
{
    struct cell cell = frame->cell;
    char reason[160];
    if (session->unrestored && cell.state == CELL_KEPT) {
        cell.state = CELL_LOST;
        cell.reason = VIEW("the executor went away and the earlier cells did "
                           "not run a second time: variables and files of "
                           "the session are gone");
    } else if (session->restored && cell.state == CELL_KEPT) {
        snprintf(reason, sizeof(reason),
                 "the executor went away; %zu earlier cell%s run again, then "
                 "this one",
                 session->wish.past.count,
                 session->wish.past.count == 1 ? " was" : "s were");
        cell.state = CELL_RESTORED;
        cell.reason = view_of(reason);
    }
    if (cell.state == CELL_LOST && !session->unrestored)
        session->files_due = true;
    session->restored = session->unrestored = session->sent = false;
    session->events.on_cell(session->owner, &cell, &frame->files);
}

static void on_running(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame == NULL)
        return;
    if (frame->type == FRAME_OUTPUT) {
        session->events.on_output(session->owner, frame->stream, frame->data);
    } else if (frame->type == FRAME_DISPLAY) {
        session->events.on_display(session->owner, &frame->bundle);
    } else {
        if (frame->type == FRAME_DONE)
            report(session, frame);
        on_answer(session, frame);
    }
}

static enum turn step_running(struct session *session)
{
    struct call_name name = call_name(session, session->wish.call);
    struct frame frame = { .type = FRAME_RUN,
                           .call = view_of(name.text),
                           .code = session->wish.code,
                           .cell_ms = session->setup.cell_ms };
    if (!session->begun) {
        session->events.on_start(session->owner, session->sent);
        session->sent = true;
        return ask(session, &frame, on_running);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return fail(session, &session->answer);
    return done(session);
}

static enum turn step_idle(struct session *session)
{
    (void)session;
    return WAIT;
}

/* -------------------------------------------------------------- machine */

#define OPEN_WORK                                                              \
    (TO(SESSION_FETCHING) | TO(SESSION_REPLAYING) | TO(SESSION_RUNNING) |      \
     TO(SESSION_GETTING))
#define ANY_TIME (TO(SESSION_IDLE) | TO(SESSION_AWAY))

static const struct rule table[SESSION_STATES] = {
    [SESSION_IDLE] = { "idle", ANY_TIME | OPEN_WORK, step_idle },
    [SESSION_AWAY] = { "away", ANY_TIME | TO(SESSION_OPENING), step_away },
    [SESSION_OPENING] = { "opening", ANY_TIME | OPEN_WORK, step_opening },
    [SESSION_FETCHING] = { "fetching",
                           ANY_TIME | OPEN_WORK | TO(SESSION_PUTTING),
                           step_fetching },
    [SESSION_PUTTING] = { "putting", ANY_TIME | TO(SESSION_FETCHING),
                          step_putting },
    [SESSION_REPLAYING] = { "replaying", ANY_TIME | OPEN_WORK, step_replaying },
    [SESSION_RUNNING] = { "running", ANY_TIME, step_running },
    [SESSION_GETTING] = { "getting", ANY_TIME, step_getting },
};

static void run(struct session *session)
{
    while (table[session->state].step(session) == AGAIN)
        ;
}

static void on_change(void *owner, bool ready)
{
    struct session *session = owner;
    if (!ready) {
        session->opened = false;
        if (session->state != SESSION_IDLE)
            enter(session, SESSION_AWAY);
    }
    run(session);
}

static void on_overdue(void *owner)
{
    struct session *session = owner;
    struct err why;
    err_set(&why, ERR_RETRY, "executor_unavailable",
            "the executor did not get past \"%s\" within %llu ms",
            table[session->state].name,
            (unsigned long long)limit_ms(session, session->state));
    fail(session, &why);
}

void session_init(struct session *session, const struct session_setup *setup,
                  const char *name, struct session_events events, void *owner)
{
    *session =
        (struct session){ .setup = *setup, .events = events, .owner = owner };
    snprintf(session->name, sizeof(session->name), "%s", name);
    session->alarm = alarm_new(setup->loop, on_overdue, session);
    session->watch.on_change = on_change;
    session->watch.owner = session;
    executor_watch(setup->executor, &session->watch);
}

void session_finish(struct session *session)
{
    if (session == NULL || session->alarm == NULL)
        return;
    executor_dismiss(session->setup.executor, session->ref);
    executor_unwatch(session->setup.executor, &session->watch);
    alarm_free(session->alarm);
    buf_finish(&session->file);
    *session = (struct session){ 0 };
}

void session_want(struct session *session, const struct wish *wish)
{
    assert(session->state == SESSION_IDLE);
    session->wish = *wish;
    session->fault = (struct err){ 0 };
    if (wish->kind == WISH_RUN) {
        session->sent = wish->intended;
        session->losses = 0;
    }
    if (!session->opened) {
        session->files_due = !wish->files_there;
        session->file_at = 0;
        session->past_due = false;
        enter(session, SESSION_AWAY);
        run(session);
    } else if (settle(session) == AGAIN) {
        run(session);
    }
}

void session_abandon(struct session *session)
{
    if (session->alarm != NULL && session->state != SESSION_IDLE)
        enter(session, SESSION_IDLE);
}

static void tell(struct session *session, enum frame_type type,
                 struct view call)
{
    struct frame frame = { .type = (int)type,
                           .session = view_of(session->name),
                           .call = call };
    if (session->alarm != NULL)
        executor_ask(session->setup.executor, &frame, NULL, NULL);
}

void session_forget(struct session *session, struct view call)
{
    struct call_name name = call_name(session, call);
    tell(session, FRAME_FORGET, view_of(name.text));
}

void session_interrupt(struct session *session)
{
    tell(session, FRAME_INTERRUPT, (struct view){ 0 });
}

void session_close(struct session *session)
{
    tell(session, FRAME_CLOSE, (struct view){ 0 });
}

void session_name(char name[80], const struct job *job)
{
    if (job->session.len == 0) {
        snprintf(name, 80, "job-%.*s", VIEW_ARG(job->id));
        return;
    }
    char whole[2 * MAX_NAME_BYTES + 2];
    struct view tenant = job->tenant.len > 0 ? job->tenant : VIEW("default");
    int len = snprintf(whole, sizeof(whole), "%.*s/%.*s", VIEW_ARG(tenant),
                       VIEW_ARG(job->session));
    unsigned char hash[EVP_MAX_MD_SIZE];
    EVP_Digest(whole, (size_t)len, hash, NULL, EVP_sha256(), NULL);
    strcpy(name, "session-");
    for (size_t i = 0; i < 32; i++)
        snprintf(name + 8 + 2 * i, 3, "%02x", hash[i]);
}
