/* mcp_value.h - what a call of a server's tool has come to, as a value.
 *
 * Structured content is the value; without any the texts are, as one. What a
 * journal, and a model's next request, cannot hold is left out, and said:
 * pictures, sounds, files, links. Error results are failures. */
#ifndef CONSUMER_MCP_VALUE_H
#define CONSUMER_MCP_VALUE_H

#include <jansson.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"

/* result: of tools/call. out: JSON, of at most max bytes. Error: tool_failed,
 * too_large, a sentence for whoever calls. */
bool mcp_value_write(const json_t *result, size_t max, struct buf *out,
                     struct err *err);

#endif
