/* test_id.c - job ids and blob names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/id.h"

static void test_make(void **state)
{
    static const unsigned char ones[8] = { 0xff, 0xff, 0xff, 0xff,
                                           0xff, 0xff, 0xff, 0xff };
    static const unsigned char zeros[8];
    unsigned int partition = 0;
    struct id id;

    (void)state;
    id = id_make(0, 0, zeros);
    assert_string_equal(id.text, "00000000-0000-7000-8000-000000000000");
    id = id_make(UINT64_C(0xffffffffffff), 0xfff, ones);
    assert_string_equal(id.text, "ffffffff-ffff-7fff-bfff-ffffffffffff");
    id = id_make(UINT64_C(0x019aa5c81b2c), 0x2a, zeros);
    assert_string_equal(id.text, "019aa5c8-1b2c-702a-8000-000000000000");
    assert_true(id_parse(view_of(id.text), &partition));
    assert_int_equal(partition, 0x2a);
}

static void test_every_partition_survives(void **state)
{
    static const unsigned char some[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };

    (void)state;
    for (unsigned int i = 0; i <= ID_MAX_PARTITION; i++) {
        struct id id = id_make(1763700000000, i, some);
        unsigned int partition;

        assert_true(id_parse(view_of(id.text), &partition));
        assert_int_equal(partition, i);
    }
}

static const struct {
    const char *what;
    const char *text;
    bool valid;
} ids[] = {
    { "a UUIDv7", "019aa5c8-1b2c-7000-8000-000000000000", true },
    { "variant 9", "019aa5c8-1b2c-7000-9000-000000000000", true },
    { "variant b", "019aa5c8-1b2c-7000-bfff-ffffffffffff", true },
    { "variant 7", "019aa5c8-1b2c-7000-7000-000000000000", false },
    { "variant c", "019aa5c8-1b2c-7000-c000-000000000000", false },
    { "version 4", "019aa5c8-1b2c-4000-8000-000000000000", false },
    { "upper case", "019AA5C8-1B2C-7000-8000-000000000000", false },
    { "too short", "019aa5c8-1b2c-7000-8000-00000000000", false },
    { "too long", "019aa5c8-1b2c-7000-8000-0000000000000", false },
    { "no dashes", "019aa5c8x1b2c-7000-8000-000000000000", false },
    { "a dash among digits", "019aa5c8-1b2c-7000-8000-00000000-000", false },
    { "not a digit", "019aa5c8-1b2c-7000-8000-00000000000g", false },
    { "a key's brace", "019aa5c8-1b2c-7000-8000-00000000000}", false },
    { "nothing", "", false },
};

static void test_parse(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        if (id_parse(view_of(ids[i].text), NULL) != ids[i].valid)
            fail_msg("%s", ids[i].what);
    }
}

static void test_sha256(void **state)
{
    char text[65];

    (void)state;
    memset(text, 'a', 64);
    text[64] = '\0';
    assert_true(id_is_sha256(view_of(text)));
    assert_false(id_is_sha256((struct view){ text, 63 }));
    text[63] = 'A';
    assert_false(id_is_sha256(view_of(text)));
    text[63] = '/';
    assert_false(id_is_sha256(view_of(text)));
    assert_false(id_is_sha256(view_of(NULL)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_make),
        cmocka_unit_test(test_every_partition_survives),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_sha256),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
