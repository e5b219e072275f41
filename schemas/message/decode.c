/* decode.c - from MessagePack to structs, row by row.
 *
 * value_decode() has bounded the bytes and their depth, so the recursion here
 * ends. Each function decodes one kind of row, checks its bounds (rule.h), and
 * reports the first fault with its place. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "schemas/message/rule.h"

enum { MOST_ROWS = 80 }; /* of a table */

struct decoder {
    struct arena *arena;
    struct err *err;                 /* may be NULL */
    struct unknown_members *unknown; /* NULL: nobody wants to know */
};

static bool decode_field(struct decoder *decoder, const struct field *field,
                         const msgpack_object *value, void *out,
                         const struct field_path *place);

/* The Redis library has the same words (redis/library/body.lua): a producer
 * gets one sentence, whoever refuses its job. */
static const char *decode_kind_name(const msgpack_object *value)
{
    switch (value->type) {
    case MSGPACK_OBJECT_NIL:
        return "nil";
    case MSGPACK_OBJECT_BOOLEAN:
        return "a boolean";
    case MSGPACK_OBJECT_POSITIVE_INTEGER:
        return "an integer";
    case MSGPACK_OBJECT_NEGATIVE_INTEGER:
        return "a negative integer";
    case MSGPACK_OBJECT_FLOAT32:
    case MSGPACK_OBJECT_FLOAT64:
        return "a real";
    case MSGPACK_OBJECT_STR:
        return "text";
    case MSGPACK_OBJECT_ARRAY:
        return "an array";
    case MSGPACK_OBJECT_MAP:
        return "a map";
    case MSGPACK_OBJECT_BIN:
        return "bytes";
    case MSGPACK_OBJECT_EXT:
        break;
    }
    return "an extension";
}

static bool wrong_kind(struct decoder *decoder, const msgpack_object *value,
                       const char *wanted, const struct field_path *place)
{
    return fault(place, decoder->err, "bad_field", "is %s, must be %s",
                 decode_kind_name(value), wanted);
}

/* str, or bin where bytes are taken. */
static bool decode_is_text(const msgpack_object *value, bool bytes)
{
    return value->type == MSGPACK_OBJECT_STR ||
           (value->type == MSGPACK_OBJECT_BIN && bytes);
}

static bool decode_view(struct decoder *decoder, const struct field *field,
                        const msgpack_object *value, struct view *out,
                        const struct field_path *place)
{
    bool bytes = field->type == FIELD_BYTES || (field->flags & FIELD_RAW);

    if (!decode_is_text(value, bytes))
        return wrong_kind(decoder, value, bytes ? "text or bytes" : "text",
                          place);
    *out = value_view(value);
    return rule_view(field, *out, place, decoder->err);
}

static bool decode_uint(struct decoder *decoder, const struct field *field,
                        const msgpack_object *value, uint64_t *out,
                        const struct field_path *place)
{
    if (value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
        return fault(place, decoder->err, "bad_field",
                     "is %" PRId64 ", must be %" PRIu64 " to %" PRIu64,
                     value->via.i64, field->min, field->max);
    if (value->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return wrong_kind(decoder, value, "an integer", place);
    *out = value->via.u64;
    return rule_uint(field, *out, place, decoder->err);
}

static bool decode_real(struct decoder *decoder, const msgpack_object *value,
                        double *out, const struct field_path *place)
{
    if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        *out = (double)value->via.u64;
    else if (value->type == MSGPACK_OBJECT_NEGATIVE_INTEGER)
        *out = (double)value->via.i64;
    else if (value->type == MSGPACK_OBJECT_FLOAT32 ||
             value->type == MSGPACK_OBJECT_FLOAT64)
        *out = value->via.f64;
    else
        return wrong_kind(decoder, value, "a number", place);
    return rule_real(*out, place, decoder->err);
}

static bool wrong_choice(struct decoder *decoder, const struct field *field,
                         struct view text, const struct field_path *place)
{
    CLEANUP(buf_finish) struct buf choice = { .max = 160 };

    for (size_t i = 0; field->names[i]; i++)
        buf_printf(&choice, "%s%s", i > 0 ? ", " : "", field->names[i]);
    text = view_head(text, 64);
    return fault(place, decoder->err, "bad_field",
                 "is \"%.*s\", must be one of %.*s", VIEW_ARG(text),
                 VIEW_ARG(buf_view(&choice)));
}

static bool decode_enum(struct decoder *decoder, const struct field *field,
                        const msgpack_object *value, int *out,
                        const struct field_path *place)
{
    struct view text = value_view(value);

    if (!decode_is_text(value, false))
        return wrong_kind(decoder, value, "text", place);
    for (int i = 0; field->names[i]; i++) {
        if (view_is(text, field->names[i])) {
            *out = i;
            return true;
        }
    }
    return wrong_choice(decoder, field, text, place);
}

/* The row of that name; schema->count: there is none. likely: where to look
 * first, since a writer of ours writes the members in the order of the rows. */
static size_t row_of(const struct schema *schema, struct view name,
                     size_t likely)
{
    for (size_t i = 0; i < schema->count; i++) {
        size_t row = (likely + i) % schema->count;

        if (view_is(name, schema->fields[row].name))
            return row;
    }
    return schema->count;
}

/* Finds each row's member in one walk through the map. members[row]: NULL: it
 * is absent. */
static void find_members(struct decoder *decoder, const struct schema *schema,
                         const msgpack_object_map *map,
                         const struct field_path *outer,
                         const msgpack_object **members)
{
    size_t row, likely = 0;

    for (size_t i = 0; i < schema->count; i++)
        members[i] = NULL;
    for (uint32_t i = 0; i < map->size; i++) {
        struct view name = value_view(&map->ptr[i].key);

        if (schema->versioned && !outer && view_is(name, "v"))
            continue;
        row = row_of(schema, name, likely);
        if (row == schema->count) {
            if (decoder->unknown)
                unknown_add(decoder->unknown, outer, name);
            continue;
        }
        likely = row + 1;
        if (!value_is_empty(&map->ptr[i].val))
            members[row] = &map->ptr[i].val;
    }
}

static bool decode_struct(struct decoder *decoder, const struct schema *schema,
                          const msgpack_object *value, char *out,
                          const struct field_path *outer)
{
    const msgpack_object *members[MOST_ROWS];

    if (value->type != MSGPACK_OBJECT_MAP)
        return wrong_kind(decoder, value, "a map", outer);
    assert(schema->count <= MOST_ROWS);
    find_members(decoder, schema, &value->via.map, outer, members);
    for (size_t i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];
        const struct field_path place = { outer, field->name, 0 };
        void *at = out + field->offset;

        if (members[i] && !decode_field(decoder, field, members[i], at, &place))
            return false;
        /* An enum's first name is 0, but a value like the others: it is given
         * when it is there. Elsewhere what is empty is the same as absent. */
        if (!rule_given(field,
                        field->type == FIELD_ENUM ? !members[i]
                                                  : field_is_empty(field, at),
                        &place, decoder->err))
            return false;
    }
    return true;
}

static bool decode_list(struct decoder *decoder, const struct field *field,
                        const msgpack_object *value, struct list *out,
                        const struct field_path *outer)
{
    const struct schema *of = field->of;
    bool plain = !of->fields[0].name;
    char *items;

    if (value->type != MSGPACK_OBJECT_ARRAY)
        return wrong_kind(decoder, value, "an array", outer);
    /* The bound first: the count came from outside, and sizes memory. */
    if (!rule_count(field, value->via.array.size, outer, decoder->err))
        return false;
    items = arena_alloc(decoder->arena, value->via.array.size * of->size);
    *out = (struct list){ items, value->via.array.size };
    for (size_t i = 0; i < out->count; i++) {
        const struct field_path place = { outer, NULL, i };
        const msgpack_object *item = &value->via.array.ptr[i];
        char *at = items + i * of->size;

        if (plain ? !decode_field(decoder, of->fields, item, at, &place)
                  : !decode_struct(decoder, of, item, at, &place))
            return false;
    }
    return true;
}

static bool decode_map(struct decoder *decoder, const struct field *field,
                       const msgpack_object *value, struct list *out,
                       const struct field_path *place)
{
    struct pair *pairs;

    if (value->type != MSGPACK_OBJECT_MAP)
        return wrong_kind(decoder, value, "a map", place);
    if (!rule_count(field, value->via.map.size, place, decoder->err))
        return false;
    pairs =
        arena_alloc(decoder->arena, value->via.map.size * sizeof(struct pair));
    *out = (struct list){ pairs, value->via.map.size };
    for (size_t i = 0; i < out->count; i++) {
        const msgpack_object_kv *kv = &value->via.map.ptr[i];

        pairs[i].key = value_view(&kv->key);
        pairs[i].value = value_view(&kv->val);
        if (!decode_is_text(&kv->val, true)) {
            struct view key = view_head(pairs[i].key, 64);

            return fault(place, decoder->err, "bad_field",
                         "has %s under \"%.*s\", must be text or bytes",
                         decode_kind_name(&kv->val), VIEW_ARG(key));
        }
    }
    return rule_keys(out, place, decoder->err);
}

static bool decode_field(struct decoder *decoder, const struct field *field,
                         const msgpack_object *value, void *out,
                         const struct field_path *place)
{
    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_BYTES:
        return decode_view(decoder, field, value, out, place);
    case FIELD_UINT:
        return decode_uint(decoder, field, value, out, place);
    case FIELD_REAL:
        return decode_real(decoder, value, out, place);
    case FIELD_BOOL:
        if (value->type != MSGPACK_OBJECT_BOOLEAN)
            return wrong_kind(decoder, value, "a boolean", place);
        *(bool *)out = value->via.boolean;
        return true;
    case FIELD_ENUM:
        return decode_enum(decoder, field, value, out, place);
    case FIELD_ANY:
        *(const msgpack_object **)out = value;
        return true;
    case FIELD_STRUCT:
        return decode_struct(decoder, field->of, value, out, place);
    case FIELD_LIST:
        return decode_list(decoder, field, value, out, place);
    case FIELD_MAP:
        return decode_map(decoder, field, value, out, place);
    }
    return false;
}

static bool version_is_ours(const msgpack_object *message, struct err *err)
{
    const msgpack_object *v = value_member(message, "v");

    if (!v)
        return err_set(err, ERR_REJECT, "unsupported_version",
                       "v is missing, must be %d", MESSAGE_VERSION);
    if (v->type != MSGPACK_OBJECT_POSITIVE_INTEGER)
        return err_set(err, ERR_REJECT, "unsupported_version",
                       "v is %s, must be %d", decode_kind_name(v),
                       MESSAGE_VERSION);
    if (v->via.u64 != MESSAGE_VERSION)
        return err_set(err, ERR_REJECT, "unsupported_version",
                       "v is %" PRIu64 ", must be %d", v->via.u64,
                       MESSAGE_VERSION);
    return true;
}

/* Whether all keys, at any depth, are UTF-8: JSON could not hold others. */
static bool keys_are_text(const msgpack_object *value, struct err *err)
{
    if (value->type == MSGPACK_OBJECT_ARRAY) {
        for (uint32_t i = 0; i < value->via.array.size; i++)
            if (!keys_are_text(&value->via.array.ptr[i], err))
                return false;
    } else if (value->type == MSGPACK_OBJECT_MAP) {
        for (uint32_t i = 0; i < value->via.map.size; i++) {
            const msgpack_object_kv *kv = &value->via.map.ptr[i];
            struct view key = value_view(&kv->key);

            if (!view_is_utf8(key))
                return err_set(err, ERR_REJECT, "bad_message",
                               "a map has a key that is not UTF-8: \"%.*s\"",
                               VIEW_ARG(view_head(key, 64)));
            if (!keys_are_text(&kv->val, err))
                return false;
        }
    }
    return true;
}

static bool decode_message(struct decoder *decoder, const struct schema *schema,
                           const msgpack_object *message, void *out)
{
    if (message->type != MSGPACK_OBJECT_MAP)
        return fault(NULL, decoder->err, "bad_message", "is %s, must be a map",
                     decode_kind_name(message));
    if (schema->versioned && (!version_is_ours(message, decoder->err) ||
                              !keys_are_text(message, decoder->err)))
        return false;
    return decode_struct(decoder, schema, message, out, NULL);
}

bool message_decode_noting(const struct schema *schema, struct view bytes,
                           void *out, struct arena *arena,
                           struct unknown_members *unknown, struct err *err)
{
    struct decoder decoder = { arena, err, unknown };
    const msgpack_object *message;

    memset(out, 0, schema->size);
    if (schema->max_bytes > 0 && bytes.len > schema->max_bytes)
        return fault(NULL, err, "too_large", "is %zu bytes, the limit is %zu",
                     bytes.len, schema->max_bytes);
    return value_decode(bytes, &message, arena, err) &&
           decode_message(&decoder, schema, message, out);
}

bool message_decode_value(const struct schema *schema,
                          const msgpack_object *value, void *out,
                          struct arena *arena, struct err *err)
{
    struct decoder decoder = { arena, err, NULL };

    memset(out, 0, schema->size);
    return decode_message(&decoder, schema, value, out);
}

bool message_decode(const struct schema *schema, struct view bytes, void *out,
                    struct arena *arena, struct err *err)
{
    return message_decode_noting(schema, bytes, out, arena, NULL, err);
}
