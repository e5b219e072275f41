/* mcp_server.c - reads what the operator says of a server of tools. */
#include "consumer/tools/mcp_server.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "consumer/model/entry.h"
#include "schemas/message/limits.h"

enum {
    TOTAL_MS = 30000,
    MOST_MS = 10 * 60 * 1000,
    ANSWER_BYTES = 256 << 10,
    MOST_BYTES = MAX_RECORD_BYTES / 2, /* it becomes a journal's record */
};

void mcp_server_finish(struct mcp_server *server)
{
    free(server->name);
    free(server->url);
    headers_finish(&server->headers);
    signing_finish(&server->signing);
    json_decref(server->tools);
    json_decref(server->repeat);
    json_decref(server->approve);
    *server = (struct mcp_server){ 0 };
}

static bool name_is_good(const char *name)
{
    return entry_name_is_good(name) && strlen(name) <= MCP_MOST_NAME &&
           isalpha((unsigned char)name[0]);
}

/* Files of other clients may have "command" and "args". */
static bool refuse_process(const char *member, struct err *err)
{
    return err_set(err, ERR_REJECT, "bad_setting",
                   "%.64s: a server that is started as a process (stdio) is "
                   "not spoken to: it would have this process's user and keys. "
                   "Start it elsewhere, over HTTP, and give its url",
                   member);
}

static bool check_type(const json_t *value, struct err *err)
{
    static const char *const http[] = { "http", "streamable-http",
                                        "streamableHttp" };
    const char *type = json_string_value(value);
    for (size_t i = 0; type && i < sizeof(http) / sizeof(*http); i++)
        if (strcmp(type, http[i]) == 0)
            return true;
    if (type && strcmp(type, "stdio") == 0)
        return refuse_process("type", err);
    return entry_bad_value(err, "type", value,
                           "http: streamable HTTP, not the HTTP+SSE of 2024");
}

/* Headers that mcp_exchange.c writes: a second one would contradict it. */
static bool check_headers(const struct headers *headers, struct err *err)
{
    static const char *const ours[] = {
        "Accept",     "Content-Type", "Mcp-Session-Id", "Mcp-Protocol-Version",
        "Mcp-Method", "Mcp-Name",
    };
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (headers_have(headers, ours[i]))
            return err_set(err, ERR_REJECT, "bad_setting",
                           "headers: %s: is the protocol's own", ours[i]);
    return true;
}

static bool mcp_server_check_names(const char *member, const json_t *value,
                                   const char *must, struct err *err)
{
    size_t i;
    json_t *name;
    bool good = json_is_array(value);
    json_array_foreach(value, i, name)
        good = good && json_is_string(name);
    return good || entry_bad_value(err, member, value, must);
}

static bool mcp_server_set_url(struct mcp_server *server, const json_t *value,
                               struct err *err)
{
    const char *url = json_string_value(value);
    if (!url)
        return entry_bad_value(err, "url", value, "a text");
    if (!entry_check_url(url, err))
        return false;
    server->url = view_dup(view_of(url));
    headers_add_query(&server->headers, url);
    return true;
}

static bool set_bytes(struct mcp_server *server, const json_t *value,
                      struct err *err)
{
    uint64_t bytes = 0;
    if (!entry_number(&bytes, value, MOST_BYTES, "max_bytes", err))
        return false;
    server->max_bytes = bytes;
    return true;
}

static bool mcp_server_set_member(struct mcp_server *server, const char *name,
                                  json_t *value, struct err *err)
{
    if (strcmp(name, "url") == 0)
        return mcp_server_set_url(server, value, err);
    if (strcmp(name, "type") == 0)
        return check_type(value, err);
    if (strcmp(name, "headers") == 0)
        return headers_read(&server->headers, value, err) &&
               check_headers(&server->headers, err);
    if (strcmp(name, "sign") == 0)
        return signing_read(&server->signing, &server->headers, value, err) ||
               err_prefix(err, "sign");
    if (strcmp(name, "total_ms") == 0)
        return entry_number(&server->total_ms, value, MOST_MS, name, err);
    if (strcmp(name, "max_bytes") == 0)
        return set_bytes(server, value, err);
    if (strcmp(name, "tools") == 0) {
        server->tools = json_incref(value);
        return mcp_server_check_names(name, value, "a list of names", err);
    }
    if (strcmp(name, "repeat") == 0 || strcmp(name, "approve") == 0) {
        *(*name == 'r' ? &server->repeat : &server->approve) =
            json_incref(value);
        return json_is_boolean(value) ||
               mcp_server_check_names(name, value, "true, or a list of names",
                                      err);
    }
    if (strcmp(name, "trust_annotations") == 0) {
        server->trust_annotations = json_is_true(value);
        return json_is_boolean(value) ||
               entry_bad_value(err, name, value, "true or false");
    }
    if (strcmp(name, "command") == 0 || strcmp(name, "args") == 0)
        return refuse_process(name, err);
    return err_set(err, ERR_REJECT, "bad_setting",
                   "%.64s: unknown; there are url, type, headers, sign, tools, "
                   "repeat, approve, trust_annotations, total_ms, max_bytes",
                   name);
}

bool mcp_server_read(struct mcp_server *server, const char *name,
                     const json_t *entry, struct err *err)
{
    const char *member;
    json_t *value;
    *server =
        (struct mcp_server){ .total_ms = TOTAL_MS, .max_bytes = ANSWER_BYTES };
    if (!name_is_good(name))
        return err_set(
            err, ERR_REJECT, "bad_setting",
            "is not a valid name of a server: 1 to %d of A-Z a-z 0-9 _ -, "
            "beginning with a letter",
            MCP_MOST_NAME);
    if (!json_is_object(entry))
        return entry_bad(err, "must be an object");
    server->name = view_dup(view_of(name));
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): jansson 2.14 takes no const */
    json_object_foreach((json_t *)(uintptr_t)entry, member, value)
        if (!mcp_server_set_member(server, member, value, err))
            return false;
    return server->url || entry_bad(err, "url is missing");
}

static bool has_name(const json_t *names, const char *name)
{
    size_t i;
    json_t *one;
    json_array_foreach(names, i, one)
        if (strcmp(json_string_value(one), name) == 0)
            return true;
    return false;
}

bool mcp_server_wants(const struct mcp_server *server, const char *tool)
{
    return !server->tools || has_name(server->tools, tool);
}

bool mcp_server_repeats(const struct mcp_server *server, const char *tool)
{
    return json_is_true(server->repeat) || has_name(server->repeat, tool);
}

bool mcp_server_approves(const struct mcp_server *server, const char *tool)
{
    return json_is_true(server->approve) || has_name(server->approve, tool);
}
