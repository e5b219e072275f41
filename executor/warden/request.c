/* request.c - takes what is asked of a session, and answers at once or queues
 * it.
 *
 * What has to reach a session while its cell runs (interrupt, answers of tools,
 * close) cannot wait in its queue behind that cell. */
#include "executor/warden/session_steps.h"

static void request_append(struct session *session,
                           struct peer_request *request)
{
    struct peer_request **last = &session->first;
    while (*last)
        last = &(*last)->next;
    *last = request;
    session_run(session);
}

static struct peer_request *find_run(struct session *session, struct view call)
{
    struct peer_request *request = session->first;
    while (request && (request->frame.type != FRAME_RUN ||
                       !view_equal(request->frame.call, call)))
        request = request->next;
    return request;
}

/* A call that is known does not run again: whoever asks is sent its frames. So
 * a consumer may ask again whenever it does not know whether it has asked. */
static void ask_run(struct session *session, struct peer_request *request)
{
    const struct frame *frame = &request->frame;
    struct session_call *known = calls_find(&session->calls, frame->call);
    struct peer_request *waiting = find_run(session, frame->call);
    struct err err;
    if (frame->call.len == 0) {
        err_set(&err, ERR_REJECT, "missing_field", "call: missing");
        peer_fail(request->peer, frame->ref, &err);
    } else if (known) {
        call_attach(known, request->peer, frame->ref);
        if (known == session->run.call)
            tool_ask_again(session);
    } else if (waiting) {
        err_set(&err, ERR_RETRY, "session_failed",
                "somebody else asked for the same call");
        peer_fail(waiting->peer, waiting->frame.ref, &err);
        /* The newer one waits in its place. */
        struct peer_request *next = waiting->next;
        for (struct peer_request **link = &session->first; *link;
             link = &(*link)->next)
            if (*link == waiting) {
                *link = request;
                request->next = next;
                break;
            }
        request_free(waiting);
        return;
    } else {
        request_append(session, request);
        return;
    }
    request_free(request);
}

/* The cell that runs; when none does, those that this peer has asked for. */
static void interrupt(struct session *session, const struct peer *peer)
{
    session->flags.interrupt |= session->run.call != NULL;
    if (session->run.call)
        return;
    for (struct peer_request *next = session->first; next; next = next->next)
        next->interrupted |= next->peer == peer;
}

/* Requests that wait fail at once, unless a cell runs, or a step is in the
 * middle of the first one: then they fail when the session ends. */
static void ask_close(struct session *session)
{
    session->flags.closing = true;
    if (session->machine.state != SESSION_SENDING &&
        session->machine.state != SESSION_OPENING && !session->run.call)
        session_refuse_all(session);
}

void session_ask(struct session *session, struct peer_request *request)
{
    const struct frame *frame = &request->frame;
    struct err err;
    switch (frame->type) {
    case FRAME_RUN:
        ask_run(session, request);
        return;
    case FRAME_OPEN:
        if (!session->opened)
            break;
        peer_answer(request->peer, frame->ref,
                    (struct frame){
                        .type = FRAME_OPENED,
                        .session = view_of(session->name),
                        .holder = view_of(session->holder),
                        .fresh = !session->calls.newest,
                        .call = session->run.call
                                    ? view_of(session->run.call->id)
                                    : (struct view){ 0 },
                    });
        request_free(request);
        return;
    case FRAME_ANSWER:
        tool_answer(session, frame);
        request_free(request);
        return;
    case FRAME_FORGET:
        if (calls_forget(&session->calls, frame->call)) {
            peer_ok(request->peer, frame->ref);
        } else {
            err_set(&err, ERR_REJECT, "unknown_call",
                    "the session has not seen that call");
            peer_fail(request->peer, frame->ref, &err);
        }
        request_free(request);
        return;
    case FRAME_INTERRUPT:
    case FRAME_CLOSE:
        if (frame->type == FRAME_INTERRUPT)
            interrupt(session, request->peer);
        else
            ask_close(session);
        peer_ok(request->peer, frame->ref);
        request_free(request);
        session_run(session);
        return;
    default:
        break;
    }
    request_append(session, request);
}

/* In SENDING and OPENING a step is in the middle of the first request: it
 * stays, without a peer. A cell that runs goes on: the next consumer asks for
 * its outcome. */
void session_leave(struct session *session, struct peer *peer)
{
    calls_leave(&session->calls, peer);
    struct peer_request **link = &session->first;
    while (*link) {
        struct peer_request *request = *link;
        if (request->peer != peer) {
            link = &request->next;
            continue;
        }
        request->peer = NULL;
        if (request == session->first &&
            (session->machine.state == SESSION_SENDING ||
             session->machine.state == SESSION_OPENING)) {
            link = &request->next;
            continue;
        }
        *link = request->next;
        request_free(request);
    }
    session_run(session);
}
