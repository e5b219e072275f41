/* http_tool.h - a tool that is an HTTP request of the operator.
 *
 * Neither a job nor a model nor code names a URL. They give arguments, which
 * are checked and put where the operator said:
 *
 *   {"search_web": {
 *       "description": "Looks something up.",
 *       "parameters": {"type": "object",
 *                      "properties": {"query": {"type": "string"}},
 *                      "required": ["query"]},
 *       "url": "https://search.example/v1/find",
 *       "headers": {"Authorization": "Bearer ${SEARCH_KEY}"}},
 *    "item": {"url": "https://shop.example/items/{id}", ...},
 *    "order": {"method": "POST", "url": "https://shop.example/orders",
 *              "repeat": true, ...}}
 *
 * {id} is replaced by the argument id, in path or query. The other arguments go
 * into the query of a GET, into the JSON body of a POST. ${NAME} in a header is
 * a variable of the environment, and secret. repeat: a call whose outcome is
 * not known may be made again; by default true for GET, false for POST.
 * approve: a person must approve calls that a model wants. total_ms
 * (30000) and max_bytes (262144) bound an answer. Headers may name the job
 * (headers.h); sign signs requests (signature.h). ../TOOLS.md has all of it. */
#ifndef CONSUMER_HTTP_TOOL_H
#define CONSUMER_HTTP_TOOL_H

#include <stdint.h>

#include "consumer/tools/signature.h"
#include "consumer/tools/tool.h"

struct http_tool {
    struct tool tool;
    char *url;              /* with {argument} */
    struct headers headers; /* of a POST with the type of its body */
    struct signing_key signing;
    bool post;         /* else it is a GET */
    uint64_t total_ms; /* from the start of a request to the end of its reply */
    size_t max_bytes;  /* of an answer */
};

/* name, entry: a member of the file of tools. NULL: it is wrong. Error:
 * bad_setting, with the member and what is wrong with it; it never repeats the
 * value of a header. */
struct tool *http_tool_new(const char *name, const json_t *entry,
                           struct err *err);

#endif
