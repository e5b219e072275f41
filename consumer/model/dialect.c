/* dialect.c - the languages that model endpoints speak. */
#include "consumer/model/dialect.h"

#include <string.h>

const struct dialect *dialect_find(const char *name)
{
    static const struct dialect *const dialects[] = {
        &dialect_chat,
        &dialect_anthropic,
        &dialect_responses,
    };

    for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++)
        if (strcmp(name, dialects[i]->name) == 0)
            return dialects[i];
    return NULL;
}
