/* request.h - the HTTP request that a tool's call becomes, and its answer.
 *
 * The arguments come from code that nobody trusts: they are checked against
 * the tool's parameters, and are written so that they stay in their place. */
#ifndef CONSUMER_REQUEST_H
#define CONSUMER_REQUEST_H

#include "consumer/tools/catalog.h"

/* url is terminated; body stays empty for a GET. Error: bad_field, a sentence
 * for whoever wrote the code. */
bool request_write(const struct http_tool *tool, struct view arguments,
                   struct buf *url, struct buf *body, struct err *err);

/* The body of an answer as JSON: itself when it is JSON, else as a text. */
void answer_write(struct view body, struct buf *out);

#endif
