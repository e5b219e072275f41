/* mcp_tool.h - a tool of a server that speaks the Model Context Protocol.
 *
 *   JOINING --> ASKING --> over      again once: the server had forgotten us,
 *      ^          |                  or a call that may be repeated was lost
 *      `----------'
 *
 * Its description comes from a stranger, and becomes a part of what models are
 * told: it is bounded, and checked. Its name is that of the server, _, and its
 * own: two servers may have the same. */
#ifndef CONSUMER_MCP_TOOL_H
#define CONSUMER_MCP_TOOL_H

#include "consumer/tools/mcp_link.h"
#include "consumer/tools/tool.h"
#include "schemas/message/buf.h"

enum {
    MCP_MOST_ABOUT = 4 << 10,   /* bytes of a description; more is cut off */
    MCP_MOST_SCHEMA = 16 << 10, /* of parameters, as JSON */
};

struct mcp_tool {
    struct tool tool;
    struct mcp_link *link;
    char *remote; /* what the server calls it */
};

/* What a tool of that server is called here. */
void mcp_tool_name(const struct mcp_server *server, const char *tool,
                   struct buf *out);

/* said: of the tools that a server lists. NULL: it is not taken. Error:
 * bad_field, why. */
struct tool *mcp_tool_new(struct mcp_link *link, const json_t *said,
                          struct err *err);

#endif
