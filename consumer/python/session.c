/* session.c - one Python session as an attempt sees it. */
#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "consumer/python/session_step.h"
#include "schemas/message/limits.h"
#include "schemas/redis/names.h"

enum {
    OPEN_MS = 30000,
    FILE_MS = 60000,
    REDIS_MS = 10 * 60000, /* Redis may be away for so long */
    GRACE_MS = 30000,      /* the executor's own deadline comes first */
    MAX_LOSSES = 2,
};

static machine_step session_away, session_opening, session_checking,
    session_idle;
static void on_entered(void *owner);

#define OPEN_WORK                                                              \
    (TO(SESSION_FETCHING) | TO(SESSION_PICTURING) | TO(SESSION_HOLDING) |      \
     TO(SESSION_REPLAYING) | TO(SESSION_RUNNING) | TO(SESSION_GETTING) |       \
     TO(SESSION_SAVING))
#define ANY_TIME (TO(SESSION_IDLE) | TO(SESSION_AWAY))

static const struct machine_state states[SESSION_STATES] = {
    [SESSION_IDLE] = { "idle",
                       ANY_TIME | OPEN_WORK | TO(SESSION_CLAIMING) |
                           TO(SESSION_NOTING),
                       .step = session_idle },
    [SESSION_AWAY] = { "away",
                       ANY_TIME | TO(SESSION_OPENING) | TO(SESSION_CLAIMING),
                       .step = session_away },
    [SESSION_CLAIMING] = { "claiming",
                           ANY_TIME | TO(SESSION_CLAIMING) | TO(SESSION_NOTING),
                           .step = session_claiming },
    [SESSION_NOTING] = { "noting", ANY_TIME, .step = session_noting },
    [SESSION_OPENING] = { "opening",
                          ANY_TIME | OPEN_WORK | TO(SESSION_CHECKING) |
                              TO(SESSION_DROPPING),
                          .step = session_opening },
    [SESSION_DROPPING] = { "dropping", ANY_TIME | TO(SESSION_OPENING),
                           .step = session_dropping },
    [SESSION_CHECKING] = { "checking",
                           ANY_TIME | OPEN_WORK | TO(SESSION_CHECKING),
                           .step = session_checking },
    [SESSION_FETCHING] = { "fetching",
                           ANY_TIME | OPEN_WORK | TO(SESSION_PUTTING),
                           .step = session_fetching },
    [SESSION_PUTTING] = { "putting", ANY_TIME | TO(SESSION_FETCHING),
                          .step = session_putting },
    [SESSION_PICTURING] = { "picturing",
                            ANY_TIME | OPEN_WORK | TO(SESSION_RESTORING),
                            .step = session_picturing },
    [SESSION_RESTORING] = { "restoring", ANY_TIME | OPEN_WORK,
                            .step = session_restoring },
    [SESSION_HOLDING] = { "holding", ANY_TIME | OPEN_WORK,
                          .step = session_holding },
    [SESSION_REPLAYING] = { "replaying", ANY_TIME | OPEN_WORK,
                            .step = session_replaying },
    [SESSION_RUNNING] = { "running", ANY_TIME, .step = session_running },
    [SESSION_GETTING] = { "getting", ANY_TIME, .step = session_getting },
    [SESSION_SAVING] = { "saving",
                         ANY_TIME | TO(SESSION_LISTING) | TO(SESSION_WRITING),
                         .step = session_saving },
    [SESSION_LISTING] = { "listing", ANY_TIME | TO(SESSION_COLLECTING),
                          .step = session_listing },
    [SESSION_COLLECTING] = { "collecting",
                             ANY_TIME | TO(SESSION_COLLECTING) |
                                 TO(SESSION_WRITING),
                             .step = session_collecting },
    [SESSION_WRITING] = { "writing", ANY_TIME | TO(SESSION_COLLECTING),
                          .step = session_writing },
};
static const struct machine_kind kind = { "a job's session", states,
                                          SESSION_STATES, on_entered, NULL };

static bool waits_for_redis(enum session_state state)
{
    return state == SESSION_FETCHING || state == SESSION_CLAIMING ||
           state == SESSION_PICTURING || state == SESSION_HOLDING ||
           state == SESSION_NOTING || state == SESSION_WRITING;
}

/* What is left of it: an executor that has been away for long is not waited
 * for anew by everybody who needs it. */
static uint64_t patience_ms(const struct session *session)
{
    struct executor_absence absence;
    uint64_t most = session->setup.away_ms;
    if (!executor_is_away(session->setup.executor, &absence))
        return most;
    return absence.ms < most ? most - absence.ms : 1;
}

static uint64_t limit_ms(const struct session *session,
                         enum session_state state)
{
    if (state == SESSION_AWAY)
        return patience_ms(session);
    if (state == SESSION_OPENING)
        return OPEN_MS;
    if (waits_for_redis(state))
        return REDIS_MS;
    if (state == SESSION_RESTORING)
        return RESTORE_MS + GRACE_MS;
    if (state == SESSION_SAVING)
        return SAVE_MS + GRACE_MS;
    if (state == SESSION_REPLAYING || state == SESSION_RUNNING)
        return session->setup.cell_ms + GRACE_MS;
    return FILE_MS;
}

static void on_entered(void *owner)
{
    struct session *session = owner;
    enum session_state state = session->machine.state;
    session->begun = session->landed = false;
    session->answer = (struct err){ 0 };
    executor_dismiss(session->setup.executor, session->ref);
    session->ref = 0;
    session->asked = 0;
    if (state == SESSION_IDLE)
        alarm_stop(session->alarm);
    else
        alarm_set(session->alarm, limit_ms(session, state));
}

void session_enter(struct session *session, enum session_state next)
{
    machine_go(&session->machine, next);
}

enum pace session_done(struct session *session)
{
    session_enter(session, SESSION_IDLE);
    session->over = true;
    return WAIT;
}

enum pace session_fail(struct session *session, const struct err *why)
{
    session->fault = *why;
    return session_done(session);
}

/* ------------------------------------------------------------- requests */

void session_answered(void *owner, const struct frame *frame)
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
    session_run(session);
}

/* Sends the state's request once. */
enum pace session_ask(struct session *session, struct frame *frame,
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
    return session_fail(session, &why);
}

/* --------------------------------------------------------- calls of code */

/* The executor stops the cell's clock meanwhile, and so do we. */
void session_asked(struct session *session, struct view call,
                   const struct frame *frame, bool past)
{
    session->asked++;
    alarm_stop(session->alarm);
    if (past)
        session->events.on_tool(session->owner, call, frame);
    else
        session->wish.cell->on_tool(session->wish.owner, frame);
}

void session_restarted(struct session *session)
{
    session->asked = 0;
    alarm_set(session->alarm, limit_ms(session, session->machine.state));
}

void session_answer(struct session *session, struct view call, uint64_t number,
                    struct view data, const struct err *why)
{
    struct call_name name = session_call_name(session, call);
    struct frame answer = { .type = FRAME_ANSWER,
                            .session = view_of(session->name),
                            .call = view_of(name.text),
                            .number = number,
                            .data = data };
    if (session->asked == 0)
        return;
    if (why->kind != ERR_NONE)
        answer.error = (struct result_error){
            .kind = why->kind == ERR_RETRY ? VIEW("retry") : VIEW("reject"),
            .code = view_of(why->code),
            .message = view_of(why->text),
        };
    executor_ask(session->setup.executor, &answer, NULL, NULL);
    if (--session->asked == 0)
        alarm_set(session->alarm, limit_ms(session, session->machine.state));
}

static enum pace session_away(void *owner)
{
    struct session *session = owner;
    if (session_is_named(session) && !session->claimed) {
        session_enter(session, SESSION_CLAIMING);
        return AGAIN;
    }
    if (executor_is_off(session->setup.executor)) {
        struct err why;
        err_set(&why, ERR_REJECT, "executor_unavailable",
                "the consumer that took the job has no executor "
                "(QUERN_EXECUTOR is " EXECUTOR_NONE ")");
        return session_fail(session, &why);
    }
    if (!executor_is_ready(session->setup.executor))
        return WAIT;
    session_enter(session, SESSION_OPENING);
    return AGAIN;
}

/* What the wish needs next, in an open session. */
enum pace session_settle(struct session *session)
{
    if (session->wish.kind == WISH_GET) {
        session_enter(session, SESSION_GETTING);
        return AGAIN;
    }
    bool pictured = session->record_due && session->memo.record.picture.len > 0;
    if (session->files_due)
        session_enter(session, SESSION_FETCHING);
    else if (pictured)
        session_enter(session, SESSION_PICTURING);
    else if (session->hold_due)
        session_enter(session, SESSION_HOLDING);
    else if (session->past_due)
        session_enter(session, SESSION_REPLAYING);
    else if (session->wish.kind == WISH_SAVE)
        session_enter(session, SESSION_SAVING);
    else if (session->wish.kind == WISH_RUN)
        session_enter(session, SESSION_RUNNING);
    else
        return session_done(session);
    return AGAIN;
}

/* What was there before is not in it, or not all of it. */
static enum pace restore(struct session *session, bool files_there)
{
    session->files_due = !files_there;
    session->file_at = 0;
    session->past_due = true;
    session->past_at = 0;
    session->losses += session->sent;
    session->restored = session->restored || session->sent_here;
    session->sent = session->sent_here = false;
    if (session->wish.kind == WISH_GET) {
        struct err why;
        err_set(&why, ERR_REJECT, "session_failed",
                "the executor went away before the file was read");
        return session_fail(session, &why);
    }
    return session->losses >= MAX_LOSSES ? session_give_up(session)
                                         : session_settle(session);
}

static void on_opened(void *owner, const struct frame *frame)
{
    struct session *session = owner;
    if (frame != NULL)
        snprintf(session->holder, sizeof(session->holder), "%.*s",
                 VIEW_ARG(frame->holder));
    session_answered(session, frame);
}

static enum pace session_opening(void *owner)
{
    struct session *session = owner;
    struct frame open = { .type = FRAME_OPEN, .limits = session->setup.limits };
    if (!session->begun) {
        session->made = true;
        return session_ask(session, &open, on_opened);
    }
    if (!session->landed)
        return WAIT;
    if (session->answer.kind != ERR_NONE)
        return session_fail(session, &session->answer);
    session->opened = true;
    if (session_is_stale(session)) {
        session_enter(session, SESSION_DROPPING);
        return AGAIN;
    }
    if (session->fresh) {
        session_remake(session);
        return restore(session, false);
    }
    session->hold_due = false;
    if (session->wish.past.count == 0)
        return session_settle(session);
    session->check_first = false;
    session_enter(session, SESSION_CHECKING);
    return AGAIN;
}

static enum pace session_checking(void *owner)
{
    struct session *session = owner;
    const struct past_cell *cells = session->wish.past.cells;
    size_t at = session->check_first ? 0 : session->wish.past.count - 1;
    struct call_name name = session_call_name(session, cells[at].call);
    struct frame ask = { .type = FRAME_FORGET, .call = view_of(name.text) };
    if (!session->begun)
        return session_ask(session, &ask, session_answered);
    if (!session->landed)
        return WAIT;
    bool seen = session->answer.kind == ERR_NONE;
    if (!session->check_first && seen) {
        /* It may still run, and its code wait for a tool: who had it run again
         * has gone. */
        session->past_due = true;
        session->past_at = at;
        return session_settle(session);
    }
    if (!session->check_first) {
        session->check_first = true;
        session_enter(session, SESSION_CHECKING);
        return AGAIN;
    }
    return restore(session, seen);
}

static enum pace session_idle(void *owner)
{
    (void)owner;
    return WAIT;
}

/* -------------------------------------------------------------- machine */

void session_run(struct session *session)
{
    if (session->machine.running) {
        session->machine.again = true;
        return;
    }
    machine_run(&session->machine);
    if (!session->over)
        return;
    session->over = false;
    session->events.on_done(session->owner); /* the session may be gone then */
}

static void on_change(void *owner, bool ready)
{
    struct session *session = owner;
    if (!ready) {
        session->made = session->opened = false;
        session->claimed = false; /* a write may be on its way */
        if (session->machine.state != SESSION_IDLE)
            session_enter(session, SESSION_AWAY);
    }
    session_run(session);
}

/* It was lost before, and so is this run: whoever took the job over would not
 * know that, and have the cell run a third time. */
static bool is_lost_again(const struct session *session)
{
    return session->machine.state == SESSION_AWAY && session->sent &&
           session->wish.kind == WISH_RUN && session->losses + 1 >= MAX_LOSSES;
}

static void on_overdue(void *owner)
{
    struct session *session = owner;
    bool redis = waits_for_redis(session->machine.state);
    struct executor_absence absence;
    struct err why;
    if (session->machine.state == SESSION_CLAIMING && session->waiting) {
        session_enter(session, SESSION_CLAIMING);
        session_run(session);
        return;
    }
    if (is_lost_again(session)) {
        session_give_up(session);
        session_run(session);
        return;
    }
    err_set(
        &why, ERR_RETRY, redis ? "redis_unavailable" : "executor_unavailable",
        "%s did not get past \"%s\" within %llu ms",
        redis ? "Redis" : "the executor", machine_state_name(&session->machine),
        (unsigned long long)limit_ms(session, session->machine.state));
    if (executor_is_away(session->setup.executor, &absence) && !redis)
        err_set(&why, ERR_RETRY, "executor_unavailable",
                "the executor has been away for %llu ms: %s",
                (unsigned long long)absence.ms, absence.text);
    session_fail(session, &why);
    session_run(session);
}

void session_init(struct session *session, const struct session_setup *setup,
                  const char *name, struct session_events events, void *owner)
{
    *session =
        (struct session){ .setup = *setup, .events = events, .owner = owner };
    machine_init(&session->machine, &kind, session, SESSION_IDLE);
    snprintf(session->name, sizeof(session->name), "%s", name);
    notice_init(&session->notice);
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
    buf_finish(&session->sent_out);
    memo_finish(&session->memo);
    notice_finish(&session->notice);
    saving_free(session->saving);
    *session = (struct session){ 0 };
}

void session_want(struct session *session, const struct wish *wish)
{
    assert(session->machine.state == SESSION_IDLE);
    session->wish = *wish;
    session->fault = (struct err){ 0 };
    session->drops = 0;
    if (wish->kind == WISH_RUN) {
        session->sent = wish->intended;
        session->sent_here = false;
        session->losses = 0;
    }
    bool notes = wish->kind == WISH_NOTE;
    bool claims = wish->kind == WISH_CLAIM;
    session->over = false;
    if ((claims || notes) && !session->claimed) {
        session_enter(session, SESSION_CLAIMING);
    } else if (claims) {
        session_done(session);
    } else if (notes) {
        session_enter(session, SESSION_NOTING);
    } else if (!session->opened) {
        session->files_due = !wish->files_there;
        session->file_at = 0;
        session->past_due = false;
        session_enter(session, SESSION_AWAY);
    } else {
        session_settle(session);
    }
    session_run(session);
}

/* A record that is on its way may be written all the same: what stands is asked
 * for again, and whether the executor's is that one. */
void session_abandon(struct session *session)
{
    enum session_state state = session->machine.state;
    session->over = false;
    if (session->alarm == NULL || state == SESSION_IDLE)
        return;
    if (state == SESSION_HOLDING || state == SESSION_NOTING ||
        state == SESSION_WRITING)
        session->claimed = session->opened = false;
    session_enter(session, SESSION_IDLE);
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
    struct call_name name = session_call_name(session, call);
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
    struct encoded tenant =
        names_encode(job->tenant.len > 0 ? job->tenant : VIEW("default"));
    struct encoded own = names_encode(job->session);
    char whole[2 * sizeof(struct encoded)];
    int len = snprintf(whole, sizeof(whole), "%s/%s", tenant.text, own.text);
    unsigned char hash[EVP_MAX_MD_SIZE];
    EVP_Digest(whole, (size_t)len, hash, NULL, EVP_sha256(), NULL);
    int at = snprintf(name, 80, "session-");
    for (size_t i = 0; i < 32; i++)
        at += snprintf(name + at, 3, "%02x", hash[i]);
}
