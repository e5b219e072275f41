/* catalog.h - the tools that the operator has set up, by name.
 *
 * A tool is an HTTP request. Neither a job nor a model nor code names a URL;
 * they give arguments, which are checked and written where the operator said:
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
 * {id} takes an argument's place in path or query; what is left goes into the
 * query of a GET, into the JSON body of a POST. ${NAME} in a header is of the
 * environment. repeat: a call whose outcome is not known may be made again;
 * true for GET, false for POST unless it says so. total_ms (30000) and
 * max_bytes (262144) bound an answer. */
#ifndef CONSUMER_CATALOG_H
#define CONSUMER_CATALOG_H

#include <jansson.h>
#include <stdint.h>

#include "schemas/message/buf.h"
#include "schemas/message/err.h"
#include "schemas/message/field.h"

enum {
    MAX_CATALOG = 64,
    MAX_TOOL_HEADERS = 16,
};

struct http_tool {
    char *name;
    json_t *function; /* as a model is told: name, description, parameters */
    char *url;        /* with {argument} */
    char *headers[MAX_TOOL_HEADERS + 1]; /* "Name: value", NULL ends */
    bool post;
    bool repeat;
    uint64_t total_ms;
    size_t max_bytes;
};

struct catalog {
    struct http_tool items[MAX_CATALOG];
    size_t count;
};

/* path: "" gives an empty one. Error: bad_setting, with file, tool, member. */
bool catalog_load(struct catalog *catalog, const char *path, struct err *err);
void catalog_finish(struct catalog *catalog);

/* NULL: there is none of that name. */
const struct http_tool *catalog_find(const struct catalog *catalog,
                                     struct view name);

/* As FRAME_RUN has them: a JSON list, "" when there is none. names: of struct
 * view, the ones that a job wants; no names: all. */
void catalog_describe(const struct catalog *catalog, const struct list *names,
                      struct buf *out);

/* What a model is told of what its code may call: a typed stub each. */
void catalog_stubs(const struct catalog *catalog, const struct list *names,
                   struct buf *out);

#endif
