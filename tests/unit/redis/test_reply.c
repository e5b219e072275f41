/* test_reply.c - error replies, as a queue understands them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/redis/conn.h"

static void errors(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        enum err_kind kind;
        const char *code;
        const char *says;
    } rows[] = {
        { "STALE epoch 3 of job x, now 5", ERR_REJECT, "stale",
          "epoch 3 of job x, now 5" },
        { "GONE no job x", ERR_REJECT, "unknown_job", "no job x" },
        { "QUEUEFULL queue", ERR_RETRY, "queue_full", "queue" },
        { "TOOBIG job", ERR_REJECT, "too_large", "job" },
        { "NOBLOB blob x", ERR_REJECT, "missing_blob", "blob x" },
        { "DENIED protected mode", ERR_REJECT, "redis_refused",
          "DENIED protected mode" },
        { "BADARG id", ERR_REJECT, "bad_argument", "id" },
        { "MISPLACED record", ERR_REJECT, "misplaced", "record" },
        { "NOAUTH Authentication required.", ERR_REJECT, "redis_refused",
          "NOAUTH Authentication required." },
        { "WRONGPASS invalid", ERR_REJECT, "redis_refused",
          "WRONGPASS invalid" },
        { "NOPERM this user", ERR_REJECT, "redis_refused", "NOPERM this user" },
        { "WRONGTYPE Operation", ERR_REJECT, "redis_refused",
          "WRONGTYPE Operation" },
        { "ERR The user executing the script can't", ERR_REJECT,
          "redis_refused", "ERR The user executing the script can't" },
        { "ERR ACL failure in script: User x", ERR_REJECT, "redis_refused",
          "ERR ACL failure in script: User x" },
        { "ERR unknown command 'FCALL'", ERR_REJECT, "redis_refused",
          "ERR unknown command 'FCALL'" },
        { "ERR Unknown Redis command called from script", ERR_REJECT,
          "redis_refused", "ERR Unknown Redis command called from script" },
        { "ERR user_function:3: attempt to index local 'x'", ERR_REJECT,
          "internal", "ERR user_function:3: attempt to index local 'x'" },
        { "ERR Function not found", ERR_RETRY, "redis_unavailable",
          "ERR Function not found" },
        { "LOADING Redis is loading", ERR_RETRY, "redis_unavailable",
          "LOADING Redis is loading" },
        { "OOM command not allowed", ERR_RETRY, "redis_unavailable",
          "OOM command not allowed" },
        { "STALEMATE", ERR_RETRY, "redis_unavailable", "STALEMATE" },
        { "", ERR_RETRY, "redis_unavailable", "" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = view_dup(view_of(rows[i].text));
        redisReply reply = { .type = REDIS_REPLY_ERROR,
                             .str = text,
                             .len = strlen(text) };
        struct err err = { 0 };
        assert_false(reply_ok(&reply, &err));
        assert_string_equal(err.code, rows[i].code);
        assert_string_equal(err.text, rows[i].says);
        assert_int_equal(err.kind, rows[i].kind);
        free(text);
    }
}

static void all_else_is_fine(void **state)
{
    (void)state;
    redisReply nil = { .type = REDIS_REPLY_NIL };
    struct err err = { .kind = ERR_NONE };

    assert_true(reply_ok(&nil, &err));
    assert_int_equal(err.kind, ERR_NONE);
    assert_false(reply_ok(NULL, &err));
    assert_string_equal(err.code, "redis_unavailable");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors),
        cmocka_unit_test(all_else_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
