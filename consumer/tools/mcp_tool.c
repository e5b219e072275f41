/* mcp_tool.c - a tool of an MCP server: its description, and its calls. */
#include "consumer/tools/mcp_tool.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/tools.h"
#include "consumer/model/entry.h"
#include "consumer/tools/final.h"
#include "consumer/tools/mcp_value.h"
#include "consumer/tools/tool.h"
#include "schemas/message/text.h"

enum { MOST_REMOTE = 128, MOST_PARAMETER = 64 };

static bool mcp_tool_refuse(struct err *err, const char *sentence)
{
    return err_set(err, ERR_REJECT, "bad_field", "%s", sentence);
}

/* -------------------------------------------------------------------- name */

static void mcp_tool_add_word(struct buf *name, const char *word)
{
    for (; *word != '\0'; word++)
        buf_append(name, isalnum((unsigned char)*word) ? word : "_", 1);
}

void mcp_tool_name(const struct mcp_server *server, const char *tool,
                   struct buf *out)
{
    mcp_tool_add_word(out, server->name);
    buf_add(out, VIEW("_"));
    mcp_tool_add_word(out, tool);
}

/* Names that quern handles itself, apart from the catalog. */
static bool is_reserved(const char *name)
{
    return strcmp(name, TOOL_PYTHON) == 0 || strcmp(name, TOOL_FINAL) == 0;
}

static bool set_name(struct mcp_tool *tool, const json_t *said, struct err *err)
{
    const json_t *name = json_object_get(said, "name");
    const char *word = json_string_value(name);
    size_t len = json_string_length(name);
    CLEANUP(buf_finish) struct buf whole;
    buf_init(&whole, MCP_MOST_NAME + MOST_REMOTE + 2);
    if (len == 0 || len > MOST_REMOTE || strlen(word) != len)
        return err_set(err, ERR_REJECT, "bad_field",
                       "its name must have 1 to %d bytes", MOST_REMOTE);
    mcp_tool_name(tool->link->server, word, &whole);
    tool->remote = view_dup(view_of(word));
    tool->tool.name = view_dup(buf_view(&whole));
    if (whole.len > ENTRY_MOST_NAME)
        return err_set(err, ERR_REJECT, "bad_field",
                       "its name for models is %.64s..., %zu bytes; at most %d",
                       tool->tool.name, whole.len, ENTRY_MOST_NAME);
    return !is_reserved(tool->tool.name) ||
           err_set(err, ERR_REJECT, "bad_field",
                   "it would be %s, which is one of ours", tool->tool.name);
}

/* ------------------------------------------------------------------ schema */

/* Another document is never fetched, so such a $ref could not be checked. The
 * depth is bounded: mcp_header_check() comes before. */
static bool refers_away(const json_t *value)
{
    size_t i;
    const char *name;
    json_t *inner;
    json_array_foreach(value, i, inner)
        if (refers_away(inner))
            return true;
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)value, name, inner) {
        const char *to = json_string_value(inner);
        if (refers_away(inner) ||
            (strcmp(name, "$ref") == 0 && to && *to != '#'))
            return true;
    }
    return false;
}

/* The names become arguments of a Python stub in a prompt: none may end its
 * place there, or say something of its own. */
static bool parameters_are_plain(const json_t *schema)
{
    const char *name;
    json_t *inner;
    json_object_foreach(json_object_get(schema, "properties"), name, inner) {
        size_t len = strlen(name);
        for (size_t i = 0; i < len; i++)
            if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f ||
                strchr("\"'`(){}", name[i]))
                return false;
        if (len == 0 || len > MOST_PARAMETER)
            return false;
    }
    return true;
}

static bool check_schema(const json_t *schema, struct err *err)
{
    char *text;
    if (!json_is_object(schema))
        return mcp_tool_refuse(err, "it has no inputSchema");
    if (!mcp_header_check(schema, err)) /* and not nested too deep */
        return false;
    text = json_dumps(schema, JSON_COMPACT);
    size_t len = text ? strlen(text) : SIZE_MAX;
    free(text);
    if (len > MCP_MOST_SCHEMA)
        return err_set(err, ERR_REJECT, "bad_field",
                       "its inputSchema is %zu bytes, may be at most %d", len,
                       MCP_MOST_SCHEMA);
    if (refers_away(schema))
        return mcp_tool_refuse(
            err, "its inputSchema has a $ref to another document");
    if (!parameters_are_plain(schema))
        return mcp_tool_refuse(
            err, "a parameter's name is empty, longer than 64 bytes, or "
                 "has blanks, quotes or brackets");
    return parameters_check(schema, err) || err_prefix(err, "inputSchema");
}

/* Whether there may be properties that the schema does not list by name. Then
 * any argument is let through: the server knows which there are. */
static bool says_more(const json_t *schema)
{
    static const char *const words[] = { "$ref", "allOf", "anyOf", "oneOf",
                                         "patternProperties" };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (json_object_get(schema, words[i]))
            return true;
    return !json_object_get(schema, "properties");
}

static json_t *parameters_of(const json_t *said)
{
    const json_t *schema = json_object_get(said, "inputSchema");
    json_t *parameters = json_deep_copy(schema);
    if (says_more(schema) && !json_object_get(schema, "additionalProperties"))
        json_object_set_new(parameters, "additionalProperties", json_true());
    if (!json_object_get(schema, "properties"))
        json_object_set_new(parameters, "properties", json_object());
    json_object_del(parameters, "$schema");
    return parameters;
}

/* ------------------------------------------------------------- description */

/* The description, without control characters but line feed and tab, and cut to
 * its bound. NULL: none. */
static json_t *about_of(const json_t *said)
{
    const json_t *about = json_object_get(said, "description");
    struct view text = { json_string_value(about), json_string_length(about) };
    CLEANUP(buf_finish) struct buf out;
    buf_init(&out, MCP_MOST_ABOUT + 16);
    struct view head = view_head(text, MCP_MOST_ABOUT);
    for (size_t i = 0; i < head.len; i++) {
        bool control = (unsigned char)head.data[i] < ' ' || head.data[i] == 127;
        bool kept = head.data[i] == '\n' || head.data[i] == '\t';
        buf_append(&out, control && !kept ? " " : head.data + i, 1);
    }
    if (head.len < text.len)
        buf_add(&out, VIEW(" [...]"));
    return out.len > 0 ? json_stringn(out.data, out.len) : NULL;
}

/* Whether the server's annotations claim it. */
static bool says(const json_t *said, const char *hint)
{
    const json_t *annotations = json_object_get(said, "annotations");
    return json_is_true(json_object_get(annotations, hint));
}

static void describe(struct mcp_tool *tool, const json_t *said)
{
    const struct mcp_server *server = tool->link->server;
    json_t *about = about_of(said);
    tool->tool.foreign = true;
    tool->tool.approve = mcp_server_approves(server, tool->remote);
    tool->tool.repeat =
        mcp_server_repeats(server, tool->remote) ||
        (server->trust_annotations &&
         (says(said, "readOnlyHint") || says(said, "idempotentHint")));
    tool->tool.function = json_pack("{s:s}", "name", tool->tool.name);
    if (about)
        json_object_set_new(tool->tool.function, "description", about);
    json_object_set_new(tool->tool.function, "parameters", parameters_of(said));
}

/* ------------------------------------------------------------------ a call */

/* The state of one call. */
struct mcp_call {
    struct tool_call *call;
    const struct mcp_tool *tool;
    json_t *arguments;
    struct header_lines identity;  /* headers that name the job */
    struct mcp_waiter waiter;      /* JOINING */
    struct mcp_exchange *exchange; /* ASKING; else NULL */
    uint64_t serial;               /* of the link when the request was made */
    bool again;                    /* this is the second attempt */
};

static void mcp_tool_ask(struct mcp_call *calling);

static void on_joined(void *owner, const struct err *why)
{
    struct mcp_call *calling = owner;
    if (why->kind == ERR_NONE)
        mcp_tool_ask(calling);
    else
        tool_call_fail(calling->call, why);
}

static bool mcp_tool_prepare(struct tool_call *call, json_t *arguments,
                             struct err *err)
{
    struct mcp_call *calling = tool_call_state(call);
    calling->call = call;
    calling->tool = (const struct mcp_tool *)tool_call_tool(call);
    calling->arguments = json_incref(arguments);
    calling->waiter.joined = on_joined;
    calling->waiter.owner = calling;
    return headers_of_job(&calling->tool->link->server->headers,
                          tool_call_caller(call), &calling->identity, err);
}

static void mcp_tool_finish(struct tool_call *call)
{
    struct mcp_call *calling = tool_call_state(call);
    mcp_exchange_cancel(calling->exchange);
    mcp_link_leave(&calling->waiter);
    json_decref(calling->arguments);
    header_lines_finish(&calling->identity);
}

static void mcp_tool_give(struct mcp_call *calling, const json_t *result)
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

static void mcp_tool_fail(struct mcp_call *calling,
                          const struct mcp_answer *answer)
{
    struct err why = answer->why;
    bool sent = answer->end == MCP_LOST || answer->end == MCP_LATE;
    if (sent && !calling->tool->tool.repeat)
        err_set(&why, why.kind, "unknown_outcome",
                "%.200s; whether the call was carried out is not known",
                answer->why.text);
    tool_call_fail(calling->call, &why);
}

/* A stale answer proves that the server did not carry out the call; a lost one
 * proves nothing, so it is repeated only when the tool allows that. */
static void on_answered(void *owner, const struct mcp_answer *answer)
{
    struct mcp_call *calling = owner;
    struct mcp_link *link = calling->tool->link;
    bool stale = mcp_link_is_stale(link, answer);
    bool lost = answer->end == MCP_LOST && calling->tool->tool.repeat;
    calling->exchange = NULL;
    if (answer->end == MCP_RESULT) {
        mcp_tool_give(calling, answer->result);
    } else if ((stale || lost) && !calling->again) {
        calling->again = true;
        if (stale)
            mcp_link_close(link, calling->serial);
        mcp_link_join(link, &calling->waiter);
    } else {
        mcp_tool_fail(calling, answer);
    }
}

static void mcp_tool_ask(struct mcp_call *calling)
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
        .trace = tool_call_caller(calling->call)->trace,
        .total_ms = server->total_ms,
    };
    calling->serial = tool->link->serial;
    calling->exchange = mcp_ask(server, &request, on_answered, calling);
    header_lines_finish(&more);
}

static void mcp_tool_start(struct tool_call *call)
{
    struct mcp_call *calling = tool_call_state(call);
    if (calling->tool->link->state == MCP_LINK_OPEN)
        mcp_tool_ask(calling);
    else
        mcp_link_join(calling->tool->link, &calling->waiter);
}

/* ------------------------------------------------------------- life cycle */

static void mcp_tool_free(struct tool *tool)
{
    free(((struct mcp_tool *)tool)->remote);
    tool_finish(tool);
    free(tool);
}

static const struct tool_kind kind = {
    .state_bytes = sizeof(struct mcp_call),
    .prepare = mcp_tool_prepare,
    .start = mcp_tool_start,
    .finish = mcp_tool_finish,
    .free = mcp_tool_free,
};

struct tool *mcp_tool_new(struct mcp_link *link, const json_t *said,
                          struct err *err)
{
    struct mcp_tool *tool = calloc(1, sizeof(*tool));
    if (!tool)
        abort();
    tool->tool.kind = &kind;
    tool->link = link;
    if (set_name(tool, said, err) &&
        check_schema(json_object_get(said, "inputSchema"), err)) {
        describe(tool, said);
        return &tool->tool;
    }
    mcp_tool_free(&tool->tool);
    return NULL;
}
