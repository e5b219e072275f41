/* test_brake.c - what counts as the same, and how often it may be done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "consumer/conversation/brake.h"

enum { MOST = 4 };

static uint64_t action(const char *code)
{
    return brake_action(VIEW("python"), view_of(code));
}

static void test_the_same_action(void **state)
{
    (void)state;
    assert_true(action("x = 1\ny") == action("x = 1  \r\n\n# why\ny\n"));
    assert_false(action("x = 1") == action("x = 2"));
    assert_false(action("if a:\n  b\nc") == action("if a:\n  b\n  c"));
    assert_false(action("ab\nc") == action("a\nbc"));
    assert_false(brake_action(VIEW("a"), VIEW("1")) ==
                 brake_action(VIEW("b"), VIEW("1")));
}

static struct call_digest digest(const char *code, const char *seen, int status)
{
    struct record record = { .observation = view_of(seen),
                             .cell = { .code = view_of(code),
                                       .status = status } };
    return brake_digest(action(code), &record);
}

static void test_the_same_outcome(void **state)
{
    (void)state;
    static const struct {
        const char *one, *other;
        int status;
        bool same;
    } rows[] = {
        { "<object at 0x7f01>", "<object at 0x99ab>", CELL_OK, true },
        { "0x", "0y", CELL_OK, false },
        { "row 1", "row 2", CELL_OK, false },
        { "line 1, pid 77", "line 2, pid 9", CELL_ERROR, true },
        { "KeyError: a", "KeyError: b", CELL_ERROR, false },
        { "", "", CELL_OK, true },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct call_digest one = digest("1", rows[i].one, rows[i].status);
        struct call_digest other = digest("1", rows[i].other, rows[i].status);
        print_message("%s\n", rows[i].one);
        assert_int_equal(one.outcome == other.outcome, rows[i].same);
        assert_int_equal(one.failed, rows[i].status != CELL_OK);
    }
}

/* Letters are actions; of an upper one an error comes, of a lower one each time
 * the same, of a digit each time something else; '-' was refused. */
static void test_when_it_brakes(void **state)
{
    (void)state;
    static const struct {
        const char *done;
        char next;
        enum brake before;
        bool hints; /* after next */
    } rows[] = {
        { "", 'a', BRAKE_NONE, false },
        { "a", 'a', BRAKE_NONE, false },
        { "aa", 'a', BRAKE_NONE, true },
        { "aaa", 'a', BRAKE_NONE, true },
        { "aaaa", 'a', BRAKE_FORBID, true },
        { "aaaa", 'b', BRAKE_NONE, false },
        { "A", 'A', BRAKE_NONE, true },
        { "AA", 'A', BRAKE_NONE, true },
        { "AAA", 'A', BRAKE_FORBID, true },
        { "ababab", 'a', BRAKE_NONE, true },
        { "abababab", 'a', BRAKE_FORBID, true },
        { "aabcdefghijkl", 'a', BRAKE_NONE, false },
        { "1111", '1', BRAKE_NONE, false },
        { "aaaa-", 'a', BRAKE_FORBID, true },
        { "aaaa--", 'a', BRAKE_LAST, true },
        { "aaaa--", 'b', BRAKE_LAST, false },
        { "--bcdefghijklm", 'b', BRAKE_NONE, false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct call_digest digests[32];
        size_t count = 0;
        for (const char *at = rows[i].done; *at != '\0'; at++, count++)
            digests[count] = (struct call_digest){
                .action = (uint64_t)*at,
                .outcome = *at >= '0' && *at <= '9' ? count + 1 : 0,
                .failed = *at >= 'A' && *at <= 'Z',
                .refused = *at == '-',
            };
        char next = rows[i].next;
        struct call_digest last = { .action = (uint64_t)next,
                                    .outcome = next <= '9' ? 99 : 0,
                                    .failed = next >= 'A' && next <= 'Z' };
        print_message("%s then %c\n", rows[i].done, next);
        assert_int_equal(brake_before(digests, count, last.action, MOST),
                         rows[i].before);
        assert_int_equal(brake_hints(digests, count, &last, MOST),
                         rows[i].hints);
        assert_int_equal(brake_before(digests, count, last.action, 0),
                         BRAKE_NONE);
        assert_false(brake_hints(digests, count, &last, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_action),
        cmocka_unit_test(test_the_same_outcome),
        cmocka_unit_test(test_when_it_brakes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
