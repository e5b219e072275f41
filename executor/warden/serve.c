/* serve.c - carries out what is asked of a session, one request after the
 * other.
 *
 * Only in IDLE: no code of the session runs while its files are read or
 * written. */
#include <unistd.h>

#include "executor/base/wire.h"
#include "executor/warden/memory.h"
#include "executor/warden/numbers.h"
#include "executor/warden/session_steps.h"
#include "executor/warden/sessions.h"

static void answer_opened(struct session *session,
                          const struct peer_request *request, bool fresh)
{
    peer_answer(request->peer, request->frame.ref,
                (struct frame){
                    .type = FRAME_OPENED,
                    .session = view_of(session->name),
                    .holder = view_of(session->holder),
                    .fresh = fresh,
                });
    if (!session->opened)
        metric_observe(
            NUMBER_SESSION_START,
            (double)(clock_ms() - session->made_ms) / 1000,
            LABELS(session->was_ready ? VIEW("ready") : VIEW("cold")));
    session->opened = true;
}

/* A file comes in pieces, a request each, with one ref. One answer: to the
 * first piece that fails, or to the last. */
static void serve_put(struct session *session)
{
    const struct frame *frame = &session->first->frame;
    struct err err;
    bool failed_before =
        frame->offset > 0 && session->files.failed_put == frame->ref;
    session->files.stale = true;
    if (!failed_before) {
        session->files.failed_put = 0;
        if (!session_put(session, frame, &err)) {
            session->files.failed_put = frame->ref;
            peer_fail(session->first->peer, frame->ref, &err);
        } else if (frame->last) {
            peer_ok(session->first->peer, frame->ref);
        }
    }
    session_pop(session);
}

static void serve_list(struct session *session)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    struct file_listing listing = { 0 };
    session_list(session, &listing);
    peer_answer(session->first->peer, session->first->frame.ref,
                (struct frame){
                    .type = FRAME_LISTING,
                    .files = listing_all(&listing, &arena),
                });
    listing_finish(&listing);
    session_pop(session);
}

/* The request stays the first one until its file is out. */
static enum pace serve_get(struct session *session)
{
    struct err err;
    session->sending.sent = 0;
    if (!session_open_file(session, session->first->frame.name,
                           &session->sending.fd, &session->sending.bytes,
                           &err)) {
        session_fail_first(session, &err);
        return AGAIN;
    }
    session_enter(session, SESSION_SENDING);
    return AGAIN;
}

static struct list copy_env(struct arena *arena, const struct list *env)
{
    const struct pair *from = env->items;
    struct pair *to = arena_alloc(arena, env->count * sizeof(*to));
    for (size_t i = 0; i < env->count; i++)
        to[i] = (struct pair){ arena_copy(arena, from[i].key),
                               arena_copy(arena, from[i].value) };
    return (struct list){ to, env->count };
}

/* What a cell runs, copied: the request is freed when the cell begins, and the
 * cell may have to run again. */
static void keep_asked(struct running_cell *run, const struct frame *frame)
{
    struct arena *arena = &run->asked_arena;
    run->asked = (struct guest_frame){
        .type = GUEST_CELL,
        .number = run->number,
        .task = frame->task,
        .code = arena_copy(arena, frame->code),
        .tools = arena_copy(arena, frame->tools),
        .env = copy_env(arena, &frame->env),
        .last = frame->last,
        .picture = arena_copy(arena, frame->picture),
    };
}

/* Flags are cleared before the state is entered: what is recorded from here on
 * is about this cell. */
enum pace session_begin_cell(struct session *session)
{
    struct running_cell *run = &session->run;
    struct err err;
    /* An interrupt that came while it waited to run again. */
    bool interrupt = run->times > 0 && session->flags.interrupt;
    run->again = run->figures = run->drew = false;
    run->times++;
    session->flags = (struct session_flags){ .interrupt = interrupt };
    session_enter(session, SESSION_RUNNING);
    session->snapshot.backs = 0;
    tool_begin(session, run->asked.tools.len > 0);
    session_measure(session);
    if (!interpreter_cell(session->interpreter, &run->asked, &err))
        session->flags.interrupt = true; /* too large for a frame, though what
                                            came in a frame is not: our bug */
    return AGAIN;
}

/* The call is remembered before the cell begins: who asks for it again, from
 * whatever connection, finds it and does not start it twice. */
static enum pace serve_run(struct session *session)
{
    const struct frame *frame = &session->first->frame;
    uint64_t most = session->sessions->settings->cell_ms;
    uint64_t limit_ms =
        frame->cell_ms && frame->cell_ms < most ? frame->cell_ms : most;
    struct session_call *call = calls_add(&session->calls, frame->call);
    call_attach(call, session->first->peer, frame->ref);
    outcome_begin(session, call, frame, limit_ms);
    keep_asked(&session->run, frame);
    session->run.last = frame->last;
    bool interrupted = session->first->interrupted;
    session_pop(session);
    session_begin_cell(session);
    session->flags.interrupt |= interrupted;
    return AGAIN;
}

enum pace session_serve(struct session *session)
{
    struct err err;
    switch (session->first->frame.type) {
    case FRAME_OPEN:
        answer_opened(session, session->first, !session->calls.newest);
        session_pop(session);
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
        session_fail_first(session, &err);
    }
    return AGAIN;
}

static enum pace finish_sending(struct session *session)
{
    close_fd(&session->sending.fd);
    session_pop(session);
    session_enter(session, SESSION_IDLE);
    return AGAIN;
}

/* A piece at a time, at the pace of the peer. */
enum pace step_sending(void *owner)
{
    struct session *session = owner;
    char piece[MAX_CHUNK_BYTES];
    struct peer *peer = session->first->peer;
    if (session->flags.late || session->flags.closing || !peer)
        return finish_sending(session);
    if (peer_lags(peer))
        return WAIT;
    ssize_t got = pread(session->sending.fd, piece, sizeof(piece),
                        (off_t)session->sending.sent);
    if (got < 0)
        got = 0;
    struct frame frame = {
        .type = FRAME_CHUNK,
        .data = { piece, (size_t)got },
        .offset = session->sending.sent,
    };
    session->sending.sent += (size_t)got;
    /* A file that grows is sent up to the size that it had, one that was cut up
     * to its end. */
    frame.last = got == 0 || session->sending.sent >= session->sending.bytes;
    peer_answer(peer, session->first->frame.ref, frame);
    alarm_set(session->deadline, SEND_MS);
    return frame.last ? finish_sending(session) : AGAIN;
}
