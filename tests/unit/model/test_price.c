/* test_price.c - what tokens cost, in whole micro-dollars. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/model/price.h"

static struct price read(const char *text, struct err *err)
{
    struct price price = { 0 };
    json_t *json = json_loads(text, JSON_DECODE_ANY, NULL);
    *err = (struct err){ 0 };
    assert_non_null(json);
    bool ok = price_read(&price, json, err);
    assert_int_equal(ok, err->kind == ERR_NONE);
    json_decref(json);
    return price;
}

static void test_costs(void **state)
{
    (void)state;
    static const struct {
        const char *price;
        struct price_tokens tokens; /* input, cached, written, output */
        uint64_t cost;
    } rows[] = {
        { "{\"input\":2,\"cached\":1,\"output\":8}", { 1000, 0, 0, 10 }, 2080 },
        { "{\"input\":2,\"cached\":1,\"output\":8}",
          { 1000, 400, 0, 0 },
          1600 },
        { "{\"input\":2,\"output\":8}", { 1000, 400, 500, 0 }, 2000 },
        { "{\"input\":2,\"cached\":0,\"output\":8}", { 10, 90, 0, 0 }, 0 },
        { "{\"input\":2,\"cached\":1,\"cache_write\":3,\"output\":8}",
          { 1000, 400, 500, 1 },
          2108 },
        { "{\"input\":2,\"cached\":1,\"cache_write\":3,\"output\":8}",
          { 1000, 400, 900, 0 },
          2200 },
        { "{\"input\":0.1,\"output\":0}", { 10, 0, 0, 5 }, 1 },
        { "{\"input\":0.1,\"output\":0}", { 30, 0, 0, 5 }, 3 },
        { "{\"input\":0.1,\"output\":0}", { 31, 0, 0, 5 }, 4 },
        { "{\"input\":0,\"output\":0}", { 1000000, 0, 0, 1000000 }, 0 },
        { "{\"input\":1000000,\"output\":0}",
          { .input = UINT64_MAX },
          (UINT64_C(1) << 53) - 1 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err;
        struct price price = read(rows[i].price, &err);
        print_message("%s, %llu\n", rows[i].price,
                      (unsigned long long)rows[i].tokens.input);
        assert_int_equal(price_of(&price, rows[i].tokens), rows[i].cost);
    }
}

static void test_what_money_buys(void **state)
{
    (void)state;
    const struct price price = { true, 1, 1, 1, 2.5 },
                       nothing = { .known = true };
    assert_int_equal(price_buys(&price, 10), 4);
    assert_int_equal(price_buys(&price, 2), 0);
    assert_true(price_buys(&nothing, 0) > UINT32_MAX);
    assert_int_equal(price_micro(0.00123), 1230);
    assert_int_equal(price_micro(0.0000001), 1);
    assert_int_equal(price_micro(0), 0);
}

/* What is reserved covers a request that is all written to the cache. */
static void test_the_most_that_a_request_costs(void **state)
{
    (void)state;
    const struct price dear = { true, 2, 1, 3, 8 },
                       cheap = { true, 2, 1, 1, 8 };
    assert_int_equal(price_at_most(&dear, 1000, 10), 3080);
    assert_int_equal(price_at_most(&cheap, 1000, 10), 2080);
}

static void test_costs_for_people(void **state)
{
    (void)state;
    static const struct {
        uint64_t micro;
        const char *text;
    } rows[] = {
        { 0, "$0.00" },
        { 1, "$0.000001" },
        { 12300, "$0.0123" },
        { 500000, "$0.50" },
        { 5000000, "$5.00" },
        { 1234567, "$1.234567" },
        { UINT64_C(1) << 53, "$9007199254.740992" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_string_equal(price_dollars(rows[i].micro).text, rows[i].text);
}

static void test_faults(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        { "[]", "must be an object" },
        { "{}", "input and output are needed" },
        { "{\"output\":1}", "input and output are needed" },
        { "{\"input\":\"1\",\"output\":1}", "input must be dollars" },
        { "{\"input\":1,\"output\":-0.1}", "output must be dollars" },
        { "{\"input\":1,\"output\":1e300}", "output must be dollars" },
        { "{\"input\":1,\"output\":1,\"x\":1}", "there is no \"x\"" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err;
        struct price price = read(rows[i][0], &err);
        print_message("%s\n", rows[i][0]);
        assert_string_equal(err.code, "bad_setting");
        assert_non_null(strstr(err.text, rows[i][1]));
        assert_false(price.known);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_what_money_buys),
        cmocka_unit_test(test_the_most_that_a_request_costs),
        cmocka_unit_test(test_costs_for_people),
        cmocka_unit_test(test_faults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
