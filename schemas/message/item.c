/* item.c - the names of the kinds of items. */
#include "schemas/message/item.h"

#include <stddef.h>

const char *const item_kind_names[] = {
    [ITEM_MESSAGE] = "message",   [ITEM_REASONING] = "reasoning",
    [ITEM_FUNCTION] = "function", [ITEM_CODE] = "code",
    [ITEM_SEARCH] = "search",     NULL,
};
