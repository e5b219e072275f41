/* item.c - the items of a job, and their ids. */
#include "schemas/message/item.h"

#include <stdio.h>

const char *const item_kind_names[] = {
    [ITEM_MESSAGE] = "message",   [ITEM_REASONING] = "reasoning",
    [ITEM_FUNCTION] = "function", [ITEM_CODE] = "code",
    [ITEM_SEARCH] = "search",     NULL,
};

void item_id_write(char id[ITEM_ID_BYTES], enum item_kind kind, struct view job,
                   uint64_t number)
{
    static const char *const prefixes[] = {
        [ITEM_MESSAGE] = "msg_", [ITEM_REASONING] = "rs_",
        [ITEM_FUNCTION] = "fc_", [ITEM_CODE] = "ci_",
        [ITEM_SEARCH] = "ws_",
    };
    char digits[33];
    size_t count = 0;

    for (size_t i = 0; i < job.len && count + 1 < sizeof(digits); i++)
        if (job.data[i] != '-')
            digits[count++] = job.data[i];
    digits[count] = '\0';
    snprintf(id, ITEM_ID_BYTES, "%s%s%04llx", prefixes[kind], digits,
             (unsigned long long)number);
}
