/* expression.c - evaluates a mathematical expression by muParser, to which it
 * adds the functions and signs that models write. */
#include "consumer/reader/expression.h"

#include <math.h>
#include <muParserDLL.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_FACTORIAL = 170,
    DIGITS = 15,
    MULTIPLICATION = 6, /* muParser's precedence of it */
};

#define MOST_WHOLE 9007199254740992.0 /* 2^53 */
#define NO_VALUE ((double)NAN)

static bool expression_refuse(struct err *err, const char *sentence)
{
    return err_set(err, ERR_REJECT, "bad_field", "%s", sentence);
}

/* --------------------------------------------------------------- functions */

/* These functions give NO_VALUE where there is none: expression_evaluate() then
 * says so. Beyond 2^53 a double has no fraction, so nothing there is known to
 * be an integer. */
static bool expression_is_whole(double x)
{
    return floor(x) == x && fabs(x) <= MOST_WHOLE;
}

static double factorial(double x)
{
    return expression_is_whole(x) && x >= 0 && x <= (double)MAX_FACTORIAL
               ? round(tgamma(x + 1))
               : NO_VALUE;
}

/* With the sign of b, as in Python. */
static double modulo(double a, double b)
{
    double rest = fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static double floor_divide(double a, double b)
{
    return floor(a / b);
}

static double gcd(double a, double b)
{
    if (!expression_is_whole(a) || !expression_is_whole(b))
        return NO_VALUE;
    while (b != 0) {
        double rest = fmod(a, b);
        a = b;
        b = rest;
    }
    return fabs(a);
}

static double lcm(double a, double b)
{
    double common = gcd(a, b);
    return common == 0 ? 0 : fabs(a / common * b);
}

static double permutations(double n, double k)
{
    double product = 1;
    if (!expression_is_whole(n) || !expression_is_whole(k) || k < 0 || n < 0)
        return NO_VALUE;
    if (k > n)
        return 0;
    for (int i = 0; i < k && isfinite(product); i++)
        product *= n - i;
    return product;
}

static double combinations(double n, double k)
{
    double product = 1;
    if (!expression_is_whole(n) || !expression_is_whole(k) || k < 0 || n < 0)
        return NO_VALUE;
    if (k > n)
        return 0;
    if (k > n - k)
        k = n - k;
    for (int i = 1; i <= k && isfinite(product); i++)
        product = product * (n - k + i) / i;
    return product;
}

static double degrees(double x)
{
    return x * 180 / M_PI;
}

static double radians(double x)
{
    return x * M_PI / 180;
}

static const struct {
    const char *name;
    muFun1_t function;
} of_one[] = {
    { "factorial", factorial }, { "floor", floor }, { "ceil", ceil },
    { "trunc", trunc },         { "cbrt", cbrt },   { "degrees", degrees },
    { "radians", radians },     { "round", rint },  { "rint", rint },
    { "gamma", tgamma },        { "log1p", log1p }, { "expm1", expm1 },
    { "fabs", fabs },           { "erf", erf },
};

static const struct {
    const char *name;
    muFun2_t function;
} of_two[] = {
    { "pow", pow },           { "mod", modulo },        { "gcd", gcd },
    { "lcm", lcm },           { "comb", combinations }, { "ncr", combinations },
    { "perm", permutations }, { "npr", permutations },  { "hypot", hypot },
};

static void on_error(muParserHandle_t parser)
{
    (void)parser; /* mupError() tells */
}

static void define(muParserHandle_t parser)
{
    mupSetErrorHandler(parser, on_error);
    for (size_t i = 0; i < sizeof(of_one) / sizeof(of_one[0]); i++)
        mupDefineFun1(parser, of_one[i].name, of_one[i].function, 1);
    for (size_t i = 0; i < sizeof(of_two) / sizeof(of_two[0]); i++)
        mupDefineFun2(parser, of_two[i].name, of_two[i].function, 1);
    mupDefinePostfixOprt(parser, "!", factorial, 1);
    mupDefineOprt(parser, "%", modulo, MULTIPLICATION, muOPRT_ASCT_LEFT, 1);
    mupDefineOprt(parser, "//", floor_divide, MULTIPLICATION, muOPRT_ASCT_LEFT,
                  1);
    mupDefineConst(parser, "pi", M_PI);
    mupDefineConst(parser, "e", M_E);
    mupDefineConst(parser, "tau", 2 * M_PI);
}

/* ----------------------------------------------------------------- reading */

static const struct {
    const char *written, *means;
} signs[] = {
    { "**", "^" },           { "\xc3\x97", "*" },     { "\xc3\xb7", "/" },
    { "\xe2\x88\x92", "-" }, { "\xc2\xb7", "*" },     { "\xe2\x8b\x85", "*" },
    { "\xcf\x80", "pi" },    { "\xef\xbc\x88", "(" }, { "\xef\xbc\x89", ")" },
    { "\n", " " },           { "\r", " " },           { "\t", " " },
};

/* Adds the sign at the head of rest in muParser's form. Returns its length in
 * rest; 0: there is none. */
static size_t add_sign(struct view rest, struct buf *out)
{
    for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (!view_starts(rest, signs[i].written))
            continue;
        buf_add(out, view_of(signs[i].means));
        return strlen(signs[i].written);
    }
    return 0;
}

static bool expression_is_known(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') ||
           (c != '\0' && strchr(" +-*/^%!(),._<>=&|?:", c));
}

static bool normalize(struct view text, struct buf *out, struct err *err)
{
    size_t depth = 0;
    if (text.len > MAX_EXPRESSION)
        return err_set(err, ERR_REJECT, "bad_field",
                       "the expression has %zu bytes, may have %d", text.len,
                       MAX_EXPRESSION);
    for (size_t at = 0; at < text.len;) {
        struct view rest = { text.data + at, text.len - at };
        size_t len = add_sign(rest, out);
        if (len == 0 && !expression_is_known(*rest.data)) {
            len = view_character(rest);
            return err_set(err, ERR_REJECT, "bad_field",
                           "\"%.*s\" at position %zu is no part of an "
                           "expression",
                           (int)(len > 0 ? len : 1), rest.data, at);
        }
        if (len == 0)
            buf_append(out, rest.data, len = 1);
        depth += *rest.data == '(' || view_starts(rest, "\xef\xbc\x88");
        at += len;
    }
    buf_append(out, "", 1);
    return depth <= MAX_EXPRESSION_DEPTH ||
           err_set(err, ERR_REJECT, "bad_field",
                   "the expression has %zu parentheses, may have %d", depth,
                   MAX_EXPRESSION_DEPTH);
}

/* The error is muParser's sentence, which names a token and its position. */
static bool evaluate(const char *text, double *value, struct err *err)
{
    int count = 0;
    muParserHandle_t parser = mupCreate(muBASETYPE_FLOAT);
    define(parser);
    mupSetExpr(parser, text);
    const double *values = mupEvalMulti(parser, &count);
    bool good = mupError(parser) == 0 && values && count > 0;
    if (good)
        *value = values[count - 1];
    else
        err_set(err, ERR_REJECT, "bad_field", "%.200s", mupGetErrorMsg(parser));
    mupRelease(parser);
    return good &&
           (count == 1 ||
            expression_refuse(err, "a comma stands only between arguments of "
                                   "a function; numbers are written without: "
                                   "1000000"));
}

bool expression_evaluate(struct view expression, struct buf *out,
                         struct err *err)
{
    CLEANUP(buf_finish) struct buf text;
    double value = 0;
    buf_init(&text, (size_t)2 * MAX_EXPRESSION + 1);
    if (!normalize(expression, &text, err) || !evaluate(text.data, &value, err))
        return false;
    if (isnan(value))
        return expression_refuse(
            err, "it has no value: 0/0, the root or the logarithm of "
                 "a negative number, or the factorial of what is not "
                 "0 to 170");
    if (isinf(value))
        return expression_refuse(
            err, "it is too large, more than 1.8e308, or a division "
                 "by zero");
    if (expression_is_whole(value) && fabs(value) < MOST_WHOLE)
        buf_printf(out, "%.0f", value == 0 ? 0.0 : value);
    else
        buf_printf(out, "%.*g", DIGITS, value);
    return true;
}
