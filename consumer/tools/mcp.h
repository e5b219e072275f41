/* mcp.h - the servers of tools that the operator has set up, and what they
 * list.
 *
 * A server that is away has no tools until it answers; one that goes away later
 * keeps them. What a list says counts for jobs that begin then. */
#ifndef CONSUMER_MCP_H
#define CONSUMER_MCP_H

#include "consumer/tools/catalog.h"
#include "consumer/tools/tool_host.h"

struct mcp;

struct mcp_events {
    void (*changed)(void *owner); /* mcp_offer() has others */
    /* Once: each server has answered, or failed, or was given time enough. */
    void (*settled)(void *owner);
};

struct mcp *mcp_new(void);

/* What stands under CATALOG_SERVERS in that file. path: "" has none. Error:
 * bad_setting, with file, server, member. */
bool mcp_load(struct mcp *mcp, const char *path, struct err *err);

/* Nothing is called from inside here. Borrows the host. */
void mcp_start(struct mcp *mcp, const struct tool_host *host,
               struct mcp_events events, void *owner);
void mcp_renew(struct mcp *mcp); /* lists all of them anew */
void mcp_stop(struct mcp *mcp);  /* nothing is on its way any more */
void mcp_free(struct mcp *mcp);  /* after the last of its tools; accepts NULL */

/* Adds their tools, in the order of the file, then by name: what models are
 * told is always the same. What does not fit is logged and left out. */
void mcp_offer(const struct mcp *mcp, struct catalog *catalog);

/* One of that name may come: a server of that beginning has not listed yet. */
bool mcp_expects(const struct mcp *mcp, struct view name);

#endif
