/* tools.h - the tools that jobs may call, and how a request offers them to the
 * model.
 *
 * MCP servers may have other tools later. An attempt holds the toolset that it
 * began with, so that no tool comes or goes while it runs. */
#ifndef CONSUMER_TOOLS_H
#define CONSUMER_TOOLS_H

#include <jansson.h>

#include "consumer/tools/catalog.h"
#include "consumer/tools/mcp.h"
#include "schemas/message/job.h"

/* The tool that runs code in a session, and its only argument. All other tools
 * are in the catalog. */
#define TOOL_PYTHON "execute_python_code"
#define TOOL_PYTHON_CODE "code"

/* The tools of the names (of struct view), or every tool if there are no names,
 * as a request has them: a new reference; NULL on error. Error: unknown_tool,
 * which says what there is. */
json_t *tools_offer(const struct catalog *catalog, const struct list *names,
                    struct err *err);

/* Appends the functions of the job, which the caller runs. */
void tools_add_functions(json_t *tools, const struct job *job);

/* The function of the job that a model calls by that name. NULL: there is none,
 * or the job's tool_choice is none, so that nothing may be called. */
const struct job_function *tools_function(const struct job *job,
                                          struct view name);

/* Whether no function has the name of one of quern's own tools, and tool_choice
 * names one of the tools that are offered, if it names any. Error: bad_field,
 * which says which name it is. */
bool tools_check_job(const struct catalog *catalog, const json_t *offered,
                     const struct job *job, struct err *err);

/* The same without Python: a new reference. */
json_t *tools_without_python(const json_t *tools);

/* Whether Python is among them. NULL: no. */
bool tools_have_python(const json_t *tools);

/* Appends their names, for sentences: "execute_python_code, search_web". NULL:
 * Python. */
void tools_names(const json_t *tools, struct buf *out);

/* All tools that jobs may call, at one moment. */
struct toolset {
    size_t holders;         /* the last toolset_drop() frees it */
    struct catalog catalog; /* what models, and their code, may call */
    struct catalog codeact; /* and what only code may, in CodeAct mode */
    json_t *offered;        /* to a job that names no tools */
    bool approves_code; /* a person must approve all code; other tools say so
                           for themselves (tool->approve) */
};

/* Takes the tools of a catalog, which is empty afterwards. Held once. NULL: a
 * tool is not allowed. Error: bad_setting. */
struct toolset *toolset_new(struct catalog *catalog, struct err *err);

/* Calls of these tools need a person's approval: names with commas between,
 * Python included. Error: bad_setting: one of them is not there and may not
 * come from a server either; the others are marked all the same. */
bool toolset_approve(struct toolset *toolset, const char *names,
                     const struct mcp *mcp, struct err *err);

struct toolset *toolset_hold(struct toolset *toolset);
void toolset_drop(struct toolset *toolset); /* accepts NULL */

#endif
