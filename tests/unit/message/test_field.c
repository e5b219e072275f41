/* test_field.c - the field engine, on a message that has a row of each kind. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/field.h"

struct inner {
    struct view name;
    uint64_t size;
};
static const struct field inner_fields[] = {
    { .name = "name",
      .type = FIELD_TEXT,
      .flags = FIELD_REQUIRED,
      .offset = offsetof(struct inner, name),
      .max = 4 },
    { .name = "size",
      .type = FIELD_UINT,
      .offset = offsetof(struct inner, size),
      .min = 2,
      .max = 9 },
};
static const struct schema schema_inner = {
    .name = "inner",
    .size = sizeof(struct inner),
    .fields = inner_fields,
    .count = 2,
};

struct sample {
    struct view text;
    struct view raw;
    struct view bytes;
    uint64_t number;
    double real;
    bool flag;
    int choice;
    const msgpack_object *any;
    struct inner inner;
    struct list list;
    struct list map;
};
static const char *const choices[] = { "red", "green", NULL };

#define MEMBER(member)                                                         \
    .name = #member, .offset = offsetof(struct sample, member)
static const struct field sample_fields[] = {
    { MEMBER(text), .type = FIELD_TEXT, .min = 2, .max = 8 },
    { MEMBER(raw), .type = FIELD_TEXT, .flags = FIELD_RAW, .max = 8 },
    { MEMBER(bytes), .type = FIELD_BYTES, .max = 8 },
    { MEMBER(number), .type = FIELD_UINT, .max = 100 },
    { MEMBER(real), .type = FIELD_REAL },
    { MEMBER(flag), .type = FIELD_BOOL },
    { MEMBER(choice), .type = FIELD_ENUM, .names = choices },
    { MEMBER(any), .type = FIELD_ANY },
    { MEMBER(inner), .type = FIELD_STRUCT, .of = &schema_inner },
    { MEMBER(list), .type = FIELD_LIST, .max = 3, .of = &schema_inner },
    { MEMBER(map), .type = FIELD_MAP, .max = 2 },
};
static const struct schema schema_sample = {
    .name = "sample",
    .size = sizeof(struct sample),
    .fields = sample_fields,
    .count = sizeof(sample_fields) / sizeof(sample_fields[0]),
    .versioned = true,
    .max_bytes = 200,
};

/* Rows are members after "v": 1, in bytes; how many they are comes first. */
#define MAP(count, members) VIEW_INIT(count "\xa1v\x01" members)

static const struct {
    const char *what;
    struct view bytes;
    const char *code; /* NULL: accepted */
    const char *text;
} rows[] = {
    { "nothing", MAP("\x81", ""), NULL, NULL },
    { "no version", VIEW_INIT("\x80"), "unsupported_version",
      "v is missing, must be 1" },
    { "version 2", VIEW_INIT("\x81\xa1v\x02"), "unsupported_version",
      "v is 2, must be 1" },
    { "version as text", VIEW_INIT("\x81\xa1v\xa1\x31"), "unsupported_version",
      "v is text, must be 1" },
    { "not a map", VIEW_INIT("\x91\x01"), "bad_message",
      "the message is an array, must be a map" },
    { "an unknown member", MAP("\x82", "\xa1z\x01"), NULL, NULL },
    { "nil is absent", MAP("\x82", "\xa4text\xc0"), NULL, NULL },
    { "an empty array is an empty map", MAP("\x82", "\xa5inner\x90"), NULL,
      NULL },
    { "a member twice", MAP("\x83", "\xa4text\xa2hi\xa4text\xa2ho"),
      "bad_message", "a map has the key \"text\" twice" },
    { "text", MAP("\x82", "\xa4text\xa2hi"), NULL, NULL },
    { "empty text", MAP("\x82", "\xa4text\xa0"), NULL, NULL },
    { "text, too short", MAP("\x82", "\xa4text\xa1h"), "bad_field",
      "text is 1 bytes, must be at least 2" },
    { "text at its limit", MAP("\x82", "\xa4text\xa8longlong"), NULL, NULL },
    { "text, too long", MAP("\x82", "\xa4text\xa9longlonge"), "too_large",
      "text is 9 bytes, the limit is 8" },
    { "text, not UTF-8", MAP("\x82", "\xa4text\xa2h\xff"), "bad_field",
      "text is not UTF-8" },
    { "text as bytes", MAP("\x82", "\xa4text\xc4\x02hi"), "bad_field",
      "text is bytes, must be text" },
    { "text as a number", MAP("\x82", "\xa4text\x01"), "bad_field",
      "text is an integer, must be text" },
    { "raw, not UTF-8", MAP("\x82", "\xa3raw\xa2h\xff"), NULL, NULL },
    { "raw as bytes", MAP("\x82", "\xa3raw\xc4\x02h\xff"), NULL, NULL },
    { "raw, too long", MAP("\x82", "\xa3raw\xa9longlonge"), "too_large",
      "raw is 9 bytes, the limit is 8" },
    { "bytes",
      MAP("\x82", "\xa5"
                  "bytes\xc4\x02\xff\xfe"),
      NULL, NULL },
    { "bytes as text",
      MAP("\x82", "\xa5"
                  "bytes\xa2hi"),
      NULL, NULL },
    { "bytes as an array",
      MAP("\x82", "\xa5"
                  "bytes\x91\x01"),
      "bad_field", "bytes is an array, must be text or bytes" },
    { "number at its limit", MAP("\x82", "\xa6number\x64"), NULL, NULL },
    { "number, too large", MAP("\x82", "\xa6number\x65"), "bad_field",
      "number is 101, must be 0 to 100" },
    { "number of 64 bits",
      MAP("\x82", "\xa6number\xcf\xff\xff\xff\xff\xff\xff\xff\xff"),
      "bad_field", "number is 18446744073709551615, must be 0 to 100" },
    { "negative number", MAP("\x82", "\xa6number\xff"), "bad_field",
      "number is -1, must be 0 to 100" },
    { "most negative number", MAP("\x82", "\xa6number\xd3\x80\0\0\0\0\0\0\0"),
      "bad_field", "number is -9223372036854775808, must be 0 to 100" },
    { "a small number in 64 signed bits",
      MAP("\x82", "\xa6number\xd3\0\0\0\0\0\0\0\x05"), NULL, NULL },
    { "number as text", MAP("\x82", "\xa6number\xa1\x31"), "bad_field",
      "number is text, must be an integer" },
    { "number as a real", MAP("\x82", "\xa6number\xcb\x3f\xf0\0\0\0\0\0\0"),
      "bad_field", "number is a real, must be an integer" },
    { "real", MAP("\x82", "\xa4real\xcb\x3f\xf0\0\0\0\0\0\0"), NULL, NULL },
    { "real as an integer", MAP("\x82", "\xa4real\xff"), NULL, NULL },
    { "NaN", MAP("\x82", "\xa4real\xcb\x7f\xf8\0\0\0\0\0\0"), "bad_field",
      "real is nan, must be a finite number" },
    { "infinity", MAP("\x82", "\xa4real\xca\x7f\x80\0\0"), "bad_field",
      "real is inf, must be a finite number" },
    { "real as text", MAP("\x82", "\xa4real\xa1\x31"), "bad_field",
      "real is text, must be a number" },
    { "flag",
      MAP("\x82", "\xa4"
                  "flag\xc3"),
      NULL, NULL },
    { "flag as a number",
      MAP("\x82", "\xa4"
                  "flag\x01"),
      "bad_field", "flag is an integer, must be a boolean" },
    { "choice",
      MAP("\x82", "\xa6"
                  "choice\xa5green"),
      NULL, NULL },
    { "unknown choice",
      MAP("\x82", "\xa6"
                  "choice\xa4"
                  "blue"),
      "bad_field", "choice is \"blue\", must be one of red, green" },
    { "the head of a choice",
      MAP("\x82", "\xa6"
                  "choice\xa4gree"),
      "bad_field", "choice is \"gree\", must be one of red, green" },
    { "choice as a number",
      MAP("\x82", "\xa6"
                  "choice\x01"),
      "bad_field", "choice is an integer, must be text" },
    { "struct", MAP("\x82", "\xa5inner\x81\xa4name\xa1x"), NULL, NULL },
    { "struct with its least size",
      MAP("\x82", "\xa5inner\x82\xa4name\xa1x\xa4size\x02"), NULL, NULL },
    { "struct without its name", MAP("\x82", "\xa5inner\x81\xa4size\x05"),
      "missing_field", "inner.name is required" },
    { "struct with an empty name", MAP("\x82", "\xa5inner\x81\xa4name\xa0"),
      "missing_field", "inner.name is required" },
    { "struct as text", MAP("\x82", "\xa5inner\xa1x"), "bad_field",
      "inner is text, must be a map" },
    { "list", MAP("\x82", "\xa4list\x91\x81\xa4name\xa1x"), NULL, NULL },
    { "list with a fault in the second item",
      MAP("\x82", "\xa4list\x92\x81\xa4name\xa1x\x82\xa4name\xa1y\xa4size\x01"),
      "bad_field", "list[1].size is 1, must be 2 to 9" },
    { "list with nil in it", MAP("\x82", "\xa4list\x91\xc0"), "bad_field",
      "list[0] is nil, must be a map" },
    { "list, too long", MAP("\x82", "\xa4list\x94\xc0\xc0\xc0\xc0"),
      "too_large", "list has 4 items, the limit is 3" },
    { "list as a map", MAP("\x82", "\xa4list\x81\xa1k\x01"), "bad_field",
      "list is a map, must be an array" },
    { "map", MAP("\x82", "\xa3map\x82\xa1k\xa1v\xa1l\xc4\x01\xff"), NULL,
      NULL },
    { "map, too long", MAP("\x82", "\xa3map\x83\xa1k\xa1v\xa1l\xa1v\xa1m\xa1v"),
      "too_large", "map has 3 items, the limit is 2" },
    { "map with a number", MAP("\x82", "\xa3map\x81\xa1k\x07"), "bad_field",
      "map has an integer under \"k\", must be text or bytes" },
    { "map with an empty key", MAP("\x82", "\xa3map\x81\xa0\xa1v"), "bad_field",
      "map has a key of 0 bytes, must be 1 to 128 of UTF-8" },
    { "a key that is no text", MAP("\x82", "\xa1\xff\x01"), "bad_message",
      "a map has a key that is not UTF-8: \"?\"" },
    { "such a key in any value",
      MAP("\x82", "\xa3"
                  "any\x81\xa1\xff\x01"),
      "bad_message", "a map has a key that is not UTF-8: \"?\"" },
    { "map with a key twice", MAP("\x82", "\xa3map\x82\xa1k\xa1v\xa1k\xa1v"),
      "bad_message", "a map has the key \"k\" twice" },
    { "a key twice in any value",
      MAP("\x82", "\xa3"
                  "any\x91\x82\xa1k\xa1v\xa1k\xa1w"),
      "bad_message", "a map has the key \"k\" twice" },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        struct err err = { .code = "none" };
        struct sample sample;
        bool ok = message_decode(&schema_sample, rows[i].bytes, &sample, &arena,
                                 &err);

        if (ok != (rows[i].code == NULL))
            fail_msg("%s: %s", rows[i].what, ok ? "accepted" : err.text);
        if (ok)
            continue;
        assert_int_equal(err.kind, ERR_REJECT);
        if (strcmp(err.code, rows[i].code) != 0 ||
            strcmp(err.text, rows[i].text) != 0)
            fail_msg("%s: %s: %s", rows[i].what, err.code, err.text);
    }
}

static void test_a_message_is_bounded_as_a_whole(void **state)
{
    CLEANUP(buf_finish) struct buf out;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    static char text[200];
    msgpack_object any = { .type = MSGPACK_OBJECT_BIN };
    struct sample sample = { .any = &any };
    struct sample read;
    struct err err;

    (void)state;
    buf_init(&out, 1000);
    any.via.bin.ptr = text;
    any.via.bin.size = 200 - 10; /* map, v: 1, any, head of the bin */
    assert_true(message_encode(&schema_sample, &sample, &out, &err));
    assert_int_equal(out.len, 200);
    assert_true(
        message_decode(&schema_sample, buf_view(&out), &read, &arena, &err));
    any.via.bin.size++;
    buf_clear(&out);
    assert_false(message_encode(&schema_sample, &sample, &out, &err));
    assert_string_equal(err.code, "too_large");
    assert_string_equal(err.text, "the message does not fit into 200 bytes");
    assert_int_equal(out.len, 0);

    buf_append(&out, text, 1);
    out.len = 0;
    buf_reserve(&out, 201);
    memset(out.data, 0, 201);
    out.len = 201;
    assert_false(
        message_decode(&schema_sample, buf_view(&out), &read, &arena, &err));
    assert_string_equal(err.text, "the message is 201 bytes, the limit is 200");
}

static void test_the_buffer_is_a_bound_too(void **state)
{
    CLEANUP(buf_finish) struct buf out = { .max = 12 };
    struct inner inner = { .name = VIEW("abcd") }; /* 1 + 5 + 5 bytes */
    struct err err;

    (void)state;
    assert_true(message_encode(&schema_inner, &inner, &out, &err));
    assert_int_equal(out.len, 11);
    assert_false(message_encode(&schema_inner, &inner, &out, &err));
    assert_string_equal(err.text, "the message does not fit into 1 bytes");
    assert_int_equal(out.len, 11);
}

static const struct {
    const char *what;
    struct sample sample;
    const char *text;
} wrong[] = {
    { "text, too long",
      { .text = VIEW_INIT("longlonge") },
      "text is 9 bytes, the limit is 8" },
    { "text, not UTF-8", { .text = VIEW_INIT("h\xff") }, "text is not UTF-8" },
    { "number, too large",
      { .number = 101 },
      "number is 101, must be 0 to 100" },
    { "NaN", { .real = (double)NAN }, "real is nan, must be a finite number" },
    { "infinity",
      { .real = (double)INFINITY },
      "real is inf, must be a finite number" },
    { "no such choice", { .choice = 2 }, "choice is 2, must be 0 to 1" },
    { "negative choice", { .choice = -1 }, "choice is -1, must be 0 to 1" },
    { "struct without its name",
      { .inner = { .size = 5 } },
      "inner.name is required" },
    { "an empty item",
      { .list = { &(struct inner){ .size = 0 }, 1 } },
      "list[0].name is required" },
    { "too many items",
      { .list = { NULL, 4 } },
      "list has 4 items, the limit is 3" },
    { "an empty key",
      { .map = { &(struct pair){ .key = { NULL, 0 } }, 1 } },
      "map has a key of 0 bytes, must be 1 to 128 of UTF-8" },
    { "a key twice",
      { .map = { (struct pair[]){ { VIEW_INIT("k"), VIEW_INIT("v") },
                                  { VIEW_INIT("k"), VIEW_INIT("v") } },
                 2 } },
      "map has the key \"k\" twice" },
};

static void test_encoding_keeps_the_rules(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CLEANUP(buf_finish) struct buf out;
        struct err err = { 0 };

        buf_init(&out, 1000);
        if (message_encode(&schema_sample, &wrong[i].sample, &out, &err)) {
            if (wrong[i].text != NULL)
                fail_msg("%s: accepted", wrong[i].what);
            continue;
        }
        if (wrong[i].text == NULL || strcmp(err.text, wrong[i].text) != 0)
            fail_msg("%s: %s", wrong[i].what, err.text);
        assert_int_equal(out.len, 0);
    }
}

static void test_only_what_is_there_is_written(void **state)
{
    CLEANUP(buf_finish) struct buf out;
    struct sample sample = { .raw = VIEW("a\xff"), .flag = true };

    (void)state;
    buf_init(&out, 1000);
    assert_true(message_encode(&schema_sample, &sample, &out, NULL));
    assert_int_equal(out.len, 18);
    assert_memory_equal(out.data,
                        "\x83\xa1v\x01\xa3raw\xc4\x02"
                        "a\xff\xa4"
                        "flag\xc3",
                        out.len);
}

static bool takes_key(size_t len)
{
    CLEANUP(buf_finish) struct buf out = { .max = 1000 };
    char text[200];
    struct pair pair = { { text, len }, VIEW("v") };
    struct sample sample = { .map = { &pair, 1 } };

    memset(text, 'k', sizeof(text));
    return message_encode(&schema_sample, &sample, &out, NULL);
}

static void test_keys_of_a_map_are_bounded(void **state)
{
    (void)state;
    assert_true(takes_key(1));
    assert_true(takes_key(128));
    assert_false(takes_key(129));
}

static void test_an_arena_is_zeroed_memory(void **state)
{
    struct arena arena = { 0 };

    (void)state;
    arena_finish(NULL);
    arena_finish(&arena);
    for (int i = 0; i < 100; i++) {
        char *memory = arena_alloc(&arena, 1000);

        for (int k = 0; k < 1000; k++)
            assert_int_equal(memory[k], 0);
        memset(memory, 1, 1000);
    }
    assert_true(view_is(arena_copy(&arena, VIEW("copy")), "copy"));
    assert_int_equal(arena_copy(&arena, view_of(NULL)).len, 0);
    arena_finish(&arena);
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_a_message_is_bounded_as_a_whole),
        cmocka_unit_test(test_the_buffer_is_a_bound_too),
        cmocka_unit_test(test_encoding_keeps_the_rules),
        cmocka_unit_test(test_only_what_is_there_is_written),
        cmocka_unit_test(test_keys_of_a_map_are_bounded),
        cmocka_unit_test(test_an_arena_is_zeroed_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
