/* toolset.c - all tools that jobs may call, at one moment. */
#include "consumer/conversation/toolset.h"

#include <stdlib.h>
#include <string.h>

#include "consumer/conversation/tools.h"
#include "consumer/tools/final.h"

struct toolset *toolset_new(struct catalog *catalog, struct err *err)
{
    struct toolset *toolset = calloc(1, sizeof(*toolset));
    if (!toolset)
        abort();
    toolset->holders = 1;
    toolset->catalog = *catalog;
    *catalog = (struct catalog){ 0 };
    catalog_copy(&toolset->codeact, &toolset->catalog);
    toolset->offered = tools_offer(&toolset->catalog, &(struct list){ 0 }, err);
    if (final_add(&toolset->codeact, err))
        return toolset;
    toolset_drop(toolset);
    return NULL;
}

static bool approve(struct toolset *toolset, struct view name,
                    const struct mcp *mcp, struct err *err)
{
    if (view_is(name, TOOL_PYTHON)) {
        toolset->approves_code = true;
        return true;
    }
    return catalog_approve(&toolset->catalog, name) || mcp_expects(mcp, name) ||
           err_set(err, ERR_REJECT, "bad_setting",
                   "QUERN_APPROVE: there is no tool \"%.*s\"",
                   VIEW_ARG(view_head(name, 64)));
}

bool toolset_approve(struct toolset *toolset, const char *names,
                     const struct mcp *mcp, struct err *err)
{
    bool good = true;
    for (const char *at = names; *at != '\0';) {
        size_t blank = strspn(at, ", \t\n");
        size_t len = strcspn(at + blank, ", \t\n");
        struct view name = { at + blank, len };
        at += blank + len;
        good = (len == 0 || approve(toolset, name, mcp, err)) && good;
    }
    return good;
}

struct toolset *toolset_hold(struct toolset *toolset)
{
    toolset->holders++;
    return toolset;
}

void toolset_drop(struct toolset *toolset)
{
    if (!toolset || --toolset->holders > 0)
        return;
    catalog_finish(&toolset->codeact);
    catalog_finish(&toolset->catalog);
    json_decref(toolset->offered);
    free(toolset);
}
