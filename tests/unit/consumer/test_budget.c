/* test_budget.c - what a job may still ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/budget.h"

static const struct price free_of_charge = { .known = true };
static const struct price unknown = { .known = false };
/* A request of 1000 tokens is 2000 micro-dollars, one token more is 10. */
static const struct price priced = {
    .known = true, .input = 2, .cached = 1, .output = 10
};

static const struct row {
    const char *name;
    struct budget budget;
    struct budget_request request;
    struct budget_plan plan;
} rows[] = {
    { "no limit: a reply is taken to be no longer than most are",
      { 0 },
      { 1000, 0, &unknown, false },
      { true, "", 0, 1000 + BUDGET_MOST_REPLY, 0 } },
    { "no limit, a bound of the reply",
      { 0 },
      { 1000, 300, &priced, false },
      { true, "", 0, 1300, 5000 } },
    { "no limit, a bound that is longer than most replies are",
      { 0 },
      { 1000, 9000, &priced, false },
      { true, "", 0, 10000, 92000 } },
    { "enough of everything: nothing is said of the reply's length",
      { .max_tokens = 100000, .max_cost = 1000000 },
      { 1000, 0, &priced, false },
      { true, "", 0, 5096, 42960 } },
    { "what the answer after it needs is kept for it",
      { .max_tokens = 5000 },
      { 1000, 0, &unknown, false },
      { true, "", 5000 - 1000 - 1512, 5000 - 1512, 0 } },
    { "of its own bound nothing is taken where that is less",
      { .max_tokens = 5000 },
      { 1000, 700, &unknown, false },
      { true, "", 0, 1700, 0 } },
    { "just enough for two",
      { .max_tokens = 10000, .tokens = 10000 - 3024 },
      { 1000, 0, &unknown, false },
      { true, "", 512, 1512, 0 } },
    { "one less: the answer, as long as what is left",
      { .max_tokens = 10000, .tokens = 10000 - 3023 },
      { 1000, 0, &unknown, false },
      { true, "token_limit", 2023, 3023, 0 } },
    { "a short answer",
      { .max_tokens = 10000, .tokens = 10000 - 1100 },
      { 1000, 0, &unknown, false },
      { true, "token_limit", 100, 1100, 0 } },
    { "too short a one",
      { .max_tokens = 10000, .tokens = 10000 - 1099 },
      { 1000, 0, &unknown, false },
      { false, "token_limit", 99, 1099, 0 } },
    { "more is used up than there was",
      { .max_tokens = 10000, .tokens = 12000 },
      { 1000, 0, &unknown, false },
      { false, "token_limit", 0, 1000, 0 } },
    { "the answer after the last turn: only that has to fit",
      { .max_tokens = 2000 },
      { 1000, 0, &unknown, true },
      { true, "token_limit", 1000, 2000, 0 } },
    { "the answer after the last turn, with enough of everything",
      { .max_tokens = 90000 },
      { 1000, 0, &unknown, true },
      { true, "", 0, 5096, 0 } },
    { "money for two: 2000 and 7120, and 512 tokens more",
      { .max_cost = 14240 },
      { 1000, 0, &priced, false },
      { true, "", 512, 1512, 7120 } },
    { "money for an answer",
      { .max_cost = 14239 },
      { 1000, 0, &priced, false },
      { true, "cost_limit", 1223, 2223, 14230 } },
    { "no money for an answer",
      { .max_cost = 20000, .cost = 17001 },
      { 1000, 0, &priced, false },
      { false, "cost_limit", 99, 1099, 2990 } },
    { "money that is not enough for the request",
      { .max_cost = 1999 },
      { 1000, 0, &priced, false },
      { false, "cost_limit", 0, 1000, 2000 } },
    { "of what models write, all that is left",
      { .max_written = 4000, .written = 2000 },
      { 1000, 0, &unknown, false },
      { true, "", 2000, 3000, 0 } },
    { "of what models write, little: for an answer",
      { .max_written = 4000, .written = 3489 },
      { 1000, 0, &unknown, false },
      { true, "token_limit", 511, 1511, 0 } },
    { "of what models write, little from the beginning: for anything",
      { .max_written = 1000, .written = 999 },
      { 1000, 0, &unknown, false },
      { true, "", 1, 1001, 0 } },
    { "of what models write, nothing",
      { .max_written = 4000, .written = 4000 },
      { 1000, 0, &unknown, false },
      { false, "token_limit", 0, 1000, 0 } },
    { "a short text may be all that is wanted, where the rest is an answer's",
      { .max_tokens = 3000, .max_written = 3 },
      { 1000, 0, &unknown, false },
      { true, "token_limit", 3, 1003, 0 } },
    { "long requests do not count as written",
      { .max_written = 4000, .tokens = 90000 },
      { 50000, 0, &unknown, false },
      { true, "", 4000, 54000, 0 } },
    { "the tighter one is named",
      { .max_tokens = 2500, .max_cost = 9000 },
      { 1000, 0, &priced, false },
      { true, "cost_limit", 700, 1700, 9000 } },
    { "what costs nothing is never too dear",
      { .max_cost = 1 },
      { 1000, 0, &free_of_charge, false },
      { true, "", 0, 5096, 0 } },
};

static void test_plans(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        struct budget_plan plan = budget_plan(&row->budget, &row->request);
        print_message("%s\n", row->name);
        assert_int_equal(plan.fits, row->plan.fits);
        assert_string_equal(plan.limit, row->plan.limit);
        assert_int_equal(plan.max_tokens, row->plan.max_tokens);
        assert_int_equal(plan.reserved, row->plan.reserved);
        assert_int_equal(plan.cost, row->plan.cost);
    }
}

/* Whatever is asked for: what is reserved is never more than what is left. */
static void test_a_plan_that_fits_stays_within(void **state)
{
    (void)state;
    for (uint64_t max = 0; max < 20000; max += 37)
        for (uint64_t tokens = 1; tokens < 9000; tokens += 311) {
            struct budget budget = { .max_tokens = max + 1,
                                     .max_cost = 3 * max + 1,
                                     .tokens = max / 3,
                                     .cost = max / 2 };
            struct budget_request request = { tokens, 0, &priced, max % 2 };
            struct budget_plan plan = budget_plan(&budget, &request);
            if (!plan.fits)
                continue;
            assert_true(budget.tokens + plan.reserved <= budget.max_tokens);
            assert_true(budget.cost + plan.cost <= budget.max_cost);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plans),
        cmocka_unit_test(test_a_plan_that_fits_stays_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
