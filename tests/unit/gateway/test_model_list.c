/* test_model_list.c - how long a name of the list counts, and who reads it
 * anew. */
#include <string.h>

#include "producer/gateway/openai/model_list.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on

enum { SECOND = 1000, MINUTE = 60 * SECOND, NOW = 10 * MINUTE };

/* A list that was read at NOW from a worker with these models. */
static struct model_list *list_of(char *models)
{
    struct quern_worker worker = { .seen_at = 1, .models = models };
    const struct model_look look = {
        .workers = { .items = &worker, .count = 1 }, .known = true
    };
    struct model_list *list = model_list_new();

    model_list_take(list, &look, NOW);
    return list;
}

static void test_a_name_counts_for_a_minute(void **state)
{
    static char models[] = "[\"a\"]";
    struct model_list *list = list_of(models);

    (void)state;
    assert_true(model_list_knows(list, "a", NOW + MINUTE - 1));
    /* One looks; until it is back, the others go by what was known. */
    assert_false(model_list_knows(list, "a", NOW + MINUTE));
    assert_true(model_list_knows(list, "a", NOW + MINUTE + 1));
    assert_false(model_list_knows(list, "a", NOW + MINUTE + 10 * SECOND));
    model_list_free(list);
}

static void test_a_name_that_is_not_there_is_looked_for(void **state)
{
    static char models[] = "[\"a\"]";
    struct model_list *list = list_of(models);

    (void)state;
    assert_true(model_list_knows(list, "b", NOW + SECOND - 1));
    assert_false(model_list_has(list, "b"));
    assert_false(model_list_knows(list, "b", NOW + SECOND));
    assert_false(model_list_knows(list, "b", NOW + SECOND + 1));
    model_list_free(list);
}

static void test_nothing_is_known_at_first(void **state)
{
    struct model_list *list = model_list_new();

    (void)state;
    assert_false(model_list_knows(list, "a", NOW));
    assert_true(
        model_list_has(list, "a")); /* the job waits for whom it finds */
    model_list_free(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_counts_for_a_minute),
        cmocka_unit_test(test_a_name_that_is_not_there_is_looked_for),
        cmocka_unit_test(test_nothing_is_known_at_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
