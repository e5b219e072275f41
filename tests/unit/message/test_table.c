/* test_table.c - every row of every table: filled, bounded, required.
 *
 * The tables are walked, so a row that is added is tested. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/limits.h"
#include "tests/unit/message/notation.h"
#include "tests/unit/message/schemas.h"

enum { NO_BOUND = 0, ROOM = 32 << 20, MOST_SCHEMAS = 64 };

/* Those that are published, and those inside them. */
static const struct schema *schemas[MOST_SCHEMAS];
static size_t count;

static void collect(const struct schema *schema)
{
    for (size_t i = 0; i < count; i++) {
        if (schemas[i] == schema)
            return;
    }
    assert_true(count < MOST_SCHEMAS);
    schemas[count++] = schema;
    for (size_t i = 0; i < schema->count; i++) {
        if (schema->fields[i].of != NULL)
            collect(schema->fields[i].of);
    }
}

static int collect_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALL_SCHEMAS; i++)
        collect(all_schemas[i]);
    return count > ALL_SCHEMAS ? 0 : -1;
}

/* Text of that length, as good for one row as for another. */
static struct view filler(struct arena *arena, size_t len)
{
    char *text = arena_alloc(arena, len);

    memset(text, 'a', len);
    return (struct view){ text, len };
}

static void fill(const struct schema *schema, char *out, struct arena *arena);

static void fill_pairs(struct list *list, struct arena *arena)
{
    struct pair *pairs = arena_alloc(arena, 2 * sizeof(*pairs));

    pairs[0] = (struct pair){ VIEW("text/plain"), VIEW("text") };
    pairs[1] = (struct pair){ VIEW("image/png"), VIEW("\x89PNG") };
    *list = (struct list){ pairs, 2 };
}

static void fill_list(const struct schema *of, struct list *list,
                      struct arena *arena)
{
    char *items = arena_alloc(arena, 2 * of->size);

    fill(of, items, arena);
    fill(of, items + of->size, arena);
    *list = (struct list){ items, 2 };
}

/* Something that is not empty. */
static void fill_field(const struct field *field, void *out,
                       struct arena *arena)
{
    msgpack_object *any;

    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_BYTES:
        *(struct view *)out = filler(arena, field->min ? field->min : 3);
        break;
    case FIELD_UINT:
        *(uint64_t *)out = field->max > 3 ? 3 : field->max;
        break;
    case FIELD_REAL:
        *(double *)out = 0.5;
        break;
    case FIELD_BOOL:
        *(bool *)out = true;
        break;
    case FIELD_ENUM:
        *(int *)out = 1;
        break;
    case FIELD_ANY:
        any = arena_alloc(arena, sizeof(*any));
        any->type = MSGPACK_OBJECT_POSITIVE_INTEGER;
        *(const msgpack_object **)out = any;
        break;
    case FIELD_STRUCT:
        fill(field->of, out, arena);
        break;
    case FIELD_LIST:
        fill_list(field->of, out, arena);
        break;
    case FIELD_MAP:
        fill_pairs(out, arena);
        break;
    }
}

static void fill(const struct schema *schema, char *out, struct arena *arena)
{
    for (size_t i = 0; i < schema->count; i++)
        fill_field(&schema->fields[i], out + schema->fields[i].offset, arena);
}

/* The schemas of plain values are rows without a name: not messages. */
static bool is_message(const struct schema *schema)
{
    return schema->fields[0].name != NULL;
}

static void test_every_message_survives_the_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct schema *schema = schemas[i];
        CLEANUP(arena_finish) struct arena arena = { 0 };
        CLEANUP(buf_finish) struct buf first, second;
        char *message = arena_alloc(&arena, schema->size);
        struct err err;

        buf_init(&first, ROOM);
        buf_init(&second, ROOM);
        if (!is_message(schema))
            continue;
        fill(schema, message, &arena);
        if (!message_encode(schema, message, &first, &err) ||
            !message_decode(schema, buf_view(&first), message, &arena, &err) ||
            !message_encode(schema, message, &second, &err))
            fail_msg("%s: %s", schema->name, err.text);
        assert_true(view_equal(buf_view(&first), buf_view(&second)));
    }
}

static void test_every_member_is_written_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct schema *schema = schemas[i];
        CLEANUP(arena_finish) struct arena arena = { 0 };
        char *message = arena_alloc(&arena, schema->size);
        json_t *json;

        if (!is_message(schema))
            continue;
        fill(schema, message, &arena);
        json = json_from_message(schema, message);
        assert_non_null(json);
        for (size_t k = 0; k < schema->count; k++) {
            const char *name = schema->fields[k].name;

            if (json_object_get(json, name) == NULL)
                fail_msg("%s.%s is not written", schema->name, name);
        }
        assert_int_equal(json_object_size(json),
                         schema->count + schema->versioned);
        json_decref(json);
    }
}

/* Sets the row to size, its bound or one more. */
static bool set_size(const struct field *field, void *out, uint64_t size,
                     struct arena *arena)
{
    switch (field->type) {
    case FIELD_TEXT:
    case FIELD_BYTES:
        *(struct view *)out = filler(arena, size);
        return true;
    case FIELD_UINT:
        *(uint64_t *)out = size;
        return size > 0; /* beyond UINT64_MAX there is nothing */
    case FIELD_LIST:
        ((struct list *)out)->items =
            arena_alloc(arena, size * field->of->size);
        ((struct list *)out)->count = size;
        for (uint64_t i = 0; i < size; i++)
            fill(field->of,
                 (char *)((struct list *)out)->items + i * field->of->size,
                 arena);
        return true;
    case FIELD_MAP:
        ((struct list *)out)->items =
            arena_alloc(arena, size * sizeof(struct pair));
        ((struct list *)out)->count = size;
        for (uint64_t i = 0; i < size; i++) {
            struct pair *pair = (struct pair *)((struct list *)out)->items + i;

            pair->key = arena_copy(arena, VIEW("000"));
            ((char *)(uintptr_t)pair->key.data)[1] = (char)('0' + i / 64);
            ((char *)(uintptr_t)pair->key.data)[2] = (char)('0' + i % 64);
        }
        return true;
    case FIELD_REAL:
    case FIELD_BOOL:
    case FIELD_ENUM:
    case FIELD_ANY:
    case FIELD_STRUCT:
        break;
    }
    return false;
}

/* Encodes with the row's bounds taken away, so that decoding has to judge. */
static void encode_unbounded(const struct schema *schema, size_t row,
                             const void *message, struct buf *out)
{
    struct field fields[64];
    struct schema loose = *schema;

    assert_true(schema->count <= 64);
    memcpy(fields, schema->fields, schema->count * sizeof(fields[0]));
    fields[row].min = 0;
    fields[row].max = UINT64_MAX;
    fields[row].flags &= ~(unsigned int)FIELD_REQUIRED;
    loose.fields = fields;
    loose.max_bytes = NO_BOUND;
    assert_true(message_encode(&loose, message, out, NULL));
}

/* The sentence names the row, and says one of two codes. */
static void judge(const struct field *field, bool ok, const struct err *err,
                  const char *schema)
{
    if (ok)
        fail_msg("%s.%s may pass its bound", schema, field->name);
    if (!view_starts(view_of(err->text), field->name) ||
        (strcmp(err->code, "too_large") != 0 &&
         strcmp(err->code, "bad_field") != 0))
        fail_msg("%s.%s: %s: %s", schema, field->name, err->code, err->text);
}

static void check_bound(const struct schema *schema, size_t row)
{
    const struct field *field = &schema->fields[row];
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf out;
    char *message = arena_alloc(&arena, schema->size);
    char *read = arena_alloc(&arena, schema->size);
    struct schema unbounded = *schema;
    struct err err = { 0 };

    /* A row may be as long as its message: the message is judged first. */
    unbounded.max_bytes = NO_BOUND;
    buf_init(&out, ROOM);
    for (size_t i = 0; i < schema->count; i++) {
        if (schema->fields[i].flags & FIELD_REQUIRED)
            fill_field(&schema->fields[i], message + schema->fields[i].offset,
                       &arena);
    }
    if (!set_size(field, message + field->offset, field->max, &arena))
        return;
    if (!message_encode(&unbounded, message, &out, &err) ||
        !message_decode(&unbounded, buf_view(&out), read, &arena, &err))
        fail_msg("%s.%s at its bound: %s", schema->name, field->name, err.text);
    buf_clear(&out);
    if (!set_size(field, message + field->offset, field->max + 1, &arena))
        return;
    judge(field, message_encode(&unbounded, message, &out, &err), &err,
          schema->name);
    encode_unbounded(schema, row, message, &out);
    judge(field, message_decode(&unbounded, buf_view(&out), read, &arena, &err),
          &err, schema->name);
}

static void test_every_bound_holds_on_both_sides(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < schemas[i]->count; k++) {
            if (is_message(schemas[i]))
                check_bound(schemas[i], k);
        }
    }
}

static void check_required(const struct schema *schema, size_t row)
{
    const struct field *field = &schema->fields[row];
    CLEANUP(arena_finish) struct arena arena = { 0 };
    CLEANUP(buf_finish) struct buf out;
    CLEANUP(buf_finish) struct buf sentence;
    struct field fields[64];
    struct schema loose = *schema;
    char *message = arena_alloc(&arena, schema->size);
    struct err err = { 0 };

    buf_init(&out, ROOM);
    buf_init(&sentence, 100);
    buf_printf(&sentence, "%s is required", field->name);
    memcpy(fields, schema->fields, schema->count * sizeof(fields[0]));
    fields[row].name = "renamed"; /* even an enum is then not there */
    loose.fields = fields;
    fill(schema, message, &arena);
    assert_true(message_encode(&loose, message, &out, NULL));
    assert_false(message_decode(schema, buf_view(&out), message, &arena, &err));
    assert_string_equal(err.code, "missing_field");
    assert_true(view_is(buf_view(&sentence), err.text));
}

static void test_every_required_member_is_asked_for(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < schemas[i]->count; k++) {
            if (schemas[i]->fields[k].flags & FIELD_REQUIRED)
                check_required(schemas[i], k);
        }
    }
}

static void test_tables_are_well_formed(void **state)
{
    (void)state;
    for (size_t i = 0; i < count; i++) {
        const struct schema *schema = schemas[i];

        assert_non_null(schema->name);
        assert_non_null(schema->about);
        for (size_t k = 0; k < schema->count; k++) {
            const struct field *field = &schema->fields[k];

            assert_non_null(field->about);
            assert_true(field->min <= field->max);
            for (size_t m = 0; is_message(schema) && m < k; m++)
                assert_string_not_equal(field->name, schema->fields[m].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_message_survives_the_trip),
        cmocka_unit_test(test_every_member_is_written_by_name),
        cmocka_unit_test(test_every_bound_holds_on_both_sides),
        cmocka_unit_test(test_every_required_member_is_asked_for),
        cmocka_unit_test(test_tables_are_well_formed),
    };

    return cmocka_run_group_tests(tests, collect_all, NULL);
}
