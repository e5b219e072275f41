/* write.c - from MessagePack to JSON. */
#include <stdlib.h>

#include "schemas/json/base64.h"
#include "schemas/json/convert.h"

/* Every byte that is not part of a UTF-8 character becomes U+FFFD: jansson
 * takes only UTF-8 (the nocheck functions trust their caller). */
static json_t *string_mended(struct view text)
{
    CLEANUP(buf_finish) struct buf mended = { .max = SIZE_MAX };

    while (text.len > 0) {
        size_t len = view_character(text);

        if (len > 0)
            buf_append(&mended, text.data, len);
        else
            buf_add(&mended, VIEW("\xef\xbf\xbd"));
        len = len > 0 ? len : 1;
        text.data += len;
        text.len -= len;
    }
    return json_stringn_nocheck(mended.data, mended.len);
}

static json_t *string_from(struct view text)
{
    if (text.len == 0)
        return json_string_nocheck("");
    if (view_is_utf8(text))
        return json_stringn_nocheck(text.data, text.len);
    return string_mended(text);
}

static json_t *bytes_from(struct view bytes)
{
    CLEANUP(buf_finish) struct buf text = { .max = SIZE_MAX };
    json_t *object;

    if (view_is_utf8(bytes))
        return string_from(bytes);
    base64_encode(bytes, &text);
    object = json_object();
    json_object_set_new(object, "base64",
                        json_stringn_nocheck(text.data, text.len));
    return object;
}

static json_t *array_from(const msgpack_object_array *array)
{
    json_t *json = json_array();

    for (uint32_t i = 0; i < array->size; i++)
        json_array_append_new(json, json_from_value(&array->ptr[i]));
    return json;
}

static json_t *object_from(const msgpack_object_map *map)
{
    json_t *json = json_object();

    for (uint32_t i = 0; i < map->size; i++) {
        json_t *key = string_from(value_view(&map->ptr[i].key));

        json_object_setn_new_nocheck(json, json_string_value(key),
                                     json_string_length(key),
                                     json_from_value(&map->ptr[i].val));
        json_decref(key);
    }
    return json;
}

static json_t *real_from(double number)
{
    json_t *json = json_real(number);

    return json ? json : json_null(); /* JSON has no infinity, no NaN */
}

json_t *json_from_value(const msgpack_object *value)
{
    switch (value->type) {
    case MSGPACK_OBJECT_BOOLEAN:
        return json_boolean(value->via.boolean);
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return value->via.u64 <= INT64_MAX
                   ? json_integer((json_int_t)value->via.u64)
                   : json_real((double)value->via.u64);
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return json_integer(value->via.i64);
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        return real_from(value->via.f64);
    case MSGPACK_OBJECT_STR:
        return string_from(value_view(value));
    case MSGPACK_OBJECT_BIN:
        return bytes_from(value_view(value));
    case MSGPACK_OBJECT_ARRAY:
        return array_from(&value->via.array);
    case MSGPACK_OBJECT_MAP:
        return object_from(&value->via.map);
    case MSGPACK_OBJECT_NIL:
    case MSGPACK_OBJECT_EXT:
        break;
    }
    return json_null();
}

/* By way of MessagePack, so that the JSON has just the members that the message
 * would have. */
json_t *json_from_message(const struct schema *schema, const void *message)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = SIZE_MAX };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;

    if (!message_encode(schema, message, &bytes, NULL) ||
        !value_decode(buf_view(&bytes), &value, &arena, NULL))
        return NULL;
    return json_from_value(value);
}
