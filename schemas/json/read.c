/* read.c - from JSON to MessagePack.
 *
 * A message becomes a MessagePack value first. Its table says which members
 * there are, and where {"base64": "..."} stands for bytes. Types and bounds are
 * not checked here: a value of a wrong type is passed on as it is, and
 * message_decode_value() refuses it with its usual sentence. */
#include <string.h>

#include "schemas/json/base64.h"
#include "schemas/json/convert.h"
#include "schemas/json/iterable.h"
#include "schemas/message/check.h"
#include "schemas/message/rule.h"

struct json_reader {
    struct arena *arena;
    struct err *err;
    struct unknown_members *unknown; /* NULL: there may be none */
};

static bool read_field(struct json_reader *reader, const struct field *field,
                       const json_t *json, msgpack_object *out,
                       const struct field_path *place);

/* A copy in the arena: the JSON may be freed before the message is used. */
static msgpack_object string_to(struct json_reader *reader, const char *text,
                                size_t len)
{
    struct view copy = arena_copy(reader->arena, (struct view){ text, len });
    msgpack_object object = { .type = MSGPACK_OBJECT_STR };

    object.via.str.ptr = copy.data;
    object.via.str.size = (uint32_t)copy.len;
    return object;
}

/* An integer stays one: a double would lose the last digits of large ones. */
static msgpack_object number_to(const json_t *json)
{
    msgpack_object object = { .type = MSGPACK_OBJECT_FLOAT64 };

    if (json_is_real(json)) {
        object.via.f64 = json_real_value(json);
    } else if (json_integer_value(json) < 0) {
        object.type = MSGPACK_OBJECT_NEGATIVE_INTEGER;
        object.via.i64 = json_integer_value(json);
    } else {
        object.type = MSGPACK_OBJECT_POSITIVE_INTEGER;
        object.via.u64 = (uint64_t)json_integer_value(json);
    }
    return object;
}

static msgpack_object new_array(struct json_reader *reader, size_t size)
{
    msgpack_object object = { .type = MSGPACK_OBJECT_ARRAY };

    object.via.array.size = (uint32_t)size;
    object.via.array.ptr =
        arena_alloc(reader->arena, size * sizeof(*object.via.array.ptr));
    return object;
}

static msgpack_object new_map(struct json_reader *reader, size_t size)
{
    msgpack_object object = { .type = MSGPACK_OBJECT_MAP };

    object.via.map.size = (uint32_t)size;
    object.via.map.ptr =
        arena_alloc(reader->arena, size * sizeof(*object.via.map.ptr));
    return object;
}

static bool json_read_value(struct json_reader *reader, const json_t *json,
                            msgpack_object *out, int depth);

static bool read_container(struct json_reader *reader, const json_t *json,
                           msgpack_object *out, int depth)
{
    const char *key;
    size_t len, i = 0;
    json_t *item;

    if (depth == CHECK_MAX_DEPTH)
        return err_set(reader->err, ERR_REJECT, "bad_message",
                       "nested deeper than %d", CHECK_MAX_DEPTH);
    if (json_is_array(json)) {
        *out = new_array(reader, json_array_size(json));
        json_array_foreach(json, i, item) {
            if (!json_read_value(reader, item, &out->via.array.ptr[i],
                                 depth + 1))
                return false;
        }
        return true;
    }
    *out = new_map(reader, json_object_size(json));
    json_object_keylen_foreach(json_iterable(json), key, len, item) {
        out->via.map.ptr[i].key = string_to(reader, key, len);
        if (!json_read_value(reader, item, &out->via.map.ptr[i].val, depth + 1))
            return false;
        i++;
    }
    return true;
}

static bool json_read_value(struct json_reader *reader, const json_t *json,
                            msgpack_object *out, int depth)
{
    *out = (msgpack_object){ .type = MSGPACK_OBJECT_NIL };
    switch (json_typeof(json)) {
    case JSON_NULL:
        return true;
    case JSON_TRUE:
    case JSON_FALSE:
        out->type = MSGPACK_OBJECT_BOOLEAN;
        out->via.boolean = json_is_true(json);
        return true;
    case JSON_INTEGER:
    case JSON_REAL:
        *out = number_to(json);
        return true;
    case JSON_STRING:
        *out = string_to(reader, json_string_value(json),
                         json_string_length(json));
        return true;
    case JSON_ARRAY:
    case JSON_OBJECT:
        return read_container(reader, json, out, depth);
    }
    return true;
}

bool json_to_value(const json_t *json, const msgpack_object **value,
                   struct arena *arena, struct err *err)
{
    struct json_reader reader = { arena, err, NULL };
    msgpack_object *object = arena_alloc(arena, sizeof(*object));

    if (!json_read_value(&reader, json, object, 0))
        return false;
    *value = object;
    return true;
}

/* Text, or {"base64": "..."}; anything else is passed on, to be refused by
 * message_decode_value(). */
static bool read_bytes(struct json_reader *reader, const json_t *json,
                       msgpack_object *out, const struct field_path *place)
{
    CLEANUP(buf_finish) struct buf bytes = { .max = SIZE_MAX };
    const json_t *text = json_object_get(json, "base64");
    struct view copy;

    if (!json_is_string(text) || json_object_size(json) != 1)
        return json_read_value(reader, json, out, 0);
    if (!base64_decode(
            (struct view){ json_string_value(text), json_string_length(text) },
            &bytes))
        return fault(place, reader->err, "bad_field",
                     "is not well-formed base64");
    copy = arena_copy(reader->arena, buf_view(&bytes));
    out->type = MSGPACK_OBJECT_BIN;
    out->via.bin.ptr = copy.data;
    out->via.bin.size = (uint32_t)copy.len;
    return true;
}

static const struct field *find_field(const struct schema *schema,
                                      struct view name)
{
    for (size_t i = 0; i < schema->count; i++) {
        if (view_is(name, schema->fields[i].name))
            return &schema->fields[i];
    }
    return NULL;
}

static bool read_struct(struct json_reader *reader, const struct schema *schema,
                        const json_t *json, msgpack_object *out,
                        const struct field_path *outer)
{
    static const struct field any = { .type = FIELD_ANY };
    /* JSON is written by people, who may leave v out. */
    bool adds_version = schema->versioned && !json_object_get(json, "v");
    const char *key;
    size_t len, i = 0;
    json_t *item;

    if (!json_is_object(json))
        return json_read_value(reader, json, out, 0);
    *out = new_map(reader, json_object_size(json) + adds_version);
    if (adds_version) {
        out->via.map.ptr[i].key = string_to(reader, "v", 1);
        out->via.map.ptr[i++].val =
            (msgpack_object){ MSGPACK_OBJECT_POSITIVE_INTEGER,
                              { .u64 = MESSAGE_VERSION } };
    }
    json_object_keylen_foreach(json_iterable(json), key, len, item) {
        struct view name = { key, len };
        const struct field *field = find_field(schema, name);
        const struct field_path place = { outer, key, 0 };
        msgpack_object_kv *kv = &out->via.map.ptr[i];

        if (schema->versioned && view_is(name, "v"))
            field = &any;
        if (!field && reader->unknown) {
            unknown_add(reader->unknown, outer, name);
            continue;
        }
        i++;
        kv->key = string_to(reader, key, len);
        if (!field)
            return fault(&place, reader->err, "bad_field",
                         "is not a member of %s", schema->name);
        if (!read_field(reader, field, item, &kv->val, &place))
            return false;
    }
    out->via.map.size = (uint32_t)i; /* without those that were passed over */
    return true;
}

static bool read_list(struct json_reader *reader, const struct schema *of,
                      const json_t *json, msgpack_object *out,
                      const struct field_path *outer)
{
    bool plain = !of->fields[0].name;
    json_t *item;
    size_t i;

    if (!json_is_array(json))
        return json_read_value(reader, json, out, 0);
    *out = new_array(reader, json_array_size(json));
    json_array_foreach(json, i, item) {
        const struct field_path place = { outer, NULL, i };
        msgpack_object *to = &out->via.array.ptr[i];

        if (plain ? !read_field(reader, of->fields, item, to, &place)
                  : !read_struct(reader, of, item, to, &place))
            return false;
    }
    return true;
}

static bool read_map(struct json_reader *reader, const json_t *json,
                     msgpack_object *out, const struct field_path *outer)
{
    const char *key;
    size_t len, i = 0;
    json_t *item;

    if (!json_is_object(json))
        return json_read_value(reader, json, out, 0);
    *out = new_map(reader, json_object_size(json));
    json_object_keylen_foreach(json_iterable(json), key, len, item) {
        const struct field_path place = { outer, key, 0 };
        msgpack_object_kv *kv = &out->via.map.ptr[i++];

        kv->key = string_to(reader, key, len);
        if (!read_bytes(reader, item, &kv->val, &place))
            return false;
    }
    return true;
}

static bool read_field(struct json_reader *reader, const struct field *field,
                       const json_t *json, msgpack_object *out,
                       const struct field_path *place)
{
    switch (field->type) {
    case FIELD_STRUCT:
        return read_struct(reader, field->of, json, out, place);
    case FIELD_LIST:
        return read_list(reader, field->of, json, out, place);
    case FIELD_MAP:
        return read_map(reader, json, out, place);
    case FIELD_TEXT:
    case FIELD_BYTES:
        return read_bytes(reader, json, out, place);
    case FIELD_UINT:
    case FIELD_REAL:
    case FIELD_BOOL:
    case FIELD_ENUM:
    case FIELD_ANY:
        return json_read_value(reader, json, out, 0);
    }
    return false;
}

bool json_to_message(const struct schema *schema, const json_t *json,
                     void *message, struct arena *arena,
                     struct unknown_members *unknown, struct err *err)
{
    struct json_reader reader = { arena, err, unknown };
    msgpack_object *value = arena_alloc(arena, sizeof(*value));

    memset(message, 0, schema->size);
    return read_struct(&reader, schema, json, value, NULL) &&
           message_decode_value(schema, value, message, arena, err);
}
