/* leaving.c - a session ends in good order: the functions run that its code has
 * registered for that.
 *
 *   IDLE --(closed, or idle for too long)--> LEAVING --> ENDED
 *
 * They run as a last cell without code, within the walls of a cell. No call
 * belongs to it: what it writes and shows goes nowhere, and what it asks for is
 * refused. */
#include <stdarg.h>
#include <stdio.h>

#include "executor/base/log.h"
#include "executor/warden/session_steps.h"

/* Functions wait to be run, and there is a live process to run them. */
static bool can_leave(const struct session *session)
{
    return session->at_exit && session->interpreter && !session->run.call &&
           !session->flags.dead;
}

bool session_is_closing(const struct session *session)
{
    return session->flags.closing;
}

/* In PARKING and CLEARING: a session that is closed goes on until it is IDLE,
 * if functions wait; but not if it would have to be killed on the way. */
bool session_may_go(const struct session *session)
{
    const struct session_flags *seen = &session->flags;
    return seen->closing && (seen->late || seen->memory || !can_leave(session));
}

void session_refuse_all(struct session *session)
{
    struct err err;
    err_set(&err, ERR_RETRY, "session_failed", "the session was closed");
    while (session->first)
        session_fail_first(session, &err);
}

enum pace session_close(struct session *session)
{
    struct guest_frame last = {
        .type = GUEST_CELL,
        .number = session->cells.last + 1,
        .task = TASK_CODE,
        .last = true,
    };
    struct err err;
    if (!can_leave(session))
        return session_end(session);
    session->flags = (struct session_flags){ .closing = true };
    session_refuse_all(session);
    session_enter(session, SESSION_LEAVING);
    session_measure(session);
    if (!interpreter_cell(session->interpreter, &last, &err))
        session->flags.deaf = true;
    return AGAIN;
}

/* For the operator's log: nobody else can be told. */
static enum pace leaving_log(struct session *session, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static enum pace leaving_log(struct session *session, const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    log_line("session.at_exit", session->name,
             "functions that its code had registered for its end ran, and %s",
             what);
    return session_end(session);
}

/* Python reports a function that raises on stderr. */
static enum pace left(struct session *session)
{
    uint64_t bytes = interpreter_written(session->interpreter, VIEW("stderr"));
    if (bytes == 0)
        return session_end(session);
    return leaving_log(session,
                       "wrote %llu bytes to stderr, which nobody reads",
                       (unsigned long long)bytes);
}

enum pace step_leaving(void *owner)
{
    struct session *session = owner;
    const struct session_flags *seen = &session->flags;
    if (seen->memory)
        return leaving_log(
            session, "were ended, as it took more than its %llu MiB",
            (unsigned long long)session->limits.memory_bytes >> 20);
    if (seen->dead)
        return leaving_log(session, "ended its process: %s",
                           interpreter_cause(session->interpreter));
    if (seen->deaf)
        return leaving_log(session, "were ended, as they could not be begun");
    if (seen->late)
        return leaving_log(session, "were ended after %d s", LEAVE_MS / 1000);
    return seen->done ? left(session) : WAIT;
}
