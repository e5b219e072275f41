/* value.c - one MessagePack value, in and out.
 *
 * A map that has the same key twice is refused, because two readers could each
 * take a different one: Redis might see one tenant, and the consumer another.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/message/check.h"
#include "schemas/message/field.h"

/* For up to so many keys it is faster to compare each with each than to sort
 * them. More are sorted: a hostile map must not take quadratic time. */
enum { FEW_KEYS = 16 };

struct view value_view(const msgpack_object *value)
{
    if (value->type == MSGPACK_OBJECT_STR)
        return (struct view){ value->via.str.ptr, value->via.str.size };
    if (value->type == MSGPACK_OBJECT_BIN)
        return (struct view){ value->via.bin.ptr, value->via.bin.size };
    return (struct view){ NULL, 0 };
}

bool value_is_empty(const msgpack_object *value)
{
    return value->type == MSGPACK_OBJECT_NIL ||
           (value->type == MSGPACK_OBJECT_ARRAY &&
            value->via.array.size == 0) ||
           (value->type == MSGPACK_OBJECT_MAP && value->via.map.size == 0);
}

const msgpack_object *value_member(const msgpack_object *map, const char *name)
{
    struct view wanted = view_of(name);

    if (map->type != MSGPACK_OBJECT_MAP)
        return NULL;
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object_kv *kv = &map->via.map.ptr[i];

        if (view_equal(value_view(&kv->key), wanted))
            return value_is_empty(&kv->val) ? NULL : &kv->val;
    }
    return NULL;
}

static struct view key_at(const msgpack_object_map *map, uint32_t i)
{
    return value_view(&map->ptr[i].key);
}

static int compare_views(const void *left, const void *right)
{
    const struct view *a = left;
    const struct view *b = right;

    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    return a->len > 0 ? memcmp(a->data, b->data, a->len) : 0;
}

static bool refuse_key(struct view key, struct err *err)
{
    key = view_head(key, 64);
    return err_set(err, ERR_REJECT, "bad_message",
                   "a map has the key \"%.*s\" twice", VIEW_ARG(key));
}

static bool few_keys_differ(const msgpack_object_map *map, struct err *err)
{
    for (uint32_t i = 1; i < map->size; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (view_equal(key_at(map, i), key_at(map, k)))
                return refuse_key(key_at(map, i), err);
        }
    }
    return true;
}

static bool many_keys_differ(const msgpack_object_map *map, struct err *err)
{
    CLEANUP(cleanup_free)
    struct view *keys = calloc(map->size, sizeof(*keys));

    if (!keys)
        abort();
    for (uint32_t i = 0; i < map->size; i++)
        keys[i] = key_at(map, i);
    qsort(keys, map->size, sizeof(*keys), compare_views);
    for (uint32_t i = 1; i < map->size; i++) {
        if (view_equal(keys[i - 1], keys[i]))
            return refuse_key(keys[i], err);
    }
    return true;
}

/* No map in value has a key twice. Recursion ends: check_value() bounds it. */
static bool keys_differ(const msgpack_object *value, struct err *err)
{
    if (value->type == MSGPACK_OBJECT_ARRAY) {
        for (uint32_t i = 0; i < value->via.array.size; i++) {
            if (!keys_differ(&value->via.array.ptr[i], err))
                return false;
        }
    } else if (value->type == MSGPACK_OBJECT_MAP) {
        const msgpack_object_map *map = &value->via.map;

        if (map->size <= FEW_KEYS ? !few_keys_differ(map, err)
                                  : !many_keys_differ(map, err))
            return false;
        for (uint32_t i = 0; i < map->size; i++) {
            if (!keys_differ(&map->ptr[i].val, err))
                return false;
        }
    }
    return true;
}

bool value_decode(struct view bytes, const msgpack_object **out,
                  struct arena *arena, struct err *err)
{
    msgpack_object *value;
    msgpack_unpack_return outcome;
    size_t at = 0;

    if (!check_value(bytes, err))
        return false;
    value = arena_alloc(arena, sizeof(*value));
    outcome = msgpack_unpack(bytes.data, bytes.len, &at, arena->zone, value);
    if (outcome == MSGPACK_UNPACK_NOMEM_ERROR)
        abort();
    /* check_value() accepts only what msgpack-c can parse. */
    assert(outcome == MSGPACK_UNPACK_SUCCESS);
    if (!keys_differ(value, err))
        return false;
    *out = value;
    return true;
}

static int value_write_bytes(void *out, const char *data, size_t len)
{
    return buf_append(out, data, len) ? 0 : -1;
}

bool value_encode(const msgpack_object *value, struct buf *out, struct err *err)
{
    msgpack_packer packer;

    msgpack_packer_init(&packer, out, value_write_bytes);
    if (msgpack_pack_object(&packer, *value) != 0 || !buf_ok(out))
        return err_set(err, ERR_REJECT, "too_large",
                       "the value does not fit into %zu bytes", out->max);
    return true;
}
