/* json.c - quern_json(): a MessagePack message as JSON text. */
#include <stdint.h>

#include "producer/client/handle.h"
#include "schemas/json/convert.h"

char *quern_json(const void *bytes, size_t size, struct quern_error *error)
{
    struct err err = { 0 };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;
    struct buf text = { .max = SIZE_MAX };
    json_t *json;

    if (!value_decode((struct view){ bytes, size }, &value, &arena, &err)) {
        handle_fail(error, &err);
        return NULL;
    }
    json = json_from_value(value);
    json_add_text(&text, json);
    json_decref(json);
    buf_append(&text, "", 1);
    return text.data;
}
