/* Answers that are good for a while. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/tools/cache.h"

static void put(struct cache *cache, const char *key, const char *data,
                uint64_t until_ms, uint64_t now_ms)
{
    cache_put(cache, view_of(key), view_of(data), until_ms, now_ms);
}

static bool has(struct cache *cache, const char *key, const char *data,
                uint64_t now_ms)
{
    struct view found = cache_get(cache, view_of(key), now_ms);
    return data != NULL ? view_is(found, data) : found.data == NULL;
}

static void what_was_put_is_there_until_then(void **state)
{
    (void)state;
    struct cache *cache = cache_new(1000);
    assert_true(has(cache, "a", NULL, 0));
    put(cache, "a", "1", 100, 0);
    put(cache, "b", "2", 200, 0);
    assert_true(has(cache, "a", "1", 99) && has(cache, "b", "2", 99));
    assert_true(has(cache, "a", NULL, 100) && has(cache, "b", "2", 100));
    put(cache, "b", "3", 300, 100);
    assert_true(has(cache, "b", "3", 250));
    cache_free(cache);
}

static void the_one_not_asked_for_goes_first(void **state)
{
    (void)state;
    char data[201] = "";
    struct cache *cache = cache_new(900); /* three of them */
    memset(data, 'x', 200);
    put(cache, "a", data, 100, 0);
    put(cache, "b", data, 100, 0);
    put(cache, "c", data, 100, 0);
    assert_true(has(cache, "a", data, 1));
    put(cache, "d", data, 100, 1);
    assert_true(has(cache, "b", NULL, 1));
    assert_true(has(cache, "a", data, 1) && has(cache, "c", data, 1) &&
                has(cache, "d", data, 1));
    cache_free(cache);
}

static void what_has_no_room_is_not_kept(void **state)
{
    (void)state;
    struct cache *none = cache_new(0), *small = cache_new(100);
    put(none, "a", "1", 100, 0);
    assert_true(has(none, "a", NULL, 0));
    put(small, "a", "1", 100, 0);
    char data[201] = "";
    memset(data, 'x', 200);
    put(small, "b", data, 100, 0);
    assert_true(has(small, "a", "1", 0) && has(small, "b", NULL, 0));
    cache_free(none);
    cache_free(small);
    cache_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_there_until_then),
        cmocka_unit_test(the_one_not_asked_for_goes_first),
        cmocka_unit_test(what_has_no_room_is_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
