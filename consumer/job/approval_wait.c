/* approval_wait.c - asks a person before a call is made. */
#include "consumer/job/approval_wait.h"

#include "consumer/conversation/approval.h"
#include "consumer/conversation/tools.h"
#include "consumer/log.h"
#include "schemas/message/limits.h"

/* Returns false. The tool may still come, from a server that is away. */
static bool approval_wait_refuse(const struct attempt *attempt, size_t i,
                                 struct view name, struct err *err)
{
    bool away = mcp_expects(attempt->consumer->mcp, name);
    return err_set(err, away ? ERR_RETRY : ERR_REJECT,
                   away ? "tool_unavailable" : "unknown_tool",
                   "approve[%zu]: there is no tool \"%.*s\"%s", i,
                   VIEW_ARG(view_head(name, 64)), away ? " yet" : "");
}

bool approval_wait_check(const struct attempt *attempt, struct err *err)
{
    const struct view *names = attempt->job.approve.items;
    for (size_t i = 0; i < attempt->job.approve.count; i++)
        if (!view_is(names[i], TOOL_PYTHON) &&
            !catalog_find(&attempt->tools.toolset->catalog, names[i]))
            return approval_wait_refuse(attempt, i, names[i], err);
    return true;
}

/* The event shows the person exactly what would be run: all of it, as quern has
 * understood it, and not as the model wrote it. */
static void write_question(struct attempt *attempt, const struct terms *terms,
                           const struct call *call, const struct err *why)
{
    CLEANUP(buf_finish) struct buf text = { 0 };
    struct event_data data = {
        .turn = attempt->conversation.turn,
        .call = view_of(call->id),
        .tool = view_head(view_of(call->tool), MAX_NAME_BYTES),
        .reason = VIEW("approval"),
    };
    if (why->kind != ERR_NONE)
        data.error = result_error_of(why);
    decide_preview(&attempt->conversation, terms, call, &text);
    *(decide_is_tool(call) ? &data.text : &data.code) = buf_view(&text);
    buf_finish(&attempt->approval.data);
    event_data_encode(&data, &attempt->approval.data);
}

/* The executor need not keep a session without a name, in which nothing has run
 * yet, for a person who may answer in a week. */
static void leave_session(struct attempt *attempt)
{
    struct python_session *session = attempt->session;
    session_abandon(session);
    if (session_is_asked(session) && attempt->job.session.len == 0 &&
        !attempt->conversation.files_there)
        session_close(session);
}

bool approval_wait_is_due(struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    struct err why;
    const struct call *call =
        decide_approval(&attempt->conversation, &terms, &why);
    if (!call)
        return false;
    log_line("approval.asked", "{s:s, s:s, s:s}", "job", attempt->origin.id,
             "call", call->id, "tool", call->tool);
    leave_session(attempt);
    write_question(attempt, &terms, call, &why);
    attempt->approval.call = call;
    attempt->retries.wait_ms = approval_rule_ms(&terms, &attempt->job);
    return true;
}

struct wait approval_wait_of(const struct attempt *attempt)
{
    struct terms terms = attempt_terms(attempt);
    return (struct wait){
        .lease = attempt_lease(attempt),
        .delay_ms = attempt->retries.wait_ms,
        .reason = VIEW("approval"),
        .event_data = buf_view(&attempt->approval.data),
        .call = view_of(attempt->approval.call->id),
        .fallback = approval_rule_default(&terms, &attempt->job),
    };
}
