/* Ends that are added in one turn of the loop leave together, and each is told
 * what became of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/queue/ends.h"
#include "schemas/message/result.h"

enum { FIRST_ARG = 4, ARGS = 10, JOBS = 100, MAX_CALLS = 16 };

/* Redis, as far as ends see it. */
struct server {
    uv_loop_t loop;
    struct names names;
    struct ends *ends;
    const char *replies[MAX_CALLS]; /* RESP; NULL: lost on the way */
    bool away;                      /* nothing can be sent */
    size_t calls;
    size_t counts[MAX_CALLS]; /* jobs in it */
    struct job_outcome {
        struct server *server;
        struct end end;
        char id[16];
        size_t call;    /* that it was in, from 1 */
        char told[200]; /* every answer, a space behind each */
    } jobs[JOBS];
};

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

static struct job_outcome *job_of(struct server *server, struct view id)
{
    for (size_t i = 0; i < JOBS; i++)
        if (view_is(id, server->jobs[i].id))
            return &server->jobs[i];
    fail_msg("a job that nobody has ended: %.*s", VIEW_ARG(id));
    return NULL;
}

static bool on_send(void *owner, const struct command *command, link_done *done,
                    void *batch)
{
    struct server *server = owner;
    if (server->away)
        return false;
    size_t call = server->calls++;
    assert_true(call < MAX_CALLS);
    assert_string_equal(command->argv[1], "quern_v1_finish_many");
    for (int i = FIRST_ARG; i < command->argc; i += ARGS) {
        struct view id = { command->argv[i], command->argvlen[i] };
        job_of(server, id)->call = server->calls;
        server->counts[call]++;
    }
    /* A link would call from the loop; ends must not mind. */
    redisReply *reply =
        server->replies[call] ? reply_of(server->replies[call]) : NULL;
    done(batch, reply, NULL);
    freeReplyObject(reply);
    return true;
}

static void on_told(void *sender, const redisReply *reply,
                    const struct err *why)
{
    struct job_outcome *job = sender;
    size_t len = strlen(job->told);
    snprintf(job->told + len, sizeof(job->told) - len, "%s ",
             reply ? reply->str
             : why ? why->code
                   : "unknown");
}

static void open_server(struct server *server)
{
    struct err err;
    struct ends_events events = { on_send, on_told };
    *server = (struct server){ 0 };
    uv_loop_init(&server->loop);
    assert_true(names_init(&server->names, "quern:", &err));
    server->ends = ends_new(&server->loop, &server->names, 0, events, server);
    for (size_t i = 0; i < JOBS; i++)
        snprintf(server->jobs[i].id, sizeof(server->jobs[i].id), "j%zu", i);
}

static void close_server(struct server *server)
{
    ends_free(server->ends);
    server->ends = NULL;
    uv_run(&server->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&server->loop), 0);
}

static void end_job(struct server *server, size_t number, struct view result)
{
    struct job_outcome *job = &server->jobs[number];
    job->end = (struct end){ .sender = job,
                             .finish = { .lease = { view_of(job->id), 1 },
                                         .state = STATE_COMPLETED,
                                         .result = result } };
    ends_add(server->ends, &job->end);
}

static void end_jobs(struct server *server, size_t count)
{
    for (size_t i = 0; i < count; i++)
        end_job(server, i, VIEW("r"));
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
    { "what Redis cannot take now concerns all",
      "-OOM command not allowed\r\n",
      { "redis_full ", "redis_full ", "redis_full " } },
    { "so does what it does not allow",
      "-NOPERM no\r\n",
      { "redis_refused ", "redis_refused ", "redis_refused " } },
    { "too few answers are none",
      "*2\r\n+completed\r\n+completed\r\n",
      { "internal ", "internal ", "internal " } },
    { "a lost connection leaves all unknown",
      NULL,
      { "unknown ", "unknown ", "unknown " } },
};

static void each_is_told_what_became_of_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(told_rows) / sizeof(told_rows[0]); i++) {
        const struct told_row *row = &told_rows[i];
        struct server server;
        open_server(&server);
        server.replies[0] = row->reply;
        end_jobs(&server, 3);
        uv_run(&server.loop, UV_RUN_NOWAIT);
        for (size_t j = 0; j < 3; j++)
            if (strcmp(server.jobs[j].told, row->told[j]) != 0)
                fail_msg("%s: job %zu is told '%s'", row->name, j,
                         server.jobs[j].told);
        close_server(&server);
    }
}

/* ----------------------------------------------------------- what leaves */

static void a_single_one_leaves_in_the_same_turn(void **state)
{
    struct server server;
    (void)state;
    open_server(&server);
    server.replies[0] = "*1\r\n+completed\r\n";
    end_jobs(&server, 1);
    assert_int_equal(server.calls, 0);
    uv_run(&server.loop, UV_RUN_NOWAIT);
    assert_string_equal(server.jobs[0].told, "completed ");
    close_server(&server);
}

static void what_a_call_may_hold_is_bounded(void **state)
{
    struct server server;
    (void)state;
    open_server(&server);
    end_jobs(&server, JOBS);
    uv_run(&server.loop, UV_RUN_NOWAIT);
    assert_int_equal(server.calls, 4);
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(server.jobs[i].call, 1 + i / 32);
        assert_string_equal(server.jobs[i].told, "unknown ");
    }
    close_server(&server);
}

static void large_results_go_apart_in_their_order(void **state)
{
    /* KiB, and the call that each is in. */
    static const size_t rows[][2] = { { 1, 1 },    { 600, 1 }, { 600, 2 },
                                      { 400, 2 },  { 100, 3 }, { 2000, 4 },
                                      { 2000, 5 }, { 1, 6 },   { 1023, 6 },
                                      { 1, 7 } };
    enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
    struct server server;
    char *bytes = calloc(2000, 1024);
    (void)state;
    open_server(&server);
    for (size_t i = 0; i < ROWS; i++)
        end_job(&server, i, (struct view){ bytes, rows[i][0] * 1024 });
    uv_run(&server.loop, UV_RUN_NOWAIT);
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(server.jobs[i].call, rows[i][1]);
    close_server(&server);
    free(bytes);
}

static void what_cannot_leave_is_told_and_may_be_added_again(void **state)
{
    struct server server;
    (void)state;
    open_server(&server);
    server.away = true;
    end_jobs(&server, 2);
    uv_run(&server.loop, UV_RUN_NOWAIT);
    server.away = false;
    server.replies[0] = "*2\r\n+completed\r\n+completed\r\n";
    end_jobs(&server, 2);
    uv_run(&server.loop, UV_RUN_NOWAIT);
    assert_int_equal(server.calls, 1);
    assert_string_equal(server.jobs[0].told, "unknown completed ");
    assert_string_equal(server.jobs[1].told, "unknown completed ");
    close_server(&server);
}

static void what_has_not_left_is_told_at_the_end(void **state)
{
    struct server server;
    (void)state;
    open_server(&server);
    end_jobs(&server, 40);
    close_server(&server);
    assert_int_equal(server.calls, 0);
    for (size_t i = 0; i < 40; i++)
        assert_string_equal(server.jobs[i].told, "unknown ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_told_what_became_of_it),
        cmocka_unit_test(a_single_one_leaves_in_the_same_turn),
        cmocka_unit_test(what_a_call_may_hold_is_bounded),
        cmocka_unit_test(large_results_go_apart_in_their_order),
        cmocka_unit_test(what_cannot_leave_is_told_and_may_be_added_again),
        cmocka_unit_test(what_has_not_left_is_told_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
