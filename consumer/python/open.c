/* open.c - opens a session at the executor, and judges what is found there. */
#include <stdio.h>

#include "consumer/python/state.h"

enum { MAX_DROPS = 3 };

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

/* ---------------------------------------------------------------- opening */

static void on_opened(void *owner, const struct frame *frame)
{
    struct python_session *session = owner;
    struct session_opening *opening = &session->opening;
    if (frame)
        snprintf(opening->holder, sizeof(opening->holder), "%.*s",
                 VIEW_ARG(frame->holder));
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
        restore_from_record(session);
        return restore_begin(session, false);
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
        return restore_begin(session, seen);
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
