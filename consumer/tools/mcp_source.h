/* mcp_source.h - one server of tools: what it lists, asked until it has told.
 *
 *   LISTING --> RESTING --> LISTING, until it has told its tools
 *   LISTED --> LISTING, when it is asked to; what it told before stays until
 *   there is more */
#ifndef CONSUMER_MCP_SOURCE_H
#define CONSUMER_MCP_SOURCE_H

#include "consumer/tools/catalog.h"
#include "consumer/tools/mcp_link.h"
#include "consumer/tools/tool_host.h"

/* A server's tools, those that were taken, by name; and the names of all. */
struct mcp_listing {
    struct tool *tools[MAX_CATALOG];
    size_t count;
    json_t *names;
};

struct mcp_source {
    struct mcp_server server;
    struct mcp_link link;
    struct mcp_waiter waiter;
    struct mcp_exchange *exchange;
    struct alarm *rest;
    uint64_t rest_ms;
    bool busy;   /* it is being listed */
    bool tried;  /* it has answered, or failed, once */
    bool listed; /* it has answered once */
    struct mcp_listing coming, tools;
    size_t pages; /* of the one that is coming */
    void (*ended)(void *owner, bool listed);
    void *owner;
};

/* The server is read. ended comes from the loop, each time. */
void mcp_source_start(struct mcp_source *source, const struct tool_host *host,
                      void (*when_ended)(void *owner, bool listed),
                      void *owner);
void mcp_source_list(struct mcp_source *source); /* unless it is busy */
void mcp_source_stop(struct mcp_source *source);
void mcp_source_finish(struct mcp_source *source); /* after its last tool */

/* Logs that a tool, as a stranger calls it, is not offered. */
void mcp_source_refuse(const struct mcp_source *source, const char *name,
                       const char *why);

#endif
