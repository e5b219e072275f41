/* mcp_call.c - one call of a tool of a server. */
#include "consumer/tools/mcp_tool.h"
#include "consumer/tools/mcp_value.h"
#include "consumer/tools/tool_call.h"
#include "schemas/message/buf.h"

struct calling {
    struct tool_call *call;
    const struct mcp_tool *tool;
    json_t *arguments;
    struct header_lines identity; /* headers that name the job */
    struct mcp_waiter waiter;
    struct mcp_exchange *exchange;
    uint64_t serial; /* of the link that it was made by */
    bool again;      /* it has been made before */
};

static void ask(struct calling *calling);

static void on_joined(void *owner, const struct err *why)
{
    struct calling *calling = owner;
    if (why->kind == ERR_NONE)
        ask(calling);
    else
        tool_call_fail(calling->call, why);
}

static bool prepare(struct tool_call *call, json_t *arguments, struct err *err)
{
    struct calling *calling = tool_call_state(call);
    calling->call = call;
    calling->tool = (const struct mcp_tool *)tool_call_tool(call);
    calling->arguments = json_incref(arguments);
    calling->waiter.joined = on_joined;
    calling->waiter.owner = calling;
    return headers_of_job(&calling->tool->link->server->headers,
                          tool_call_caller(call), &calling->identity, err);
}

static void finish(struct tool_call *call)
{
    struct calling *calling = tool_call_state(call);
    mcp_exchange_cancel(calling->exchange);
    mcp_link_leave(&calling->waiter);
    json_decref(calling->arguments);
    header_lines_finish(&calling->identity);
}

static void give(struct calling *calling, const json_t *result)
{
    const struct mcp_server *server = calling->tool->link->server;
    CLEANUP(buf_finish) struct buf data;
    struct err why;
    buf_init(&data, server->max_bytes);
    if (mcp_value_write(result, server->max_bytes, &data, &why)) {
        tool_call_give(calling->call, buf_view(&data));
        return;
    }
    headers_hide(&server->headers, why.text);
    tool_call_fail(calling->call, &why);
}

static void fail(struct calling *calling, const struct mcp_answer *answer)
{
    struct err why = answer->why;
    bool sent = answer->end == MCP_LOST || answer->end == MCP_LATE;
    if (sent && !calling->tool->tool.repeat)
        err_set(&why, why.kind, "unknown_outcome",
                "%.200s; whether the call was carried out is not known",
                answer->why.text);
    tool_call_fail(calling->call, &why);
}

static void on_answered(void *owner, const struct mcp_answer *answer)
{
    struct calling *calling = owner;
    struct mcp_link *link = calling->tool->link;
    bool stale = mcp_link_is_stale(link, answer);
    bool lost = answer->end == MCP_LOST && calling->tool->tool.repeat;
    calling->exchange = NULL;
    if (answer->end == MCP_RESULT) {
        give(calling, answer->result);
    } else if ((stale || lost) && !calling->again) {
        calling->again = true;
        if (stale)
            mcp_link_close(link, calling->serial);
        mcp_link_join(link, &calling->waiter);
    } else {
        fail(calling, answer);
    }
}

static void ask(struct calling *calling)
{
    const struct mcp_tool *tool = calling->tool;
    struct mcp_server *server = tool->link->server;
    struct header_lines more = { .count = 0 };
    mcp_header_write(json_object_get(tool->tool.function, "parameters"),
                     calling->arguments, &more);
    struct mcp_request request = {
        .era = server->era,
        .method = "tools/call",
        .params = json_pack("{s:s, s:O}", "name", tool->remote, "arguments",
                            calling->arguments),
        .name = tool->remote,
        .more = &more,
        .identity = &calling->identity,
        .total_ms = server->total_ms,
    };
    calling->serial = tool->link->serial;
    calling->exchange = mcp_ask(server, &request, on_answered, calling);
    header_lines_finish(&more);
}

static void start(struct tool_call *call)
{
    struct calling *calling = tool_call_state(call);
    if (calling->tool->link->state == MCP_LINK_OPEN)
        ask(calling);
    else
        mcp_link_join(calling->tool->link, &calling->waiter);
}

const struct tool_kind mcp_tool_kind = {
    .state_bytes = sizeof(struct calling),
    .prepare = prepare,
    .start = start,
    .finish = finish,
    .free = mcp_tool_free,
};
