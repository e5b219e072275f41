/* mcp_tool.h - a tool of a server that speaks the Model Context Protocol.
 *
 * A call of it waits for the link, then asks:
 *
 *   JOINING --> ASKING --> over      asks again, once, when the server had
 *      ^          |                  forgotten the session, or when a call that
 *      `----------'                  may be repeated was lost
 *
 * The description comes from a stranger and becomes a part of what models are
 * told: it is bounded and checked. The name is that of the server, "_" and the
 * tool's own, since two servers may have tools of the same name. */
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
    struct mcp_link *link; /* borrowed from mcp.c */
    char *remote;          /* its name at the server */
};

/* Appends the name that a tool of that server has here: letters and digits of
 * ASCII, all else as _. */
void mcp_tool_name(const struct mcp_server *server, const char *tool,
                   struct buf *out);

/* said: the description of a tool in the list of a server; borrowed for the
 * call. NULL: such a tool is not offered. Error: bad_field, why. */
struct tool *mcp_tool_new(struct mcp_link *link, const json_t *said,
                          struct err *err);

#endif
