/* session.c - one Python session, as the attempt at a job uses it: its machine,
 * and the requests of the attempt. */
#include "consumer/python/session.h"

#include <assert.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>

#include "consumer/blob.h"
#include "consumer/python/state.h"
#include "schemas/redis/names.h"

enum {
    OPEN_MS = 30000,
    FILE_MS = 60000,
    REDIS_MS = 10 * 60000, /* Redis may be away for so long */
    GRACE_MS = 30000, /* behind the executor's own limit, which comes first:
                         its answer says what became of the cell */
};

/* The states that session_next() goes to. */
#define OPEN_WORK                                                              \
    (TO(FETCHING_FILE) | TO(FETCHING_VARIABLES) | TO(NAMING_HOLDER) |          \
     TO(RERUNNING) | TO(RUNNING) | TO(READING_FILE) | TO(SAVING_VARIABLES))
/* At any time the request may end, or the connection break. */
#define ANY_TIME (TO(IDLE) | TO(AWAY))

static const struct machine_state states[SESSION_STATES] = {
    [IDLE] = { .name = "idle",
               .next =
                   ANY_TIME | OPEN_WORK | TO(CLAIMING) | TO(WRITING_HISTORY) },
    [AWAY] = { "away", ANY_TIME | TO(OPENING) | TO(CLAIMING),
               .step = open_away },
    [CLAIMING] = { "claiming", ANY_TIME | TO(CLAIMING) | TO(WRITING_HISTORY),
                   .enter = record_enter_claim, .landed = record_claimed },
    [WRITING_HISTORY] = { "writing history", ANY_TIME | TO(WRITING_HISTORY),
                          .enter = record_enter_history,
                          .landed = record_history_written },
    [OPENING] = { "opening", ANY_TIME | OPEN_WORK | TO(CHECKING) | TO(DROPPING),
                  .enter = open_enter, .landed = open_landed },
    [DROPPING] = { "dropping", ANY_TIME | TO(OPENING), .enter = open_enter_drop,
                   .landed = open_dropped },
    [CHECKING] = { "checking", ANY_TIME | OPEN_WORK | TO(CHECKING),
                   .enter = open_enter_check, .landed = open_checked },
    [FETCHING_FILE] = { "fetching a file",
                        ANY_TIME | OPEN_WORK | TO(PUTTING_FILE),
                        .enter = restore_enter_fetch,
                        .landed = restore_not_fetched },
    [PUTTING_FILE] = { "putting a file", ANY_TIME | TO(FETCHING_FILE),
                       .landed = restore_file_put },
    [FETCHING_VARIABLES] = { "fetching variables",
                             ANY_TIME | OPEN_WORK | TO(RESTORING_VARIABLES),
                             .enter = restore_enter_variables,
                             .landed = restore_no_variables },
    [RESTORING_VARIABLES] = { "restoring variables", ANY_TIME | OPEN_WORK,
                              .landed = restore_variables_landed },
    [NAMING_HOLDER] = { "naming the holder", ANY_TIME | OPEN_WORK,
                        .enter = record_enter_holder,
                        .landed = record_holder_named },
    [RERUNNING] = { "rerunning", ANY_TIME | OPEN_WORK,
                    .enter = restore_enter_cell,
                    .landed = restore_cell_landed },
    [RUNNING] = { "running", ANY_TIME, .enter = run_enter,
                  .landed = run_landed },
    [READING_FILE] = { "reading a file", ANY_TIME, .enter = run_enter_read,
                       .landed = run_landed },
    [SAVING_VARIABLES] = { "saving variables",
                           ANY_TIME | TO(LISTING_FILES) | TO(WRITING_RECORD),
                           .enter = save_enter_variables,
                           .landed = save_variables_landed },
    [LISTING_FILES] = { "listing files", ANY_TIME | TO(SAVING_FILES),
                        .enter = save_enter_list, .landed = save_listed },
    [SAVING_FILES] = { "saving files",
                       ANY_TIME | TO(SAVING_FILES) | TO(WRITING_RECORD),
                       .enter = save_enter_files, .landed = save_file_read },
    [WRITING_RECORD] = { "writing the record",
                         ANY_TIME | TO(SAVING_FILES) | TO(WRITING_RECORD),
                         .enter = save_enter_record,
                         .landed = save_record_written },
};

static bool waits_for_redis(enum python_state state)
{
    return state == FETCHING_FILE || state == CLAIMING ||
           state == FETCHING_VARIABLES || state == NAMING_HOLDER ||
           state == WRITING_HISTORY || state == WRITING_RECORD;
}

/* How long to wait for an executor that is away, counted from the time since
 * which it is: not every request waits anew. At least 1, since the alarm must
 * ring. */
static uint64_t patience_ms(const struct python_session *session)
{
    struct executor_absence absence;
    uint64_t most = session->setup.away_ms;
    if (!executor_is_away(session->setup.executor, &absence))
        return most;
    return absence.ms < most ? most - absence.ms : 1;
}

static uint64_t limit_ms(const struct python_session *session)
{
    enum python_state state = session->machine.state;
    if (state == AWAY)
        return patience_ms(session);
    if (state == OPENING)
        return OPEN_MS;
    if (waits_for_redis(state))
        return REDIS_MS;
    if (state == RESTORING_VARIABLES)
        return RESTORE_MS + GRACE_MS;
    if (state == SAVING_VARIABLES)
        return SAVE_MS + GRACE_MS;
    if (state == RERUNNING || state == RUNNING)
        return session->setup.cell_ms + GRACE_MS;
    return FILE_MS;
}

static void on_entered(void *owner)
{
    struct python_session *session = owner;
    struct session_exchange *exchange = &session->exchange;
    /* Late answers to the state before must not land this one. */
    exchange->answer = (struct err){ 0 };
    executor_dismiss(session->setup.executor, exchange->ref);
    exchange->ref = 0;
    exchange->tools_open = 0;
    if (session->machine.state == IDLE)
        alarm_stop(session->alarm);
    else
        alarm_set(session->alarm, limit_ms(session));
}

static const struct machine_kind kind = { "a Python session", states,
                                          SESSION_STATES, on_entered, NULL };

/* ------------------------------------------------------------------ moves */

enum pace session_enter(struct python_session *session, enum python_state next)
{
    return machine_go(&session->machine, next);
}

enum pace session_done(struct python_session *session)
{
    session_enter(session, IDLE);
    session->over = true;
    return WAIT;
}

enum pace session_fail(struct python_session *session, const struct err *why)
{
    session->fault = *why;
    return session_done(session);
}

static bool has_variables(const struct python_session *session)
{
    return session->restore.record_due && session->memo.record.picture.len > 0;
}

enum pace session_next(struct python_session *session)
{
    if (session->request.verb == SESSION_READ)
        return session_enter(session, READING_FILE);
    if (session->restore.files_due)
        return session_enter(session, FETCHING_FILE);
    if (has_variables(session))
        return session_enter(session, FETCHING_VARIABLES);
    if (session->claim.holder_due)
        return session_enter(session, NAMING_HOLDER);
    if (session->restore.cells_due)
        return session_enter(session, RERUNNING);
    if (session->request.verb == SESSION_SAVE)
        return session_enter(session, SAVING_VARIABLES);
    if (session->request.verb == SESSION_RUN)
        return session_enter(session, RUNNING);
    return session_done(session);
}

void session_run(struct python_session *session)
{
    bool inside = session->machine.running;
    machine_run(&session->machine);
    if (inside || !session->over)
        return;
    session->over = false;
    session->events.on_done(session->owner); /* the session may be gone then */
}

/* -------------------------------------------------------------- exchanges */

void session_land(struct python_session *session)
{
    session->machine.landed = true;
    session_run(session);
}

void session_answered(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    if (!frame)
        return; /* on_change() follows, and opens the session again */
    session->exchange.fresh = frame->fresh;
    if (frame->type == FRAME_FAILED) {
        bool retry = frame->error.retryable;
        err_set(&session->exchange.answer, retry ? ERR_RETRY : ERR_REJECT,
                "session_failed", "%.*s", VIEW_ARG(frame->error.message));
    }
    session_land(session);
}

enum pace session_ask(struct python_session *session, struct frame *frame,
                      executor_answer *answer)
{
    struct executor *executor = session->setup.executor;
    frame->session = view_of(session->name);
    session->exchange.ref = executor_ask(executor, frame, answer, session);
    if (session->exchange.ref != 0 || !executor_is_ready(executor))
        return WAIT; /* not ready: on_change() follows */
    struct err why;
    err_set(&why, ERR_REJECT, "too_large",
            "a request to the executor is larger than a frame");
    return session_fail(session, &why);
}

enum pace session_fetch_blob(struct python_session *session, struct view blob,
                             store_done *done)
{
    session->exchange.sent++;
    blob_get(session->setup.store, session->setup.names, blob, done, session);
    return WAIT;
}

bool session_heard(struct python_session *session, enum python_state state)
{
    struct session_exchange *exchange = &session->exchange;
    exchange->answered++;
    return session->machine.state == state &&
           exchange->answered == exchange->sent;
}

void session_hear_tool(struct python_session *session, struct view call,
                       const struct frame *frame, bool rerun)
{
    session->exchange.tools_open++;
    alarm_stop(session->alarm); /* the executor stops the cell's clock, too */
    if (rerun)
        session->events.on_tool(session->owner, call, frame);
    else
        session->request.cell->on_tool(session->request.owner, frame);
}

void session_resume_clock(struct python_session *session)
{
    session->exchange.tools_open = 0;
    alarm_set(session->alarm, limit_ms(session));
}

/* ---------------------------------------------------- connection and time */

static void on_change(void *owner, bool ready)
{
    struct python_session *session = owner;
    if (!ready) {
        session->opening.presence = PRESENCE_NONE;
        session->claim.state = CLAIM_NONE; /* the memo may be outdated by a
                                              write that is on its way */
        if (session->machine.state != IDLE)
            session_enter(session, AWAY);
    }
    session_run(session);
}

static struct err overdue(const struct python_session *session)
{
    bool redis = waits_for_redis(session->machine.state);
    struct executor_absence absence;
    struct err why;
    if (!redis && executor_is_away(session->setup.executor, &absence))
        err_set(&why, ERR_RETRY, "executor_unavailable",
                "the executor has been away for %llu ms: %s",
                (unsigned long long)absence.ms, absence.text);
    else
        err_set(&why, ERR_RETRY,
                redis ? "redis_unavailable" : "executor_unavailable",
                "%s did not get past \"%s\" within %llu ms",
                redis ? "Redis" : "the executor",
                machine_state_name(&session->machine),
                (unsigned long long)limit_ms(session));
    return why;
}

/* The limit of the state is over; in CLAIMING, perhaps only the wait before
 * Redis is asked again. */
static void on_overdue(void *owner)
{
    struct python_session *session = owner;
    if (session_waits(session)) {
        session_enter(session, CLAIMING);
    } else if (run_is_lost_again(session)) {
        run_give_up(session);
    } else {
        struct err why = overdue(session);
        session_fail(session, &why);
    }
    session_run(session);
}

/* -------------------------------------------------------------- life cycle */

struct python_session *session_new(const struct session_setup *setup,
                                   const char *name,
                                   struct session_events events, void *owner)
{
    struct python_session *session = calloc(1, sizeof(*session));
    if (!session)
        abort();
    session->setup = *setup;
    session->events = events;
    session->owner = owner;
    snprintf(session->name, sizeof(session->name), "%s", name);
    notice_init(&session->notice);
    machine_init(&session->machine, &kind, session, IDLE);
    session->alarm = alarm_new(session->setup.loop, on_overdue, session);
    session->watch.on_change = on_change;
    session->watch.owner = session;
    executor_watch(session->setup.executor, &session->watch);
    return session;
}

void session_free(struct python_session *session)
{
    if (!session)
        return;
    executor_dismiss(session->setup.executor, session->exchange.ref);
    executor_unwatch(session->setup.executor, &session->watch);
    alarm_free(session->alarm);
    buf_finish(&session->file);
    record_finish(session);
    notice_finish(&session->notice);
    free(session);
}

void session_name(char name[80], const struct job *job)
{
    if (job->session.len == 0) {
        snprintf(name, 80, "job-%.*s", VIEW_ARG(job->id));
        return;
    }
    struct encoded_label tenant = names_encode(names_or_default(job->tenant));
    struct encoded_label own = names_encode(job->session);
    char whole[2 * sizeof(struct encoded_label)];
    int len = snprintf(whole, sizeof(whole), "%s/%s", tenant.text, own.text);
    unsigned char hash[EVP_MAX_MD_SIZE];
    EVP_Digest(whole, (size_t)len, hash, NULL, EVP_sha256(), NULL);
    int at = snprintf(name, 80, "session-");
    for (size_t i = 0; i < 32; i++)
        at += snprintf(name + at, 3, "%02x", hash[i]);
}

/* --------------------------------------------------------------- requests */

static bool session_is_ours(const struct python_session *session)
{
    return session->claim.state == CLAIM_OURS;
}

static void session_begin(struct python_session *session)
{
    const struct session_request *request = &session->request;
    bool remembers = request->verb == SESSION_REMEMBER;
    bool claims = request->verb == SESSION_CLAIM;
    if ((claims || remembers) && !session_is_ours(session)) {
        session_enter(session, CLAIMING);
    } else if (claims) {
        session_done(session);
    } else if (remembers) {
        session_enter(session, WRITING_HISTORY);
    } else if (!session_is_open(session)) {
        session->restore.files_due = !request->files_there;
        session->restore.file_at = 0;
        session->restore.cells_due = false;
        session_enter(session, AWAY);
    } else {
        session_next(session);
    }
}

void session_request(struct python_session *session,
                     const struct session_request *request)
{
    assert(session->machine.state == IDLE);
    session->request = *request;
    session->fault = (struct err){ 0 };
    session->over = false;
    session->opening.drops = 0;
    if (request->verb == SESSION_RUN)
        run_begin(session);
    session_begin(session);
    session_run(session);
}

/* A record that is on its way may still be written. So the next request claims
 * the session again, reads the record, and checks whether the executor's
 * session is the holder that it names. It also opens a session again of which
 * it is not known yet whether it has the earlier cells. */
void session_abandon(struct python_session *session)
{
    if (!session)
        return;
    enum python_state state = session->machine.state;
    session->over = false;
    if (state == IDLE)
        return;
    bool writes = state == NAMING_HOLDER || state == WRITING_HISTORY ||
                  state == WRITING_RECORD;
    if (writes)
        session->claim.state = CLAIM_NONE;
    if ((writes || state == CHECKING || state == DROPPING) &&
        session_is_open(session))
        session->opening.presence = PRESENCE_ASKED;
    session_enter(session, IDLE);
}

void session_fail_request(struct python_session *session, const struct err *why)
{
    if (!session)
        return;
    session_abandon(session);
    session->fault = *why;
}

/* ------------------------------------------------------------ what it has */

const struct err *session_fault(const struct python_session *session)
{
    static const struct err none;
    return session ? &session->fault : &none;
}

struct view session_file_bytes(const struct python_session *session)
{
    return buf_view(&session->file);
}

const struct session_setup *session_setup(const struct python_session *session)
{
    return &session->setup;
}

struct session_memo *session_memo(struct python_session *session)
{
    return session ? &session->memo : NULL;
}

bool session_is_asked(const struct python_session *session)
{
    return session && session->opening.presence != PRESENCE_NONE;
}

bool session_is_open(const struct python_session *session)
{
    return session && session->opening.presence == PRESENCE_OPEN;
}

bool session_can_open(const struct python_session *session)
{
    return session && !session_is_open(session) &&
           session->machine.state == IDLE &&
           (!session_is_named(session) || session_is_ours(session));
}

bool session_waits(const struct python_session *session)
{
    return session && session->machine.state == CLAIMING &&
           session->claim.state == CLAIM_WAITS;
}

/* --------------------------------------------------- word to the executor */

void session_answer(struct python_session *session, struct view call,
                    uint64_t number, struct view data, const struct err *why)
{
    if (!session || session->exchange.tools_open == 0)
        return;
    struct call_name name = session_call_name(session, call);
    struct frame answer = { .type = FRAME_ANSWER,
                            .session = view_of(session->name),
                            .call = view_of(name.text),
                            .number = number,
                            .data = data };
    if (why->kind != ERR_NONE)
        answer.error = (struct result_error){
            .kind = why->kind == ERR_RETRY ? VIEW("retry") : VIEW("reject"),
            .code = view_of(why->code),
            .message = view_of(why->text),
        };
    executor_ask(session->setup.executor, &answer, NULL, NULL);
    /* The executor's clock of the cell goes on now, so ours does. */
    if (--session->exchange.tools_open == 0)
        session_resume_clock(session);
}

static void session_tell(struct python_session *session, enum frame_type type,
                         struct view call)
{
    struct frame frame = { .type = (int)type,
                           .session = view_of(session->name),
                           .call = call };
    executor_ask(session->setup.executor, &frame, NULL, NULL);
}

void session_forget(struct python_session *session, struct view call)
{
    if (!session)
        return;
    struct call_name name = session_call_name(session, call);
    session_tell(session, FRAME_FORGET, view_of(name.text));
}

void session_interrupt(struct python_session *session)
{
    if (session)
        session_tell(session, FRAME_INTERRUPT, (struct view){ 0 });
}

void session_close(struct python_session *session)
{
    if (session)
        session_tell(session, FRAME_CLOSE, (struct view){ 0 });
}

/* ------------------------------------------------------------------ names */

bool session_is_named(const struct python_session *session)
{
    return session->setup.key.name.len > 0;
}

struct call_name session_call_name(const struct python_session *session,
                                   struct view call)
{
    struct call_name name;
    snprintf(name.text, sizeof(name.text), "%.*s/%.*s",
             VIEW_ARG(session->setup.job), VIEW_ARG(call));
    return name;
}

uint64_t session_cell_number(const struct python_session *session,
                             uint64_t number)
{
    return session_is_named(session) ? session->memo.record.cells + number
                                     : number;
}

struct frame session_run_frame(const struct python_session *session,
                               const struct call_name *name, struct view code,
                               uint64_t number)
{
    return (struct frame){ .type = FRAME_RUN,
                           .call = view_of(name->text),
                           .code = code,
                           .number = session_cell_number(session, number),
                           .tools = session->setup.tools,
                           .env = session->setup.env,
                           .cell_ms = session->setup.cell_ms };
}
