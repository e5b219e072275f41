/* catalog.h - all tools but Python, by name: our own ones that are switched on,
 * then those that the operator has set up. */
#ifndef CONSUMER_CATALOG_H
#define CONSUMER_CATALOG_H

#include "consumer/tools/tool.h"
#include "schemas/message/buf.h"
#include "schemas/message/field.h"

enum { MAX_CATALOG = 64 };

struct catalog {
    struct tool *items[MAX_CATALOG];
    size_t count;
};

/* Holds a tool; one that it does not take, and nobody else holds, is freed.
 * Error: bad_setting, there are too many, or its name is taken. */
bool catalog_add(struct catalog *catalog, struct tool *tool, struct err *err);

/* The same tools: copy is empty before. */
void catalog_copy(struct catalog *copy, const struct catalog *catalog);

/* The operator's. path: "" has none; what stands under CATALOG_SERVERS there is
 * for mcp_load(). Error: bad_setting, with file, tool, member. */
#define CATALOG_SERVERS "mcpServers"
bool catalog_load(struct catalog *catalog, const char *path, struct err *err);
void catalog_finish(struct catalog *catalog);

/* A person must approve what models want of it. False: there is none of that
 * name. */
bool catalog_approve(struct catalog *catalog, struct view name);

/* NULL: there is none of that name. */
const struct tool *catalog_find(const struct catalog *catalog,
                                struct view name);

/* Appends to functions what a model is told of them. names: of struct view, the
 * ones that a job wants; no names: all. */
void catalog_functions(const struct catalog *catalog, const struct list *names,
                       json_t *functions);
/* As FRAME_RUN has them: these as JSON text, "" when there is none. */
void catalog_describe(const struct catalog *catalog, const struct list *names,
                      struct buf *out);

/* What a model is told of what its code may call: a typed stub each. */
void catalog_stubs(const struct catalog *catalog, const struct list *names,
                   struct buf *out);

#endif
