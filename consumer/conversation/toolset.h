/* toolset.h - all tools that jobs may call, at one moment.
 *
 * MCP servers may have other tools later. An attempt holds the toolset that it
 * began with, so that no tool comes or goes while it runs. */
#ifndef CONSUMER_TOOLSET_H
#define CONSUMER_TOOLSET_H

#include "consumer/tools/catalog.h"
#include "consumer/tools/mcp.h"

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
