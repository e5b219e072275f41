/* mcp_exchange.c - one request to a server of tools, and its answer. */
#include "consumer/tools/mcp_exchange.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "consumer/tools/mcp_reply.h"
#include "schemas/message/text.h"
#include "schemas/service/log.h"

enum {
    ERROR_BODY_BYTES = 240, /* of what a server says, for the sentence */
    NOTICE_MS = 5000,
    METHOD_NOT_FOUND = -32601, /* JSON-RPC's */
};

struct mcp_exchange {
    struct mcp_server *server;
    enum mcp_era era;
    struct http_call *http;
    struct buf body; /* of the request; http borrows it to the end */
    struct mcp_reply reply;
    struct trace trace;
    struct buf head; /* the first bytes of the answer, for the sentence */
    bool is_call;    /* of a tool: the server is told when it is given up */
    bool notice;
    mcp_answered *answered;
    void *owner;
};

/* A message to the server without an answer, on its way. Frees itself. */
struct mcp_notice {
    struct mcp_notice *next;
    struct mcp_server *server;
    struct http_call *http;
    char *body;
};

/* ----------------------------------------------------------------- writing */

/* What each request of the newer generation says, since there is no session. */
static void add_meta(json_t *params)
{
    json_t *meta = json_pack(
        "{s:s, s:{s:s, s:s}, s:{}}", "io.modelcontextprotocol/protocolVersion",
        MCP_MODERN_VERSION, "io.modelcontextprotocol/clientInfo", "name",
        "quern", "version", QUERN_VERSION,
        "io.modelcontextprotocol/clientCapabilities");
    json_object_set_new(params, "_meta", meta);
}

/* Those of the operator, then the protocol's. */
static void add_headers(struct header_lines *lines,
                        const struct mcp_server *server, enum mcp_era era,
                        const char *version)
{
    header_lines_add(lines,
                     VIEW("Accept: application/json, text/event-stream"));
    header_lines_add(lines, VIEW("Content-Type: application/json"));
    header_lines_copy(lines, server->headers.lines);
    if (*version != '\0')
        mcp_header_add(lines, "", "MCP-Protocol-Version", view_of(version));
    if (era == MCP_LEGACY && *server->session != '\0')
        mcp_header_add(lines, "", "Mcp-Session-Id", view_of(server->session));
}

/* Last of all: the signature covers the body and the headers of the job. */
static void sign(const struct mcp_server *server, struct view body,
                 const struct header_lines *identity,
                 struct header_lines *lines)
{
    struct signed_request request = { .method = "POST",
                                      .url = server->url,
                                      .body = body,
                                      .identity = identity,
                                      .created = (int64_t)time(NULL) };
    if (identity)
        header_lines_copy(lines, identity->items);
    signing_write(&server->signing, &request, lines);
}

static void compose(struct mcp_exchange *exchange,
                    const struct mcp_request *request,
                    struct header_lines *lines)
{
    const struct mcp_server *server = exchange->server;
    bool modern = request->era == MCP_MODERN;
    if (modern)
        add_meta(request->params);
    json_t *message = json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method",
                                request->method, "params", request->params);
    if (!request->notice)
        json_object_set_new(message, "id", json_integer(exchange->reply.id));
    char *text = json_dumps(message, JSON_COMPACT);
    buf_init(&exchange->body, strlen(text) + 1);
    buf_add(&exchange->body, view_of(text));
    free(text);
    json_decref(message);
    add_headers(lines, server, request->era,
                modern ? MCP_MODERN_VERSION : server->version);
    if (modern)
        mcp_header_add(lines, "", "Mcp-Method", view_of(request->method));
    if (modern && request->name)
        mcp_header_add(lines, "", "Mcp-Name", view_of(request->name));
    if (modern && request->more)
        header_lines_copy(lines, request->more->items);
    sign(server, buf_view(&exchange->body), request->identity, lines);
}

/* ----------------------------------------------------------------- notices */

static void notice_free(struct mcp_notice *notice)
{
    struct mcp_notice **link = &notice->server->notices;
    while (*link != notice)
        link = &(*link)->next;
    *link = notice->next;
    http_cancel(notice->http);
    free(notice->body);
    free(notice);
}

static enum http_verdict on_ignored(void *owner, unsigned status,
                                    struct view bytes)
{
    (void)owner;
    (void)status;
    (void)bytes;
    return HTTP_STOP;
}

static void on_told(void *owner, const struct http_response *response)
{
    struct mcp_notice *notice = owner;
    (void)response;
    notice->http = NULL;
    notice_free(notice);
}

static size_t notices_of(const struct mcp_server *server)
{
    size_t count = 0;
    for (const struct mcp_notice *notice = server->notices; notice;
         notice = notice->next)
        count++;
    return count;
}

static void post_notice(struct mcp_notice *notice, const struct trace *trace)
{
    static const struct http_events events = { on_ignored, on_told };
    const struct mcp_server *server = notice->server;
    struct header_lines lines = { .count = 0 };
    add_headers(&lines, server, server->era, server->version);
    sign(server, view_of(notice->body), NULL, &lines);
    struct http_request request = {
        .url = server->url,
        .headers = (const char *const *)lines.items,
        .trace = *trace,
        .body = view_of(notice->body),
        .first_byte_ms = NOTICE_MS,
        .idle_ms = NOTICE_MS,
        .total_ms = NOTICE_MS,
        .max_bytes = MCP_REPLY_BYTES,
    };
    notice->http = http_start(server->http, &request, events, notice);
    header_lines_finish(&lines);
}

/* Sends a notification about the exchange, or an answer to what the server has
 * asked meanwhile. Dropped when too many are on their way: a server could make
 * us send without end. message: taken. */
static void mcp_tell(struct mcp_exchange *exchange, json_t *message)
{
    struct mcp_server *server = exchange->server;
    if (!server->http || notices_of(server) >= MCP_MOST_NOTICES) {
        json_decref(message);
        return;
    }
    struct mcp_notice *notice = calloc(1, sizeof(*notice));
    if (!notice)
        abort();
    notice->server = server;
    notice->next = server->notices;
    server->notices = notice;
    json_object_set_new(message, "jsonrpc", json_string("2.0"));
    notice->body = json_dumps(message, JSON_COMPACT);
    json_decref(message);
    post_notice(notice, &exchange->trace);
}

void mcp_hush(struct mcp_server *server)
{
    while (server->notices)
        notice_free(server->notices);
    server->http = NULL;
}

/* ----------------------------------------------------------------- reading */

/* Only servers before 2026-07-28 ask so. */
static void on_asked(void *owner, const json_t *id, const char *method)
{
    struct mcp_exchange *exchange = owner;
    json_t *copy = json_deep_copy(id);
    if (strcmp(method, "ping") == 0)
        mcp_tell(exchange, json_pack("{s:o, s:{}}", "id", copy, "result"));
    else
        mcp_tell(exchange,
                 json_pack("{s:o, s:{s:i, s:s}}", "id", copy, "error", "code",
                           METHOD_NOT_FOUND, "message", "Method not found"));
}

static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    struct mcp_exchange *exchange = owner;
    (void)status;
    buf_add(&exchange->head,
            view_head(bytes, ERROR_BODY_BYTES - exchange->head.len));
    return mcp_reply_feed(&exchange->reply, bytes) ? HTTP_STOP : HTTP_PAYLOAD;
}

static void free_exchange(struct mcp_exchange *exchange)
{
    http_cancel(exchange->http);
    mcp_reply_finish(&exchange->reply);
    buf_finish(&exchange->body);
    buf_finish(&exchange->head);
    free(exchange);
}

/* "HTTP 503: what it said". on_done() stars out our keys in that. */
static void mcp_exchange_refusal(const struct mcp_exchange *exchange,
                                 unsigned int status, struct err *why)
{
    CLEANUP(buf_finish) struct buf head;
    buf_init(&head, ERROR_BODY_BYTES);
    if (exchange->head.len > 0)
        text_add_line(&head, buf_view(&exchange->head), ERROR_BODY_BYTES);
    err_set(why, ERR_REJECT, "tool_failed", "HTTP %u%s%.*s", status,
            head.len > 0 ? ": " : "", VIEW_ARG(buf_view(&head)));
}

static void error_sentence(const json_t *error, struct err *why)
{
    CLEANUP(buf_finish) struct buf line;
    buf_init(&line, ERROR_BODY_BYTES);
    text_add_line(&line, view_of(mcp_error_message(error)), ERROR_BODY_BYTES);
    err_set(why, ERR_REJECT, "tool_failed", "%.*s (%lld)",
            VIEW_ARG(buf_view(&line)), (long long)mcp_error_code(error));
}

/* What the end of the HTTP request means. An error in JSON-RPC comes first,
 * since servers send it with status 400 or 404 as well. */
static void mcp_exchange_judge(struct mcp_exchange *exchange,
                               const struct http_response *response,
                               struct mcp_answer *answer)
{
    struct mcp_reply *reply = &exchange->reply;
    bool whole =
        response->end == HTTP_ANSWERED || response->end == HTTP_STOPPED;
    bool come = whole && mcp_reply_end(reply);
    bool good = response->status >= 200 && response->status <= 299;
    answer->end = MCP_LOST;
    if (come && reply->error) {
        answer->end = MCP_ERROR;
        error_sentence(reply->error, &answer->why);
    } else if (good && (come || (whole && exchange->notice))) {
        answer->end = MCP_RESULT;
    } else if (whole && !good) {
        answer->end = MCP_REFUSED;
        mcp_exchange_refusal(exchange, response->status, &answer->why);
    } else if (whole) {
        err_set(&answer->why, ERR_RETRY, "tool_failed",
                "the server's reply ended without an answer");
    } else {
        if (response->end == HTTP_NOT_SENT)
            answer->end = MCP_NOT_SENT;
        else if (response->end == HTTP_TIMEOUT)
            answer->end = MCP_LATE;
        err_set(&answer->why, ERR_RETRY, "tool_failed", "%s", response->text);
    }
}

/* To close the connection is no cancellation for the older generation. */
static void tell_cancelled(struct mcp_exchange *exchange)
{
    if (exchange->is_call && exchange->era == MCP_LEGACY)
        mcp_tell(exchange, json_pack("{s:s, s:{s:I, s:s}}", "method",
                                     "notifications/cancelled", "params",
                                     "requestId", exchange->reply.id, "reason",
                                     "nobody waits for it any more"));
}

static void on_done(void *owner, const struct http_response *response)
{
    struct mcp_exchange *exchange = owner;
    struct mcp_answer answer = { .status = response->status,
                                 .session = response->kept };
    exchange->http = NULL;
    mcp_exchange_judge(exchange, response, &answer);
    exchange->reply.result = headers_mask(
        &exchange->server->headers, exchange->reply.result, (struct view){ 0 });
    answer.result = exchange->reply.result;
    answer.error = exchange->reply.error;
    if (answer.end != MCP_RESULT)
        headers_hide(&exchange->server->headers, answer.why.text);
    if (response->end == HTTP_TIMEOUT || response->end == HTTP_TOO_LARGE)
        tell_cancelled(exchange);
    if (exchange->reply.changed)
        log_line("mcp.changed", "{s:s, s:s}", "server", exchange->server->name,
                 "text", "its tools have changed: HUP lists them anew");
    /* answered borrows the reply, so the exchange is freed after it. The owner
     * has forgotten the exchange by then; only its own state may be gone. */
    exchange->answered(exchange->owner, &answer);
    free_exchange(exchange);
}

/* ------------------------------------------------------------- life cycle */

struct mcp_exchange *mcp_ask(struct mcp_server *server,
                             const struct mcp_request *request,
                             mcp_answered *answered, void *owner)
{
    static const struct http_events events = { on_body, on_done };
    struct mcp_exchange *exchange = calloc(1, sizeof(*exchange));
    struct header_lines lines = { .count = 0 };
    if (!exchange)
        abort();
    exchange->server = server;
    exchange->era = request->era;
    exchange->answered = answered;
    exchange->owner = owner;
    exchange->trace = request->trace;
    exchange->is_call = request->name != NULL;
    exchange->notice = request->notice;
    mcp_reply_init(&exchange->reply, ++server->last_id, MCP_REPLY_BYTES,
                   on_asked, exchange);
    buf_init(&exchange->head, ERROR_BODY_BYTES);
    compose(exchange, request, &lines);
    struct http_request http = {
        .url = server->url,
        .headers = (const char *const *)lines.items,
        .trace = request->trace,
        .body = buf_view(&exchange->body),
        .first_byte_ms = request->total_ms,
        .idle_ms = request->total_ms,
        .total_ms = request->total_ms,
        .max_bytes = MCP_REPLY_BYTES,
        .keep = "mcp-session-id",
    };
    exchange->http = http_start(server->http, &http, events, exchange);
    header_lines_finish(&lines);
    return exchange;
}

void mcp_exchange_cancel(struct mcp_exchange *exchange)
{
    if (!exchange)
        return;
    tell_cancelled(exchange);
    free_exchange(exchange);
}
