/* mcp_value.h - the result of a call of a server's tool, as a value.
 *
 * The value is the structured content, or, when there is none, the texts joined
 * by line feeds. Images, sounds, files and links are left out, because neither
 * the journal nor the model's next request can hold them; a note in the value
 * tells so. A result with isError is a failure. */
#ifndef CONSUMER_MCP_VALUE_H
#define CONSUMER_MCP_VALUE_H

#include <jansson.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

/* result: of tools/call. Appends JSON of at most max bytes to out. Error:
 * tool_failed, too_large, a sentence for the caller. */
bool mcp_value_write(const json_t *result, size_t max, struct buf *out,
                     struct err *err);

#endif
