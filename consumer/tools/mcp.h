/* mcp.h - the MCP servers that the operator has set up, and the tools that they
 * list.
 *
 * A server that is away has no tools until it answers; one that goes away later
 * keeps them. A new list counts for jobs that begin after it: see
 * conversation/tools.h.
 *
 *   mcp_server.h    what the operator has set up; the state of the protocol
 *   mcp_link.h      finds out which generation of the protocol it speaks
 *   mcp_exchange.h  one request and its answer, over HTTP
 *   mcp_reply.h     the answer, out of the bytes of the server
 *   mcp_tool.h      one tool: its description, and its calls
 *   mcp_header.h    the arguments that become headers
 *   mcp_value.h     the result of a call, as a value */
#ifndef CONSUMER_MCP_H
#define CONSUMER_MCP_H

#include "consumer/tools/catalog.h"
#include "consumer/tools/tool_host.h"

struct mcp;

struct mcp_events {
    void (*changed)(void *owner); /* mcp_offer() may now offer other tools */
    /* Once: each server has answered or failed, or the time for that is over.
     * Jobs should begin only now. */
    void (*settled)(void *owner);
};

struct mcp *mcp_new(void);

/* Reads the member CATALOG_SERVERS of the JSON file at path; "" has none.
 * Error: bad_setting, with file, server, member. */
bool mcp_load(struct mcp *mcp, const char *path, struct err *err);

/* Begins to ask all servers. Events come from the loop, never from inside here.
 * Borrows the loop and the http of the host until mcp_stop(). */
void mcp_start(struct mcp *mcp, const struct tool_host *host,
               struct mcp_events events, void *owner);
/* Asks all servers for their lists anew. */
void mcp_renew(struct mcp *mcp);
/* Cancels what is on its way; no event comes after. No call of a tool may run.
 * Does nothing when mcp_start() was never called. */
void mcp_stop(struct mcp *mcp);
/* Accepts NULL. Tools borrow the links in here: all catalogs must be gone. */
void mcp_free(struct mcp *mcp);

/* Adds the tools of all servers, in the order of the file, then by name: models
 * are always told the same, so their caches of prompts stay valid. A tool that
 * does not fit is logged and left out. */
void mcp_offer(const struct mcp *mcp, struct catalog *catalog);

/* Whether a tool of that name may still come: the name begins as those of a
 * server that has not sent a list yet. */
bool mcp_expects(const struct mcp *mcp, struct view name);

#endif
