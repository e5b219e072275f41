/* http_tool.c - a tool of the operator that is an HTTP request. */
#include "consumer/tools/http_tool.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "consumer/model/entry.h"
#include "consumer/tools/request.h"
#include "consumer/tools/tool.h"
#include "consumer/tools/tool_host.h"
#include "schemas/http/http.h"
#include "schemas/message/limits.h"
#include "schemas/message/text.h"

enum {
    TOTAL_MS = 30000,
    MOST_MS = 10 * 60 * 1000,
    ANSWER_BYTES = 256 << 10,
    MOST_BYTES = MAX_RECORD_BYTES / 2, /* it becomes a journal's record */
    MAX_URL = 16 << 10,                /* with the arguments in it */
    ERROR_BODY_BYTES = 300, /* of a refusal's body, for the sentence */
};

/* --------------------------------------------------------------------- url */

/* The server must be the operator's choice: no argument before its path. */
static bool check_url(const char *url, struct err *err)
{
    if (!entry_check_url(url, err))
        return false;
    const char *server = strstr(url, "//") + 2;
    const char *brace = strchr(url, '{');
    return !brace || brace >= server + strcspn(server, "/?") ||
           entry_bad(err, "url: no argument may stand in the server's name");
}

/* Each {name} must be a parameter, and occur once: request_write() removes an
 * argument when it has found its place. */
static bool check_places(const char *url, const json_t *parameters,
                         struct err *err)
{
    for (const char *open; (open = strchr(url, '{'));) {
        const char *close = strchr(open, '}');
        if (!close)
            return entry_bad(err, "url: { without its }");
        char *name =
            view_dup((struct view){ open, (size_t)(close - open) + 1 });
        bool twice = strstr(close, name) != NULL;
        name[close - open] = '\0';
        if (!parameters_have(parameters, name + 1))
            err_set(err, ERR_REJECT, "bad_setting",
                    "url: there is no parameter {%.64s}", name + 1);
        else if (twice)
            err_set(err, ERR_REJECT, "bad_setting",
                    "url: {%.64s} stands there twice", name + 1);
        bool good = parameters_have(parameters, name + 1) && !twice;
        free(name);
        if (!good)
            return false;
        url = close;
    }
    return true;
}

/* --------------------------------------------------------------- a member */

static bool http_tool_set_url(struct http_tool *tool, const json_t *value,
                              struct err *err)
{
    const char *url = json_string_value(value);
    if (!url)
        return entry_bad_value(err, "url", value, "a text");
    if (!check_url(url, err))
        return false;
    tool->url = view_dup(view_of(url));
    headers_add_query(&tool->headers, url);
    return true;
}

static bool set_method(struct http_tool *tool, const json_t *value,
                       struct err *err)
{
    const char *method = json_string_value(value);
    tool->post = method && strcmp(method, "POST") == 0;
    return tool->post || (method && strcmp(method, "GET") == 0) ||
           entry_bad_value(err, "method", value, "GET or POST");
}

static bool http_tool_set_member(struct http_tool *tool, const char *name,
                                 json_t *value, struct err *err)
{
    if (strcmp(name, "url") == 0)
        return http_tool_set_url(tool, value, err);
    if (strcmp(name, "headers") == 0)
        return headers_read(&tool->headers, value, err);
    if (strcmp(name, "sign") == 0)
        return signing_read(&tool->signing, &tool->headers, value, err) ||
               err_prefix(err, "sign");
    if (strcmp(name, "method") == 0)
        return set_method(tool, value, err);
    if (strcmp(name, "total_ms") == 0)
        return entry_number(&tool->total_ms, value, MOST_MS, name, err);
    if (strcmp(name, "max_bytes") == 0) {
        uint64_t bytes = 0;
        bool good = entry_number(&bytes, value, MOST_BYTES, name, err);
        tool->max_bytes = bytes;
        return good;
    }
    if (strcmp(name, "repeat") == 0 || strcmp(name, "approve") == 0)
        return json_is_boolean(value) ||
               entry_bad_value(err, name, value, "true or false");
    if (strcmp(name, "description") == 0)
        return json_is_string(value) ||
               entry_bad_value(err, name, value, "a text");
    if (strcmp(name, "parameters") == 0)
        return parameters_check(value, err);
    return err_set(err, ERR_REJECT, "bad_setting",
                   "%.64s: unknown; there are description, parameters, url, "
                   "method, headers, sign, repeat, approve, total_ms, "
                   "max_bytes",
                   name);
}

/* Unless the operator says what the body is. */
static void add_content_type(struct http_tool *tool)
{
    char **end = tool->headers.lines;
    if (headers_have(&tool->headers, "Content-Type"))
        return;
    while (*end)
        end++;
    *end = view_dup(VIEW("Content-Type: application/json"));
}

static json_t *function_of(const char *name, const json_t *entry)
{
    json_t *description = json_object_get(entry, "description");
    json_t *parameters = json_object_get(entry, "parameters");
    json_t *function = json_pack("{s:s}", "name", name);
    if (description)
        json_object_set(function, "description", description);
    json_object_set_new(
        function, "parameters",
        parameters ? json_incref(parameters)
                   : json_pack("{s:s, s:{}}", "type", "object", "properties"));
    return function;
}

static bool read_entry(struct http_tool *tool, const char *name,
                       const json_t *entry, struct err *err)
{
    const char *member;
    json_t *value;
    if (!entry_name_is_good(name))
        return err_set(
            err, ERR_REJECT, "bad_setting",
            "is not a valid name of a function: 1 to %d of A-Z a-z 0-9 _ -, "
            "not beginning with a number",
            ENTRY_MOST_NAME);
    if (!json_is_object(entry))
        return entry_bad(err, "must be an object");
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)entry, member, value)
        if (!http_tool_set_member(tool, member, value, err))
            return false;
    const json_t *repeat = json_object_get(entry, "repeat");
    tool->tool.repeat = repeat ? json_is_true(repeat) : !tool->post;
    tool->tool.approve = json_is_true(json_object_get(entry, "approve"));
    tool->tool.name = view_dup(view_of(name));
    tool->tool.function = function_of(name, entry);
    if (!tool->url)
        return entry_bad(err, "url is missing");
    if (tool->post)
        add_content_type(tool);
    return check_places(
        tool->url, json_object_get(tool->tool.function, "parameters"), err);
}

/* -------------------------------------------------------------- the call */

static const struct http_tool *tool_of(const struct tool_call *call)
{
    return (const struct http_tool *)tool_call_tool(call);
}

/* The state of one call. */
struct http_tool_call {
    struct http_call *http;       /* NULL: not started, or over */
    struct buf url, body;         /* body is borrowed by http to its end */
    struct buf answer;            /* as it comes */
    struct header_lines identity; /* headers that name the job */
};

static bool http_tool_prepare(struct tool_call *call, json_t *arguments,
                              struct err *err)
{
    struct http_tool_call *asking = tool_call_state(call);
    const struct http_tool *tool = tool_of(call);
    buf_init(&asking->url, MAX_URL);
    buf_init(&asking->body, MAX_TOOL_BYTES);
    buf_init(&asking->answer, tool->max_bytes);
    return request_write(tool, arguments, &asking->url, &asking->body, err) &&
           headers_of_job(&tool->headers, tool_call_caller(call),
                          &asking->identity, err);
}

static void http_tool_finish(struct tool_call *call)
{
    struct http_tool_call *asking = tool_call_state(call);
    http_cancel(asking->http);
    buf_finish(&asking->url);
    buf_finish(&asking->body);
    buf_finish(&asking->answer);
    header_lines_finish(&asking->identity);
}

static enum http_verdict on_body(void *owner, unsigned status,
                                 struct view bytes)
{
    struct http_tool_call *asking = tool_call_state(owner);
    (void)status;
    buf_add(&asking->answer, bytes);
    return HTTP_PAYLOAD;
}

static void http_tool_refusal(const struct http_tool *tool, unsigned status,
                              struct view body, struct err *why)
{
    CLEANUP(buf_finish) struct buf head;
    buf_init(&head, (size_t)3 * ERROR_BODY_BYTES);
    text_add_clean(&head, view_head(body, ERROR_BODY_BYTES));
    err_set(why, ERR_REJECT, "tool_failed", "HTTP %u%s%.*s", status,
            head.len > 0 ? ": " : "", VIEW_ARG(buf_view(&head)));
    headers_hide(&tool->headers, why->text);
}

/* A request that was sent and not answered may have been carried out. One that
 * the operator allows to repeat does no harm when it is made again. */
static void no_answer(const struct http_tool *tool,
                      const struct http_response *response, struct err *why)
{
    if (response->end != HTTP_NOT_SENT && !tool->tool.repeat)
        err_set(why, ERR_RETRY, "unknown_outcome",
                "%.200s; whether the call was carried out is not known",
                response->text);
    else
        err_set(why, ERR_RETRY, "tool_failed", "%s", response->text);
}

static void on_done(void *owner, const struct http_response *response)
{
    struct tool_call *call = owner;
    struct http_tool_call *asking = tool_call_state(call);
    struct view body = buf_view(&asking->answer);
    const struct http_tool *tool = tool_of(call);
    struct err why = { .kind = ERR_NONE };
    /* A refusal is one even when its body is cut off. */
    bool refused = response->status >= 300;
    asking->http = NULL;
    if (response->end != HTTP_ANSWERED && !refused)
        no_answer(tool, response, &why);
    else if (response->status < 200 || refused)
        http_tool_refusal(tool, response->status, body, &why);
    if (why.kind != ERR_NONE) {
        tool_call_fail(call, &why);
        return;
    }
    CLEANUP(buf_finish) struct buf data;
    buf_init(&data, (size_t)8 * MAX_RECORD_BYTES);
    /* Escapes make JSON of up to six bytes out of one; tool_call_give() refuses
     * what is too large for a record. */
    answer_write(&tool->headers, body, &data);
    tool_call_give(call, buf_view(&data));
}

/* The operator's, those that name the job, and the signature, which covers the
 * ones that name the job. */
static void write_headers(const struct http_tool *tool,
                          const struct http_tool_call *asking,
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

static void http_tool_start(struct tool_call *call)
{
    static const struct http_events events = { on_body, on_done };
    struct http_tool_call *asking = tool_call_state(call);
    const struct http_tool *tool = tool_of(call);
    struct header_lines lines = { .count = 0 };
    write_headers(tool, asking, &lines);
    struct http_request request = {
        .url = asking->url.data,
        .headers = (const char *const *)lines.items,
        .trace = tool_call_caller(call)->trace,
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

/* --------------------------------------------------------------- life cycle */

static void http_tool_free(struct tool *tool)
{
    struct http_tool *http = (struct http_tool *)tool;
    tool_finish(tool);
    free(http->url);
    headers_finish(&http->headers);
    signing_finish(&http->signing);
    free(http);
}

static const struct tool_kind kind = {
    .state_bytes = sizeof(struct http_tool_call),
    .prepare = http_tool_prepare,
    .start = http_tool_start,
    .finish = http_tool_finish,
    .free = http_tool_free,
};

struct tool *http_tool_new(const char *name, const json_t *entry,
                           struct err *err)
{
    struct http_tool *tool = calloc(1, sizeof(*tool));
    if (!tool)
        abort();
    tool->tool.kind = &kind;
    tool->total_ms = TOTAL_MS;
    tool->max_bytes = ANSWER_BYTES;
    if (read_entry(tool, name, entry, err))
        return &tool->tool;
    http_tool_free(&tool->tool);
    return NULL;
}
