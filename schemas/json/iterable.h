/* iterable.h - jansson's iterators ask for a json_t * and change nothing. */
#ifndef SCHEMAS_JSON_ITERABLE_H
#define SCHEMAS_JSON_ITERABLE_H

#include <jansson.h>

static inline json_t *json_iterable(const json_t *json)
{
    union {
        const json_t *in;
        json_t *out;
    } same = { json };

    return same.out;
}

#endif
