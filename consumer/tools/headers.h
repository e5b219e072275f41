/* headers.h - the HTTP headers of requests to tools and endpoints: the lines of
 * one request, and what the operator has set up.
 *
 * In the text of a header that the operator has set up,
 *
 *   ${NAME}    is the value of a variable of the environment, read with
 *              the settings;
 *   {{job.X}}  is a value of the job for which the tool is called, filled in
 *              for each call. X is id, tenant, session or metadata.NAME:
 *
 *   "headers": {"X-Tenant": "{{job.tenant}}",
 *               "X-User": "{{job.metadata.user}}"}
 *
 * A value of a job comes from a producer. Every byte of it but letters, digits
 * and -._~@:/+ becomes %XX, so it can end neither the header nor a value in
 * quotes. A header whose job lacks such a value is not sent.
 *
 * Secrets are the values of ${NAME}, the last word of a header that carries a
 * key by its name (Authorization, Cookie, X-Api-Key, ...), keys in the query of
 * the URL, and keys of signatures. Servers repeat what they were sent, so
 * sentences and answers pass headers_hide() or headers_mask() before a model, a
 * log or a journal gets them. */
#ifndef CONSUMER_HEADERS_H
#define CONSUMER_HEADERS_H

#include <jansson.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/field.h"
#include "schemas/message/trace.h"
#include "schemas/message/view.h"

enum {
    MAX_TOOL_HEADERS = 16, /* that an operator sets up for one tool */
    MAX_HEADER_LINES = 48, /* of one request, the NULL behind them included */
};

/* ------------------------------------------------- the lines of a request */

/* "Name: value" lines, each on the heap; a NULL ends them, as HTTP takes them.
 * Zeroed: none. */
struct header_lines {
    char *items[MAX_HEADER_LINES];
    size_t count;
};

/* Copies the line. There is always room: an operator's headers, the marked
 * parameters of an MCP tool (MCP_MOST_MARKED) and those of the protocol and of
 * a signature are fewer than MAX_HEADER_LINES together. */
void header_lines_add(struct header_lines *lines, struct view line);
void header_lines_copy(struct header_lines *lines, char *const *more);
void header_lines_finish(struct header_lines *lines);

/* ---------------------------------------- what the operator has set up */

/* The headers of one tool or endpoint. Filled while settings are read, then
 * constant. */
struct headers {
    /* "Name: value", NULL ends; there is room for one more (Content-Type) */
    char *lines[MAX_TOOL_HEADERS + 2];
    char *of_job[MAX_TOOL_HEADERS + 1]; /* those with {{job...}} in them */
    char **secrets;                     /* up to a NULL; NULL: there is none */
    size_t secret_count;
};

/* The job for which a tool is called. All of it is borrowed from the job. */
struct caller {
    struct view job, tenant, session; /* empty: there is none */
    struct list metadata;             /* of struct pair */
    struct trace trace;               /* goes with the operator's tools only */
};

/* value: {name: text}. Error: bad_setting; it never repeats a value. What was
 * read so far is for headers_finish() to free. */
bool headers_read(struct headers *headers, json_t *value, struct err *err);
void headers_finish(struct headers *headers); /* accepts a zeroed one */

/* Appends the text, each ${NAME} in it replaced by the variable of the
 * environment. Error: bad_setting, there is no such variable, or it is empty.
 */
bool headers_expand(const char *text, struct buf *out, struct err *err);

/* Adds a secret that is in no header of the tool: the key of its signatures.
 * An empty one is ignored. */
void headers_add_secret(struct headers *headers, struct view secret);

/* Adds the keys in the query of the tool's URL, each as it stands there and
 * unescaped. A value counts as a key when its name ends in "key", "token", ...
 * and it has 8 bytes or more, with a digit among them. */
void headers_add_query(struct headers *headers, const char *url);

/* name: without its colon; letters count as the same in both cases. */
bool headers_have(const struct headers *headers, const char *name);

/* Adds the headers that name the job. Error: too_large, one would be longer
 * than servers take. */
bool headers_of_job(const struct headers *headers, const struct caller *caller,
                    struct header_lines *lines, struct err *err);

/* Stars out the secrets in text, a sentence, in place. */
void headers_hide(const struct headers *headers, char *text);
/* The same in a JSON value, as secret_mask_json() does; takes value, gives a
 * reference. body: the bytes that value was read from, or empty. */
json_t *headers_mask(const struct headers *headers, json_t *value,
                     struct view body);

#endif
