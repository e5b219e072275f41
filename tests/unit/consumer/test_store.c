/* test_store.c - ends of jobs that are written in one turn of the loop leave
 * together, and each sender is told what became of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/queue/store.h"
#include "schemas/redis/transition.h"

enum {
    FIRST_ARG = 4,
    ARGS = 10,
    JOBS = 100,
    MAX_CALLS = 16,
    HOUR_MS = 3600 * 1000,
};

/* The only connection; what link.h declares is below. */
struct link {
    struct link_events events;
    void *owner;
};

/* Redis, as far as stores see it. */
static struct server {
    uv_loop_t loop;
    struct names names;
    struct control *control;
    struct link link;
    const char *replies[MAX_CALLS]; /* RESP; NULL: lost on the way */
    bool away;                      /* nothing can be sent */
    size_t calls;
    struct job_outcome {
        struct store store;
        char id[16];
        size_t call;    /* that it was in last, from 1 */
        char told[200]; /* every answer, a space behind each */
    } jobs[JOBS];
} server;

static redisReply *reply_of(const char *bytes)
{
    void *reply = NULL;
    redisReader *reader = redisReaderCreate();
    redisReaderFeed(reader, bytes, strlen(bytes));
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    redisReaderFree(reader);
    assert_non_null(reply);
    return reply;
}

static struct job_outcome *job_of(struct view id)
{
    for (size_t i = 0; i < JOBS; i++)
        if (view_is(id, server.jobs[i].id))
            return &server.jobs[i];
    fail_msg("a job that nobody has ended: %.*s", VIEW_ARG(id));
    return NULL;
}

/* ---------------------------------------------------------------- the link */

struct link *link_new(uv_loop_t *loop, const struct address *address,
                      unsigned int slot, const char *role,
                      struct link_events events, void *owner)
{
    (void)loop, (void)address, (void)slot, (void)role;
    server.link = (struct link){ events, owner };
    return &server.link;
}

void link_open(struct link *link)
{
    link->events.on_ready(link->owner);
}

bool link_is_ready(const struct link *link)
{
    (void)link;
    return !server.away;
}

/* A link would call from the loop; a store must not mind. */
bool link_send(struct link *link, const struct command *command,
               uint64_t deadline_ms, link_done *done, void *owner)
{
    char build[32];
    const char *answer = build;
    (void)link, (void)deadline_ms;
    if (server.away)
        return false;
    snprintf(build, sizeof(build), ":%d\r\n", (int)transition_build);
    if (strcmp(command->argv[1], "quern_v1_finish_many") == 0) {
        size_t call = server.calls++;
        assert_true(call < MAX_CALLS);
        for (int i = FIRST_ARG; i < command->argc; i += ARGS) {
            struct view id = { command->argv[i], command->argvlen[i] };
            job_of(id)->call = server.calls;
        }
        answer = server.replies[call];
    }
    redisReply *reply = answer ? reply_of(answer) : NULL;
    done(owner, reply, NULL);
    freeReplyObject(reply);
    return true;
}

redisReply *link_keep_reply(struct link *link)
{
    (void)link;
    return NULL;
}

void link_subscribe(struct link *link, struct view channel)
{
    (void)link, (void)channel;
}

void link_switch(struct link *link, const struct node *master)
{
    (void)link, (void)master;
}

void link_free(struct link *link, void (*closed)(void *owner), void *owner)
{
    (void)link;
    closed(owner);
}

/* --------------------------------------------------------------- the stores */

static void on_done(void *owner, const redisReply *reply, const struct err *why)
{
    struct job_outcome *job = owner;
    size_t len = strlen(job->told);
    snprintf(job->told + len, sizeof(job->told) - len, "%s ",
             reply ? reply->str : why->code);
}

static void on_ready(void *owner)
{
    (void)owner;
}

static void on_refused(void *owner, const struct err *why)
{
    (void)owner;
    fail_msg("refused: %s", why->text);
}

static void open_server(void)
{
    static const struct address address = { 0 };
    struct err err;
    struct control_events events = { on_ready, on_refused };
    server = (struct server){ 0 };
    uv_loop_init(&server.loop);
    assert_true(names_init(&server.names, "quern:", &err));
    struct control_setup setup = {
        .address = &address,
        .names = &server.names,
        .look_ms = HOUR_MS,
        .answer_ms = HOUR_MS,
        .durability = { .kind = DURABLE_ASYNC },
    };
    server.control = control_new(&server.loop, &setup, events, NULL);
    control_open(server.control);
    assert_true(control_is_ready(server.control));
    for (size_t i = 0; i < JOBS; i++) {
        store_init(&server.jobs[i].store, server.control);
        snprintf(server.jobs[i].id, sizeof(server.jobs[i].id), "j%zu", i);
    }
}

static void close_server(void)
{
    for (size_t i = 0; i < JOBS; i++)
        store_finish(&server.jobs[i].store);
    control_free(server.control);
    uv_run(&server.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&server.loop), 0);
}

static void come_back(void)
{
    struct err why;
    err_set(&why, ERR_RETRY, "redis_unavailable", "it was away");
    server.link.events.on_lost(server.link.owner, &why);
    server.away = false;
    server.link.events.on_ready(server.link.owner);
}

static void end_job(size_t number, struct view result)
{
    struct job_outcome *job = &server.jobs[number];
    struct finish finish = { .lease = { view_of(job->id), 1 },
                             .state = STATE_COMPLETED,
                             .result = result };
    store_end(&job->store, &finish, on_done, job);
}

static void end_jobs(size_t count)
{
    for (size_t i = 0; i < count; i++)
        end_job(i, VIEW("r"));
}

/* ----------------------------------------------------------- what is told */

static const struct told_row {
    const char *name;
    const char *reply;
    const char *told[3];
} told_rows[] = {
    { "each has its own answer",
      "*3\r\n+completed\r\n+failed\r\n+completed\r\n",
      { "completed ", "failed ", "completed " } },
    { "one that is refused holds up no other",
      "*3\r\n+completed\r\n-STALE epoch\r\n+completed\r\n",
      { "completed ", "stale ", "completed " } },
    { "so do two, each for a reason of its own",
      "*3\r\n-GONE x\r\n+completed\r\n-TOOBIG x\r\n",
      { "unknown_job ", "completed ", "too_large " } },
    { "what Redis does not allow concerns all",
      "-NOPERM no\r\n",
      { "redis_refused ", "redis_refused ", "redis_refused " } },
};

static void check_told(const char *name, const char *const told[3])
{
    for (size_t i = 0; i < 3; i++)
        if (strcmp(server.jobs[i].told, told[i]) != 0)
            fail_msg("%s: job %zu is told '%s'", name, i, server.jobs[i].told);
}

static void each_is_told_what_became_of_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(told_rows) / sizeof(told_rows[0]); i++) {
        const struct told_row *row = &told_rows[i];
        open_server();
        server.replies[0] = row->reply;
        end_jobs(3);
        uv_run(&server.loop, UV_RUN_NOWAIT);
        check_told(row->name, row->told);
        come_back();
        uv_run(&server.loop, UV_RUN_NOWAIT);
        assert_int_equal(server.calls, 1);
        close_server();
    }
}

/* ------------------------------------------------------- what is sent again */

static const char all[] = "*3\r\n+completed\r\n+completed\r\n+completed\r\n";
static const char *const none_told[3] = { "", "", "" };
static const char *const all_told[3] = { "completed ", "completed ",
                                         "completed " };

static void what_redis_cannot_take_now_is_sent_again_in_a_while(void **state)
{
    static const struct {
        const char *name, *reply;
    } rows[] = {
        { "Redis is full", "-OOM command not allowed\r\n" },
        { "too few answers are none", "*2\r\n+completed\r\n+completed\r\n" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        open_server();
        server.replies[0] = rows[i].reply;
        server.replies[1] = all;
        end_jobs(3);
        uv_run(&server.loop, UV_RUN_NOWAIT);
        check_told(rows[i].name, none_told);
        assert_false(control_is_ready(server.control));
        while (server.calls < 2)
            uv_run(&server.loop, UV_RUN_ONCE);
        check_told(rows[i].name, all_told);
        close_server();
    }
}

static void only_that_one_of_a_call_is_sent_again(void **state)
{
    (void)state;
    open_server();
    server.replies[0] = "*3\r\n+completed\r\n-OOM x\r\n+completed\r\n";
    server.replies[1] = "*1\r\n+completed\r\n";
    end_jobs(3);
    while (server.calls < 2)
        uv_run(&server.loop, UV_RUN_ONCE);
    check_told("when there is room", all_told);
    close_server();
}

static void what_was_lost_on_the_way_is_sent_again(void **state)
{
    (void)state;
    open_server();
    server.replies[1] = all;
    end_jobs(3);
    uv_run(&server.loop, UV_RUN_NOWAIT);
    check_told("after the link broke", none_told);
    come_back();
    uv_run(&server.loop, UV_RUN_NOWAIT);
    check_told("when it is back", all_told);
    assert_int_equal(server.calls, 2);
    close_server();
}

static void what_cannot_leave_is_sent_later(void **state)
{
    (void)state;
    open_server();
    server.away = true;
    server.replies[0] = all;
    end_jobs(3);
    uv_run(&server.loop, UV_RUN_NOWAIT);
    check_told("while Redis is away", none_told);
    come_back();
    uv_run(&server.loop, UV_RUN_NOWAIT);
    check_told("when it is back", all_told);
    assert_int_equal(server.calls, 1);
    close_server();
}

/* ----------------------------------------------------------- what leaves */

static void a_single_one_leaves_in_the_same_turn(void **state)
{
    (void)state;
    open_server();
    server.replies[0] = "*1\r\n+completed\r\n";
    end_jobs(1);
    assert_int_equal(server.calls, 0);
    uv_run(&server.loop, UV_RUN_NOWAIT);
    assert_string_equal(server.jobs[0].told, "completed ");
    close_server();
}

static void what_a_call_may_hold_is_bounded(void **state)
{
    (void)state;
    open_server();
    end_jobs(JOBS);
    uv_run(&server.loop, UV_RUN_NOWAIT);
    assert_int_equal(server.calls, 4);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(server.jobs[i].call, 1 + i / 32);
        assert_string_equal(server.jobs[i].told, "");
    }
    close_server();
}

static void large_results_go_apart_in_their_order(void **state)
{
    /* KiB, and the call that each is in. */
    static const size_t rows[][2] = { { 1, 1 },    { 600, 1 }, { 600, 2 },
                                      { 400, 2 },  { 100, 3 }, { 2000, 4 },
                                      { 2000, 5 }, { 1, 6 },   { 1023, 6 },
                                      { 1, 7 } };
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    char *bytes = calloc(2000, 1024);
    (void)state;
    open_server();
    for (size_t i = 0; i < ROWS; i++)
        end_job(i, (struct view){ bytes, rows[i][0] * 1024 });
    uv_run(&server.loop, UV_RUN_NOWAIT);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(server.jobs[i].call, rows[i][1]);
    close_server();
    free(bytes);
}

/* ASan sees what the control does not free. */
static void what_has_not_left_ends_with_the_control(void **state)
{
    (void)state;
    open_server();
    end_jobs(40);
    close_server();
    assert_int_equal(server.calls, 0);
    for (size_t i = 0; i < 40; i++)
        assert_string_equal(server.jobs[i].told, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_told_what_became_of_it),
        cmocka_unit_test(what_redis_cannot_take_now_is_sent_again_in_a_while),
        cmocka_unit_test(only_that_one_of_a_call_is_sent_again),
        cmocka_unit_test(what_was_lost_on_the_way_is_sent_again),
        cmocka_unit_test(what_cannot_leave_is_sent_later),
        cmocka_unit_test(a_single_one_leaves_in_the_same_turn),
        cmocka_unit_test(what_a_call_may_hold_is_bounded),
        cmocka_unit_test(large_results_go_apart_in_their_order),
        cmocka_unit_test(what_has_not_left_ends_with_the_control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
