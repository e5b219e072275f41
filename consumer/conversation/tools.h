/* tools.h - the tools that a request offers to the model. */
#ifndef CONSUMER_TOOLS_H
#define CONSUMER_TOOLS_H

#include <jansson.h>

#include "consumer/tools/catalog.h"

/* The tool that runs code in a session, and its only argument. All other tools
 * are in the catalog. */
#define TOOL_PYTHON "execute_python_code"
#define TOOL_PYTHON_CODE "code"

/* The tools of the names (of struct view), or every tool if there are no names,
 * as a request has them: a new reference; NULL on error. Error: unknown_tool,
 * which says what there is. */
json_t *tools_offer(const struct catalog *catalog, const struct list *names,
                    struct err *err);

/* The same without Python: a new reference. */
json_t *tools_without_python(const json_t *tools);

/* Whether Python is among them. NULL: no. */
bool tools_have_python(const json_t *tools);

/* Appends their names, for sentences: "execute_python_code, search_web". NULL:
 * Python.
 */
void tools_names(const json_t *tools, struct buf *out);

#endif
