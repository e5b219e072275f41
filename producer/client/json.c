/* json.c - quern_json(): a MessagePack message as JSON text. */
#include "producer/client/handle.h"
#include "schemas/json/convert.h"

char *quern_json(const void *bytes, size_t size, struct quern_error *error)
{
    struct err err = { 0 };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;
    json_t *json;
    char *text;

    if (!value_decode((struct view){ bytes, size }, &value, &arena, &err)) {
        handle_fail(error, &err);
        return NULL;
    }
    json = json_from_value(value);
    text = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);
    json_decref(json);
    return text;
}
