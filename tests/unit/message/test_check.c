/* test_check.c - the structural check, against bytes made to hurt.
 *
 * What it accepts, msgpack-c must be able to parse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/check.h"
#include "schemas/message/field.h"

static const struct {
    const char *what;
    struct view bytes;
    const char *text; /* NULL: accepted */
} rows[] = {
    { "nothing", VIEW_INIT(""), "byte 0: the message ends too early" },
    { "nil", VIEW_INIT("\xc0"), NULL },
    { "true", VIEW_INIT("\xc3"), NULL },
    { "small integer", VIEW_INIT("\x7f"), NULL },
    { "small negative integer", VIEW_INIT("\xe0"), NULL },
    { "empty map", VIEW_INIT("\x80"), NULL },
    { "empty array", VIEW_INIT("\x90"), NULL },
    { "empty array of 16 bits", VIEW_INIT("\xdc\0\0"), NULL },
    { "empty map of 32 bits", VIEW_INIT("\xdf\0\0\0\0"), NULL },
    { "a map of one", VIEW_INIT("\x81\xa1k\x01"), NULL },
    { "uint64", VIEW_INIT("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), NULL },
    { "float32", VIEW_INIT("\xca\x7f\xc0\0\0"), NULL },
    { "str8",
      VIEW_INIT("\xd9\x03"
                "abc"),
      NULL },
    { "bin32",
      VIEW_INIT("\xc6\0\0\0\x02"
                "ab"),
      NULL },
    { "a key of 32 bits", VIEW_INIT("\x81\xdb\0\0\0\x01k\xc0"), NULL },
    { "array of 2^28 in 5 bytes", VIEW_INIT("\xdd\x10\0\0\0"),
      "byte 0: more values are promised than bytes follow" },
    { "array of 2^32-1", VIEW_INIT("\xdd\xff\xff\xff\xff"),
      "byte 0: more values are promised than bytes follow" },
    { "map of 2^32-1", VIEW_INIT("\xdf\xff\xff\xff\xff"),
      "byte 0: more values are promised than bytes follow" },
    { "map of one in one byte", VIEW_INIT("\x81\xa0"),
      "byte 0: more values are promised than bytes follow" },
    { "inner promises its outer cannot pay", VIEW_INIT("\x92\x92\x01\x01"),
      "byte 4: the message ends too early" },
    { "array, cut", VIEW_INIT("\x92\x01"),
      "byte 0: more values are promised than bytes follow" },
    { "count, cut", VIEW_INIT("\xdd\0\0\0"),
      "byte 0: the message ends too early" },
    { "string, cut",
      VIEW_INIT("\xa3"
                "ab"),
      "byte 0: the message ends too early" },
    { "str32 of 4 GB",
      VIEW_INIT("\xdb\xff\xff\xff\xff"
                "ab"),
      "byte 0: the message ends too early" },
    { "bin32 of 4 GB",
      VIEW_INIT("\xc6\xff\xff\xff\xff"
                "ab"),
      "byte 0: the message ends too early" },
    { "integer, cut", VIEW_INIT("\xcf\0\0\0"),
      "byte 0: the message ends too early" },
    { "bytes after the end", VIEW_INIT("\xc0\xc0"),
      "byte 1: bytes after the end" },
    { "bytes after a map", VIEW_INIT("\x81\xa1k\x01\x80"),
      "byte 4: bytes after the end" },
    { "0xc1", VIEW_INIT("\xc1"), "byte 0: 0xc1 is not MessagePack" },
    { "fixext1", VIEW_INIT("\xd4\x01\x00"),
      "byte 0: extension types are not taken" },
    { "ext8", VIEW_INIT("\xc7\x01\x01\x00"),
      "byte 0: extension types are not taken" },
    { "ext32 of 4 GB", VIEW_INIT("\xc9\xff\xff\xff\xff\x01"),
      "byte 0: extension types are not taken" },
    { "a timestamp inside", VIEW_INIT("\x91\xd6\xff\0\0\0\0"),
      "byte 1: extension types are not taken" },
    { "integer key", VIEW_INIT("\x81\x01\x01"),
      "byte 1: a map's key is not a string" },
    { "bin key", VIEW_INIT("\x81\xc4\x01k\x01"),
      "byte 1: a map's key is not a string" },
    { "array as key", VIEW_INIT("\x81\x90\x01"),
      "byte 1: a map's key is not a string" },
    { "nil as second key", VIEW_INIT("\x82\xa1k\x01\xc0\x01"),
      "byte 4: a map's key is not a string" },
    { "array as a value, then a key", VIEW_INIT("\x82\xa1k\x91\x01\xa1l\x01"),
      NULL },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        const msgpack_object *value;
        struct err err = { 0 };

        if (value_decode(rows[i].bytes, &value, &arena, &err)) {
            if (rows[i].text != NULL)
                fail_msg("%s: accepted", rows[i].what);
            continue;
        }
        if (rows[i].text == NULL || strcmp(err.text, rows[i].text) != 0)
            fail_msg("%s: %s", rows[i].what, err.text);
        assert_string_equal(err.code, "bad_message");
        assert_int_equal(err.kind, ERR_REJECT);
    }
}

/* The bytes end where memory does, so that the sanitizer sees a read beyond. */
static void test_every_cut_of_a_message_is_refused(void **state)
{
    static const struct view whole = VIEW_INIT("\x83\xa1"
                                               "a\x92\xcd\x01\x02\xd9\x02xy\xa1"
                                               "b\xc4\x02zz\xa1"
                                               "c\xcb\0\0\0\0\0\0\0\0");

    (void)state;
    assert_true(check_value(whole, NULL));
    for (size_t len = 0; len < whole.len; len++) {
        char *copy = malloc(len + 1);

        memcpy(copy + 1, whole.data, len);
        assert_false(check_value((struct view){ copy + 1, len }, NULL));
        free(copy);
    }
}

static bool nested(char container, size_t depth)
{
    CLEANUP(buf_finish) struct buf buf;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;

    buf_init(&buf, 1 << 20);
    for (size_t i = 0; i < depth; i++) {
        buf_append(&buf, &container, 1);
        if (container == '\x81')
            buf_printf(&buf, "\xa1k");
    }
    buf_printf(&buf, "\xc0");
    return value_decode(buf_view(&buf), &value, &arena, NULL);
}

static void test_depth_is_bounded(void **state)
{
    (void)state;
    assert_true(nested('\x91', CHECK_MAX_DEPTH));
    assert_false(nested('\x91', CHECK_MAX_DEPTH + 1));
    assert_false(nested('\x91', 100000));
    assert_true(nested('\x81', CHECK_MAX_DEPTH));
    assert_false(nested('\x81', CHECK_MAX_DEPTH + 1));
}

static bool array_of(uint32_t count)
{
    CLEANUP(buf_finish) struct buf buf;
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;
    char head[5] = { '\xdd', (char)(count >> 24), (char)(count >> 16),
                     (char)(count >> 8), (char)count };

    buf_init(&buf, 1 << 20);
    buf_append(&buf, head, sizeof(head));
    for (uint32_t i = 0; i < count; i++)
        buf_append(&buf, "\x01", 1);
    return value_decode(buf_view(&buf), &value, &arena, NULL);
}

static void test_items_are_bounded(void **state)
{
    (void)state;
    assert_true(array_of(CHECK_MAX_ITEMS - 1)); /* and the array itself */
    assert_false(array_of(CHECK_MAX_ITEMS));
}

/* A map of count keys, k0 and up; the last one named as the first. */
static bool takes_map(uint32_t count, bool twice)
{
    CLEANUP(buf_finish) struct buf buf = { .max = 4 << 20 };
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;
    struct err err = { 0 };
    char head[5] = { '\xdf', (char)(count >> 24), (char)(count >> 16),
                     (char)(count >> 8), (char)count };

    buf_append(&buf, head, sizeof(head));
    for (uint32_t i = 0; i < count; i++)
        buf_printf(&buf, "\xa8k%07u%c",
                   twice && i == count - 1 ? 0 : (unsigned int)i, 1);
    if (value_decode(buf_view(&buf), &value, &arena, &err))
        return true;
    assert_string_equal(err.text, "a map has the key \"k0000000\" twice");
    return false;
}

static void test_a_key_said_twice_is_found_in_maps_of_any_size(void **state)
{
    static const uint32_t counts[] = { 2, 16, 17, 1000, 90000 };

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        assert_true(takes_map(counts[i], false));
        assert_false(takes_map(counts[i], true));
    }
}

static void test_a_deep_key_said_twice_is_found(void **state)
{
    CLEANUP(arena_finish) struct arena arena = { 0 };
    const msgpack_object *value;

    (void)state;
    assert_false(value_decode(VIEW("\x91\x81\xa1"
                                   "a\x92\x01\x82\xa1k\x01\xa1k\x02"),
                              &value, &arena, NULL));
    assert_true(value_decode(VIEW("\x91\x81\xa1"
                                  "a\x92\x01\x82\xa1k\x01\xa1l\x02"),
                             &value, &arena, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_every_cut_of_a_message_is_refused),
        cmocka_unit_test(test_depth_is_bounded),
        cmocka_unit_test(test_items_are_bounded),
        cmocka_unit_test(test_a_key_said_twice_is_found_in_maps_of_any_size),
        cmocka_unit_test(test_a_deep_key_said_twice_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
