/* test_conn.c - the blocking connection against a real server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "schemas/redis/conn.h"
#include "tests/unit/redis/server.h"

static struct server server;

static struct conn *open_url(const char *url)
{
    struct address address;
    struct err err;

    if (!address_parse(&address, view_of(url), &err))
        fail_msg("%s: %s", url, err.text);
    struct conn *conn = conn_new(&address, 0, "test");
    address_finish(&address);
    return conn;
}

/* Words, split at spaces, as one command. */
static void words(struct command *command, char *line)
{
    command_init(command, strtok(line, " "));
    for (char *word; (word = strtok(NULL, " "));)
        command_add_text(command, word);
}

static redisReply *call(struct conn *conn, const char *text, uint64_t ms,
                        struct err *err)
{
    struct command command;
    char line[256];

    snprintf(line, sizeof(line), "%s", text);
    words(&command, line);
    *err = (struct err){ 0 };
    redisReply *reply = conn_call(conn, &command, ms, err);
    command_finish(&command);
    return reply;
}

static void must(struct conn *conn, const char *text)
{
    struct err err;
    redisReply *reply = call(conn, text, 5000, &err);

    if (!reply)
        fail_msg("%s: %s", text, err.text);
    freeReplyObject(reply);
}

static void must_fail(struct conn *conn, const char *text, uint64_t ms,
                      const char *code, const char *says)
{
    struct err err;
    redisReply *reply = call(conn, text, ms, &err);

    if (reply)
        fail_msg("%s: answered", text);
    assert_string_equal(err.code, code);
    if (!strstr(err.text, says))
        fail_msg("%s: \"%s\" does not say \"%s\"", text, err.text, says);
}

static void sends_large_values_whole(void **state)
{
    (void)state;
    struct conn *conn = open_url(server.url);
    enum { BYTES = 8 << 20 };
    char *data = malloc(BYTES);
    struct command command;
    struct err err;

    memset(data, 'x', BYTES);
    command_init(&command, "ECHO");
    command_add(&command, (struct view){ data, BYTES });
    redisReply *reply = conn_call(conn, &command, 10000, &err);
    assert_non_null(reply);
    assert_int_equal(reply->len, BYTES);
    assert_memory_equal(reply->str, data, BYTES);
    freeReplyObject(reply);
    command_finish(&command);
    free(data);
    conn_free(conn);
}

static void pipelines(void **state)
{
    (void)state;
    struct conn *conn = open_url(server.url);
    struct err err;
    enum { COUNT = 20000 };

    for (uint64_t i = 0; i < COUNT; i++) {
        struct command command;
        command_init(&command, "ECHO");
        command_add_uint(&command, i);
        assert_true(conn_send(conn, &command, 5000, &err));
        command_finish(&command);
    }
    for (int i = 0; i < COUNT; i++) {
        redisReply *reply = conn_receive(conn, 5000, &err);
        assert_non_null(reply);
        assert_int_equal(strtol(reply->str, NULL, 10), i);
        freeReplyObject(reply);
    }
    assert_null(conn_receive(conn, 10, &err));
    assert_string_equal(err.code, "redis_unavailable");
    conn_free(conn);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    struct server locked;
    char url[200];

    struct conn *conn = open_url("unix:///tmp/quern-nobody-is-here");
    must_fail(conn, "PING", 1000, "redis_unavailable", "No such file");
    conn_free(conn);

    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", free_port());
    conn = open_url(url);
    must_fail(conn, "PING", 1000, "redis_unavailable", "refused");
    conn_free(conn);

    conn = open_url(server.url);
    must_fail(conn, "HGET list", 1000, "redis_unavailable", "wrong number");
    must(conn, "LPUSH list x");
    must_fail(conn, "HGET list x", 1000, "redis_refused", "WRONGTYPE");
    must(conn, "DEL list");
    conn_free(conn);

    server_start(&locked, 0, "s3cret");
    conn = open_url(locked.url);
    must_fail(conn, "PING", 1000, "redis_refused", "NOAUTH");
    conn_free(conn);
    snprintf(url, sizeof(url), "unix://:wrong@%s", locked.socket);
    conn = open_url(url);
    must_fail(conn, "PING", 1000, "redis_refused", "WRONGPASS");
    conn_free(conn);
    snprintf(url, sizeof(url), "unix://default:s3cret@%s?db=3", locked.socket);
    conn = open_url(url);
    must(conn, "PING");
    conn_free(conn);
    server_stop(&locked);
}

/* The server was restarted while nothing was asked: nobody notices. */
static void survives_a_restart(void **state)
{
    (void)state;
    struct conn *conn = open_url(server.url);

    must(conn, "PING");
    server_kill(&server);
    must_fail(conn, "PING", 1000, "redis_unavailable", "");
    server_restart(&server);
    must(conn, "PING");
    server_kill(&server);
    server_restart(&server);
    must(conn, "PING");
    conn_free(conn);
}

/* A reply that comes too late must not answer the next command. */
/* The commands behind it would be refused as well: their replies are lost. */
static void what_a_new_connection_cures_ends_this_one(void **state)
{
    (void)state;
    struct conn *conn = open_url(server.url), *other = open_url(server.url);
    const char *const lines[] = { "ECHO one", "SET a b", "ECHO two" };
    struct err err = { 0 };

    must(other, "REPLICAOF 127.0.0.1 1");
    must_fail(conn, "SET a b", 5000, "redis_unavailable", "READONLY");
    for (int i = 0; i < 3; i++) {
        struct command command;
        char line[16];
        snprintf(line, sizeof(line), "%s", lines[i]);
        words(&command, line);
        assert_true(conn_send(conn, &command, 5000, &err));
        command_finish(&command);
    }
    redisReply *reply = conn_receive(conn, 5000, &err);
    assert_non_null(reply);
    freeReplyObject(reply);
    assert_null(conn_receive(conn, 5000, &err));
    assert_non_null(strstr(err.text, "READONLY"));
    assert_null(conn_receive(conn, 5000, &err));
    assert_non_null(strstr(err.text, "lost before"));
    must(other, "REPLICAOF NO ONE");
    must(conn, "SET a b");
    conn_free(other);
    conn_free(conn);
}

static void a_late_reply_answers_nobody(void **state)
{
    (void)state;
    struct conn *conn = open_url(server.url);
    struct err err;

    must(conn, "PING");
    must_fail(conn, "DEBUG SLEEP 0.4", 100, "redis_unavailable",
              "not within 100 ms");
    redisReply *reply = call(conn, "ECHO mine", 5000, &err);
    assert_non_null(reply);
    assert_string_equal(reply->str, "mine");
    freeReplyObject(reply);
    conn_free(conn);
}

/* A server that is stopped accepts connections (the kernel does): the whole
 * call, connecting included, still ends in time. */
static void a_frozen_server_costs_the_timeout_only(void **state)
{
    (void)state;
    struct conn *conn = open_url(server.url);

    kill(server.pid, SIGSTOP);
    must_fail(conn, "PING", 200, "redis_unavailable", "200 ms");
    kill(server.pid, SIGCONT);
    must(conn, "PING");
    conn_free(conn);
}

static void greets_with_name_and_database(void **state)
{
    (void)state;
    char url[200];
    struct err err;

    snprintf(url, sizeof(url), "%s?db=5", server.url);
    struct conn *conn = open_url(url);
    redisReply *reply = call(conn, "CLIENT LIST", 1000, &err);
    assert_non_null(reply);
    assert_non_null(strstr(reply->str, "name=quern-test"));
    assert_non_null(strstr(reply->str, " db=5 "));
    freeReplyObject(reply);
    conn_free(conn);
}

static void waits_for_messages(void **state)
{
    (void)state;
    struct conn *reader = open_url(server.url);
    struct conn *writer = open_url(server.url);
    struct err err;

    must(reader, "SUBSCRIBE channel");
    assert_null(conn_wait(reader, 10, &err));
    assert_int_equal(err.kind, ERR_NONE);
    must(writer, "PUBLISH channel one");
    must(writer, "PUBLISH channel two");
    for (int i = 0; i < 2; i++) {
        redisReply *message = conn_wait(reader, 5000, &err);
        assert_non_null(message);
        assert_string_equal(message->element[2]->str, i ? "two" : "one");
        freeReplyObject(message);
    }
    must(writer, "CLIENT KILL TYPE pubsub");
    assert_null(conn_wait(reader, 5000, &err));
    assert_int_equal(err.kind, ERR_RETRY);
    assert_null(conn_wait(reader, 5000, &err));
    assert_int_equal(err.kind, ERR_RETRY);
    conn_free(reader);
    conn_free(writer);
}

static int start(void **state)
{
    (void)state;
    server_start(&server, 0, NULL);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_large_values_whole),
        cmocka_unit_test(pipelines),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(survives_a_restart),
        cmocka_unit_test(what_a_new_connection_cures_ends_this_one),
        cmocka_unit_test(a_late_reply_answers_nobody),
        cmocka_unit_test(a_frozen_server_costs_the_timeout_only),
        cmocka_unit_test(greets_with_name_and_database),
        cmocka_unit_test(waits_for_messages),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
