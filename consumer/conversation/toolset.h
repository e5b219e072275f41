/* toolset.h - all that jobs may call, as it is at one moment.
 *
 * Servers may say later that they have other tools: a job keeps the toolset
 * that it began with, so that nothing is added to it or taken from it. */
#ifndef CONSUMER_TOOLSET_H
#define CONSUMER_TOOLSET_H

#include "consumer/tools/catalog.h"
#include "consumer/tools/mcp.h"

struct toolset {
    size_t holders;
    struct catalog catalog; /* what models, and their code, may call */
    struct catalog codeact; /* these, and what code alone may in that mode */
    json_t *offered;        /* to a job that names none */
    bool approves_code;     /* a person must; of other tools, they say */
};

/* Takes the tools of a catalog, which is empty afterwards; held once. NULL: one
 * of them may not be there. Error: bad_setting. */
struct toolset *toolset_new(struct catalog *catalog, struct err *err);

/* What models want of these a person must approve: names, comma-separated,
 * Python among them. Error: bad_setting, one is not there, nor may come from a
 * server; the others are marked all the same. */
bool toolset_approve(struct toolset *toolset, const char *names,
                     const struct mcp *mcp, struct err *err);

struct toolset *toolset_hold(struct toolset *toolset);
void toolset_drop(struct toolset *toolset); /* accepts NULL */

#endif
