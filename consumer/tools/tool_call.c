/* tool_call.c - one call of a tool, whoever makes it. */
#include "consumer/tools/tool_call.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

#include "consumer/alarm.h"
#include "consumer/tools/tool_host.h"

struct tool_call {
    struct tool_host *host;
    const struct tool *tool;
    struct caller caller;
    tool_done *done;
    void *owner;
    struct alarm *later;                  /* of tool_call_later(); or NULL */
    void (*step)(struct tool_call *call); /* when it rings */
    alignas(max_align_t) char state[];    /* the kind's, state_bytes long */
};

struct tool_call *tool_call_new(struct tool_host *host, const struct tool *tool,
                                const struct caller *caller,
                                struct view arguments, tool_done *done,
                                void *owner, struct err *err)
{
    json_t *given = tool_arguments(tool, arguments, err);
    if (!given)
        return NULL;
    struct tool_call *call = calloc(1, sizeof(*call) + tool->kind->state_bytes);
    if (!call)
        abort();
    call->host = host;
    call->tool = tool;
    call->caller = *caller;
    call->done = done;
    call->owner = owner;
    bool good = tool->kind->prepare(call, given, err);
    json_decref(given);
    if (good)
        return call;
    tool_call_free(call);
    return NULL;
}

void tool_call_start(struct tool_call *call)
{
    call->tool->kind->start(call);
}

void tool_call_free(struct tool_call *call)
{
    if (!call)
        return;
    call->tool->kind->finish(call);
    alarm_free(call->later);
    free(call);
}

struct tool_host *tool_call_host(const struct tool_call *call)
{
    return call->host;
}

const struct tool *tool_call_tool(const struct tool_call *call)
{
    return call->tool;
}

const struct caller *tool_call_caller(const struct tool_call *call)
{
    return &call->caller;
}

void *tool_call_state(struct tool_call *call)
{
    return call->state;
}

static void on_later(void *owner)
{
    struct tool_call *call = owner;
    call->step(call);
}

void tool_call_later(struct tool_call *call,
                     void (*step)(struct tool_call *call))
{
    call->step = step;
    call->later = alarm_new(call->host->loop, on_later, call);
    alarm_set(call->later, 0);
}

void tool_call_give(struct tool_call *call, struct view data)
{
    struct err why = { .kind = ERR_NONE };
    if (data.len > MAX_TOOL_DATA)
        err_set(&why, ERR_REJECT, "too_large",
                "the answer is too large to be kept");
    call->done(call->owner, data, &why);
}

void tool_call_fail(struct tool_call *call, const struct err *why)
{
    call->done(call->owner, (struct view){ 0 }, why);
}
