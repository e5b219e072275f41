/* test_link.c - the asynchronous link against a real server that goes away,
 * comes back, stays silent, refuses. */
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
#include "schemas/redis/link.h"
#include "tests/unit/redis/server.h"

/* For what has to happen: nothing waits for it to pass. */
enum { PATIENCE_MS = 60000, HEARD_TRIES = 2000 };

static struct server server;
static uv_loop_t loop;

/* One link and all that its callbacks said. */
struct seen {
    struct link *link;
    int ready, lost, pushed, subscribed, closed;
    int answered, unanswered; /* calls: with a reply, with NULL */
    int settled;              /* both */
    bool inside;              /* a function of the link: no callback may come */
    bool free_when_ready, free_when_lost, free_when_answered, free_when_pushed;
    struct err why;
    char text[64]; /* of the last reply or message */
};

static void on_closed(void *owner)
{
    struct seen *seen = owner;

    assert_false(seen->inside);
    seen->closed++;
    seen->link = NULL;
}

static void free_link(struct seen *seen)
{
    seen->inside = true;
    link_free(seen->link, on_closed, seen);
    seen->inside = false;
}

static void on_ready(void *owner)
{
    struct seen *seen = owner;

    assert_false(seen->inside);
    assert_true(link_is_ready(seen->link));
    seen->ready++;
    if (seen->free_when_ready)
        free_link(seen);
}

static void on_lost(void *owner, const struct err *why)
{
    struct seen *seen = owner;

    assert_false(seen->inside);
    assert_false(link_is_ready(seen->link));
    seen->lost++;
    seen->why = *why;
    if (seen->free_when_lost)
        free_link(seen);
}

static void on_push(void *owner, const redisReply *message)
{
    struct seen *seen = owner;

    seen->pushed++;
    snprintf(seen->text, sizeof(seen->text), "%s", message->element[2]->str);
    if (seen->free_when_pushed)
        free_link(seen);
}

static void on_subscribed(void *owner, struct view channel)
{
    struct seen *seen = owner;

    assert_false(seen->inside);
    seen->subscribed++;
    snprintf(seen->text, sizeof(seen->text), "%.*s", VIEW_ARG(channel));
}

static void on_done(void *owner, const redisReply *reply, const struct err *why)
{
    struct seen *seen = owner;

    assert_false(seen->inside);
    assert_true(reply ? !why : why != NULL);
    seen->settled++;
    if (why) {
        assert_int_equal(why->kind, ERR_RETRY);
        seen->unanswered++;
        return;
    }
    seen->answered++;
    if (reply)
        snprintf(seen->text, sizeof(seen->text), "%s", reply->str);
    if (seen->free_when_answered)
        free_link(seen);
}

static void open_url(struct seen *seen, const char *url)
{
    struct link_events events = { on_ready, on_lost, on_push, on_subscribed };
    struct address address;

    *seen = (struct seen){ 0 };
    assert_true(address_parse(&address, view_of(url), NULL));
    seen->inside = true;
    seen->link = link_new(&loop, &address, 0, "test", events, seen);
    link_open(seen->link);
    seen->inside = false;
    address_finish(&address);
}

static void on_tick(uv_timer_t *timer)
{
    (void)timer;
}

/* Runs the loop until *count has reached at_least. */
static void spin(const int *count, int at_least)
{
    uv_timer_t tick;
    uint64_t end = uv_hrtime() + PATIENCE_MS * 1000000ULL;

    uv_timer_init(&loop, &tick);
    uv_timer_start(&tick, on_tick, 5, 5);
    while (*count < at_least && uv_hrtime() < end)
        uv_run(&loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&tick, NULL);
    while (uv_is_active((uv_handle_t *)&tick))
        uv_run(&loop, UV_RUN_NOWAIT);
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_true(*count >= at_least);
}

static void close_link(struct seen *seen)
{
    free_link(seen);
    spin(&seen->closed, 1);
    assert_int_equal(seen->closed, 1);
}

static bool send_words(struct seen *seen, const char *text, uint64_t ms)
{
    struct command command;
    char line[128];

    snprintf(line, sizeof(line), "%s", text);
    command_init(&command, strtok(line, " "));
    for (char *word; (word = strtok(NULL, " "));)
        command_add_text(&command, word);
    seen->inside = true;
    bool sent = link_send(seen->link, &command, ms, on_done, seen);
    seen->inside = false;
    command_finish(&command);
    return sent;
}

/* By a connection of its own. */
static void tell_server(const char *text)
{
    struct address address;
    struct command command;
    struct err err;
    char line[128];

    assert_true(address_parse(&address, view_of(server.url), NULL));
    struct conn *conn = conn_new(&address, 0, "tell");
    snprintf(line, sizeof(line), "%s", text);
    command_init(&command, strtok(line, " "));
    for (char *word; (word = strtok(NULL, " "));)
        command_add_text(&command, word);
    redisReply *reply = conn_call(conn, &command, PATIENCE_MS, &err);
    if (!reply)
        fail_msg("%s: %s", text, err.text);
    freeReplyObject(reply);
    command_finish(&command);
    address_finish(&address);
    conn_free(conn);
}

static void answers_in_order(void **state)
{
    (void)state;
    struct seen seen;
    enum { COUNT = 20000 };

    open_url(&seen, server.url);
    assert_false(send_words(&seen, "PING", PATIENCE_MS));
    spin(&seen.ready, 1);
    for (int i = 1; i <= COUNT; i++) {
        char line[32];
        snprintf(line, sizeof(line), "ECHO %d", i);
        assert_true(send_words(&seen, line, PATIENCE_MS));
    }
    assert_int_equal(seen.answered, 0);
    for (int i = 1; i <= COUNT; i += COUNT / 4) {
        spin(&seen.answered, i);
        assert_int_equal(strtol(seen.text, NULL, 10), seen.answered);
    }
    spin(&seen.answered, COUNT);
    close_link(&seen);
    assert_int_equal(seen.unanswered, 0);
    assert_int_equal(seen.lost, 0);
}

static void an_error_reply_is_a_reply(void **state)
{
    (void)state;
    struct seen seen;

    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    assert_true(send_words(&seen, "NOSUCH", PATIENCE_MS));
    spin(&seen.answered, 1);
    assert_non_null(strstr(seen.text, "unknown command"));
    close_link(&seen);
    assert_int_equal(seen.lost, 0);
}

static void carries_large_values(void **state)
{
    (void)state;
    struct seen seen;
    struct command command;
    enum { BYTES = 8 << 20 };
    char *data = calloc(1, BYTES);

    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    memset(data, 'x', BYTES);
    for (int i = 0; i < 4; i++) {
        command_init(&command, "ECHO");
        command_add(&command, (struct view){ data, BYTES });
        assert_true(
            link_send(seen.link, &command, PATIENCE_MS, on_done, &seen));
        command_finish(&command);
    }
    free(data); /* it was copied */
    spin(&seen.answered, 4);
    close_link(&seen);
}

static void finds_its_server_by_name(void **state)
{
    (void)state;
    struct server named;
    struct seen seen;
    char url[64];

    server_start(&named, free_port(), NULL);
    snprintf(url, sizeof(url), "redis://localhost:%d/2", named.port);
    open_url(&seen, url);
    spin(&seen.ready, 1);
    assert_true(send_words(&seen, "ECHO here", PATIENCE_MS));
    spin(&seen.answered, 1);
    close_link(&seen);
    server_stop(&named);
}

static void tells_why_it_cannot_connect(void **state)
{
    (void)state;
    struct server locked;
    struct seen seen;
    char port[64], named[64], wrong[200];
    struct {
        const char *url;
        const char *code;
        const char *says;
    } rows[5] = {
        { port, "redis_unavailable", "refused" },
        { named, "redis_unavailable", "refused" },
        { "unix:///tmp/quern-nobody-is-here", "redis_unavailable",
          "No such file" },
        { wrong, "redis_refused", "WRONGPASS" },
        { "redis://localhost.invalid:1", "redis_unavailable", "no address" },
    };

    server_start(&locked, 0, "s3cret");
    snprintf(port, sizeof(port), "redis://127.0.0.1:%d", free_port());
    snprintf(named, sizeof(named), "redis://localhost:%d", free_port());
    snprintf(wrong, sizeof(wrong), "unix://:wrong@%s", locked.socket);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        open_url(&seen, rows[i].url);
        spin(&seen.lost, 3); /* and it goes on trying */
        assert_string_equal(seen.why.code, rows[i].code);
        if (!strstr(seen.why.text, rows[i].says))
            fail_msg("%s: %s", rows[i].url, seen.why.text);
        assert_int_equal(seen.ready, 0);
        close_link(&seen);
    }
    server_stop(&locked);
}

static void every_call_is_answered_once_when_the_server_dies(void **state)
{
    (void)state;
    struct seen seen;
    enum { COUNT = 100 };

    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    kill(server.pid, SIGSTOP); /* so that none is answered */
    for (int i = 0; i < COUNT; i++)
        assert_true(send_words(&seen, "PING", PATIENCE_MS));
    uv_run(&loop, UV_RUN_NOWAIT);
    assert_int_equal(seen.unanswered + seen.answered, 0);
    server_kill(&server);
    spin(&seen.lost, 2); /* broken, and not back at once */
    assert_int_equal(seen.unanswered, COUNT);
    assert_false(send_words(&seen, "PING", 1000));
    server_restart(&server);
    spin(&seen.ready, 2);
    assert_true(send_words(&seen, "ECHO back", PATIENCE_MS));
    spin(&seen.answered, 1);
    assert_string_equal(seen.text, "back");
    assert_int_equal(seen.unanswered, COUNT);
    close_link(&seen);
}

static void comes_back_after_client_kill(void **state)
{
    (void)state;
    struct seen seen;

    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    tell_server("CLIENT KILL TYPE normal");
    spin(&seen.ready, 2);
    assert_int_equal(seen.lost, 1);
    close_link(&seen);
}

static void
a_late_call_breaks_the_link_and_its_reply_answers_nobody(void **state)
{
    (void)state;
    struct seen seen;

    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    assert_true(send_words(&seen, "ECHO long", PATIENCE_MS));
    spin(&seen.answered, 1);
    kill(server.pid, SIGSTOP);
    assert_true(send_words(&seen, "ECHO late", 10));
    assert_true(send_words(&seen, "ECHO stale", PATIENCE_MS));
    spin(&seen.lost, 1);
    kill(server.pid, SIGCONT);
    assert_non_null(strstr(seen.why.text, "within its time"));
    assert_int_equal(seen.unanswered, 2);
    spin(&seen.ready, 2);
    assert_true(send_words(&seen, "ECHO mine", PATIENCE_MS));
    spin(&seen.answered, 2);
    assert_string_equal(seen.text, "mine");
    close_link(&seen);
}

enum { DEADLINE_MS = 100, TRIES = 100 };

static void pass_deadline(void)
{
    uint64_t end = uv_hrtime() + 2 * DEADLINE_MS * 1000000ULL;

    while (uv_hrtime() < end) {
        uv_run(&loop, UV_RUN_NOWAIT);
        uv_sleep(10);
    }
}

/* A server that is slow just now does break it, and another try is made. */
static void a_call_that_was_answered_in_time_does_not_break_it(void **state)
{
    (void)state;
    struct seen seen;
    bool in_time = false;

    for (int i = 0; i < TRIES && !in_time; i++) {
        open_url(&seen, server.url);
        spin(&seen.ready, 1);
        assert_true(send_words(&seen, "PING", DEADLINE_MS));
        spin(&seen.settled, 1);
        in_time = seen.answered == 1;
        if (in_time) {
            pass_deadline();
            assert_int_equal(seen.lost, 0);
        }
        close_link(&seen);
    }
    assert_true(in_time);
}

/* The answer is there before the loop looks, which is after the deadline. */
static void what_came_in_while_the_loop_was_busy_is_not_late(void **state)
{
    (void)state;
    struct seen seen;
    bool busy = false;

    for (int i = 0; i < TRIES && !busy; i++) {
        open_url(&seen, server.url);
        spin(&seen.ready, 1);
        assert_true(send_words(&seen, "PING", DEADLINE_MS));
        uv_run(&loop, UV_RUN_NOWAIT);
        busy = seen.settled == 0;
        if (busy) {
            tell_server("PING"); /* it has answered both, in their order */
            uv_sleep(2 * DEADLINE_MS);
            spin(&seen.settled, 1);
            assert_int_equal(seen.answered, 1);
            assert_int_equal(seen.lost, 0);
        }
        close_link(&seen);
    }
    assert_true(busy);
}

static void subscribes_again_after_every_reconnect(void **state)
{
    (void)state;
    struct seen seen;

    open_url(&seen, server.url);
    link_subscribe(seen.link, VIEW("channel"));
    spin(&seen.ready, 1);
    for (int i = 1; i <= 3; i++) {
        /* Until it is heard: the subscription travels after ready. */
        int before = seen.pushed;
        for (int j = 0; j < HEARD_TRIES && seen.pushed == before; j++) {
            tell_server("PUBLISH channel hello");
            uv_run(&loop, UV_RUN_NOWAIT);
            uv_sleep(5);
            uv_run(&loop, UV_RUN_NOWAIT);
        }
        assert_true(seen.pushed > before);
        assert_string_equal(seen.text, "hello");
        if (i == 1) {
            tell_server("CLIENT KILL TYPE pubsub");
        } else {
            server_kill(&server);
            spin(&seen.lost, i);
            server_restart(&server);
        }
        spin(&seen.ready, i + 1);
    }
    close_link(&seen);
}

static void may_subscribe_when_ready(void **state)
{
    (void)state;
    struct seen seen;
    int before = 0;

    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    link_subscribe(seen.link, VIEW("channel"));
    seen.free_when_pushed = true;
    for (int j = 0; j < HEARD_TRIES && seen.pushed == before; j++) {
        tell_server("PUBLISH channel hello");
        uv_run(&loop, UV_RUN_NOWAIT);
        uv_sleep(5);
    }
    spin(&seen.closed, 1);
    assert_int_equal(seen.pushed, 1);
}

/* It is a replica by then, and the calls behind it would be refused too. */
/* A message that is published after the confirmation comes; one of a channel
 * that was given up does not, also not after a reconnect. */
static void hears_the_channels_that_it_has(void **state)
{
    (void)state;
    struct seen seen;

    open_url(&seen, server.url);
    link_subscribe(seen.link, VIEW("one"));
    spin(&seen.subscribed, 1);
    link_subscribe(seen.link, VIEW("two"));
    link_subscribe(seen.link, VIEW("one")); /* is there */
    link_subscribe(seen.link, VIEW("three"));
    spin(&seen.subscribed, 3);
    assert_string_equal(seen.text, "three");
    tell_server("PUBLISH two again");
    spin(&seen.pushed, 1);
    assert_string_equal(seen.text, "again");
    link_unsubscribe(seen.link, VIEW("two"));
    link_unsubscribe(seen.link, VIEW("never"));
    tell_server("CLIENT KILL TYPE pubsub");
    spin(&seen.subscribed, 5);
    tell_server("PUBLISH two lost");
    tell_server("PUBLISH one heard");
    spin(&seen.pushed, 2);
    assert_string_equal(seen.text, "heard");
    link_unsubscribe(seen.link, VIEW("one"));
    link_unsubscribe(seen.link, VIEW("three"));
    link_subscribe(seen.link, VIEW("four"));
    spin(&seen.subscribed, 6);
    assert_int_equal(seen.subscribed, 6);
    tell_server("PUBLISH one lost");
    tell_server("PUBLISH four heard");
    spin(&seen.pushed, 3);
    assert_int_equal(seen.lost, 1);
    close_link(&seen);
}

static void an_error_that_a_new_connection_cures_makes_one(void **state)
{
    (void)state;
    struct seen seen;

    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    tell_server("REPLICAOF 127.0.0.1 1");
    assert_true(send_words(&seen, "ECHO before", PATIENCE_MS));
    assert_true(send_words(&seen, "SET a b", PATIENCE_MS));
    for (int i = 0; i < 4; i++)
        assert_true(send_words(&seen, "ECHO after", PATIENCE_MS));
    spin(&seen.lost, 1);
    assert_int_equal(seen.answered, 1);
    assert_string_equal(seen.text, "before");
    assert_int_equal(seen.unanswered, 5);
    assert_non_null(strstr(seen.why.text, "READONLY"));
    tell_server("REPLICAOF NO ONE");
    spin(&seen.ready, 2);
    assert_true(send_words(&seen, "SET a b", PATIENCE_MS));
    spin(&seen.answered, 2);
    assert_string_equal(seen.text, "OK");
    close_link(&seen);
}

/* What the observer of all links was told. */
static struct {
    int calls, troubles;
    enum link_trouble trouble; /* the last one */
    char text[64];
    uint64_t longest_ns;
} told;

static int sort_echo(const struct command *command)
{
    return strcmp(command->argv[0], "ECHO") == 0 ? 7 : -1;
}

static void on_call(int sort, uint64_t ns)
{
    assert_int_equal(sort, 7);
    told.calls++;
    if (ns > told.longest_ns)
        told.longest_ns = ns;
}

static void on_trouble(enum link_trouble trouble, const char *text)
{
    told.troubles++;
    told.trouble = trouble;
    snprintf(told.text, sizeof(told.text), "%s", text);
}

static void assert_told(int troubles, enum link_trouble trouble,
                        const char *text)
{
    assert_int_equal(told.troubles, troubles);
    assert_int_equal(told.trouble, trouble);
    if (!strstr(told.text, text))
        fail_msg("\"%s\" has no \"%s\"", told.text, text);
}

static void an_observer_is_told_of_answers_and_troubles(void **state)
{
    static const struct link_observer observer = { sort_echo, on_call,
                                                   on_trouble };
    (void)state;
    struct seen seen;

    links_observe(&observer);
    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    kill(server.pid, SIGSTOP);
    assert_true(send_words(&seen, "ECHO 1", PATIENCE_MS));
    assert_true(send_words(&seen, "PING", PATIENCE_MS)); /* nobody counts it */
    uv_run(&loop, UV_RUN_NOWAIT);
    uv_sleep(20);
    kill(server.pid, SIGCONT);
    assert_true(send_words(&seen, "NOSUCH", PATIENCE_MS));
    spin(&seen.answered, 3);
    assert_int_equal(told.calls, 1);
    assert_true(told.longest_ns >= 20 * 1000000);
    assert_told(1, LINK_REFUSED, "ERR unknown command");
    tell_server("CLIENT KILL TYPE normal");
    spin(&seen.ready, 2);
    assert_told(2, LINK_LOST, "closed");
    tell_server("REPLICAOF 127.0.0.1 1");
    assert_true(send_words(&seen, "SET a b", PATIENCE_MS));
    spin(&seen.lost, 2);
    assert_told(3, LINK_LOST, "READONLY");
    tell_server("REPLICAOF NO ONE");
    spin(&seen.ready, 3);
    kill(server.pid, SIGSTOP);
    assert_true(send_words(&seen, "ECHO late", 10));
    spin(&seen.lost, 3);
    kill(server.pid, SIGCONT);
    assert_told(4, LINK_LATE, "within its time");
    assert_int_equal(told.calls, 1);
    close_link(&seen);
    open_url(&seen, "unix:///tmp/quern-nobody-is-here");
    spin(&seen.lost, 1);
    assert_told(5, LINK_UNREACHED, "No such file");
    close_link(&seen);
    links_observe(NULL);
}

static void may_be_freed_at_any_time(void **state)
{
    (void)state;
    struct seen seen;

    /* before it connects */
    open_url(&seen, server.url);
    close_link(&seen);
    assert_int_equal(seen.ready, 0);
    /* while it looks up its server's name */
    open_url(&seen, "redis://localhost:1");
    uv_run(&loop, UV_RUN_NOWAIT);
    close_link(&seen);
    /* while it connects */
    open_url(&seen, server.url);
    uv_run(&loop, UV_RUN_NOWAIT);
    close_link(&seen);
    /* from on_ready */
    open_url(&seen, server.url);
    seen.free_when_ready = true;
    spin(&seen.closed, 1);
    /* from a call's answer, others unanswered */
    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    seen.free_when_answered = true;
    for (int i = 0; i < 5; i++)
        assert_true(send_words(&seen, "PING", PATIENCE_MS));
    spin(&seen.closed, 1);
    assert_int_equal(seen.answered, 1);
    assert_int_equal(seen.unanswered, 4);
    /* from on_lost, calls unanswered */
    open_url(&seen, server.url);
    spin(&seen.ready, 1);
    seen.free_when_lost = true;
    kill(server.pid, SIGSTOP);
    assert_true(send_words(&seen, "PING", 10));
    spin(&seen.closed, 1);
    kill(server.pid, SIGCONT);
    assert_int_equal(seen.unanswered, 1);
    /* while it waits to try again */
    open_url(&seen, "unix:///tmp/quern-nobody-is-here");
    spin(&seen.lost, 1);
    close_link(&seen);
}

static int start(void **state)
{
    (void)state;
    server_start(&server, 0, NULL);
    uv_loop_init(&loop);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    server_stop(&server);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_in_order),
        cmocka_unit_test(an_error_reply_is_a_reply),
        cmocka_unit_test(carries_large_values),
        cmocka_unit_test(finds_its_server_by_name),
        cmocka_unit_test(tells_why_it_cannot_connect),
        cmocka_unit_test(every_call_is_answered_once_when_the_server_dies),
        cmocka_unit_test(comes_back_after_client_kill),
        cmocka_unit_test(
            a_late_call_breaks_the_link_and_its_reply_answers_nobody),
        cmocka_unit_test(a_call_that_was_answered_in_time_does_not_break_it),
        cmocka_unit_test(what_came_in_while_the_loop_was_busy_is_not_late),
        cmocka_unit_test(subscribes_again_after_every_reconnect),
        cmocka_unit_test(may_subscribe_when_ready),
        cmocka_unit_test(hears_the_channels_that_it_has),
        cmocka_unit_test(an_error_that_a_new_connection_cures_makes_one),
        cmocka_unit_test(an_observer_is_told_of_answers_and_troubles),
        cmocka_unit_test(may_be_freed_at_any_time),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
