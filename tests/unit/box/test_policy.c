/* The list of system calls: what a line may say, and what it must not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "executor/policy/policy.h"

static const struct {
    const char *name;
    const char *line;
    enum policy_line expected;
    unsigned int action;
    unsigned int conditions;
} rows[] = {
    { "an empty line says nothing", "\n", POLICY_NOTHING, 0, 0 },
    { "a comment says nothing", "# Memory\n", POLICY_NOTHING, 0, 0 },
    { "a call is allowed", "allow read # files\n", POLICY_RULE, SCMP_ACT_ALLOW,
      0 },
    { "a call is refused with an error", "EPERM mount # root\n", POLICY_RULE,
      SCMP_ACT_ERRNO(EPERM), 0 },
    { "an argument is compared", "allow socket a0 == 1 # unix\n", POLICY_RULE,
      SCMP_ACT_ALLOW, 1 },
    { "bits are compared", "allow clone a0 & 0x7e020000 == 0 # fork\n",
      POLICY_RULE, SCMP_ACT_ALLOW, 1 },
    { "bits are compared to differ", "allow kill a1 & 0x3f != 18 # os.kill\n",
      POLICY_RULE, SCMP_ACT_ALLOW, 1 },
    { "two masks that differ are more than the filter can say",
      "allow kill a0 & 1 != 1, a1 & 1 != 1 # x\n", POLICY_WRONG, 0, 0 },
    { "two conditions", "allow socket a0 == 1, a1 != 3 # unix\n", POLICY_RULE,
      SCMP_ACT_ALLOW, 2 },
    { "a line needs a reason", "allow read\n", POLICY_WRONG, 0, 0 },
    { "a reason is more than a hash", "allow read # \n", POLICY_WRONG, 0, 0 },
    { "an unknown call is a typing error", "allow raed # files\n", POLICY_WRONG,
      0, 0 },
    { "an unknown error is refused", "EFOO read # files\n", POLICY_WRONG, 0,
      0 },
    { "success is not an error", "0 read # files\n", POLICY_WRONG, 0, 0 },
    { "arguments end at a5", "allow read a6 == 1 # files\n", POLICY_WRONG, 0,
      0 },
    { "less is not known", "allow read a0 < 1 # files\n", POLICY_WRONG, 0, 0 },
    { "a condition has a number", "allow read a0 == # x\n", POLICY_WRONG, 0,
      0 },
    { "nothing follows a condition", "allow read a0 == 1 2 # x\n", POLICY_WRONG,
      0, 0 },
    { "a mask needs a value", "allow read a0 & 1 # x\n", POLICY_WRONG, 0, 0 },
};

static void lines_are_understood(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[128], error[POLICY_ERROR_BYTES] = "";
        struct policy_rule rule;
        snprintf(line, sizeof(line), "%s", rows[i].line);
        enum policy_line got = policy_parse(line, &rule, error);
        if (got != rows[i].expected ||
            (got == POLICY_RULE && (rule.action != rows[i].action ||
                                    rule.count != rows[i].conditions)))
            fail_msg("%s: got %d (%s)", rows[i].name, (int)got, error);
    }
}

static void values_are_read(void **state)
{
    (void)state;
    char line[] = "EACCES socket a0 & 0xff == 16 # x\n";
    char error[POLICY_ERROR_BYTES];
    struct policy_rule rule;
    assert_int_equal(policy_parse(line, &rule, error), POLICY_RULE);
    assert_int_equal(rule.conditions[0].op, SCMP_CMP_MASKED_EQ);
    assert_int_equal(rule.conditions[0].datum_a, 0xff);
    assert_int_equal(rule.conditions[0].datum_b, 16);
}

static void bits_that_differ_are_marked(void **state)
{
    (void)state;
    char line[] = "allow prctl a0 == 1, a1 & 0x3f != 18 # x\n";
    char error[POLICY_ERROR_BYTES];
    struct policy_rule rule;
    assert_int_equal(policy_parse(line, &rule, error), POLICY_RULE);
    assert_int_equal(rule.differs, 2);
    assert_int_equal(rule.conditions[1].op, SCMP_CMP_MASKED_EQ);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_understood),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(bits_that_differ_are_marked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
