/* test_spending.c - what the journal says was used up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "consumer/conversation/budget.h"
#include "schemas/message/limits.h"

static const struct record intent = { .kind = RECORD_MODEL_INTENT,
                                      .model = { "a", 1 },
                                      .reserved = 5000,
                                      .cost = 900 };
static const struct record reply = { .kind = RECORD_MODEL_REPLY,
                                     .model = { "a", 1 },
                                     .usage = { .input_tokens = 1000,
                                                .output_tokens = 20,
                                                .cached_tokens = 300,
                                                .cost = 70,
                                                .model_calls = 1 } };

static const struct record refusal = { .kind = RECORD_MODEL_INTENT,
                                       .failed = true };
static const struct record paid = { .kind = RECORD_MODEL_INTENT,
                                    .failed = true,
                                    .model = { "a", 1 },
                                    .usage = { .input_tokens = 1000,
                                               .output_tokens = 20,
                                               .cost = 70,
                                               .model_calls = 1 } };

/* i: an intent; f: refused; p: refused, and counted; r: its reply. */
static struct usage usage_of(struct spending *spending, const char *records)
{
    *spending = (struct spending){ 0 };
    for (; *records != '\0'; records++)
        if (*records == 'i')
            spending_ask(spending, &intent);
        else if (*records == 'f')
            spending_settle(spending, &refusal);
        else if (*records == 'p')
            spending_settle(spending, &paid);
        else
            spending_settle(spending, &reply);
    return spending_total(spending);
}

static void test_journals(void **state)
{
    (void)state;
    static const struct {
        const char *name, *records;
        uint64_t tokens, uncounted, cost, repeated;
    } rows[] = {
        { "nothing", "", 0, 0, 0, 0 },
        { "a reply: what it took", "ir", 1020, 0, 70, 0 },
        { "under way: what was reserved", "i", 5000, 5000, 900, 0 },
        { "refused: nothing", "if", 0, 0, 0, 0 },
        { "refused, and counted", "ip", 1020, 0, 70, 0 },
        { "counted, and asked again", "ipir", 2040, 0, 140, 0 },
        { "refused, and asked again", "ifir", 1020, 0, 70, 0 },
        { "no reply, and asked again", "iir", 6020, 5000, 970, 1 },
        { "twice no reply", "iiir", 11020, 10000, 1870, 2 },
        { "the last is under way", "iri", 6020, 5000, 970, 0 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct spending spending;
        struct usage usage = usage_of(&spending, rows[i].records);
        print_message("%s\n", rows[i].name);
        assert_int_equal(usage_tokens(&usage), rows[i].tokens);
        assert_int_equal(usage.uncounted_tokens, rows[i].uncounted);
        assert_int_equal(usage.cost, rows[i].cost);
        assert_int_equal(usage.repeated_calls, rows[i].repeated);
        const struct model_usage *model = usage.models.items;
        if (rows[i].tokens > 0) {
            assert_int_equal(usage.models.count, 1);
            assert_int_equal(model->cost, usage.cost);
            assert_int_equal(model->uncounted_tokens, usage.uncounted_tokens);
        }
        usage = spending_total(&spending);
        assert_int_equal(usage_tokens(&usage), rows[i].tokens);
        spending_finish(&spending);
    }
}

static void test_by_model(void **state)
{
    (void)state;
    struct spending spending = { 0 };
    char names[MAX_MODELS + 2][8];
    for (size_t i = 0; i < MAX_MODELS + 2; i++) {
        struct record one = reply;
        snprintf(names[i], sizeof(names[i]), "m%zu", i);
        one.model = view_of(names[i]);
        spending_settle(&spending, &one);
        spending_settle(&spending, &one);
    }
    struct usage usage = spending_total(&spending);
    const struct model_usage *models = usage.models.items;
    assert_int_equal(usage.models.count, MAX_MODELS);
    assert_true(view_is(models[1].name, "m1"));
    assert_int_equal(models[1].input_tokens, 2000);
    assert_int_equal(models[1].model_calls, 2);
    assert_int_equal(usage.cost, 2 * 70 * (MAX_MODELS + 2));
    spending_finish(&spending);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_journals),
        cmocka_unit_test(test_by_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
