/* test_many.c - many jobs in one call: each stands once, whatever happens to
 * its neighbours or to the connection. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "producer/client/quern.h"
#include "schemas/message/buf.h"
#include "schemas/message/id.h"
#include "schemas/redis/conn.h"
#include "tests/unit/redis/server.h"

enum { MANY = 3000 };

static struct server server;

static int start_server(void **state)
{
    (void)state;
    server_start(&server, 0, NULL);
    return 0;
}

static int stop_server(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

static struct conn *open_conn(void)
{
    struct address address = { 0 };
    struct err err;

    assert_true(address_parse(&address, view_of(server.url), &err));
    struct conn *conn = conn_new(&address, 0, "test");
    address_finish(&address);
    return conn;
}

/* words: of the command, parted by spaces. */
static redisReply *call(struct conn *conn, const char *words)
{
    CLEANUP(cleanup_free) char *copy = strdup(words);
    char *rest = copy;
    struct command command;
    struct err err;

    assert_non_null(copy);
    command_init(&command, strsep(&rest, " "));
    while (rest)
        command_add_text(&command, strsep(&rest, " "));
    redisReply *reply = conn_call(conn, &command, 10000, &err);
    command_finish(&command);
    return reply;
}

/* "": it has none of that name. free() it. */
static char *fact_of(struct conn *conn, const char *id, const char *fact)
{
    char text[128];

    snprintf(text, sizeof(text), "HGET quern:{000}:job:%.*s %.40s", ID_LEN, id,
             fact);
    redisReply *reply = call(conn, text);
    assert_non_null(reply);
    char *found = view_dup((struct view){ reply->str, reply->len });
    freeReplyObject(reply);
    return found;
}

/* What a consumer reads, as JSON. */
static char *body_of(struct conn *conn, const char *id)
{
    char text[96];

    snprintf(text, sizeof(text), "GET quern:{000}:body:%.*s", ID_LEN, id);
    redisReply *reply = call(conn, text);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STRING);
    char *json = quern_json(reply->str, reply->len, NULL);
    freeReplyObject(reply);
    return json;
}

static size_t jobs_there(struct conn *conn)
{
    redisReply *reply = call(conn, "KEYS quern:{000}:job:*");

    assert_non_null(reply);
    size_t count = reply->elements;
    freeReplyObject(reply);
    return count;
}

static int flush(void **state)
{
    (void)state;
    struct conn *conn = open_conn();
    freeReplyObject(call(conn, "FLUSHALL SYNC"));
    conn_free(conn);
    return 0;
}

/* As quern_submit_many(), by calls of quern_submit(). */
static bool submit_each(struct quern *quern, const struct quern_job *jobs,
                        size_t count, struct quern_submit_outcome *submitted,
                        struct quern_error *error)
{
    bool all = true;

    for (size_t i = 0; i < count; i++) {
        struct quern_submit_outcome *one = &submitted[i];

        *one = (struct quern_submit_outcome){ 0 };
        if (quern_submit(quern, &jobs[i], &one->id, &one->existed, &one->error))
            continue;
        if (all)
            *error = one->error;
        all = false;
    }
    return all;
}

/* A job is the same whichever way it goes. */
static const struct way {
    const char *name;
    bool (*submit)(struct quern *quern, const struct quern_job *jobs,
                   size_t count, struct quern_submit_outcome *submitted,
                   struct quern_error *error);
} ways[] = { { "together", quern_submit_many }, { "one by one", submit_each } };
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static struct quern *open_quern(void)
{
    const struct quern_options options = { .url = server.url,
                                           .timeout_ms = 20000 };
    struct quern *quern = quern_open(&options, NULL);

    assert_non_null(quern);
    return quern;
}

static const struct quern_file no_file = { .path = "/none" };
static const struct quern_file a_file = { .name = "x", .data = "x", .size = 1 };
/* In one batch: each row finds what those before it have left. */
static const struct {
    const char *what;
    struct quern_job job;
    const char *code; /* "": it stands */
    bool existed;
} mixed[] = {
    { "one", { .prompt = "1" }, "", false },
    { "one with a key", { .prompt = "2", .idempotency_key = "k" }, "", false },
    { "one without anything to do", { 0 }, "missing_field", false },
    { "one after it", { .prompt = "3" }, "", false },
    { "one with the same key",
      { .prompt = "4", .idempotency_key = "k" },
      "",
      true },
    { "one with a unique key",
      { .prompt = "4", .unique_key = "u" },
      "",
      false },
    { "one with that unique key",
      { .prompt = "4", .unique_key = "u" },
      "",
      true },
    { "one with a file",
      { .prompt = "5", .files = &a_file, .file_count = 1 },
      "",
      false },
    { "one with a file that is none",
      { .prompt = "5", .files = &no_file, .file_count = 1 },
      "bad_field",
      false },
    { "one that finds the queue full",
      { .prompt = "6", .max_depth = 1 },
      "queue_full",
      false },
    { "one of a tenant with room",
      { .prompt = "6", .tenant = "t", .tenant_depth = 1 },
      "",
      false },
    { "one of a tenant who has enough",
      { .prompt = "6", .tenant = "t", .tenant_depth = 1 },
      "queue_full",
      false },
    { "one with an id of another shape",
      { .id = "7", .prompt = "7" },
      "bad_field",
      false },
    { "the last", { .prompt = "8" }, "", false },
};

static void each_is_told_what_became_of_it(const struct way *way)
{
    enum { ROWS = sizeof(mixed) / sizeof(mixed[0]), STAND = 7 };
    struct quern_job jobs[ROWS];
    struct quern_submit_outcome submitted[ROWS];
    struct quern_error error = { 0 };
    struct quern *quern = open_quern();
    struct conn *conn = open_conn();

    for (size_t i = 0; i < ROWS; i++)
        jobs[i] = mixed[i].job;
    assert_false(way->submit(quern, jobs, ROWS, submitted, &error));
    assert_string_equal(error.code, "missing_field"); /* the first of them */
    for (size_t i = 0; i < ROWS; i++) {
        print_message("%s: %s\n", way->name, mixed[i].what);
        const char *code =
            submitted[i].error.kind == 0 ? "" : submitted[i].error.code;
        assert_string_equal(code, mixed[i].code);
        assert_int_equal(submitted[i].existed, mixed[i].existed);
    }
    assert_string_equal(submitted[4].id.text, submitted[1].id.text);
    assert_string_not_equal(submitted[3].id.text, submitted[0].id.text);
    assert_int_equal(jobs_there(conn), STAND);
    conn_free(conn);
    quern_close(quern);
}

static void each_is_told_so_either_way(void **state)
{
    for (size_t i = 0; i < WAYS; i++) {
        flush(state);
        each_is_told_what_became_of_it(&ways[i]);
    }
}

#define AN_ID "01890000-0000-7000-8000-000000000001"
#define TRACE "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

static const struct quern_pair a_pair = { "k", "v" };
static const struct {
    struct quern_job job;
    const char *fact; /* NULL: in the body */
    const char *text; /* "*": any */
} asked_for[] = {
    { { .id = AN_ID }, NULL, "\"id\":\"" AN_ID "\"" },
    { { .queue = "night" }, "queue", "night" },
    { { .priority = QUERN_HIGH }, "priority", "high" },
    { { .tenant = "acme" }, "tenant", "acme" },
    { { .session = "lab" }, "session", "lab" },
    { { .deadline_ms = 60000 }, "deadline_at", "*" },
    { { .delay_ms = 60000 }, "state", "scheduled" },
    { { .more = "{\"not_before\":7}" }, NULL, "\"not_before\":7" },
    { { .unique_key = "u" }, "unique", "u" },
    { { .idempotency_key = "i" }, NULL, "\"idempotency_key\":\"i\"" },
    { { .system = "s" }, NULL, "\"system\":\"s\"" },
    { { .model = "m" }, NULL, "\"model\":\"m\"" },
    { { .more = "{\"tools\":[\"a\",\"b\"]}" },
      NULL,
      "\"tools\":[\"a\",\"b\"]" },
    { { .more = "{\"limits\":{\"max_turns\":3}}" },
      NULL,
      "\"limits\":{\"max_turns\":3}" },
    { { .deadline_ms = 60000,
        .more = "{\"limits\":{\"deadline_ms\":5,\"cell_ms\":5000}}" },
      NULL,
      "\"limits\":{\"deadline_ms\":60000,\"cell_ms\":5000}" },
    { { .queue = "night", .more = "{\"queue\":\"day\"}" }, "queue", "night" },
    { { .more = "{\"queue\":\"day\"}" }, "queue", "day" },
    { { .more = "{\"mode\":\"codeact\"}" }, NULL, "\"mode\":\"codeact\"" },
    { { .metadata = &a_pair, .metadata_count = 1 },
      NULL,
      "\"metadata\":{\"k\":\"v\"}" },
    { { .more = "{\"traceparent\":\"" TRACE "\"}" }, NULL, TRACE },
};
enum { ROWS = sizeof(asked_for) / sizeof(asked_for[0]) };

static void what_is_asked_for_arrives(const struct way *way)
{
    struct quern_job jobs[ROWS];
    struct quern_submit_outcome submitted[ROWS];
    struct quern_error error = { 0 };
    struct quern *quern = open_quern();
    struct conn *conn = open_conn();

    for (size_t i = 0; i < ROWS; i++) {
        jobs[i] = asked_for[i].job;
        jobs[i].prompt = "q";
    }
    bool good = way->submit(quern, jobs, ROWS, submitted, &error);
    assert_string_equal(good ? "" : error.text, "");
    for (size_t i = 0; i < ROWS; i++) {
        const char *id = submitted[i].id.text;
        const char *fact = asked_for[i].fact, *text = asked_for[i].text;
        CLEANUP(cleanup_free)
        char *found = fact ? fact_of(conn, id, fact) : body_of(conn, id);

        print_message("%s: %s in %s\n", way->name, text, found);
        if (fact && strcmp(text, "*") != 0)
            assert_string_equal(found, text);
        else
            assert_true(fact ? found[0] != '\0' : strstr(found, text) != NULL);
    }
    conn_free(conn);
    quern_close(quern);
}

static void what_is_asked_for_arrives_either_way(void **state)
{
    for (size_t i = 0; i < WAYS; i++) {
        flush(state);
        what_is_asked_for_arrives(&ways[i]);
    }
}

/* As one does whose answer was lost. */
static void the_id_that_came_back_may_be_given_again(void **state)
{
    struct quern_job job = { .prompt = "1" };
    struct quern *quern = open_quern();
    struct conn *conn = open_conn();
    struct quern_id id;
    bool existed = true;

    (void)state;
    assert_true(quern_submit(quern, &job, &id, &existed, NULL));
    assert_false(existed);
    job.id = id.text;
    assert_true(quern_submit(quern, &job, &id, &existed, NULL));
    assert_true(existed);
    assert_int_equal(jobs_there(conn), 1);
    conn_free(conn);
    quern_close(quern);
}

static void of_none_nothing_is_wrong(void **state)
{
    struct quern *quern = open_quern();

    (void)state;
    assert_true(quern_submit_many(quern, NULL, 0, NULL, NULL));
    quern_close(quern);
}

static void json_is_as_good(void **state)
{
    static const char *const texts[] = { "{\"prompt\": \"1\"}", "{\"prompt\"",
                                         "{\"kind\": \"code\"}",
                                         "{\"prompt\": \"2\"}" };
    static const char *const codes[] = { "", "bad_field", "missing_field", "" };
    struct quern_submit_outcome submitted[4];
    struct quern *quern = open_quern();

    (void)state;
    assert_false(
        quern_submit_many_json(quern, texts, 4, NULL, submitted, NULL));
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(submitted[i].error.code, codes[i]);
    quern_close(quern);
}

/* Ends every connection but its own, again and again: each time once more jobs
 * have come, or a slow machine would never get on. */
struct killer {
    pthread_t thread;
    atomic_bool over;
    unsigned int killed;
};

static void *kill_connections(void *data)
{
    struct killer *killer = data;
    struct conn *conn = open_conn();
    size_t seen = 0;

    while (!killer->over) {
        const struct timespec pause = { .tv_nsec = 50000000 };
        size_t there = jobs_there(conn);
        if (there > seen) {
            redisReply *reply =
                call(conn, "CLIENT KILL TYPE normal SKIPME yes");
            if (reply)
                killer->killed += (unsigned int)reply->integer;
            freeReplyObject(reply);
        }
        seen = there;
        nanosleep(&pause, NULL);
    }
    conn_free(conn);
    return NULL;
}

static int compare_ids(const void *a, const void *b)
{
    return strcmp(((const struct quern_submit_outcome *)a)->id.text,
                  ((const struct quern_submit_outcome *)b)->id.text);
}

static void a_lost_connection_doubles_none(void **state)
{
    CLEANUP(cleanup_free)
    struct quern_job *jobs = calloc(MANY, sizeof(*jobs));
    CLEANUP(cleanup_free)
    struct quern_submit_outcome *submitted = calloc(MANY, sizeof(*submitted));
    struct killer killer = { 0 };
    struct quern_error error = { 0 };
    struct quern *quern = open_quern();
    struct conn *conn = open_conn();

    (void)state;
    for (size_t i = 0; i < MANY; i++)
        jobs[i] = (struct quern_job){ .prompt = "q" };
    assert_true(quern_submit_many(quern, jobs, 1, submitted, &error));
    assert_int_equal(
        pthread_create(&killer.thread, NULL, kill_connections, &killer), 0);
    bool good = quern_submit_many(quern, jobs, MANY, submitted, &error);
    killer.over = true;
    pthread_join(killer.thread, NULL);
    assert_string_equal(good ? "" : error.text, "");
    assert_true(killer.killed > 0);
    for (size_t i = 0; i < MANY; i++)
        assert_false(submitted[i].existed);
    qsort(submitted, MANY, sizeof(*submitted), compare_ids);
    for (size_t i = 1; i < MANY; i++)
        assert_true(compare_ids(&submitted[i - 1], &submitted[i]) < 0);
    assert_int_equal(jobs_there(conn), MANY + 1);
    conn_free(conn);
    quern_close(quern);
}

static void without_redis_all_are_told_so(void **state)
{
    const struct quern_job jobs[] = { { .prompt = "1" }, { .prompt = "2" } };
    const struct quern_options options = { .url = "unix:///nowhere/r.sock" };
    struct quern_submit_outcome submitted[2];
    struct quern_error error = { 0 };
    struct quern *quern = quern_open(&options, NULL);

    (void)state;
    assert_false(quern_submit_many(quern, jobs, 2, submitted, &error));
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(submitted[i].error.kind, QUERN_RETRY);
        assert_string_equal(submitted[i].error.code, "redis_unavailable");
    }
    quern_close(quern);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_is_told_so_either_way),
        cmocka_unit_test(what_is_asked_for_arrives_either_way),
        cmocka_unit_test_setup(the_id_that_came_back_may_be_given_again, flush),
        cmocka_unit_test(of_none_nothing_is_wrong),
        cmocka_unit_test_setup(json_is_as_good, flush),
        cmocka_unit_test_setup(a_lost_connection_doubles_none, flush),
        cmocka_unit_test(without_redis_all_are_told_so),
    };

    return cmocka_run_group_tests(tests, start_server, stop_server);
}
