/* test_route.c - which server is connected to next, whatever servers say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "schemas/redis/route.h"

#define OK "+OK\r\n"
#define MASTER "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"
#define REPLICA "*2\r\n$5\r\nslave\r\n$1\r\na\r\n"
#define AT(host) "*2\r\n$1\r\n" host "\r\n$4\r\n7000\r\n"
#define NODE(host, port) "*3\r\n" host ":" #port "\r\n$2\r\nid\r\n"
/* Two masters, a:7000 with a replica and b:7000; the slot is 100. */
#define SLOTS_OF(first, second)                                                \
    "*2\r\n*4\r\n:0\r\n:8191\r\n" first NODE(                                  \
        "$1\r\nr\r\n", 7000) "*3\r\n:8192\r\n:16383\r\n" second
#define A NODE("$1\r\na\r\n", 7000)
#define B NODE("$1\r\nb\r\n", 7000)
#define X50 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define BIG "$300\r\n" X50 X50 X50 X50 X50 X50 "\r\n"

static struct route route;
static redisContext *wire;
static int ends[2];

static void begin(const char *url)
{
    struct address address;
    struct err err;

    if (!address_parse(&address, view_of(url), &err))
        fail_msg("%s: %s", url, err.text);
    address_set_sentinel_password(&address, "guard");
    route_init(&route, &address, 100);
    address_finish(&address);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    wire = redisConnectFd(ends[0]);
    assert_non_null(wire);
}

static void finish(void)
{
    redisFree(wire);
    close(ends[1]);
    route_finish(&route);
}

static void expect_node(const char *want)
{
    char got[300];

    node_print(route_node(&route), got, sizeof(got));
    assert_string_equal(got, want);
}

/* One reply, as it comes over the wire. */
static enum route_step hear(const char *resp, struct err *err)
{
    redisReader *reader = redisReaderCreate();
    void *reply = NULL;

    assert_int_equal(redisReaderFeed(reader, resp, strlen(resp)), REDIS_OK);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    if (!reply)
        fail_msg("not one reply: %s", resp);
    enum route_step claim = route_hear(&route, reply, err);
    freeReplyObject(reply);
    redisReaderFree(reader);
    return claim;
}

/* Greets the server, which says OK to all but the question. */
static enum route_step visit(const char *answer, struct err *err)
{
    enum route_step claim = ROUTE_LISTEN;

    route_greet(&route, wire, "test");
    while (route.owed > 1 && claim == ROUTE_LISTEN)
        claim = hear(OK, err);
    return claim == ROUTE_LISTEN ? hear(answer, err) : claim;
}

/* What has been said to the server, words apart by spaces, without lengths. */
static void expect_said(const char *want)
{
    char bytes[4096], got[4096] = "";
    int done = 0;

    assert_int_equal(redisBufferWrite(wire, &done), REDIS_OK);
    ssize_t n = recv(ends[1], bytes, sizeof(bytes) - 1, MSG_DONTWAIT);
    bytes[n > 0 ? n : 0] = '\0';
    for (char *line = strtok(bytes, "\r\n"); line; line = strtok(NULL, "\r\n"))
        if (*line != '*' && *line != '$') {
            strcat(got, line);
            strcat(got, " ");
        }
    assert_string_equal(got, want);
}

static void one_server_is_the_one(void **state)
{
    (void)state;
    struct err err = { 0 };

    begin("redis://ann:pw@a:7000/3");
    expect_node("a:7000");
    assert_int_equal(visit(OK, &err), ROUTE_ARRIVED);
    expect_said("AUTH ann pw SELECT 3 CLIENT SETNAME quern-test ");
    route_leave(&route);
    expect_node("a:7000");
    assert_false(route_stray(&route));
    expect_node("a:7000");
    finish();
}

static void an_error_in_the_greeting_leads_astray(void **state)
{
    (void)state;
    struct err err = { 0 };

    begin("redis://:pw@a:7000");
    route_greet(&route, wire, "test");
    assert_int_equal(hear("-WRONGPASS no\r\n", &err), ROUTE_ASTRAY);
    assert_string_equal(err.code, "redis_refused");
    finish();
}

static void sentinels_name_the_master(void **state)
{
    (void)state;
    struct err err = { 0 };

    begin("redis+sentinel://ann:pw@s,t/jobs/3");
    expect_node("s:26379");
    assert_int_equal(visit(AT("a"), &err), ROUTE_ON);
    expect_said("AUTH guard CLIENT SETNAME quern-test SENTINEL "
                "GET-MASTER-ADDR-BY-NAME jobs ");
    expect_node("a:7000");
    assert_int_equal(visit(MASTER, &err), ROUTE_ARRIVED);
    expect_said("AUTH ann pw SELECT 3 CLIENT SETNAME quern-test ROLE ");
    /* Lost: the sentinels know who it is now. */
    route_leave(&route);
    expect_node("s:26379");
    assert_int_equal(visit(AT("b"), &err), ROUTE_ON);
    expect_node("b:7000");
    finish();
}

static void a_master_that_is_none_sends_us_to_the_next_sentinel(void **state)
{
    (void)state;
    struct err err = { 0 };

    begin("redis+sentinel://s,t/jobs");
    assert_int_equal(visit(AT("a"), &err), ROUTE_ON);
    assert_int_equal(visit(REPLICA, &err), ROUTE_ASTRAY);
    assert_int_equal(err.kind, ERR_RETRY);
    assert_true(route_stray(&route));
    expect_node("t:26379");
    assert_int_equal(visit(AT("b"), &err), ROUTE_ON);
    assert_false(route_stray(&route)); /* it cannot be reached */
    expect_node("s:26379");
    finish();
}

static void who_may_not_ask_for_the_role_goes_on(void **state)
{
    (void)state;
    struct err err = { 0 };

    begin("redis+sentinel://s/jobs");
    assert_int_equal(visit(AT("a"), &err), ROUTE_ON);
    assert_int_equal(visit("-NOPERM no permission\r\n", &err), ROUTE_ARRIVED);
    finish();
}

static void what_sentinels_say_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        enum err_kind kind;
        const char *says;
    } rows[] = {
        { "*-1\r\n", ERR_REJECT, "knows no master called \"jobs\"" },
        { "-NOAUTH Authentication required.\r\n", ERR_REJECT, "NOAUTH" },
        { "-ERR unknown command 'SENTINEL'\r\n", ERR_REJECT,
          "unknown command" },
        { "*0\r\n", ERR_RETRY, "no address" },
        { ":7\r\n", ERR_RETRY, "no address" },
        { "*2\r\n$1\r\na\r\n:7000\r\n", ERR_RETRY, "no address" },
        { "*2\r\n$1\r\na\r\n$5\r\n70000\r\n", ERR_RETRY, "no address" },
        { "*2\r\n$1\r\na\r\n$1\r\n0\r\n", ERR_RETRY, "no address" },
        { "*2\r\n$0\r\n\r\n$4\r\n7000\r\n", ERR_RETRY, "no address" },
        { "*2\r\n$3\r\na b\r\n$4\r\n7000\r\n", ERR_RETRY, "no address" },
        { "*2\r\n" BIG "$4\r\n7000\r\n", ERR_RETRY, "no address" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = { 0 };
        begin("redis+sentinel://s,t/jobs");
        assert_int_equal(visit(rows[i].answer, &err), ROUTE_ASTRAY);
        assert_int_equal(err.kind, rows[i].kind);
        if (!strstr(err.text, rows[i].says))
            fail_msg("%s: %s", rows[i].answer, err.text);
        finish();
    }
}

static void nodes_name_the_master_of_the_slot(void **state)
{
    (void)state;
    struct err err = { 0 };

    begin("redis+cluster://ann:pw@b:7000,c");
    assert_int_equal(visit(SLOTS_OF(A, B), &err), ROUTE_ON);
    expect_said("AUTH ann pw CLIENT SETNAME quern-test CLUSTER SLOTS ");
    expect_node("a:7000");
    assert_int_equal(visit(SLOTS_OF(A, B), &err), ROUTE_ARRIVED);
    /* Lost: the same one first, then all others, then once more from the start
     * after a while. */
    route_leave(&route);
    expect_node("a:7000");
    static const char *const next[] = { "r:7000", "b:7000", "c:6379" };
    for (size_t i = 0; i < 3; i++) {
        assert_true(route_stray(&route));
        expect_node(next[i]);
    }
    assert_false(route_stray(&route));
    finish();
}

static void a_node_that_does_not_know_its_name_means_itself(void **state)
{
    (void)state;
    static const char *const names[] = {
        SLOTS_OF(NODE("$0\r\n\r\n", 7000), B),
        SLOTS_OF(NODE("$-1\r\n", 7000), B),
        SLOTS_OF(NODE("$1\r\n?\r\n", 7000), B),
    };

    for (size_t i = 0; i < 3; i++) {
        struct err err = { 0 };
        begin("redis+cluster://x:7000");
        assert_int_equal(visit(names[i], &err), ROUTE_ARRIVED);
        expect_node("x:7000");
        finish();
    }
}

static void what_nodes_say_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        enum err_kind kind;
        const char *says;
    } rows[] = {
        { "-ERR This instance has cluster support disabled\r\n", ERR_REJECT,
          "cluster support disabled" },
        { "-NOPERM no\r\n", ERR_REJECT, "NOPERM" },
        { "-CLUSTERDOWN down\r\n", ERR_RETRY, "CLUSTERDOWN" },
        { "*0\r\n", ERR_RETRY, "no node has the slot" },
        { "$1\r\nx\r\n", ERR_RETRY, "who has which slot" },
        { "*1\r\n*3\r\n:8192\r\n:16383\r\n" B, ERR_RETRY, "no node has" },
        { "*1\r\n*2\r\n:0\r\n:16383\r\n", ERR_RETRY, "no node has" },
        { "*1\r\n:0\r\n", ERR_RETRY, "no node has" },
        { "*1\r\n*3\r\n:0\r\n:16383\r\n*0\r\n", ERR_RETRY, "no node has" },
        { "*1\r\n*3\r\n:0\r\n:16383\r\n" NODE("$1\r\na\r\n", 70000), ERR_RETRY,
          "no node has" },
        { "*1\r\n*3\r\n$1\r\n0\r\n:16383\r\n" A, ERR_RETRY, "no node has" },
        { "*1\r\n*3\r\n:0\r\n:16383\r\n" NODE(BIG, 7), ERR_RETRY,
          "no node has" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = { 0 };
        begin("redis+cluster://b:7000");
        assert_int_equal(visit(rows[i].answer, &err), ROUTE_ASTRAY);
        assert_int_equal(err.kind, rows[i].kind);
        if (!strstr(err.text, rows[i].says))
            fail_msg("row %zu: %s", i, err.text);
        finish();
    }
}

static void a_circle_is_left(void **state)
{
    (void)state;
    struct err err = { 0 };
    enum route_step claim = ROUTE_ON;

    begin("redis+cluster://b:7000");
    for (int i = 0; i < 20 && claim == ROUTE_ON; i++)
        claim = visit(i % 2 ? SLOTS_OF(B, A) : SLOTS_OF(A, B), &err);
    assert_int_equal(claim, ROUTE_ASTRAY);
    assert_non_null(strstr(err.text, "names another one"));
    finish();
}

static void no_cluster_is_too_large(void **state)
{
    (void)state;
    char resp[16384] = "*200\r\n";
    struct err err = { 0 };

    for (int i = 0; i < 200; i++) {
        char range[80];
        snprintf(
            range, sizeof(range),
            "*3\r\n:%d\r\n:%d\r\n*3\r\n$4\r\nn%03d\r\n:7000\r\n$1\r\ni\r\n", i,
            i, i);
        strcat(resp, range);
    }
    begin("redis+cluster://n100:7000");
    assert_int_equal(visit(resp, &err), ROUTE_ARRIVED);
    int others = 0;
    while (route_stray(&route))
        others++;
    assert_in_range(others, 10, 100);
    finish();
}

static void follow(const char *text, struct err *err)
{
    char copy[128];
    redisReply reply = { .type = REDIS_REPLY_ERROR };

    snprintf(copy, sizeof(copy), "%s", text);
    reply.str = copy;
    reply.len = strlen(copy);
    *err = (struct err){ 0 };
    route_follow(&route, &reply, err);
}

static void moved_names_the_node(void **state)
{
    (void)state;
    static const struct {
        const char *moved;
        const char *node;
    } rows[] = {
        { "MOVED 100 10.0.0.7:7001", "10.0.0.7:7001" },
        { "MOVED 100 ::1:7001", "[::1]:7001" },
        { "MOVED 100 node.example:7001", "node.example:7001" },
        { "MOVED 100 :7001", "b:7001" },
        /* Not understood: all are asked again. */
        { "MOVED 100 10.0.0.7", "b:7000" },
        { "MOVED 100 10.0.0.7:99999", "b:7000" },
        { "MOVED ", "b:7000" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err;
        begin("redis+cluster://b:7000");
        follow(rows[i].moved, &err);
        assert_int_equal(err.kind, ERR_RETRY);
        expect_node(rows[i].node);
        finish();
    }
}

static void a_cluster_that_was_not_named_as_one_is_told(void **state)
{
    (void)state;
    struct err err;

    begin("redis://b:7000");
    follow("MOVED 100 10.0.0.7:7001", &err);
    assert_int_equal(err.kind, ERR_REJECT);
    assert_string_equal(err.code, "redis_refused");
    assert_non_null(strstr(err.text, "redis+cluster://"));
    expect_node("b:7000");
    finish();
}

static void of_several_servers_any_will_do(void **state)
{
    (void)state;
    struct address address, sentinels;
    struct err err = { 0 };

    assert_true(
        address_parse(&address, VIEW("redis+sentinel://s,t/jobs"), &err));
    begin("redis://x");
    route_finish(&route);
    assert_true(address_of_sentinels(&sentinels, &address));
    route_init(&route, &sentinels, 0);
    address_finish(&sentinels);
    address_finish(&address);
    expect_node("s:26379");
    assert_true(route_stray(&route));
    expect_node("t:26379");
    assert_int_equal(visit(OK, &err), ROUTE_ARRIVED);
    assert_true(route_stray(&route));
    expect_node("s:26379");
    assert_false(route_stray(&route));
    finish();
}

static void people_are_told_which_server_it_is(void **state)
{
    (void)state;
    char text[300];

    begin("redis://:pw@b:7000");
    route_print(&route, text, sizeof(text));
    assert_string_equal(text, "redis://b:7000/0");
    finish();
    begin("redis+sentinel://s,t/jobs");
    route_print(&route, text, sizeof(text));
    assert_string_equal(text,
                        "redis+sentinel://s:26379,t:26379/jobs/0: s:26379");
    finish();
}

/* A service may refuse the name of a connection, which is but a courtesy. */
static void a_connection_without_a_name(void **state)
{
    (void)state;
    static const struct {
        const char *url, *answer;
        enum route_step step;
    } rows[] = {
        { "redis://h", "-NOPERM no 'client|setname'\r\n", ROUTE_ARRIVED },
        { "redis://h", "-ERR unknown command 'CLIENT'\r\n", ROUTE_ARRIVED },
        { "redis://h", "-NOAUTH Authentication required.\r\n", ROUTE_ASTRAY },
        { "redis+cluster://h", "-NOPERM no 'client|setname'\r\n",
          ROUTE_LISTEN },
        { "redis+cluster://h", "-LOADING\r\n", ROUTE_ASTRAY },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct err err = { 0 };
        begin(rows[i].url);
        route_greet(&route, wire, "test");
        if (hear(rows[i].answer, &err) != rows[i].step)
            fail_msg("%s: %s", rows[i].url, rows[i].answer);
        finish();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_connection_without_a_name),
        cmocka_unit_test(one_server_is_the_one),
        cmocka_unit_test(an_error_in_the_greeting_leads_astray),
        cmocka_unit_test(sentinels_name_the_master),
        cmocka_unit_test(a_master_that_is_none_sends_us_to_the_next_sentinel),
        cmocka_unit_test(who_may_not_ask_for_the_role_goes_on),
        cmocka_unit_test(what_sentinels_say_wrong),
        cmocka_unit_test(nodes_name_the_master_of_the_slot),
        cmocka_unit_test(a_node_that_does_not_know_its_name_means_itself),
        cmocka_unit_test(what_nodes_say_wrong),
        cmocka_unit_test(a_circle_is_left),
        cmocka_unit_test(no_cluster_is_too_large),
        cmocka_unit_test(moved_names_the_node),
        cmocka_unit_test(a_cluster_that_was_not_named_as_one_is_told),
        cmocka_unit_test(of_several_servers_any_will_do),
        cmocka_unit_test(people_are_told_which_server_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
