/* fuzz_check.c - what the structural check accepts, msgpack-c parses, into
 * memory that has a bound. */
#include "schemas/message/check.h"
#include "schemas/message/field.h"
#include "tests/fuzz/fuzz.h"

static size_t count_values(const msgpack_object *value)
{
    size_t count = 1;

    MUST(value->type != MSGPACK_OBJECT_EXT);
    if (value->type == MSGPACK_OBJECT_ARRAY) {
        for (uint32_t i = 0; i < value->via.array.size; i++)
            count += count_values(&value->via.array.ptr[i]);
    } else if (value->type == MSGPACK_OBJECT_MAP) {
        for (uint32_t i = 0; i < value->via.map.size; i++) {
            MUST(value->via.map.ptr[i].key.type == MSGPACK_OBJECT_STR);
            count += 1 + count_values(&value->via.map.ptr[i].val);
        }
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct view bytes = { (const char *)data, size };
    struct err err = { .kind = ERR_NONE };
    msgpack_object value;
    msgpack_zone zone;
    size_t at = 0;

    if (!check_value(bytes, &err)) {
        MUST(err.kind == ERR_REJECT);
        return 0;
    }
    MUST(err.kind == ERR_NONE);
    MUST(msgpack_zone_init(&zone, 2048));
    MUST(msgpack_unpack(bytes.data, bytes.len, &at, &zone, &value) ==
         MSGPACK_UNPACK_SUCCESS);
    MUST(at == size);
    MUST(count_values(&value) <= CHECK_MAX_ITEMS);
    msgpack_zone_destroy(&zone);
    return 0;
}
