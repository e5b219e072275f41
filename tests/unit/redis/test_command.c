/* test_command.c - arguments stay what they were, however many come. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/redis/command.h"

static void few_arguments_need_no_heap(void **state)
{
    (void)state;
    struct command command;

    command_init(&command, "SET");
    command_add_text(&command, "key");
    command_add(&command, (struct view){ "a\0b", 3 });
    command_add(&command, (struct view){ NULL, 0 });
    command_add_uint(&command, UINT64_MAX);
    assert_int_equal(command.argc, 5);
    assert_string_equal(command.argv[0], "SET");
    assert_int_equal(command.argvlen[2], 3);
    assert_memory_equal(command.argv[2], "a\0b", 3);
    assert_non_null(command.argv[3]);
    assert_int_equal(command.argvlen[3], 0);
    assert_string_equal(command.argv[4], "18446744073709551615");
    assert_ptr_equal(command.argv, command.inline_argv);
    command_finish(&command);
}

static void many_arguments_keep_their_values(void **state)
{
    (void)state;
    struct command command;
    enum { COUNT = 1025 };

    command_init(&command, "FCALL");
    for (uint64_t i = 0; i < COUNT; i++) {
        command_add_uint(&command, i);
        command_add_text(&command, "x");
    }
    assert_int_equal(command.argc, 1 + 2 * COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        char want[24];
        snprintf(want, sizeof(want), "%zu", i);
        assert_string_equal(command.argv[1 + 2 * i], want);
    }
    command_finish(&command);
}

static void copies_outlive_what_was_copied(void **state)
{
    (void)state;
    struct command command;
    char text[2000];

    command_init(&command, "SET");
    for (size_t i = 1; i < sizeof(text); i *= 3) {
        memset(text, (int)('a' + command.argc), i);
        command_add_copy(&command, (struct view){ text, i });
    }
    command_add_copy(&command, (struct view){ NULL, 0 });
    memset(text, 0, sizeof(text));
    for (int i = 1; i < command.argc - 1; i++)
        for (size_t at = 0; at < command.argvlen[i]; at++)
            assert_int_equal(command.argv[i][at], 'a' + i);
    assert_int_equal(command.argvlen[command.argc - 1], 0);
    assert_non_null(command.argv[command.argc - 1]);
    command_finish(&command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_arguments_need_no_heap),
        cmocka_unit_test(many_arguments_keep_their_values),
        cmocka_unit_test(copies_outlive_what_was_copied),
    };
    command_finish(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
