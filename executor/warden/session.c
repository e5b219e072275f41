/* session.c - the machine of a session: its table, what callbacks record, and
 * how it is opened.
 *
 * What the interpreter sends is hostile once a cell has run. Callbacks only
 * record it, within limits; what follows is decided by the steps. Running the
 * machine may free the session, so session_run() is the last thing that a
 * callback does. */
#include "executor/warden/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "executor/base/log.h"
#include "executor/base/wire.h"
#include "executor/warden/memory.h"
#include "executor/warden/session_steps.h"
#include "executor/warden/sessions.h"

enum {
    OPEN_MS = 60000, /* the first session waits for all imports of Python */
    TRACE_MS = 20,   /* to tell its line: meanwhile it takes more memory */
    KILL_MS = 5000,
    SWEEP_MS = 3000,
    PARK_MS = 2000, /* and as long once more when it was interrupted */
};

static machine_step step_opening, step_idle, step_ended;
static void on_entered(void *owner);

static const struct machine_state states[SESSION_STATES] = {
    [SESSION_OPENING] = { "opening", TO(SESSION_IDLE) | TO(SESSION_ENDED),
                          .step = step_opening },
    [SESSION_IDLE] = { "idle",
                       TO(SESSION_OPENING) | TO(SESSION_RUNNING) |
                           TO(SESSION_KILLING) | TO(SESSION_SENDING) |
                           TO(SESSION_LEAVING) | TO(SESSION_ENDED),
                       .step = step_idle },
    [SESSION_RUNNING] = { "running",
                          TO(SESSION_SWEEPING) | TO(SESSION_STOPPING) |
                              TO(SESSION_DRAWING) | TO(SESSION_KILLING) |
                              TO(SESSION_ENDED),
                          .step = step_running },
    [SESSION_STOPPING] = { "stopping",
                           TO(SESSION_SWEEPING) | TO(SESSION_DRAWING) |
                               TO(SESSION_KILLING) | TO(SESSION_ENDED),
                           .step = step_stopping },
    [SESSION_DRAWING] = { "drawing",
                          TO(SESSION_SWEEPING) | TO(SESSION_STOPPING) |
                              TO(SESSION_KILLING) | TO(SESSION_ENDED),
                          .step = step_drawing },
    [SESSION_KILLING] = { "killing",
                          TO(SESSION_OPENING) | TO(SESSION_IDLE) |
                              TO(SESSION_PARKING),
                          .step = step_killing },
    [SESSION_SWEEPING] = { "sweeping",
                           TO(SESSION_PARKING) | TO(SESSION_CLEARING) |
                               TO(SESSION_IDLE) | TO(SESSION_KILLING) |
                               TO(SESSION_ENDED) | TO(SESSION_INSTALLING),
                           .step = step_sweeping },
    [SESSION_INSTALLING] = { "installing",
                             TO(SESSION_PARKING) | TO(SESSION_CLEARING) |
                                 TO(SESSION_IDLE) | TO(SESSION_KILLING) |
                                 TO(SESSION_ENDED),
                             .step = step_installing },
    [SESSION_PARKING] = { "parking",
                          TO(SESSION_PARKING) | TO(SESSION_CLEARING) |
                              TO(SESSION_KILLING) | TO(SESSION_ENDED),
                          .step = step_parking },
    [SESSION_CLEARING] = { "clearing",
                           TO(SESSION_IDLE) | TO(SESSION_KILLING) |
                               TO(SESSION_ENDED),
                           .step = step_clearing },
    [SESSION_SENDING] = { "sending", TO(SESSION_IDLE), .step = step_sending },
    [SESSION_LEAVING] = { "leaving", TO(SESSION_ENDED), .step = step_leaving },
    [SESSION_ENDED] = { "ended", 0, .step = step_ended },
};
static const struct machine_kind kind = { "a session", states, SESSION_STATES,
                                          on_entered, NULL };

uint64_t session_grace_ms(const struct session *session)
{
    return session->run.drew ? DRAWN_MS : GRACE_MS;
}

static uint64_t deadline_ms(const struct session *session)
{
    switch (session->machine.state) {
    case SESSION_OPENING:
        return OPEN_MS;
    case SESSION_RUNNING:
        return session->run.limit_ms;
    case SESSION_STOPPING:
        return session->run.stop == STOP_MEMORY ? TRACE_MS
                                                : session_grace_ms(session);
    case SESSION_DRAWING:
        return DRAW_MS;
    case SESSION_KILLING:
        return KILL_MS;
    case SESSION_SWEEPING:
    case SESSION_CLEARING:
        return SWEEP_MS;
    case SESSION_PARKING:
        return PARK_MS;
    case SESSION_INSTALLING:
        return INSTALL_MS;
    case SESSION_SENDING:
        return SEND_MS;
    case SESSION_LEAVING:
        return LEAVE_MS;
    case SESSION_IDLE:
    case SESSION_ENDED:
    case SESSION_STATES:
        break;
    }
    return session->sessions->settings->idle_ms;
}

/* An installation must not call back into another state than the one that asked
 * for it. */
static void on_entered(void *owner)
{
    struct session *session = owner;
    install_free(session->install); /* of the state that was left */
    session->install = NULL;
    session->flags.late = false;
    session->idle_since_ms = clock_ms();
    alarm_set(session->deadline, deadline_ms(session));
}

void session_enter(struct session *session, enum session_state next)
{
    machine_go(&session->machine, next);
}

/* From outcome_begin() to outcome_say(), through all states in between. */
bool session_runs_cell(const struct session *session)
{
    return session->run.call;
}

uint64_t session_cells_before(const struct session *session)
{
    return session->cells.count - session_runs_cell(session);
}

/* If a cell of code runs, the snapshot was made before it, and its number is
 * that of the cell before. Saves have no numbers. */
void session_note_snapshot(struct session *session, uint64_t cells)
{
    bool before =
        cells < session->cells.count && session->run.asked.task == TASK_CODE;
    session->snapshot.cell = cells;
    session->snapshot.number =
        before ? session->cells.before : session->cells.last;
}

void session_describe(const struct session *session, struct session_info *info)
{
    struct interpreter *interpreter = session->interpreter;
    *info = (struct session_info){
        .name = view_of(session->name),
        .state = view_of(machine_state_name(&session->machine)),
        .cells = session->cells.count,
    };
    if (session->machine.state == SESSION_IDLE)
        info->idle_ms = clock_ms() - session->idle_since_ms;
    if (!interpreter)
        return;
    info->memory_bytes = memory_taken(interpreter_box(interpreter));
    info->snapshot = interpreter_has_snapshot(interpreter);
}

void session_run(struct session *session)
{
    if (session->machine.running) {
        session->machine.again = true;
        return;
    }
    machine_run(&session->machine);
    if (session->machine.state == SESSION_ENDED)
        sessions_remove(session->sessions, session);
}

/* ------------------------------------------------- what happens is recorded */

static void on_deadline(void *owner)
{
    struct session *session = owner;
    session->flags.late = true;
    session_run(session);
}

static void on_progress(void *owner)
{
    session_run(owner);
}

static void on_swept(void *owner, bool clean)
{
    struct session *session = owner;
    session->flags.swept = true;
    session->flags.clean = clean;
    session_run(session);
}

static void on_parked(void *owner, const char *failure)
{
    struct session *session = owner;
    if (failure) { /* the snapshot before stays, if there is one */
        log_line("session.unparked", session->name, "no snapshot: %s", failure);
        snprintf(session->snapshot.why_none, sizeof(session->snapshot.why_none),
                 "%s", failure);
    } else {
        session_note_snapshot(session, session_cells_before(session));
        session->snapshot.why_none[0] = '\0';
    }
    session->flags.parked = true;
    session_run(session);
}

/* Without a box there is nothing to measure it by: the folder's file system and
 * /proc are also those of others. */
static void look_at_memory(struct session *session)
{
    const struct box *box = interpreter_box(session->interpreter);
    uint64_t taken = 0;
    bool runs = session->run.call ||
                session->machine.state == SESSION_PARKING ||
                session->machine.state == SESSION_LEAVING;
    if (box_is_folder(box) || !runs)
        return;
    session->flags.memory =
        memory_exceeded(box, session->limits.memory_bytes, &taken);
    if (session->flags.memory)
        session->run.cell.peak_bytes = taken;
}

/* The memory is looked at when it dies: if the kernel killed it because the box
 * had none left, the outcome is "memory" and not "crashed". */
static void on_dead(void *owner)
{
    struct session *session = owner;
    session->flags.dead = true;
    look_at_memory(session);
    session_run(session);
}

static void on_frame(void *owner, const struct guest_frame *frame)
{
    struct session *session = owner;
    session->at_exit =
        frame->type == GUEST_DONE ? frame->at_exit : session->at_exit;
    if (frame->type == GUEST_DONE && !session->run.call) {
        session->flags.done = true; /* LEAVING: nobody waits for an outcome */
        session_run(session);
    } else if (frame->type == GUEST_DISPLAY || frame->type == GUEST_UPDATE) {
        outcome_display(session, frame);
        session_slow_down(session);
    } else if (frame->type == GUEST_CLEAR) {
        outcome_clear(session, frame);
        session_slow_down(session);
    } else if (frame->type == GUEST_TOOL) {
        tool_ask(session, frame);
        session_slow_down(session);
        session_run(session);
    } else if (frame->type == GUEST_INSTALL) {
        installing_asked(session, frame);
    } else if (frame->type == GUEST_FIGURE) {
        session->run.figures = true;
    } else if (frame->type == GUEST_DRAWING) {
        session->flags.drawing = true;
        session_run(session);
    } else if (frame->type == GUEST_DONE) {
        outcome_done(session, frame);
        session->flags.done = true;
        session_run(session);
    }
}

static void on_output(void *owner, struct view stream, uint64_t offset,
                      struct view bytes)
{
    struct session *session = owner;
    struct frame frame = {
        .type = FRAME_OUTPUT,
        .stream = stream,
        .offset = offset,
        .data = bytes,
    };
    if (!session->run.call)
        return; /* LEAVING: nobody listens */
    call_say(session->run.call, &frame);
    session_slow_down(session);
}

/* Asks which line the code is at while its memory comes to an end: when the
 * kernel has killed it, there is nobody left to ask. It is asked again only
 * when it has grown by a sixteenth of the limit. */
static void trace_growth(struct session *session)
{
    struct running_cell *run = &session->run;
    uint64_t limit = session->limits.memory_bytes;
    uint64_t taken = memory_peak_bytes(interpreter_box(session->interpreter));
    if (session->machine.state != SESSION_RUNNING || taken < limit / 4 * 3 ||
        taken < run->traced_bytes + limit / 16)
        return;
    run->traced_bytes = taken;
    run->traces++;
    interpreter_trace(session->interpreter);
}

static void on_measure(void *owner)
{
    struct session *session = owner;
    if (session->machine.state == SESSION_IDLE) { /* it waited for a tick */
        session_run(session);
        return;
    }
    if (!(TO(session->machine.state) &
          (TO(SESSION_RUNNING) | TO(SESSION_STOPPING) | TO(SESSION_DRAWING) |
           TO(SESSION_PARKING) | TO(SESSION_LEAVING))))
        return; /* nothing in it runs */
    alarm_set(session->measuring, MEASURE_MS);
    look_at_memory(session);
    if (session->flags.memory)
        session_run(session);
    else
        trace_growth(session);
}

void session_measure(struct session *session)
{
    struct box *box = interpreter_box(session->interpreter);
    if (!box_is_folder(box))
        alarm_set(session->measuring, MEASURE_MS);
    memory_begin(box);
}

/* ------------------------------------------------------- requests in order */

void session_pop(struct session *session)
{
    struct peer_request *request = session->first;
    session->first = request->next;
    request_free(request);
}

void session_fail_first(struct session *session, const struct err *err)
{
    peer_fail(session->first->peer, session->first->frame.ref, err);
    session_pop(session);
}

/* Everything inside is gone with it. */
void session_drop_interpreter(struct session *session)
{
    if (session->box_request.waiting)
        boxes_forget(session->sessions->boxes, &session->box_request);
    box_release(session->box_request.box);
    session->box_request = (struct box_request){ 0 };
    interpreter_free(session->interpreter);
    session->interpreter = NULL;
    session->filled = false;
    session->flags =
        (struct session_flags){ .closing = session->flags.closing };
    listing_finish(&session->files.seen);
}

/* ------------------------------------------------------------------ steps */

enum pace session_end(struct session *session)
{
    session_enter(session, SESSION_ENDED);
    return AGAIN;
}

/* When no other interpreter can be had, the box goes, too, and with it the
 * files. The next cell is told. */
static void lose_files(struct session *session, const char *why)
{
    if (!session->opened || !session->interpreter)
        return;
    snprintf(session->loss.text, sizeof(session->loss.text),
             "between two cells no interpreter could be had: %.200s; variables "
             "and files of the session are lost",
             why);
    session->loss.state = CELL_LOST;
    session->loss.emptied = true;
}

/* No interpreter can be had. Whoever asked is told. A session that was never
 * opened ends, unless somebody else has asked for it meanwhile. */
static enum pace fail_open(struct session *session, const struct err *err)
{
    struct err why = *err; /* it may be the request's own */
    log_line("session.failed", session->name, "%s", why.text);
    session->retried = false;
    if (session->run.call) {
        outcome_set(session, CELL_CRASHED, CELL_LOST,
                    "it could not be run again: %s; variables and files of the "
                    "session are lost",
                    why.text);
        outcome_say(session, true);
        session_drop_interpreter(session);
        session_enter(session, SESSION_IDLE);
        return AGAIN;
    }
    lose_files(session, why.text);
    session_drop_interpreter(session);
    if (session->first)
        session_fail_first(session, &why);
    session_enter(session, SESSION_IDLE);
    return session->opened || session->first ? AGAIN : session_end(session);
}

/* The interpreter is there, or there again after a cell was killed. */
static enum pace opened(struct session *session)
{
    session->born_bytes = interpreter_bytes(session->interpreter);
    session->files.stale = true;
    session->retried = session->at_exit = false;
    session_enter(session, SESSION_IDLE);
    return AGAIN;
}

static void session_use_interpreter(struct session *session,
                                    struct interpreter *interpreter)
{
    struct interpreter_events events = {
        .on_ready = on_progress,
        .on_output = on_output,
        .on_frame = on_frame,
        .on_parked = on_parked,
        .on_swept = on_swept,
        .on_dead = on_dead,
        .owner = session,
    };
    box_name(interpreter_box(interpreter), session->name);
    session->interpreter = interpreter;
    interpreter_use(interpreter, events);
}

/* One from the pool, if it has one that fits; else one is born into a box. */
static enum pace find_interpreter(struct session *session)
{
    struct sessions *all = session->sessions;
    struct interpreter *ready =
        pool_take(all->pool, session->profile, &session->limits);
    session->was_ready = ready;
    if (ready) {
        session_use_interpreter(session, ready);
        return AGAIN;
    }
    session->box_request.on_answer = on_progress;
    session->box_request.owner = session;
    session->box_request.disk_bytes = session->limits.disk_bytes;
    return boxes_take(all->boxes, &session->box_request) ? AGAIN : WAIT;
}

static enum pace session_be_born(struct session *session)
{
    struct sessions *all = session->sessions;
    struct zygote *zygote = pool_zygote(all->pool, session->profile);
    struct box *box = session->box_request.box;
    struct err err;
    if (!box_limit(box, &session->limits, &err))
        return fail_open(session, &err);
    session->box_request.box = NULL;
    session_use_interpreter(session, interpreter_new(all->loop, zygote, box,
                                                     &session->limits, true));
    return WAIT;
}

static enum pace step_opening(void *owner)
{
    struct session *session = owner;
    struct err err;
    struct interpreter *interpreter = session->interpreter;
    if (session->flags.closing)
        return session_end(session);
    /* The zygote may have died while it forked: once more, in a new box. But
     * not if a cell is to run again: its files are in this box. */
    bool keeps = session->run.call != NULL;
    if (session->flags.dead && !session->retried && !keeps) {
        log_line("session.again", session->name, "%s",
                 interpreter_cause(interpreter));
        session->retried = true;
        lose_files(session, interpreter_cause(interpreter));
        session_drop_interpreter(session);
        return AGAIN;
    }
    if (session->flags.late || session->flags.dead) {
        err_set(&err, ERR_RETRY, "no_interpreter", "no interpreter: %s",
                session->flags.dead ? interpreter_cause(interpreter)
                                    : "it was not ready in time");
        return fail_open(session, &err);
    }
    if (interpreter)
        return interpreter_is_ready(interpreter) ? opened(session) : WAIT;
    if (session->box_request.err.kind != ERR_NONE)
        return fail_open(session, &session->box_request.err);
    if (session->box_request.waiting)
        return WAIT;
    return session->box_request.box ? session_be_born(session)
                                    : find_interpreter(session);
}

/* A file that a cell changes in the same tick of the files' clock in which the
 * files were listed would look unchanged: so it waits for the next tick. */
static bool waits_for_tick(struct session *session)
{
    if (session->first->frame.type != FRAME_RUN)
        return false;
    if (session->files.stale)
        session_list(session, &session->files.seen);
    session->files.stale = false;
    if (!listing_is_fresh(&session->files.seen))
        return false;
    alarm_set(session->measuring, 1);
    return true;
}

static enum pace step_idle(void *owner)
{
    struct session *session = owner;
    if (session->flags.closing)
        return session_close(session);
    if (session->flags.dead)
        return session_kill(session);
    if (session->run.call)
        return session_begin_cell(session); /* again */
    if (session->first && session->interpreter)
        return waits_for_tick(session) ? WAIT : session_serve(session);
    if (session->first) {
        session_enter(session, SESSION_OPENING);
        return AGAIN;
    }
    return session->flags.late ? session_close(session) : WAIT;
}

static enum pace step_ended(void *owner)
{
    (void)owner;
    return WAIT; /* session_run() removes it */
}

/* -------------------------------------------------------------- life cycle */

struct session *session_new(struct sessions *sessions, struct view name,
                            enum profile profile,
                            const struct session_limits *limits)
{
    struct session *session = allocate(sizeof(*session));
    session->sessions = sessions;
    session->profile = profile;
    machine_init(&session->machine, &kind, session, SESSION_IDLE);
    session->limits = *limits;
    session->made_ms = clock_ms();
    session->sending.fd = -1;
    assert(name.len < sizeof(session->name));
    memcpy(session->name, name.data, name.len);
    session->deadline = alarm_new(sessions->loop, on_deadline, session);
    session->measuring = alarm_new(sessions->loop, on_measure, session);
    return session;
}

/* Not found by its name any more; nothing below calls back into it. */
void session_free(struct session *session)
{
    struct err err;
    err_set(&err, ERR_RETRY, "session_failed", "the session was closed");
    if (session->run.call)
        peer_fail(session->run.call->peer, session->run.call->ref, &err);
    while (session->first)
        session_fail_first(session, &err);
    session_drop_interpreter(session);
    close_fd(&session->sending.fd);
    tool_end(session);
    arena_finish(&session->run.arena);
    arena_finish(&session->run.asked_arena);
    install_free(session->install);
    calls_finish(&session->calls);
    alarm_free(session->deadline);
    alarm_free(session->measuring);
    free(session);
}
