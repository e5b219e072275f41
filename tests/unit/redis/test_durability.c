/* test_durability.c - when what was written counts as written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/redis/durability.h"

static void words(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        const char *question; /* NULL: none; "": the word is refused */
    } rows[] = {
        { "", NULL },
        { "async", NULL },
        { "fsync", "WAITAOF 1 0 500" },
        { "replica:1", "WAIT 1 500" },
        { "replica:100", "WAIT 100 500" },
        { "replica:101", "" },
        { "replica:0", "" },
        { "replica:", "" },
        { "replica", "" },
        { "replica:10000000001", "" },
        { "replica:1 ", "" },
        { "replica:-1", "" },
        { "fsync:1", "" },
        { "ASYNC", "" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct durability durability;
        struct command command;
        struct err err = { 0 };
        char said[64] = "";
        bool ok = durability_parse(&durability, view_of(rows[i].text), &err);
        bool refused = rows[i].question && !*rows[i].question;
        if (ok == refused)
            fail_msg("\"%s\": %s", rows[i].text, err.text);
        if (refused)
            assert_string_equal(err.code, "bad_setting");
        if (!ok || durability.kind == DURABLE_ASYNC) {
            assert_true(!rows[i].question || refused);
            continue;
        }
        durability_ask(&command, &durability, 500);
        for (int j = 0; j < command.argc; j++) {
            if (j > 0)
                strcat(said, " ");
            strncat(said, command.argv[j], command.argvlen[j]);
        }
        assert_string_equal(said, rows[i].question);
        command_finish(&command);
    }
}

static redisReply number(long long value)
{
    return (redisReply){ .type = REDIS_REPLY_INTEGER, .integer = value };
}

static void answers(void **state)
{
    (void)state;

    static const struct {
        const char *word;
        long long have; /* replicas, or disks */
        const char *error;
        const char *code; /* NULL: it is durable */
        const char *says;
    } rows[] = {
        { "replica:2", 2, NULL, NULL, NULL },
        { "replica:2", 3, NULL, NULL, NULL },
        { "replica:2", 1, NULL, "not_durable", "1 of 2 replicas" },
        { "replica:2", 0, "ERR WAIT cannot be used with replica instances",
          "redis_unavailable", "WAIT cannot" },
        { "fsync", 1, NULL, NULL, NULL },
        { "fsync", 0, NULL, "not_durable", "not yet on its disk" },
        { "fsync", 0, "ERR unknown command 'WAITAOF', with args beginning",
          "bad_setting", "Redis 7.2 or later" },
        { "fsync", 0, "ERR WAITAOF cannot be used when numlocal is set but",
          "bad_setting", "CONFIG SET appendonly yes" },
        { "replica:2", 0, "ERR unknown command 'WAIT', with args beginning",
          "bad_setting", "replica needs WAIT" },
        { "replica:2", 0, "NOPERM this user has no permissions", "bad_setting",
          "+wait" },
        { "fsync", 0, "NOPERM this user has no permissions", "redis_refused",
          "NOPERM" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct durability durability;
        struct err err = { 0 };
        redisReply have = number(rows[i].have), replicas = number(0);
        redisReply *pair[] = { &have, &replicas };
        redisReply reply = { .type = REDIS_REPLY_ARRAY,
                             .elements = 2,
                             .element = pair };
        char *text = view_dup(view_of(rows[i].error));
        if (rows[i].error)
            reply = (redisReply){ .type = REDIS_REPLY_ERROR,
                                  .str = text,
                                  .len = strlen(text) };
        else if (rows[i].word[0] == 'r')
            reply = have;
        assert_true(durability_parse(&durability, view_of(rows[i].word), &err));
        assert_int_equal(durability_told(&durability, &reply, &err),
                         rows[i].code == NULL);
        if (rows[i].code) {
            assert_string_equal(err.code, rows[i].code);
            assert_non_null(strstr(err.text, rows[i].says));
        }
        free(text);
    }
}

static void what_is_no_answer_is_no_proof(void **state)
{
    (void)state;

    const struct durability both[] = { { DURABLE_REPLICA, 1 },
                                       { DURABLE_FSYNC, 0 } };
    for (size_t i = 0; i < 2; i++) {
        redisReply nil = { .type = REDIS_REPLY_NIL };
        redisReply empty = { .type = REDIS_REPLY_ARRAY };
        struct err err;
        assert_false(durability_told(&both[i], &nil, &err));
        assert_false(durability_told(&both[i], &empty, &err));
        assert_string_equal(err.code, "not_durable");
    }
}

/* Where the one who made the mark had it, others stand by now. */
static void scribble(void)
{
    volatile char room[4096];
    for (size_t i = 0; i < sizeof(room); i++)
        room[i] = '#';
}

static void the_mark(void **state)
{
    (void)state;
    struct names names;
    struct command command;
    assert_true(names_init(&names, "quern:", NULL));
    durability_mark(&command, names_of_root(&names, 7, "mark"));
    scribble();
    assert_int_equal(command.argc, 5);
    assert_string_equal(command.argv[0], "SET");
    assert_true(view_is((struct view){ command.argv[1], command.argvlen[1] },
                        "quern:{007}:mark"));
    command_finish(&command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),
        cmocka_unit_test(the_mark),
        cmocka_unit_test(answers),
        cmocka_unit_test(what_is_no_answer_is_no_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
