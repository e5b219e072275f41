/* toolset.c - all that jobs may call, as it is at one moment. */
#include "consumer/conversation/toolset.h"

#include <stdlib.h>

#include "consumer/conversation/tools.h"
#include "consumer/tools/final.h"

struct toolset *toolset_new(struct catalog *catalog, struct err *err)
{
    struct toolset *toolset = calloc(1, sizeof(*toolset));
    if (toolset == NULL)
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

struct toolset *toolset_hold(struct toolset *toolset)
{
    toolset->holders++;
    return toolset;
}

void toolset_drop(struct toolset *toolset)
{
    if (toolset == NULL || --toolset->holders > 0)
        return;
    catalog_finish(&toolset->codeact);
    catalog_finish(&toolset->catalog);
    json_decref(toolset->offered);
    free(toolset);
}
