/* test_show.c - where two values differ first, for people to read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/replay/show.h"

#define HEAD "--- recorded\n+++ replayed\n"

static const struct {
    const char *what, *before, *after, *diff;
} diffs[] = {
    { "the same", "a\nb\n", "a\nb\n", "" },
    { "both empty", "", "", "" },
    { "another line", "1\n2\n3\n4\nx\n5\n6\n7\n8\n",
      "1\n2\n3\n4\ny\n5\n6\n7\n8\n",
      HEAD "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-x\n+y\n 5\n 6\n 7\n" },
    { "one more", "a\nb\n", "a\nn\nb\n", HEAD "@@ -1,2 +1,3 @@\n a\n+n\n b\n" },
    { "one less", "a\nn\nb\n", "a\nb\n", HEAD "@@ -1,3 +1,2 @@\n a\n-n\n b\n" },
    { "one at the end", "a\n", "a\nb\n", HEAD "@@ -1,1 +1,2 @@\n a\n+b\n" },
    { "only the first of two", "a\n1\n2\n3\nb\n", "A\n1\n2\n3\nB\n",
      HEAD "@@ -1,4 +1,4 @@\n-a\n+A\n 1\n 2\n 3\n" },
    { "all of it", "a\n", "b\n", HEAD "@@ -1,1 +1,1 @@\n-a\n+b\n" },
    { "against nothing", "a\nb\n", "", HEAD "@@ -1,2 +1,0 @@\n-a\n-b\n" },
};

static void test_diffs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(diffs) / sizeof(diffs[0]); i++) {
        CLEANUP(buf_finish) struct buf out = { .max = 1 << 16 };
        print_message("%s\n", diffs[i].what);
        show_diff(&out, view_of(diffs[i].before), view_of(diffs[i].after));
        buf_append(&out, "", 1);
        assert_string_equal(out.data, diffs[i].diff);
    }
}

/* Texts that never meet again cost no more than their beginning. */
static void test_long_texts(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf one = { .max = 1 << 24 };
    CLEANUP(buf_finish) struct buf other = { .max = 1 << 24 };
    CLEANUP(buf_finish) struct buf out = { .max = 1 << 24 };
    for (int i = 0; i < 100000; i++) {
        buf_printf(&one, "a%d\n", i);
        buf_printf(&other, "b%d\n", i);
    }
    show_diff(&out, buf_view(&one), buf_view(&other));
    assert_true(out.len > 0 && out.len < 1 << 14);
}

static const struct {
    const char *json, *text;
} values[] = {
    { "{}", "" },
    { "{\"a\": 1, \"b\": \"x\\\"y\"}", "a: 1\nb: \"x\\\"y\"\n" },
    { "{\"a\": \"one\\ntwo\"}", "a: |\n  one\n  two\n" },
    { "{\"a\": \"one\\n\\u001b[1m\"}", "a: \"one\\n\\u001B[1m\"\n" },
    { "{\"a\": \"one\\n\\u202e\"}", "a: \"one\\n\\u202e\"\n" },
    { "{\"a\\u202e\\u001b\": {\"\\u009b\": 1}}",
      "a<U+202E><U+001B>:\n  <U+009B>: 1\n" },
    { "{\"a\": [1, {\"b\": null}], \"c\": [], \"d\": {}}",
      "a:\n  - 1\n  -\n    b: null\nc: []\nd: {}\n" },
};

static void test_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        CLEANUP(buf_finish) struct buf out = { .max = 1 << 16 };
        json_t *json = json_loads(values[i].json, 0, NULL);
        print_message("%s\n", values[i].json);
        show_json(&out, json);
        buf_append(&out, "", 1);
        assert_string_equal(out.data, values[i].text);
        json_decref(json);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diffs),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
