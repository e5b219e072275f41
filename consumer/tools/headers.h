/* headers.h - HTTP headers that the operator has set up for a tool.
 *
 * ${NAME} in one of them is of the environment, and told to nobody; neither is
 * what a header holds that carries a key by its name (Authorization, Cookie,
 * X-Api-Key, ...). {{job...}} is of the job for which the tool is called:
 * identity.h. */
#ifndef CONSUMER_HEADERS_H
#define CONSUMER_HEADERS_H

#include <jansson.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/view.h"

enum { MAX_TOOL_HEADERS = 16 };

struct headers {
    /* "Name: value", NULL ends; there is room for one more */
    char *lines[MAX_TOOL_HEADERS + 2];
    char *of_job[MAX_TOOL_HEADERS + 1]; /* those with {{job...}} in them */
    char **secrets; /* what of all must not be told, up to a NULL; or NULL */
    size_t secret_count;
};

/* value: {name: text}. Error: bad_setting; values are never told. What was read
 * so far is headers_finish()'s. */
bool headers_read(struct headers *headers, json_t *value, struct err *err);
void headers_finish(struct headers *headers); /* accepts a zeroed one */

/* Appends the text, with what the environment has for each ${NAME}. Error:
 * bad_setting, it has no such variable. */
bool headers_expand(const char *text, struct buf *out, struct err *err);

/* One more that must not be told, of the same tool: of its signatures. */
void headers_add_secret(struct headers *headers, struct view secret);

/* ... and the keys in the query of its URL, each as it stands there and as it
 * was before it was escaped. By its name a value is a key (it ends in "key",
 * "token", ...), and by its looks: 8 bytes at least, with a digit. */
void headers_add_query(struct headers *headers, const char *url);

bool headers_have(const struct headers *headers, const char *name);

/* Servers repeat what they were sent. The secrets in text, a sentence, are
 * starred out; in an answer, whose bytes are body, as secret_mask_json() does.
 */
void headers_hide(const struct headers *headers, char *text);
json_t *headers_mask(const struct headers *headers, json_t *value,
                     struct view body);

#endif
