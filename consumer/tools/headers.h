/* headers.h - HTTP headers that the operator has set up for a tool.
 *
 * ${NAME} in one of them is of the environment, and told to nobody. */
#ifndef CONSUMER_HEADERS_H
#define CONSUMER_HEADERS_H

#include <jansson.h>

#include "schemas/message/err.h"

enum { MAX_TOOL_HEADERS = 16 };

struct headers {
    /* "Name: value", NULL ends; there is room for one more */
    char *lines[MAX_TOOL_HEADERS + 2];
    char *secrets[MAX_TOOL_HEADERS + 1]; /* what of these must not be told */
};

/* value: {name: text}. Error: bad_setting; values are never told. What was read
 * so far is headers_finish()'s. */
bool headers_read(struct headers *headers, json_t *value, struct err *err);
void headers_finish(struct headers *headers); /* accepts a zeroed one */

bool headers_have(const struct headers *headers, const char *name);

/* Servers repeat what they were sent: the secrets in text are starred out. */
void headers_hide(const struct headers *headers, char *text);

#endif
