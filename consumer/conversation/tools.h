/* tools.h - what a model may call. */
#ifndef CONSUMER_TOOLS_H
#define CONSUMER_TOOLS_H

#include <jansson.h>

#include "consumer/tools/catalog.h"

/* The tool that runs in a session, in order; its one argument, which is all
 * there is when the arguments are no JSON. All others are the catalog's. */
#define TOOL_PYTHON "execute_python_code"
#define TOOL_PYTHON_CODE "code"

/* The request's tools: a new reference, NULL on error. names: of struct view;
 * no names: every tool. Error: unknown_tool, which says what there is. */
json_t *tools_offer(const struct catalog *catalog, const struct list *names,
                    struct err *err);

/* The same without Python: a new reference. */
json_t *tools_without_python(const json_t *tools);

/* Whether Python is among them; NULL: it is not. */
bool tools_have_python(const json_t *tools);

/* Of such: "execute_python_code, search_web", for sentences. NULL: Python. */
void tools_names(const json_t *tools, struct buf *out);

#endif
