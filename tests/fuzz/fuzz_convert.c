/* fuzz_convert.c - any bytes as MessagePack, and as JSON, there and back. */
#include <stdint.h>

#include "schemas/json/convert.h"
#include "schemas/message/limits.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/message/schemas.h"

/* As jansson itself writes it. */
static void check_text(const json_t *json)
{
    CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };
    CLEANUP(cleanup_free)
    char *same = json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY);

    MUST(same != NULL);
    MUST(json_add_text(&text, json));
    MUST(view_is(buf_view(&text), same));
}

static void from_value(struct view bytes)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;
    json_t *json;

    if (!value_decode(bytes, &value, &arena, NULL))
        return;
    json = json_from_value(value);
    MUST(json != NULL);
    check_text(json);
    json_decref(json);
}

static void to_value(const json_t *json)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf bytes = { .max = MAX_FRAME_BYTES };
    const msgpack_object *value;
    json_t *again;

    if (!json_to_value(json, &value, &arena, NULL))
        return;
    MUST(value_encode(value, &bytes, NULL));
    MUST(value_decode(buf_view(&bytes), &value, &arena, NULL));
    again = json_from_value(value);
    MUST(json_equal(json, again));
    json_decref(again);
}

static void to_message(const struct schema *schema, const json_t *json)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    void *message = arena_alloc(&arena, schema->size);
    json_t *first, *second;
    struct err err;

    if (schema->fields[0].name == NULL)
        return;
    if (!json_to_message(schema, json, message, &arena, NULL, &err)) {
        MUST(err.kind == ERR_REJECT);
        return;
    }
    first = json_from_message(schema, message);
    if (first == NULL) /* longer by what is always written */
        return;
    MUST(json_to_message(schema, first, message, &arena, NULL, &err));
    second = json_from_message(schema, message);
    MUST(json_equal(first, second));
    json_decref(first);
    json_decref(second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json;

    from_value((struct view){ (const char *)data, size });
    json = json_loadb((const char *)data, size,
                      JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (json == NULL)
        return 0;
    check_text(json);
    to_value(json);
    for (size_t i = 0; i < ALL_SCHEMAS; i++)
        to_message(all_schemas[i], json);
    json_decref(json);
    return 0;
}
