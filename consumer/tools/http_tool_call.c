/* http_tool_call.c - one call of a tool that is an HTTP request. */
#include <time.h>

#include "consumer/model/http.h"
#include "consumer/text.h"
#include "consumer/tools/http_tool.h"
#include "consumer/tools/request.h"
#include "consumer/tools/tool_call.h"
#include "consumer/tools/tool_host.h"

enum {
    MAX_URL = 16 << 10,
    ERROR_BODY_BYTES = 300,
};

struct asking {
    struct http_call *http;
    struct buf url, body;
    struct buf answer;            /* as it comes */
    struct header_lines identity; /* headers that name the job */
};

static bool prepare(struct tool_call *call, json_t *arguments, struct err *err)
{
    struct asking *asking = tool_call_state(call);
    const struct http_tool *tool = http_tool_of(tool_call_tool(call));
    buf_init(&asking->url, MAX_URL);
    buf_init(&asking->body, MAX_TOOL_BYTES);
    buf_init(&asking->answer, tool->max_bytes);
    return request_write(tool, arguments, &asking->url, &asking->body, err) &&
           headers_of_job(&tool->headers, tool_call_caller(call),
                          &asking->identity, err);
}

static void finish(struct tool_call *call)
{
    struct asking *asking = tool_call_state(call);
    http_cancel(asking->http);
    buf_finish(&asking->url);
    buf_finish(&asking->body);
    buf_finish(&asking->answer);
    header_lines_finish(&asking->identity);
}

static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    struct asking *asking = tool_call_state(owner);
    (void)status;
    buf_add(&asking->answer, bytes);
    return HTTP_PAYLOAD;
}

static void refusal(const struct http_tool *tool, unsigned status,
                    struct view body, struct err *why)
{
    CLEANUP(buf_finish) struct buf head;
    buf_init(&head, (size_t)3 * ERROR_BODY_BYTES);
    text_add_clean(&head, view_head(body, ERROR_BODY_BYTES));
    err_set(why, ERR_REJECT, "tool_failed", "HTTP %u%s%.*s", status,
            head.len > 0 ? ": " : "", VIEW_ARG(buf_view(&head)));
    headers_hide(&tool->headers, why->text);
}

static void on_done(void *owner, const struct http_response *response)
{
    struct tool_call *call = owner;
    struct asking *asking = tool_call_state(call);
    struct view body = buf_view(&asking->answer);
    const struct http_tool *tool = http_tool_of(tool_call_tool(call));
    struct err why = { .kind = ERR_NONE };
    asking->http = NULL;
    if (response->end != HTTP_ANSWERED)
        err_set(&why, ERR_RETRY, "tool_failed", "%s", response->text);
    else if (response->status < 200 || response->status > 299)
        refusal(tool, response->status, body, &why);
    if (why.kind != ERR_NONE) {
        tool_call_fail(call, &why);
        return;
    }
    CLEANUP(buf_finish) struct buf data;
    buf_init(&data, (size_t)8 * MAX_RECORD_BYTES);
    answer_write(&tool->headers, body, &data);
    tool_call_give(call, buf_view(&data));
}

/* The operator's, those that name the job, and the signature over these. */
static void write_headers(const struct http_tool *tool,
                          const struct asking *asking,
                          struct header_lines *lines)
{
    struct signed_request request = {
        .method = tool->post ? "POST" : "GET",
        .url = asking->url.data,
        .body = buf_view(&asking->body),
        .identity = &asking->identity,
        .created = (int64_t)time(NULL),
    };
    header_lines_copy(lines, tool->headers.lines);
    header_lines_copy(lines, asking->identity.items);
    signing_write(&tool->signing, &request, lines);
}

static void start(struct tool_call *call)
{
    static const struct http_events events = { on_body, on_done };
    struct asking *asking = tool_call_state(call);
    const struct http_tool *tool = http_tool_of(tool_call_tool(call));
    struct header_lines lines = { .count = 0 };
    write_headers(tool, asking, &lines);
    struct http_request request = {
        .url = asking->url.data,
        .headers = (const char *const *)lines.items,
        .body = buf_view(&asking->body),
        .first_byte_ms = tool->total_ms,
        .idle_ms = tool->total_ms,
        .total_ms = tool->total_ms,
        .max_bytes = tool->max_bytes,
    };
    asking->http =
        http_start(tool_call_host(call)->http, &request, events, call);
    header_lines_finish(&lines);
}

const struct tool_kind http_tool_kind = {
    .state_bytes = sizeof(struct asking),
    .prepare = prepare,
    .start = start,
    .finish = finish,
    .free = http_tool_free,
};
