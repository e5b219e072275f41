/* mcp_server.h - a server of tools that speaks the Model Context Protocol, as
 * the operator has set it up.
 *
 * Its entry in the file of QUERN_TOOLS has the form that other clients use for
 * servers over HTTP:
 *
 *   {"mcpServers": {
 *       "weather": {"url": "https://weather.example/mcp",
 *                   "headers": {"Authorization": "Bearer ${WEATHER_KEY}"},
 *                   "tools": ["forecast"], "repeat": ["forecast"]}}}
 *
 * tools: the names of those that are offered; by default all. repeat: those
 * whose calls may be made again when the outcome of one is not known, or true:
 * all. approve: those of which a person must approve a model's call, or true.
 * trust_annotations: a tool whose annotations say readOnlyHint or
 * idempotentHint counts as one of repeat. total_ms (30000) and max_bytes
 * (262144) bound an answer. headers and sign are as of an HTTP tool. Headers
 * that name the job are in requests that call a tool, the signature is in all
 * requests. ../TOOLS.md has all of it.
 *
 * There are two generations of the protocol. mcp_link.h finds out which of them
 * a server speaks. */
#ifndef CONSUMER_MCP_SERVER_H
#define CONSUMER_MCP_SERVER_H

#include <uv.h>

#include "consumer/tools/signature.h"
#include "schemas/http/http.h"

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_LEGACY_VERSION "2025-11-25"

enum {
    MCP_MOST_NAME = 32, /* of a server; its tools' names begin with it */
    MCP_REPLY_BYTES =
        4 << 20,           /* of one reply, with pictures that are dropped */
    MCP_MOST_NOTICES = 32, /* on their way at once; others are dropped */
    MCP_VERSION_BYTES = 16,
    MCP_SESSION_BYTES = 256,
};

enum mcp_era {
    MCP_UNKNOWN,
    MCP_LEGACY, /* to 2025-11-25: initialize, and perhaps a session */
    MCP_MODERN, /* from 2026-07-28: no session, each request is complete */
};

/* One server: its settings, constant, then the state that mcp_link.h and
 * mcp_exchange.h write. Part of a struct mcp_source of mcp.c, which lives as
 * long as any tool of the server. */
struct mcp_server {
    char *name, *url;
    struct headers headers;
    struct signing_key signing;
    json_t *tools;   /* a list of names; NULL: all */
    json_t *repeat;  /* a list of names, true or false; NULL: none */
    json_t *approve; /* the same */
    bool trust_annotations;
    uint64_t total_ms; /* of one call */
    size_t max_bytes;  /* of the value that a call gives */

    uv_loop_t *loop;   /* these two: borrowed, from mcp_start() on */
    struct http *http; /* NULL after mcp_hush() */
    enum mcp_era era;  /* kept while the link is closed: it is tried first */
    char version[MCP_VERSION_BYTES]; /* as negotiated; "": not yet */
    char session[MCP_SESSION_BYTES]; /* a secret; "": none */
    json_int_t last_id;              /* of the requests so far */
    struct mcp_notice *notices;      /* those on their way; mcp_exchange.c */
};

/* Replaces server by what entry says. Error: bad_setting, with the member. What
 * was read so far is for mcp_server_finish() to free. */
bool mcp_server_read(struct mcp_server *server, const char *name,
                     const json_t *entry, struct err *err);
void mcp_server_finish(struct mcp_server *server); /* accepts a zeroed one */

/* What the operator says of a tool, by the name that the server gives it: it
 * may be offered; a call of it may be made again; a person must approve a
 * model's call of it. */
bool mcp_server_wants(const struct mcp_server *server, const char *tool);
bool mcp_server_repeats(const struct mcp_server *server, const char *tool);
bool mcp_server_approves(const struct mcp_server *server, const char *tool);

#endif
