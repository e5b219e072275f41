/* mcp_header.h - the parts of a request that are in its headers as well as in
 * its body, since 2026-07-28, for proxies that do not read bodies.
 *
 * A server may mark a parameter of a tool with "x-mcp-header": "Region"; its
 * value is also sent as the header Mcp-Param-Region. Values come from models
 * and code: they are encoded so that no header can end early. */
#ifndef CONSUMER_MCP_HEADER_H
#define CONSUMER_MCP_HEADER_H

#include "consumer/tools/headers.h"

enum { MCP_MOST_MARKED = 16 }; /* parameters of one tool */

/* Adds the header prefix + name. A value that is not printable ASCII, or begins
 * or ends with a blank, is sent as "=?base64?...?=". One that is too long, or
 * has no room, is left out: the body has it. */
void mcp_header_add(struct header_lines *lines, const char *prefix,
                    const char *name, struct view value);

/* Whether all marks in the schema of a tool can become headers. Error:
 * bad_field. */
bool mcp_header_check(const json_t *schema, struct err *err);

/* Adds the headers of a call with these arguments. schema: checked before. */
void mcp_header_write(const json_t *schema, const json_t *arguments,
                      struct header_lines *lines);

#endif
