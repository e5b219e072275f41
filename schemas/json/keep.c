/* keep.c - the members of a JSON message that its table does not name.
 *
 * A struct has no place for them. So the encoded message is written once more,
 * and each such member is added at the end of its map. A map inside that the
 * encoding left out as empty, but that has such members, is added, too.
 *
 * JSON and message are walked side by side; is_added() and count_added() must
 * agree, because MessagePack has a map's size in front of it. */
#include "schemas/json/convert.h"
#include "schemas/json/iterable.h"

struct json_writer {
    msgpack_packer packer;
    struct arena *arena;
    struct err *err;
};

static bool keep_struct(struct json_writer *writer, const struct schema *schema,
                        const msgpack_object_map *known, const json_t *json);

static int json_keep_write(void *out, const char *data, size_t len)
{
    return buf_append(out, data, len) ? 0 : -1;
}

static void put_name(struct json_writer *writer, struct view name)
{
    msgpack_pack_str_with_body(&writer->packer, name.data, name.len);
}

static const struct field *field_of(const struct schema *schema,
                                    struct view name)
{
    for (size_t i = 0; i < schema->count; i++)
        if (view_is(name, schema->fields[i].name))
            return &schema->fields[i];
    return NULL;
}

static bool is_of_table(const struct schema *schema, struct view name)
{
    return field_of(schema, name) || (schema->versioned && view_is(name, "v"));
}

static bool has_member(const msgpack_object_map *map, struct view name)
{
    for (uint32_t i = 0; map && i < map->size; i++)
        if (view_equal(value_view(&map->ptr[i].key), name))
            return true;
    return false;
}

/* Whether the JSON has unknown members at any depth of structs. */
static bool has_unknown(const struct schema *schema, const json_t *json)
{
    const char *key;
    json_t *item;
    size_t len;

    json_object_keylen_foreach(json_iterable(json), key, len, item) {
        const struct field *field = field_of(schema, (struct view){ key, len });

        if (!is_of_table(schema, (struct view){ key, len }) ||
            (field && field->type == FIELD_STRUCT &&
             has_unknown(field->of, item)))
            return true;
    }
    return false;
}

/* Whether a member of the JSON is added behind those of known: it is unknown,
 * or a struct that the encoding left out as empty and that has unknown members.
 */
static bool is_added(const struct schema *schema,
                     const msgpack_object_map *known, struct view name,
                     const json_t *item)
{
    const struct field *field = field_of(schema, name);

    if (!is_of_table(schema, name))
        return true;
    return field && field->type == FIELD_STRUCT && !has_member(known, name) &&
           has_unknown(field->of, item);
}

static size_t count_added(const struct schema *schema,
                          const msgpack_object_map *known, const json_t *json)
{
    size_t len, count = 0;
    const char *key;
    json_t *item;

    json_object_keylen_foreach(json_iterable(json), key, len, item)
        count += is_added(schema, known, (struct view){ key, len }, item);
    return count;
}

/* --- the members that the struct had -------------------------------------- */

/* Items behind those of the JSON were added since, and are written as they are.
 */
static bool keep_list(struct json_writer *writer, const struct schema *of,
                      const msgpack_object_array *known, const json_t *json)
{
    msgpack_pack_array(&writer->packer, known->size);
    for (uint32_t i = 0; i < known->size; i++) {
        const json_t *item = json_array_get(json, i);

        if (known->ptr[i].type != MSGPACK_OBJECT_MAP || !json_is_object(item))
            msgpack_pack_object(&writer->packer, known->ptr[i]);
        else if (!keep_struct(writer, of, &known->ptr[i].via.map, item))
            return false;
    }
    return true;
}

static bool keep_field(struct json_writer *writer, const struct field *field,
                       const msgpack_object *known, const json_t *json)
{
    if (field && field->type == FIELD_STRUCT && json_is_object(json) &&
        known->type == MSGPACK_OBJECT_MAP)
        return keep_struct(writer, field->of, &known->via.map, json);
    if (field && field->type == FIELD_LIST && json_is_array(json) &&
        known->type == MSGPACK_OBJECT_ARRAY)
        return keep_list(writer, field->of, &known->via.array, json);
    msgpack_pack_object(&writer->packer, *known);
    return true;
}

static bool keep_known(struct json_writer *writer, const struct schema *schema,
                       const msgpack_object_map *known, const json_t *json)
{
    for (uint32_t i = 0; known && i < known->size; i++) {
        struct view name = value_view(&known->ptr[i].key);

        put_name(writer, name);
        if (!keep_field(writer, field_of(schema, name), &known->ptr[i].val,
                        json_object_getn(json, name.data, name.len)))
            return false;
    }
    return true;
}

/* --- the members that it had not ------------------------------------------ */

static bool add_member(struct json_writer *writer, const struct field *field,
                       const json_t *json)
{
    const msgpack_object *value;

    if (field)
        return keep_struct(writer, field->of, NULL, json);
    if (!json_to_value(json, &value, writer->arena, writer->err))
        return false;
    msgpack_pack_object(&writer->packer, *value);
    return true;
}

static bool keep_struct(struct json_writer *writer, const struct schema *schema,
                        const msgpack_object_map *known, const json_t *json)
{
    const char *key;
    json_t *item;
    size_t len;

    msgpack_pack_map(&writer->packer, (known ? known->size : 0) +
                                          count_added(schema, known, json));
    if (!keep_known(writer, schema, known, json))
        return false;
    json_object_keylen_foreach(json_iterable(json), key, len, item) {
        struct view name = { key, len };

        if (!is_added(schema, known, name, item))
            continue;
        put_name(writer, name);
        if (!add_member(writer, field_of(schema, name), item))
            return false;
    }
    return true;
}

bool json_keep_unknown(const struct schema *schema, const json_t *json,
                       struct view bytes, struct buf *out, struct err *err)
{
    struct arena arena = { 0 };
    struct json_writer writer = { .arena = &arena, .err = err };
    const msgpack_object *known;
    bool kept;

    msgpack_packer_init(&writer.packer, out, json_keep_write);
    kept = value_decode(bytes, &known, &arena, err) &&
           keep_struct(&writer, schema, &known->via.map, json);
    arena_finish(&arena);
    if (kept && !buf_ok(out))
        return err_set(err, ERR_REJECT, "too_large",
                       "%s: with the members that it does not know it does "
                       "not fit into %zu bytes",
                       schema->name, out->max);
    return kept;
}
