/* mcp_header.h - what of a request's body stands in its headers as well, since
 * 2026-07-28, for those who pass it on without reading it.
 *
 * A server may mark parameters of a tool with "x-mcp-header": "Region"; their
 * values become headers: Mcp-Param-Region. Values come from models and code:
 * they are written so that no header can end early. */
#ifndef CONSUMER_MCP_HEADER_H
#define CONSUMER_MCP_HEADER_H

#include "consumer/tools/headers.h"

enum { MCP_MOST_MARKED = 16 };

/* Adds "prefix" "name": value, in Base64 where it cannot stand as it is. */
void mcp_header_add(struct header_lines *lines, const char *prefix,
                    const char *name, struct view value);

/* Are all marks in this schema such as can be kept? Error: bad_field. */
bool mcp_header_check(const json_t *schema, struct err *err);

/* Adds those of a call. */
void mcp_header_write(const json_t *schema, const json_t *arguments,
                      struct header_lines *lines);

#endif
