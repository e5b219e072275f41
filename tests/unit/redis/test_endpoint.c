/* test_endpoint.c - how model endpoints are called in the fleet's keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka.h needs those before it. */
#include <cmocka.h>

#include "schemas/redis/endpoint.h"

#define HASH "0123456789abcdef0123456789abcdef"
#define MARK "#0123456789abcdef"
#define LONG "eight by8 eight by8 eight by8 eight by8 eight by8 eight by8 four"

static void what_is_made_is_read(void **state)
{
    static const struct {
        const char *name, *id, *field;
    } rows[] = {
        { "default", "default" MARK, "default" MARK " paid_twice" },
        { "my model#2", "my model#2" MARK, "my model#2" MARK " paid_twice" },
        { LONG, LONG MARK, LONG MARK " paid_twice" },
        { LONG "!", LONG MARK, LONG MARK " paid_twice" },
    };
    struct names names;
    (void)state;
    assert_true(names_init(&names, "quern:", NULL));
    assert_int_equal(strlen(LONG), ENDPOINT_NAME_BYTES);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct endpoint_id id = endpoint_id_make(view_of(rows[i].name), HASH);
        struct view name, whose, word;
        struct command command;
        endpoint_add_count(&command, &names, &id, COUNT_PAID_TWICE, 1);
        struct view field = { command.argv[2], command.argvlen[2] };
        assert_string_equal(id.text, rows[i].id);
        assert_true(view_is(field, rows[i].field));
        assert_true(endpoint_field_read(field, &whose, &word));
        assert_true(view_is(whose, id.text));
        assert_true(view_is(word, "paid_twice"));
        assert_true(endpoint_id_read(whose, &name));
        assert_true(view_is(name, i == 3 ? LONG : rows[i].name));
        command_finish(&command);
    }
}

static void what_is_none(void **state)
{
    static const struct view ids[] = {
        VIEW_INIT(""),
        VIEW_INIT("default"),
        VIEW_INIT(MARK),
        VIEW_INIT("x#0123456789abcde"),
        VIEW_INIT("x#0123456789abcdeF"),
        VIEW_INIT("x#0123456789abcde\0"),
        VIEW_INIT("x-0123456789abcdef"),
        VIEW_INIT("\xff" MARK),
        VIEW_INIT("a\0b" MARK),
        VIEW_INIT(LONG "!" MARK),
    };
    struct view id, word;
    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        if (endpoint_id_read(ids[i], &word))
            fail_msg("row %zu", i);
    assert_false(endpoint_field_read(VIEW(""), &id, &word));
    assert_false(endpoint_field_read(VIEW("x" MARK), &id, &word));
    assert_true(endpoint_field_read(VIEW(" "), &id, &word));
    assert_true(id.len == 0 && word.len == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_made_is_read),
        cmocka_unit_test(what_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
