/* test_spell.c - what somebody may have meant. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/settings/spell.h"

static const char *const names[] = { "lease",   "memory", "cell-time",
                                     "session", "queues", "session-ttl",
                                     "ttl",     NULL };

static const struct {
    const char *word, *nearest;
} rows[] = {
    { "leese", "lease" },
    { "laese", "lease" },
    { "lease-ms", "lease" },
    { "memory_bytes", "memory" },
    { "sess", "session" },
    { "session-tt", "session-ttl" },
    { "cel-time", "cell-time" },
    { "xyzzy", NULL },
    { "", NULL },
    { "leases-for-ever-and-a-day-x", NULL },
};

static void the_nearest_is_found(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *found = spell_nearest(names, view_of(rows[i].word));
        print_message("%s\n", rows[i].word);
        if (rows[i].nearest)
            assert_string_equal(found ? found : "none", rows[i].nearest);
        else
            assert_null(found);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nearest_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
