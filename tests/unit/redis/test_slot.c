/* test_slot.c - keys go where Redis Cluster puts them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdio.h>

#include <cmocka.h>

#include "schemas/redis/names.h"
#include "schemas/redis/slot.h"

static void the_published_check_value(void **state)
{
    (void)state;
    assert_int_equal(slot_crc16(VIEW("123456789")), 0x31c3);
    assert_int_equal(slot_crc16(VIEW("")), 0);
}

/* As CLUSTER KEYSLOT answers. */
static void slots_are_those_of_redis(void **state)
{
    (void)state;
    static const struct {
        struct view key;
        unsigned int slot;
    } rows[] = {
        { VIEW_INIT(""), 0 },
        { VIEW_INIT("foo"), 12182 },
        { VIEW_INIT("{foo}"), 12182 },
        { VIEW_INIT("a{foo}b{bar}"), 12182 },
        { VIEW_INIT("foo{}{bar}"), 8363 },
        { VIEW_INIT("foo{{bar}}zap"), 4015 },
        { VIEW_INIT("foo{bar"), 15278 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (slot_of(rows[i].key) != rows[i].slot)
            fail_msg("%s: %u, not %u", rows[i].key.data, slot_of(rows[i].key),
                     rows[i].slot);
}

static void a_partition_has_one_slot(void **state)
{
    (void)state;
    struct names names;
    struct view id = VIEW("019aa5c8-1b2c-70ab-8abc-0123456789ab");

    assert_true(names_init(&names, "quern:", NULL));
    struct key keys[] = {
        names_root(&names, 0xab),
        names_work(&names, 0xab, VIEW("default"), PRIORITY_NORMAL),
        names_job(&names, id),
        names_control(&names, 0xab),
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_int_equal(slot_of(key_view(&keys[i])), names_slot(&names, 0xab));
    assert_int_not_equal(names_slot(&names, 0), names_slot(&names, 1));
}

static void a_tenant_has_one_partition(void **state)
{
    (void)state;
    unsigned int of[4] = { 0 };
    char name[16];

    for (int i = 0; i < 400; i++) {
        snprintf(name, sizeof(name), "tenant-%d", i);
        unsigned int partition = names_partition(view_of(name), 4);
        assert_true(partition < 4);
        of[partition]++;
        assert_int_equal(names_partition(view_of(name), 1), 0);
    }
    for (int i = 0; i < 4; i++)
        assert_true(of[i] > 50);
    assert_int_equal(names_partition(VIEW(""), 7),
                     names_partition(VIEW("default"), 7));
    assert_int_equal(names_partition(VIEW("acme"), 4),
                     slot_crc16(VIEW("acme")) % 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_check_value),
        cmocka_unit_test(slots_are_those_of_redis),
        cmocka_unit_test(a_partition_has_one_slot),
        cmocka_unit_test(a_tenant_has_one_partition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
