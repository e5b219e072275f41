/* What expressions come to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/reader/expression.h"

static const struct {
    const char *text, *value;
} rows[] = {
    { "1+1", "2" },
    { "2^10", "1024" },
    { "2**10", "1024" },
    { "2**0.5", "1.4142135623731" },
    { "sqrt(2)", "1.4142135623731" },
    { "2^3^2", "512" },
    { "2^-1", "0.5" },
    { "-2^2", "-4" },
    { "(-2)^2", "4" },
    { "0.1+0.2", "0.3" },
    { "1/3", "0.333333333333333" },
    { "10!", "3628800" },
    { "0!", "1" },
    { "20!", "2.43290200817664e+18" },
    { "7//2", "3" },
    { "-7//2", "-4" },
    { "7 % 3", "1" },
    { "(-7) % 3", "2" },
    { "7 % -3", "-2" },
    { "10 % 4 * 2", "4" },
    { "mod(7.5, 2)", "1.5" },
    { "1e3", "1000" },
    { "1.5e-7", "1.5e-07" },
    { "1e20", "1e+20" },
    { "9007199254740991", "9007199254740991" },
    { "9007199254740993", "9.00719925474099e+15" },
    { "-0.0", "0" },
    { "pi", "3.14159265358979" },
    { "e", "2.71828182845905" },
    { "2*tau/pi", "4" },
    { "sin(pi/2)", "1" },
    { "log(e)", "1" },
    { "ln(e)", "1" },
    { "log10(1000)", "3" },
    { "log2(8)", "3" },
    { "exp(0)", "1" },
    { "cbrt(27)", "3" },
    { "round(2.5)", "2" },
    { "floor(-1.5)", "-2" },
    { "ceil(1.2)", "2" },
    { "trunc(-1.7)", "-1" },
    { "abs(-3)", "3" },
    { "max(1, 5, 3)", "5" },
    { "sum(1,2,3)", "6" },
    { "gcd(12, 18)", "6" },
    { "gcd(0, 0)", "0" },
    { "lcm(4, 6)", "12" },
    { "comb(5, 2)", "10" },
    { "comb(2, 5)", "0" },
    { "comb(52, 5)", "2598960" },
    { "perm(5, 2)", "20" },
    { "hypot(3, 4)", "5" },
    { "degrees(pi)", "180" },
    { "3 > 2", "1" },
    { "1 > 2 ? 10 : 20", "20" },
    { "3 \xc3\x97 4 \xc3\xb7 2 \xe2\x88\x92 1", "5" },
    { "2\xcf\x80", NULL },
    { "\xef\xbc\x88"
      "1+2\xef\xbc\x89*3",
      "9" },
    { "1 +\n 2", "3" },
    { "((((((1))))))", "1" },
};

static const struct {
    const char *text, *sentence;
} bad[] = {
    { "", "Expression is empty" },
    { "1+", "Unexpected end of expression at position 3" },
    { "foo(1)", "Unexpected token \"foo\" found at position 0" },
    { "x", "Unexpected token \"x\"" },
    { "2(3)", "Unexpected parenthesis" },
    { "a=3", "Unexpected" },
    { "1,000+1", "a comma stands only between arguments" },
    { "(1,2)", "Function arguments used without a function" },
    { "1e308*10", "it is too large, more than 1.8e308, or a division by zero" },
    { "1/0", "a division by zero" },
    { "171!", "the factorial of what is not 0 to 170" },
    { "0/0", "it has no value: 0/0" },
    { "sqrt(-1)", "the root or the logarithm of a negative number" },
    { "(-1)!", "it has no value" },
    { "2.5!", "it has no value" },
    { "5 % 0", "it has no value" },
    { "$5", "\"$\" at position 0 is no part of an expression" },
    { "1 + \xe4\xb8\xad", "\"\xe4\xb8\xad\" at position 4 is no part" },
    { "\"a\"", "\"\"\" at position 0 is no part" },
    { "__import__('os')", "\"'\" at position 11" },
    { "comb(1000000000, 500000000)", "it is too large" },
    { "perm(1000000000, 999999999)", "it is too large" },
};

static void expressions_have_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf out;
        struct err err = { .kind = ERR_NONE };
        buf_init(&out, 100);
        bool good = expression_evaluate(view_of(rows[i].text), &out, &err);
        if (good != (rows[i].value != NULL) ||
            (good && !view_is(buf_view(&out), rows[i].value)))
            fail_msg("%s: %.*s%s", rows[i].text, VIEW_ARG(buf_view(&out)),
                     err.text);
    }
}

static void what_is_wrong_is_said(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CLEANUP(buf_finish) struct buf out;
        struct err err = { .kind = ERR_NONE };
        buf_init(&out, 100);
        if (expression_evaluate(view_of(bad[i].text), &out, &err) ||
            !strstr(err.text, bad[i].sentence))
            fail_msg("%s: %.*s%s", bad[i].text, VIEW_ARG(buf_view(&out)),
                     err.text);
    }
}

static void length_and_depth_are_bounded(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf out;
    char text[MAX_EXPRESSION + 2];
    struct err err;
    buf_init(&out, 100);
    memset(text, '1', sizeof(text));
    assert_false(expression_evaluate((struct view){ text, sizeof(text) - 1 },
                                     &out, &err));
    assert_non_null(strstr(err.text, "has 1001 bytes, may have 1000"));
    memset(text, '(', 101);
    assert_false(expression_evaluate((struct view){ text, 300 }, &out, &err));
    assert_non_null(strstr(err.text, "has 101 parentheses, may have 100"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_have_values),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(length_and_depth_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
