/* encode.c - from structs to MessagePack, row by row.
 *
 * Bounds are checked as in decoding, so that nothing is written that a reader
 * would refuse. What does not fit into out is dropped silently on the way, and
 * noticed once, at the end. */
#include <assert.h>

#include "schemas/message/rule.h"

struct encoder {
    msgpack_packer packer;
    struct buf *out; /* sticky: asked once, at the end */
    struct err *err;
};

static bool encode_field(struct encoder *encoder, const struct field *field,
                         const void *in, const struct field_path *place);

static int encode_write_bytes(void *out, const char *data, size_t len)
{
    return buf_append(out, data, len) ? 0 : -1;
}

static void put_text(struct encoder *encoder, struct view text)
{
    msgpack_pack_str_with_body(&encoder->packer, text.data, text.len);
}

static void put_bytes(struct encoder *encoder, struct view bytes)
{
    msgpack_pack_bin_with_body(&encoder->packer, bytes.data, bytes.len);
}

/* str when it can be read as text, else bin. */
static void put_either(struct encoder *encoder, struct view view)
{
    if (view_is_utf8(view))
        put_text(encoder, view);
    else
        put_bytes(encoder, view);
}

static bool encode_view(struct encoder *encoder, const struct field *field,
                        struct view view, const struct field_path *place)
{
    if (!rule_view(field, view, place, encoder->err))
        return false;
    if (field->type == FIELD_BYTES)
        put_bytes(encoder, view);
    else
        put_either(encoder, view); /* not UTF-8 only when the row is RAW */
    return true;
}

static bool encode_enum(struct encoder *encoder, const struct field *field,
                        int value, const struct field_path *place)
{
    int count = 0;

    while (field->names[count])
        count++;
    if (value < 0 || value >= count)
        return fault(place, encoder->err, "bad_field", "is %d, must be 0 to %d",
                     value, count - 1);
    put_text(encoder, view_of(field->names[value]));
    return true;
}

static bool is_written(const struct field *field, const char *in)
{
    return (field->flags & FIELD_ALWAYS) ||
           !field_is_empty(field, in + field->offset);
}

static bool encode_struct(struct encoder *encoder, const struct schema *schema,
                          const char *in, bool versioned,
                          const struct field_path *outer)
{
    size_t count = versioned ? 1 : 0;

    for (size_t i = 0; i < schema->count; i++)
        count += is_written(&schema->fields[i], in);
    msgpack_pack_map(&encoder->packer, count);
    if (versioned) {
        put_text(encoder, VIEW("v"));
        msgpack_pack_int(&encoder->packer, MESSAGE_VERSION);
    }
    for (size_t i = 0; i < schema->count; i++) {
        const struct field *field = &schema->fields[i];
        const struct field_path place = { outer, field->name, 0 };

        if (!is_written(field, in)) {
            if (!rule_given(field, true, &place, encoder->err))
                return false;
            continue;
        }
        put_text(encoder, view_of(field->name));
        if (!encode_field(encoder, field, in + field->offset, &place))
            return false;
    }
    return true;
}

static bool encode_list(struct encoder *encoder, const struct field *field,
                        const struct list *list, const struct field_path *outer)
{
    const struct schema *of = field->of;
    bool plain = !of->fields[0].name;
    const char *items = list->items;

    if (!rule_count(field, list->count, outer, encoder->err))
        return false;
    msgpack_pack_array(&encoder->packer, list->count);
    for (size_t i = 0; i < list->count; i++) {
        const struct field_path place = { outer, NULL, i };
        const char *item = items + i * of->size;

        if (plain ? !encode_field(encoder, of->fields, item, &place)
                  : !encode_struct(encoder, of, item, false, &place))
            return false;
    }
    return true;
}

static bool encode_map(struct encoder *encoder, const struct field *field,
                       const struct list *list, const struct field_path *place)
{
    const struct pair *pairs = list->items;

    if (!rule_count(field, list->count, place, encoder->err) ||
        !rule_keys(list, place, encoder->err))
        return false;
    msgpack_pack_map(&encoder->packer, list->count);
    for (size_t i = 0; i < list->count; i++) {
        put_text(encoder, pairs[i].key);
        put_either(encoder, pairs[i].value);
    }
    return true;
}

static bool encode_field(struct encoder *encoder, const struct field *field,
                         const void *in, const struct field_path *place)
{
    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_BYTES:
        return encode_view(encoder, field, *(const struct view *)in, place);
    case FIELD_UINT:
        msgpack_pack_uint64(&encoder->packer, *(const uint64_t *)in);
        return rule_uint(field, *(const uint64_t *)in, place, encoder->err);
    case FIELD_REAL:
        msgpack_pack_double(&encoder->packer, *(const double *)in);
        return rule_real(*(const double *)in, place, encoder->err);
    case FIELD_BOOL:
        if (*(const bool *)in)
            msgpack_pack_true(&encoder->packer);
        else
            msgpack_pack_false(&encoder->packer);
        return true;
    case FIELD_ENUM:
        return encode_enum(encoder, field, *(const int *)in, place);
    case FIELD_ANY:
        msgpack_pack_object(&encoder->packer,
                            **(const msgpack_object *const *)in);
        return true;
    case FIELD_STRUCT:
        return encode_struct(encoder, field->of, in, false, place);
    case FIELD_LIST:
        return encode_list(encoder, field, in, place);
    case FIELD_MAP:
        return encode_map(encoder, field, in, place);
    }
    return false;
}

bool message_encode(const struct schema *schema, const void *in,
                    struct buf *out, struct err *err)
{
    struct encoder encoder = { .out = out, .err = err };
    size_t start = out->len;
    size_t max = schema->max_bytes;

    msgpack_packer_init(&encoder.packer, out, encode_write_bytes);
    if (!encode_struct(&encoder, schema, in, schema->versioned, NULL)) {
        buf_truncate(out, start);
        return false;
    }
    if (buf_ok(out) && (max == 0 || out->len - start <= max))
        return true;
    if (max == 0 || out->max - start < max)
        max = out->max - start;
    buf_truncate(out, start);
    return fault(NULL, err, "too_large", "does not fit into %zu bytes", max);
}
