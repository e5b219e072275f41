/* request.h - the HTTP request that a tool's call becomes, and its answer.
 *
 * The arguments come from code that nobody trusts: they are escaped, so that
 * each stays in its place. */
#ifndef CONSUMER_REQUEST_H
#define CONSUMER_REQUEST_H

#include "consumer/tools/http_tool.h"
#include "schemas/message/buf.h"

/* arguments: as tool_arguments() gives them; those that have a place in the URL
 * are removed from it. url is terminated; body stays empty for a GET. Error:
 * bad_field, too_large, a sentence for the caller. */
bool request_write(const struct http_tool *tool, json_t *arguments,
                   struct buf *url, struct buf *body, struct err *err);

/* Writes the body of an answer as JSON: itself when it is JSON, else as a text.
 * The secrets of the headers that it repeats are starred out. */
void answer_write(const struct headers *headers, struct view body,
                  struct buf *out);

#endif
