/* catalog.h - the tools that can be called, but for Python, by name. The
 * built-in ones that are switched on come first, then the operator's, then
 * those of MCP servers.
 *
 * Names must differ as Python functions, too: search-web and search_web are the
 * same to code. */
#ifndef CONSUMER_CATALOG_H
#define CONSUMER_CATALOG_H

#include "consumer/tools/tool.h"
#include "schemas/message/buf.h"
#include "schemas/message/field.h"

enum { MAX_CATALOG = 64 };

/* Holds its tools: several catalogs may have the same one. Zeroed: empty. */
struct catalog {
    struct tool *items[MAX_CATALOG];
    size_t count;
};

/* Adds a tool and holds it. It replaces a built-in tool of its name, unless it
 * is a server's. A tool that is refused is freed unless somebody else holds it.
 * Error: bad_setting, there are too many, or its name is taken. */
bool catalog_add(struct catalog *catalog, struct tool *tool, struct err *err);

/* Fills copy, which must be empty, with the same tools. */
void catalog_copy(struct catalog *copy, const struct catalog *catalog);

/* Adds the operator's tools, out of the JSON file at path; "" has none. The
 * member CATALOG_SERVERS of the file is left to mcp_load(). Error: bad_setting,
 * with file, tool, member. */
#define CATALOG_SERVERS "mcpServers"
bool catalog_load(struct catalog *catalog, const char *path, struct err *err);
void catalog_finish(struct catalog *catalog);

/* From now on a person must approve calls of that tool by models, in all
 * catalogs that hold it. False: there is no such tool. */
bool catalog_approve(struct catalog *catalog, struct view name);

/* Borrowed from the catalog. NULL: there is none of that name. */
const struct tool *catalog_find(const struct catalog *catalog,
                                struct view name);

/* Appends to functions, a JSON array, what a model is told of the tools. names:
 * those that a job wants, as struct view; an empty list: all. */
void catalog_functions(const struct catalog *catalog, const struct list *names,
                       json_t *functions);
/* The same as JSON text, as the frame FRAME_RUN takes it; nothing when there is
 * none. */
void catalog_describe(const struct catalog *catalog, const struct list *names,
                      struct buf *out);

/* What a model is told of the tools that its code may call: a typed Python stub
 * for each. */
void catalog_stubs(const struct catalog *catalog, const struct list *names,
                   struct buf *out);

#endif
