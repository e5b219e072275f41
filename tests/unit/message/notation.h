/* notation.h - MessagePack for tests, written as JSON with ' for ". */
#ifndef TESTS_UNIT_MESSAGE_NOTATION_H
#define TESTS_UNIT_MESSAGE_NOTATION_H

#include <stdlib.h>
#include <string.h>

#include "schemas/json/convert.h"

/* buf_finish() what is returned. */
static inline struct buf bytes_of(const char *notation)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(cleanup_free) char *text = strdup(notation);
    const msgpack_object *value;
    json_error_t error;
    struct buf bytes;
    json_t *json;

    for (char *c = text; *c != '\0'; c++)
        *c = *c == '\'' ? '"' : *c;
    json = json_loads(text, JSON_DECODE_ANY, &error);
    if (json == NULL)
        fail_msg("%s: %s", notation, error.text);
    buf_init(&bytes, 32 << 20);
    if (!json_to_value(json, &value, &arena, NULL) ||
        !value_encode(value, &bytes, NULL))
        fail_msg("%s: cannot be encoded", notation);
    json_decref(json);
    return bytes;
}

#endif
