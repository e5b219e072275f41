/* test_reply.c - error replies, as a queue understands them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/message/view.h"
#include "schemas/redis/reply.h"

#define NO_FUNCTIONS                                                           \
    "this Redis has no functions (FUNCTION LOAD, FCALL), which quern needs. "  \
    "So it is with Redis before 7.0, Azure Cache for Redis, OCI Cache with "   \
    "shards, Dragonfly and Garnet: deploy/REDIS.md"

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
        { "ERR unknown command 'FCALL', with args beginning with: 'a'",
          ERR_REJECT, "redis_refused", NO_FUNCTIONS },
        { "ERR unknown command `FUNCTION`, with args beginning with: `LOAD`",
          ERR_REJECT, "redis_refused", NO_FUNCTIONS },
        { "ERR unknown command 'GETDEL', with args beginning with: 'FCALL'",
          ERR_REJECT, "redis_refused",
          "ERR unknown command 'GETDEL', with args beginning with: 'FCALL'" },
        { "ERR Unknown Redis command called from script", ERR_REJECT,
          "redis_refused", "ERR Unknown Redis command called from script" },
        { "ERR user_function:3: attempt to index local 'x'", ERR_REJECT,
          "internal", "ERR user_function:3: attempt to index local 'x'" },
        { "ERR Function not found", ERR_RETRY, "redis_unavailable",
          "ERR Function not found" },
        { "LOADING Redis is loading", ERR_RETRY, "redis_unavailable",
          "LOADING Redis is loading" },
        { "OOM command not allowed", ERR_RETRY, "redis_full",
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

static void cures(void **state)
{
    (void)state;

    static const struct {
        const char *text;
        enum reply_cure cure;
    } rows[] = {
        { "MOVED 3999 127.0.0.1:6381", CURE_FOLLOW },
        { "READONLY You can't write against a read only replica.", CURE_RENEW },
        { "MASTERDOWN Link with MASTER is down", CURE_RENEW },
        { "LOADING Redis is loading the dataset in memory", CURE_RENEW },
        { "CLUSTERDOWN The cluster is down", CURE_RENEW },
        { "UNBLOCKED force unblock from blocking operation, instance state "
          "changed (master -> replica?)",
          CURE_RENEW },
        { "ERR WAIT cannot be used with replica instances. Please",
          CURE_RENEW },
        { "ERR WAITAOF cannot be used with replica instances.", CURE_RENEW },
        { "UNBLOCKED the stream key no longer exists", CURE_GROUP },
        { "NOGROUP No such key 'x' or consumer group 'consumers'", CURE_GROUP },
        { "ERR Function not found", CURE_LOAD },
        { "ASK 3999 127.0.0.1:6381", CURE_WAIT },
        { "TRYAGAIN Multiple keys request during rehashing", CURE_WAIT },
        { "BUSY Redis is busy running a script.", CURE_WAIT },
        { "OOM command not allowed when used memory > 'maxmemory'.",
          CURE_WAIT },
        { "MISCONF Errors writing to the AOF file", CURE_WAIT },
        { "NOREPLICAS Not enough good replicas to write.", CURE_WAIT },
        { "ERR max number of clients reached", CURE_WAIT },
        { "NOAUTH Authentication required.", CURE_NONE },
        { "NOPERM this user", CURE_NONE },
        { "STALE epoch 3", CURE_NONE },
        { "CROSSSLOT Keys in request don't hash to the same slot", CURE_NONE },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char *text = view_dup(view_of(rows[i].text));
        redisReply reply = { .type = REDIS_REPLY_ERROR,
                             .str = text,
                             .len = strlen(text) };
        if (reply_cure(&reply) != rows[i].cure)
            fail_msg("%s: %d", text, (int)reply_cure(&reply));
        free(text);
    }
    redisReply nil = { .type = REDIS_REPLY_NIL };
    assert_int_equal(reply_cure(&nil), CURE_NONE);
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
        cmocka_unit_test(cures),
        cmocka_unit_test(all_else_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
