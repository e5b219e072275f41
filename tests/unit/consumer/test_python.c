/* test_python.c - may it be whole Python, and is it any? */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "consumer/conversation/python.h"

static const struct {
    const char *code;
    bool whole;
} codes[] = {
    { "", true },
    { "x = 1\n", true },
    { "f(", false },
    { "f(\n1\n)", true },
    { "f)", false },
    { "f(]", false },
    { "{[()]}", true },
    { "'a", false },
    { "'a\nb'", false },
    { "'a\\\nb'", true },
    { "'a\\\r\nb'", true },
    { "'a\\'", false },
    { "'a\\\\'", true },
    { "r'\\'", false },
    { "''", true },
    { "'''", false },
    { "''''''", true },
    { "'''a\n\"\"\"\n'b''c'''", true },
    { "\"\"\"a\\\"\"\"", false },
    { "# it's (\nx", true },
    { "# it's (", true },
    { "'#'", true },
    { "x = \\\n1", true },
    { "x \\\n", false },
    { "x \\", false },
    { "x \\ 1", false },
    { "if x:", false },
    { "if x: # why", false },
    { "if x:\n  y", true },
    { "x =", false },
    { "x == y", true },
    { "`x`", false },
    { "'`'", true },
    { "x[1:", false },
    { "x['a']['b']", true },
    { "f'{x[\"a\"]}'", true },
    { "%matplotlib inline\nx?", true },
    { "\xe5\x80\xbc = '\xff'", true },
};

static void test_whole(void **state)
{
    char deep[2 * PYTHON_MAX_DEPTH + 2];
    struct view view = { deep, sizeof(deep) - 2 };

    (void)state;
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if (python_is_whole(view_of(codes[i].code)) != codes[i].whole)
            fail_msg("%s: whole is %d", codes[i].code, !codes[i].whole);
    }
    assert_false(python_is_whole((struct view){ "x\0y", 3 }));
    for (size_t i = 0; i < sizeof(deep); i++)
        deep[i] = i < PYTHON_MAX_DEPTH ? '(' : ')';
    assert_true(python_is_whole(view));
    for (size_t i = 0; i < sizeof(deep); i++)
        deep[i] = i <= PYTHON_MAX_DEPTH ? '(' : ')';
    view.len += 2;
    assert_false(python_is_whole(view));
}

static const struct {
    const char *code;
    enum python_guess guess;
} guesses[] = {
    { "import os", PYTHON_YES },
    { "from os import path", PYTHON_YES },
    { "from here to there", PYTHON_NO },
    { "print(1)", PYTHON_YES },
    { "plt.show()", PYTHON_YES },
    { "x = 1", PYTHON_YES },
    { "a, b = 1, 2", PYTHON_YES },
    { "x += 1", PYTHON_YES },
    { "d['a'] = 1", PYTHON_YES },
    { "n: int = 1", PYTHON_YES },
    { "for i in x:\n    i", PYTHON_YES },
    { "for you and me", PYTHON_NO },
    { "@cache\ndef f(): pass", PYTHON_YES },
    { "graph = {\n  0: [1, 2],\n  some: words\n}", PYTHON_YES },
    { "'''\nJust some words\n'''\nx = 1", PYTHON_YES },
    { "# Just some words\nx = 1", PYTHON_YES },
    { "42", PYTHON_MAYBE },
    { "x", PYTHON_MAYBE },
    { "x in y", PYTHON_MAYBE },
    { "x == y", PYTHON_MAYBE },
    { "{'a': 1}", PYTHON_MAYBE },
    { "[1, 2]", PYTHON_MAYBE },
    { "Hello world", PYTHON_NO },
    { "x = 1\nand so on", PYTHON_NO },
    { "SELECT count(*) FROM t", PYTHON_NO },
    { "pip install numpy", PYTHON_NO },
    { "$ ls", PYTHON_MAYBE },
    { "print(", PYTHON_NO },
};

static void test_guess(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(guesses) / sizeof(guesses[0]); i++) {
        enum python_guess guess = python_guess(view_of(guesses[i].code));

        if (guess != guesses[i].guess)
            fail_msg("%s: the guess is %d", guesses[i].code, (int)guess);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_guess),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
