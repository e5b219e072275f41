/* session.c - the machine of a session. */
#include "executor/warden/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/warden/log.h"
#include "executor/warden/memory.h"
#include "executor/warden/sessions.h"
#include "executor/warden/wire.h"

enum {
    OPEN_MS = 60000, /* the first one waits for all imports of Python */
    GRACE_MS = 500,  /* from KeyboardInterrupt to SIGKILL */
    KILL_MS = 5000,
    SWEEP_MS = 3000,
    SEND_MS = 60000, /* for one piece */
    MEASURE_MS = 50,
};

enum turn { AGAIN, WAIT };

struct rule {
    const char *name;
    unsigned int next;
    enum turn (*step)(struct session *session);
};
static const struct rule table[SESSION_STATES];

#define TO(state) (1u << (state))

static uint64_t deadline_ms(const struct session *session)
{
    switch (session->state) {
    case SESSION_OPENING:
        return OPEN_MS;
    case SESSION_RUNNING:
        return session->running.limit_ms;
    case SESSION_STOPPING:
        return GRACE_MS;
    case SESSION_KILLING:
        return KILL_MS;
    case SESSION_SWEEPING:
        return SWEEP_MS;
    case SESSION_SENDING:
        return SEND_MS;
    case SESSION_IDLE:
    case SESSION_ENDED:
    case SESSION_STATES:
        break;
    }
    return session->sessions->settings->idle_ms;
}

static void enter(struct session *session, enum session_state next)
{
    assert(table[session->state].next & TO(next));
    session->state = next;
    session->seen.late = false;
    alarm_set(session->deadline, deadline_ms(session));
}

void session_run(struct session *session)
{
    while (table[session->state].step(session) == AGAIN)
        if (session->state == SESSION_ENDED) {
            sessions_remove(session->sessions, session);
            return;
        }
}

/* ------------------------------------------------- what happens is recorded */

static void on_deadline(void *owner)
{
    struct session *session = owner;
    session->seen.late = true;
    session_run(session);
}

static void on_box(void *owner)
{
    session_run(owner);
}

static void on_swept(void *owner, bool clean)
{
    struct session *session = owner;
    session->seen.swept = true;
    session->seen.clean = clean;
    session_run(session);
}

static void on_ready(void *owner)
{
    struct session *session = owner;
    session->seen.ready = true;
    session_run(session);
}

static void on_dead(void *owner)
{
    struct session *session = owner;
    session->seen.dead = true;
    session_run(session);
}

static void on_done(void *owner, const struct guest_frame *done)
{
    struct session *session = owner;
    outcome_done(session, done);
    session->seen.done = true;
    session_run(session);
}

/* Only while the cell may still go on: later it is a matter of moments, and
 * what is left is bounded. */
static void slow_down(struct session *session)
{
    if (session->state == SESSION_RUNNING)
        runner_pause(session->runner, peer_lags(session->running.call->peer));
}

static void on_output(void *owner, struct view stream, struct view bytes)
{
    struct session *session = owner;
    struct frame frame = {
        .type = FRAME_OUTPUT,
        .stream = stream,
        .data = bytes,
    };
    call_say(session->running.call, &frame);
    slow_down(session);
}

static void on_display(void *owner, const struct list *bundle)
{
    struct session *session = owner;
    outcome_display(session, bundle);
    slow_down(session);
}

static void on_measure(void *owner)
{
    struct session *session = owner;
    if (session->state != SESSION_RUNNING && session->state != SESSION_STOPPING)
        return;
    alarm_set(session->measuring, MEASURE_MS);
    session->seen.memory =
        memory_exceeds(box_proc(session->box), box_workspace(session->box),
                       session->limits.memory_bytes);
    if (session->seen.memory)
        session_run(session);
}

/* ------------------------------------------------------- requests in order */

static void pop_request(struct session *session)
{
    struct request *request = session->first;
    session->first = request->next;
    request_free(request);
}

static void fail_first(struct session *session, const struct err *err)
{
    peer_fail(session->first->peer, session->first->frame.ref, err);
    pop_request(session);
}

/* Everything inside is gone with it. */
static void drop_interpreter(struct session *session)
{
    if (session->wish.waiting)
        boxes_forget(session->sessions->boxes, &session->wish);
    box_release(session->wish.box);
    session->wish = (struct box_wish){ 0 };
    runner_free(session->runner);
    session->runner = NULL;
    box_release(session->box);
    session->box = NULL;
    session->seen = (struct session_seen){ .closing = session->seen.closing };
    listing_finish(&session->files);
}

static void answer_opened(struct session *session,
                          const struct request *request, bool fresh)
{
    peer_answer(request->peer, request->frame.ref,
                (struct frame){
                    .type = FRAME_OPENED,
                    .session = view_of(session->name),
                    .fresh = fresh,
                });
    session->opened = true;
}

static void serve_put(struct session *session)
{
    const struct frame *frame = &session->first->frame;
    struct err err;
    bool failed_before = frame->offset > 0 && session->failed_put == frame->ref;
    session->files_stale = true;
    if (!failed_before) {
        session->failed_put = 0;
        if (!files_put(box_workspace(session->box), frame->name, frame->offset,
                       frame->data, &err)) {
            session->failed_put = frame->ref;
            peer_fail(session->first->peer, frame->ref, &err);
        } else if (frame->last) {
            peer_ok(session->first->peer, frame->ref);
        }
    }
    pop_request(session);
}

static void serve_list(struct session *session)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct listing listing = { 0 };
    listing_read(&listing, box_workspace(session->box));
    peer_answer(session->first->peer, session->first->frame.ref,
                (struct frame){
                    .type = FRAME_LISTING,
                    .files = listing_changes(NULL, &listing, &arena),
                });
    listing_finish(&listing);
    pop_request(session);
}

/* The request stays the first one until its file is out. */
static enum turn serve_get(struct session *session)
{
    struct err err;
    session->sent_bytes = 0;
    if (!files_open(box_workspace(session->box), session->first->frame.name,
                    &session->sending, &session->send_bytes, &err)) {
        fail_first(session, &err);
        return AGAIN;
    }
    enter(session, SESSION_SENDING);
    return AGAIN;
}

static enum turn serve_run(struct session *session)
{
    const struct frame *frame = &session->first->frame;
    uint64_t most = session->sessions->settings->cell_ms;
    uint64_t limit_ms =
        frame->cell_ms && frame->cell_ms < most ? frame->cell_ms : most;
    struct call *call = calls_add(&session->calls, frame->call);
    struct err err;
    call_attach(call, session->first->peer, frame->ref);
    if (session->files_stale)
        listing_read(&session->files, box_workspace(session->box));
    outcome_begin(session, call, limit_ms);
    session->seen = (struct session_seen){ .ready = true };
    enter(session, SESSION_RUNNING);
    alarm_set(session->measuring, MEASURE_MS);
    if (!runner_cell(session->runner, session->running.number, frame->code,
                     &err))
        session->seen.interrupt = true; /* bounds are the format's: our bug */
    pop_request(session);
    return AGAIN;
}

static enum turn serve(struct session *session)
{
    struct err err;
    switch (session->first->frame.type) {
    case FRAME_OPEN:
        answer_opened(session, session->first, !session->opened);
        pop_request(session);
        break;
    case FRAME_RUN:
        return serve_run(session);
    case FRAME_PUT:
        serve_put(session);
        break;
    case FRAME_GET:
        return serve_get(session);
    case FRAME_LIST:
        serve_list(session);
        break;
    default:
        err_set(&err, ERR_REJECT, "bad_field", "a session is not asked \"%s\"",
                frame_type_names[session->first->frame.type]);
        fail_first(session, &err);
    }
    return AGAIN;
}

/* ------------------------------------------------------------------ steps */

static enum turn end(struct session *session)
{
    enter(session, SESSION_ENDED);
    return AGAIN;
}

/* Whoever asked is told; a session that never was does not stay. */
static enum turn fail_open(struct session *session, const struct err *err)
{
    struct err why = *err; /* it may be the wish's own */
    log_line("session.failed", session->name, "%s", why.text);
    drop_interpreter(session);
    if (session->first)
        fail_first(session, &why);
    enter(session, SESSION_IDLE);
    return session->opened || session->first ? AGAIN : end(session);
}

static enum turn step_opening(struct session *session)
{
    struct err err;
    struct sessions *all = session->sessions;
    if (session->seen.closing)
        return end(session);
    if (session->seen.late || session->seen.dead) {
        err_set(&err, ERR_RETRY, "session_failed", "no interpreter: %s",
                session->seen.dead ? runner_cause(session->runner)
                                   : "it was not ready in time");
        return fail_open(session, &err);
    }
    if (session->runner) {
        if (!session->seen.ready)
            return WAIT;
        session->files_stale = true;
        enter(session, SESSION_IDLE);
        return AGAIN;
    }
    if (session->wish.err.kind != ERR_NONE)
        return fail_open(session, &session->wish.err);
    if (session->wish.waiting)
        return WAIT;
    if (!session->wish.box) {
        session->wish.on_answer = on_box;
        session->wish.owner = session;
        return boxes_take(all->boxes, &session->wish) ? AGAIN : WAIT;
    }
    session->box = session->wish.box;
    session->wish.box = NULL;
    box_use(session->box, (struct box_events){ on_swept, session });
    session->runner =
        runner_new(all->loop, all->zygote, session->box, &session->limits,
                   (struct runner_events){ on_ready, on_output, on_display,
                                           on_done, on_dead, session });
    return WAIT;
}

static enum turn step_idle(struct session *session)
{
    if (session->seen.closing)
        return end(session);
    if (session->seen.dead) {
        snprintf(session->loss, sizeof(session->loss), "%s",
                 runner_cause(session->runner));
        drop_interpreter(session);
    }
    if (session->first && session->runner)
        return serve(session);
    if (session->first) {
        enter(session, SESSION_OPENING);
        return AGAIN;
    }
    return session->seen.late ? end(session) : WAIT;
}

static enum turn say_outcome(struct session *session)
{
    const struct cell *cell = &session->running.cell;
    bool lost = session->state == SESSION_KILLING;
    log_line("cell.done", session->name, "cell %llu: %s, %s%s%s",
             (unsigned long long)session->running.number,
             cell_status_names[cell->status], cell_state_names[cell->state],
             cell->reason.len ? ": " : "", session->running.reason);
    outcome_say(session);
    if (lost)
        drop_interpreter(session);
    session->seen.done = session->seen.swept = false;
    enter(session, SESSION_IDLE);
    return AGAIN;
}

/* What was recorded stays; the box goes now, and the interpreter with it. */
static enum turn kill_all(struct session *session)
{
    runner_kill(session->runner);
    box_release(session->box);
    session->box = NULL;
    enter(session, SESSION_KILLING);
    return AGAIN;
}

static enum turn crash(struct session *session)
{
    outcome_set(session, CELL_CRASHED, CELL_LOST,
                "the interpreter died: %s; variables and files of the "
                "session are lost",
                runner_cause(session->runner));
    return kill_all(session);
}

static enum turn over_memory(struct session *session)
{
    outcome_set(session, CELL_MEMORY, CELL_LOST,
                "the session took more than its %llu MiB of memory and was "
                "killed; its variables and files are lost",
                (unsigned long long)session->limits.memory_bytes >> 20);
    return kill_all(session);
}

static enum turn sweep(struct session *session)
{
    session->seen.swept = false;
    enter(session, SESSION_SWEEPING);
    box_sweep(session->box);
    return WAIT;
}

static enum turn step_running(struct session *session)
{
    if (session->seen.closing)
        return end(session);
    if (session->seen.dead)
        return crash(session);
    if (session->seen.done)
        return sweep(session);
    if (session->seen.memory)
        return over_memory(session);
    if (!session->seen.late && !session->seen.interrupt) {
        slow_down(session);
        return WAIT;
    }
    session->running.timed_out = !session->seen.interrupt;
    runner_interrupt(session->runner);
    enter(session, SESSION_STOPPING);
    runner_pause(session->runner, false);
    return AGAIN;
}

/* It obeyed: nothing is lost. */
static enum turn stopped(struct session *session)
{
    struct running *running = &session->running;
    if (running->cell.status == CELL_INTERRUPTED && running->timed_out)
        outcome_set(session, CELL_TIMEOUT, (enum cell_state)running->cell.state,
                    "stopped at its limit of %.1f s; variables are kept",
                    (double)running->limit_ms / 1000);
    return sweep(session);
}

static enum turn step_stopping(struct session *session)
{
    const struct running *running = &session->running;
    if (session->seen.closing)
        return end(session);
    if (session->seen.dead)
        return crash(session);
    if (session->seen.done)
        return stopped(session);
    if (session->seen.memory)
        return over_memory(session);
    if (!session->seen.late)
        return WAIT;
    if (running->timed_out)
        outcome_set(session, CELL_TIMEOUT, CELL_LOST,
                    "it ran longer than its limit of %.1f s, did not react "
                    "to KeyboardInterrupt and was killed; variables and "
                    "files of the session are lost",
                    (double)running->limit_ms / 1000);
    else
        outcome_set(session, CELL_INTERRUPTED, CELL_LOST,
                    "it did not react to KeyboardInterrupt and was killed; "
                    "variables and files of the session are lost");
    return kill_all(session);
}

static enum turn step_killing(struct session *session)
{
    if (!session->seen.dead && !session->seen.late)
        return WAIT;
    if (!session->seen.dead)
        log_line("session.stuck", session->name,
                 "its interpreter does not die");
    return say_outcome(session);
}

static enum turn step_sweeping(struct session *session)
{
    if (session->seen.closing)
        return end(session);
    if (!session->seen.dead && !session->seen.swept && !session->seen.late)
        return WAIT;
    if (!session->seen.dead && session->seen.swept && session->seen.clean)
        return say_outcome(session);
    outcome_set(session, (enum cell_status)session->running.cell.status,
                CELL_LOST,
                "after the cell %s; variables and files of the session are "
                "lost",
                session->seen.dead
                    ? runner_cause(session->runner)
                    : "processes that it left behind could not be ended");
    return kill_all(session);
}

static enum turn finish_sending(struct session *session)
{
    close_fd(&session->sending);
    pop_request(session);
    enter(session, SESSION_IDLE);
    return AGAIN;
}

static enum turn step_sending(struct session *session)
{
    char piece[MAX_CHUNK_BYTES];
    struct peer *peer = session->first->peer;
    if (session->seen.late || session->seen.closing || !peer)
        return finish_sending(session);
    if (peer_lags(peer))
        return WAIT;
    ssize_t got = pread(session->sending, piece, sizeof(piece),
                        (off_t)session->sent_bytes);
    if (got < 0)
        got = 0;
    struct frame frame = {
        .type = FRAME_CHUNK,
        .data = { piece, (size_t)got },
        .offset = session->sent_bytes,
    };
    session->sent_bytes += (size_t)got;
    /* It may be growing: no further than it was, nor than there is. */
    frame.last = got == 0 || session->sent_bytes >= session->send_bytes;
    peer_answer(peer, session->first->frame.ref, frame);
    alarm_set(session->deadline, SEND_MS);
    return frame.last ? finish_sending(session) : AGAIN;
}

static enum turn step_ended(struct session *session)
{
    (void)session;
    return AGAIN; /* session_run() removes it */
}

static const struct rule table[SESSION_STATES] = {
    [SESSION_OPENING] = { "opening", TO(SESSION_IDLE) | TO(SESSION_ENDED),
                          step_opening },
    [SESSION_IDLE] = { "idle",
                       TO(SESSION_OPENING) | TO(SESSION_RUNNING) |
                           TO(SESSION_SENDING) | TO(SESSION_ENDED),
                       step_idle },
    [SESSION_RUNNING] = { "running",
                          TO(SESSION_SWEEPING) | TO(SESSION_STOPPING) |
                              TO(SESSION_KILLING) | TO(SESSION_ENDED),
                          step_running },
    [SESSION_STOPPING] = { "stopping",
                           TO(SESSION_SWEEPING) | TO(SESSION_KILLING) |
                               TO(SESSION_ENDED),
                           step_stopping },
    [SESSION_KILLING] = { "killing", TO(SESSION_IDLE), step_killing },
    [SESSION_SWEEPING] = { "sweeping",
                           TO(SESSION_IDLE) | TO(SESSION_KILLING) |
                               TO(SESSION_ENDED),
                           step_sweeping },
    [SESSION_SENDING] = { "sending", TO(SESSION_IDLE), step_sending },
    [SESSION_ENDED] = { "ended", 0, step_ended },
};

/* -------------------------------------------------------------- life cycle */

struct session *session_new(struct sessions *sessions, struct view name,
                            const struct session_limits *limits)
{
    struct session *session = allocate(sizeof(*session));
    session->sessions = sessions;
    session->state = SESSION_IDLE;
    session->limits = *limits;
    session->sending = -1;
    assert(name.len < sizeof(session->name));
    memcpy(session->name, name.data, name.len);
    session->deadline = alarm_new(sessions->loop, on_deadline, session);
    session->measuring = alarm_new(sessions->loop, on_measure, session);
    return session;
}

void session_free(struct session *session)
{
    struct err err;
    err_set(&err, ERR_RETRY, "session_failed", "the session was closed");
    if (session->running.call)
        peer_fail(session->running.call->peer, session->running.call->ref,
                  &err);
    while (session->first)
        fail_first(session, &err);
    drop_interpreter(session);
    close_fd(&session->sending);
    arena_finish(&session->running.arena);
    calls_finish(&session->calls);
    alarm_free(session->deadline);
    alarm_free(session->measuring);
    free(session);
}
