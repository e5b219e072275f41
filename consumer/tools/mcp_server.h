/* mcp_server.h - a server of tools that the operator has set up, which is
 * spoken to by the Model Context Protocol.
 *
 * Its entry in QUERN_TOOLS is what other clients have, where it is about HTTP:
 *
 *   {"mcpServers": {
 *       "weather": {"url": "https://weather.example/mcp",
 *                   "headers": {"Authorization": "Bearer ${WEATHER_KEY}"},
 *                   "tools": ["forecast"], "repeat": ["forecast"]}}}
 *
 * tools: those of the server that are wanted, else all. repeat: those whose
 * calls may be made again when nobody knows what came of one, or true: all.
 * approve: those that a model calls only when a person says so, or true.
 * trust_annotations: what the server says of that itself counts as well
 * (readOnlyHint, idempotentHint). total_ms (30000) and max_bytes (262144) bound
 * an answer. headers and sign are as of an HTTP tool; headers that name the job
 * are in requests that call a tool, the signature is in all. ../TOOLS.md
 *
 * There are two generations of the protocol. Which of them a server speaks is
 * found out by mcp_link.h. */
#ifndef CONSUMER_MCP_SERVER_H
#define CONSUMER_MCP_SERVER_H

#include <uv.h>

#include "consumer/model/http.h"
#include "consumer/tools/signature.h"

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_LEGACY_VERSION "2025-11-25"

enum {
    MCP_MOST_NAME = 32,        /* of a server: its tools begin with it */
    MCP_REPLY_BYTES = 4 << 20, /* of one reply, pictures that we drop, too */
    MCP_MOST_NOTICES = 32,     /* on their way at once */
    MCP_VERSION_BYTES = 16,
    MCP_SESSION_BYTES = 256,
};

enum mcp_era {
    MCP_UNKNOWN,
    MCP_LEGACY, /* to 2025-11-25: initialize, and perhaps a session */
    MCP_MODERN, /* from 2026-07-28: each request says all */
};

struct mcp_server {
    char *name, *url;
    struct headers headers;
    struct signing signing;
    json_t *tools;  /* a list of names, or NULL */
    json_t *repeat; /* the same, or true */
    json_t *approve;
    bool trust_annotations;
    uint64_t total_ms;
    size_t max_bytes;

    uv_loop_t *loop;
    struct http *http;
    enum mcp_era era;
    char version[MCP_VERSION_BYTES];
    char session[MCP_SESSION_BYTES]; /* "": none; nobody else may know it */
    json_int_t last_id;              /* of requests */
    struct mcp_notice *notices;      /* that nobody waits for */
};

/* Error: bad_setting, with the member. What was read so far is
 * mcp_server_finish()'s. */
bool mcp_server_read(struct mcp_server *server, const char *name,
                     const json_t *entry, struct err *err);
void mcp_server_finish(struct mcp_server *server); /* accepts a zeroed one */

/* May a tool of that name be offered; may a call of it be made again. */
bool mcp_server_wants(const struct mcp_server *server, const char *tool);
bool mcp_server_repeats(const struct mcp_server *server, const char *tool);
/* A person must, before a model's call of it is made. */
bool mcp_server_approves(const struct mcp_server *server, const char *tool);

#endif
