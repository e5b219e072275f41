/* tools.h - what a model may call. */
#ifndef CONSUMER_TOOLS_H
#define CONSUMER_TOOLS_H

#include <jansson.h>

#include "consumer/tools/catalog.h"

#define TOOL_PYTHON "execute_python_code"

struct cell_tool {
    const char *name;
    const char *schema; /* the "function" member, JSON text */
    const char *text;   /* the one argument that it needs, a string */
    bool raw;           /* arguments that are no JSON are that argument */
};

/* NULL: there is none of that name. */
const struct cell_tool *tool_find(struct view name);

/* The request's tools: a new reference, NULL on error. names: of struct view,
 * of the model's tools and of those of the catalog, which its code may call; no
 * names: every tool. Error: unknown_tool, which says what there is. */
json_t *tools_offer(const struct catalog *catalog, const struct list *names,
                    struct err *err);

/* "execute_python_code, ...": for sentences. */
const char *tools_known(void);

#endif
