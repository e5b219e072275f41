/* test_model.c - whole calls: the model client against a real endpoint that
 * does what the script beside this file says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/model/model.h"
#include "schemas/message/buf.h"
#include "tests/unit/model/practice.h"

enum { BOUND_MS = 20000 };

/* One call and what was reported of it. */
struct trial {
    struct bench *bench;
    struct model_call *call;
    struct buf text, reasoning;
    char *message; /* JSON */
    struct model_reply reply;
    struct model_failure failure;
    unsigned ends;
    bool free_at_text; /* the owner gives up when text comes */
};

struct bench {
    uv_loop_t loop;
    uv_timer_t bound;
    struct http *http;
    struct model_endpoint *endpoint;
    size_t running;
    size_t again; /* so many more calls, each started as another ends */
    bool late;
};

static struct practice practice;

static void on_bound(uv_timer_t *timer)
{
    struct bench *bench = timer->data;

    bench->late = true;
}

static void bench_init(struct bench *bench, const char *url)
{
    struct endpoint_source source = { .base_url = url, .key = "sk-secret-key" };
    struct endpoints endpoints = { 0 };
    struct err err;

    *bench = (struct bench){ 0 };
    uv_loop_init(&bench->loop);
    uv_timer_init(&bench->loop, &bench->bound);
    bench->bound.data = bench;
    uv_timer_start(&bench->bound, on_bound, BOUND_MS, 0);
    bench->http = http_new(&bench->loop);
    assert_true(endpoints_load(&endpoints, &source, &err));
    bench->endpoint = endpoints_take(&endpoints, VIEW(""), &err);
    endpoints_finish(&endpoints);
}

static void on_closed(void *owner)
{
    *(bool *)owner = true;
}

/* The loop must run dry: nothing of ours may stay on it. */
static void bench_finish(struct bench *bench)
{
    bool closed = false;

    http_free(bench->http, on_closed, &closed);
    uv_close((uv_handle_t *)&bench->bound, NULL);
    while (uv_run(&bench->loop, UV_RUN_ONCE) != 0)
        ;
    assert_true(closed);
    assert_int_equal(uv_loop_close(&bench->loop), 0);
    endpoint_free(bench->endpoint);
}

static void bench_run(struct bench *bench)
{
    while (bench->running > 0 && !bench->late)
        uv_run(&bench->loop, UV_RUN_ONCE);
    assert_false(bench->late);
}

static void trial_end_call(struct trial *trial)
{
    model_call_free(trial->call);
    trial->call = NULL;
    trial->bench->running--;
}

static void on_text(void *owner, struct view text)
{
    struct trial *trial = owner;

    buf_add(&trial->text, text);
    if (trial->free_at_text)
        trial_end_call(trial);
}

static void on_reasoning(void *owner, struct view text)
{
    struct trial *trial = owner;

    buf_add(&trial->reasoning, text);
}

static void trial_start(struct trial *trial, struct bench *bench,
                        const char *question);
static void trial_finish(struct trial *trial);

static void on_done(void *owner, const struct model_reply *reply,
                    const struct model_failure *failure)
{
    struct trial *trial = owner;
    struct bench *bench = trial->bench;

    assert_true((reply == NULL) != (failure == NULL));
    trial->ends++;
    if (failure)
        trial->failure = *failure;
    if (reply) {
        trial->reply = *reply;
        trial->message = json_dumps(reply->message, JSON_COMPACT);
    }
    trial_end_call(trial);
    if (bench->again > 0) {
        bench->again--;
        trial_finish(trial);
        trial_start(trial, bench, "slowly, once more");
    }
}

static void trial_make(struct trial *trial, struct bench *bench,
                       const char *question)
{
    struct model_events events = { .on_text = on_text,
                                   .on_reasoning = on_reasoning,
                                   .on_done = on_done };
    json_t *messages =
        json_pack("[{s:s, s:s}]", "role", "user", "content", question);
    json_t *tools = json_pack("[{s:s, s:{s:s}}]", "type", "function",
                              "function", "name", "f");
    struct model_request request = { .messages = messages,
                                     .tools = tools,
                                     .max_tokens = 77 };
    struct err err;

    *trial = (struct trial){ .bench = bench };
    buf_init(&trial->text, 4096);
    buf_init(&trial->reasoning, 4096);
    trial->call = model_call_new(bench->http, bench->endpoint, &request, events,
                                 trial, &err);
    assert_non_null(trial->call);
    json_decref(messages);
    json_decref(tools);
}

static void trial_start(struct trial *trial, struct bench *bench,
                        const char *question)
{
    trial_make(trial, bench, question);
    model_call_start(trial->call);
    bench->running++;
    assert_int_equal(trial->ends, 0); /* never from inside the start */
}

static void trial_finish(struct trial *trial)
{
    buf_finish(&trial->text);
    buf_finish(&trial->reasoning);
    free(trial->message);
}

static const struct row {
    const char *name;
    const char *question;
    const char *message; /* part of it, or the code of the error */
    const char *text;    /* part of the error's */
    enum err_kind kind;
    unsigned status;
    uint64_t retry_after_ms;
    bool unknown;
} rows[] = {
    { "a stream in pieces of one byte", "stream", "\"content\":\"It is 42.\"",
      NULL, ERR_NONE, 0, 0, false },
    { "an endpoint that does not stream", "plain", "\"content\":\"It is 42.\"",
      NULL, ERR_NONE, 0, 0, false },
    { "a call", "call", "\"arguments\":\"{\\\"code\\\": \\\"1+1\\\"}\"", NULL,
      ERR_NONE, 0, 0, false },
    { "a rate limit", "rate", "model_unavailable",
      "model default: HTTP 429: slow down", ERR_RETRY, 429, 7000, false },
    { "milliseconds go before seconds", "half a second", "model_unavailable",
      "HTTP 503: busy", ERR_RETRY, 503, 1500, false },
    { "a date that has passed", "date", "model_unavailable", "HTTP 503",
      ERR_RETRY, 503, 0, false },
    { "a date by the clock of who says it", "their clock", "model_unavailable",
      "HTTP 503", ERR_RETRY, 503, 9000, false },
    { "a refusal that wants another try", "again", "model_unavailable",
      "HTTP 400: odd", ERR_RETRY, 400, 0, false },
    { "a refusal", "bad", "model_rejected", "HTTP 400: messages: too odd",
      ERR_REJECT, 400, 0, false },
    { "a model that nobody has named", "unnamed", "model_rejected",
      "HTTP 404: OPENAI_MODEL is not set, and there is no \"default\": The",
      ERR_REJECT, 404, 0, false },
    { "a refusal that repeats the key", "echo", "model_rejected",
      "API key *************, not *************.", ERR_REJECT, 401, 0, false },
    { "a stream that is cut", "cut", "model_cut", "broke off", ERR_RETRY, 200,
      0, true },
    { "a stream that is cut when all is said", "nearly", "\"content\":\"a\"",
      NULL, ERR_NONE, 0, 0, false },
    { "no answer at all", "drop", "model_unavailable", "", ERR_RETRY, 0, 0,
      true },
    { "no answer in time", "never", "model_unavailable", "no answer within",
      ERR_RETRY, 0, 0, true },
    { "a stream that stalls", "stall", "model_unavailable",
      "nothing new came within", ERR_RETRY, 200, 0, true },
    { "comments are not an answer", "comments", "model_unavailable",
      "nothing new came within", ERR_RETRY, 200, 0, true },
    { "a page", "page", "model_garbage",
      "not a chat-completions reply, but an HTML page: welcome", ERR_RETRY, 200,
      0, true },
    { "a compressed body", "brotli", "model_garbage",
      "a compressed body (br), which nobody asked for", ERR_RETRY, 200, 0,
      true },
    { "a redirect", "moved", "model_rejected",
      "HTTP 308: a redirect to https://a.example/v2, which is not followed",
      ERR_REJECT, 308, 0, false },
    { "an error line in a stream", "error line", "model_context",
      "model default: maximum context length is 8192 tokens", ERR_REJECT, 200,
      0, true },
    { "an error line that is no JSON", "worded", "model_unavailable",
      "model default: the GPU is gone", ERR_RETRY, 200, 0, true },
    { "detail in a stream", "detailed", "model_unavailable",
      "model default: Engine is dead", ERR_RETRY, 200, 0, true },
    { "detail in a 200", "refused in a 200", "model_unavailable",
      "model default: Not today", ERR_RETRY, 200, 0, true },
    { "an endpoint that takes few parameters", "old", "\"content\":\"good\"",
      NULL, ERR_NONE, 0, 0, false },
    { "an endpoint that takes nothing", "stubborn", "model_rejected",
      "Unsupported parameter: 'messages'", ERR_REJECT, 400, 0, false },
    { "an endpoint that refuses what is not there", "parrot", "model_rejected",
      "Unknown parameter", ERR_REJECT, 400, 0, false },
    { "a connection held open after [DONE]", "open", "\"content\":\"a\"", NULL,
      ERR_NONE, 0, 0, false },
};

static void check_failure(const struct row *row, const struct trial *trial)
{
    const struct model_failure *failure = &trial->failure;

    if (strcmp(failure->why.code, row->message) != 0 ||
        failure->why.kind != row->kind || !strstr(failure->why.text, row->text))
        fail_msg("%s: %s (%d): %s", row->name, failure->why.code,
                 failure->why.kind, failure->why.text);
    if (failure->http_status != row->status ||
        failure->retry_after_ms != row->retry_after_ms ||
        failure->unknown != row->unknown)
        fail_msg("%s: status %u, retry after %lu, unknown %d", row->name,
                 failure->http_status, (unsigned long)failure->retry_after_ms,
                 failure->unknown);
}

static void check_row(const struct row *row)
{
    struct bench bench;
    struct trial trial;

    bench_init(&bench, practice.url);
    bench.endpoint->first_byte_ms = bench.endpoint->idle_ms = 300;
    trial_start(&trial, &bench, row->question);
    bench_run(&bench);
    assert_int_equal(trial.ends, 1);
    if (row->kind != ERR_NONE)
        check_failure(row, &trial);
    else if (!trial.message || !strstr(trial.message, row->message))
        fail_msg("%s: %s%s", row->name, trial.message ? trial.message : "",
                 trial.failure.why.text);
    trial_finish(&trial);
    bench_finish(&bench);
}

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        check_row(&rows[i]);
}

/* Theirs is years behind ours. */
static void test_limits_begin_anew_by_the_clock_of_who_says_so(void **state)
{
    struct bench bench;
    struct trial trial;
    uint64_t waits;

    (void)state;
    bench_init(&bench, practice.url);
    trial_start(&trial, &bench, "limits");
    bench_run(&bench);
    waits = breaker_waits(&bench.endpoint->breaker, http_now_ms(bench.http));
    assert_in_range(waits, 1, 9000);
    trial_finish(&trial);
    bench_finish(&bench);
}

static void test_text_comes_as_it_is_written(void **state)
{
    struct bench bench;
    struct trial trial;

    (void)state;
    bench_init(&bench, practice.url);
    trial_start(&trial, &bench, "stream");
    bench_run(&bench);
    assert_true(view_is(buf_view(&trial.text), "It is 42."));
    assert_true(view_is(buf_view(&trial.reasoning), "hm"));
    assert_int_equal(trial.reply.usage.model_calls, 1);
    assert_true(trial.reply.usage.input_tokens > 0);
    assert_false(trial.reply.truncated);
    trial_finish(&trial);

    trial_start(&trial, &bench, "long");
    bench_run(&bench);
    assert_true(trial.reply.truncated);
    assert_int_equal(trial.reply.dropped_calls, 1);
    trial_finish(&trial);

    trial_start(&trial, &bench, "spent"); /* all tokens that it was allowed */
    bench_run(&bench);
    assert_int_equal(trial.reply.usage.output_tokens, 77);
    assert_int_equal(trial.reply.dropped_calls, 1);
    trial_finish(&trial);
    bench_finish(&bench);
}

static void test_what_was_learned_stays(void **state)
{
    struct bench bench;
    struct trial trial;
    char hash[65];

    (void)state;
    bench_init(&bench, practice.url);
    trial_make(&trial, &bench, "old");
    memcpy(hash, model_call_hash(trial.call), sizeof(hash));
    assert_int_equal(strspn(hash, "0123456789abcdef"), 64);
    bench.running = 1;
    trial_end_call(&trial);
    trial_finish(&trial);

    trial_start(&trial, &bench, "old");
    assert_string_equal(model_call_hash(trial.call), hash);
    bench_run(&bench);
    trial_finish(&trial);
    assert_int_equal(bench.endpoint->quirks, QUIRK_NO_STREAM_OPTIONS |
                                                 QUIRK_MAX_COMPLETION_TOKENS |
                                                 QUIRK_NO_TOOL_CHOICE);

    trial_start(&trial, &bench, "old");
    assert_string_not_equal(model_call_hash(trial.call), hash);
    bench_run(&bench);
    trial_finish(&trial);
    bench_finish(&bench);
}

static void test_a_refused_connection_was_not_sent(void **state)
{
    struct bench bench;
    struct trial trial;

    (void)state;
    bench_init(&bench, "http://127.0.0.1:1/v1");
    trial_start(&trial, &bench, "stream");
    bench_run(&bench);
    assert_string_equal(trial.failure.why.code, "model_unavailable");
    assert_int_equal(trial.failure.why.kind, ERR_RETRY);
    assert_false(trial.failure.unknown);
    trial_finish(&trial);
    bench_finish(&bench);
}

static void test_many_at_once(void **state)
{
    enum { MANY = 200 };
    static struct trial trials[MANY];
    struct bench bench;

    (void)state;
    bench_init(&bench, practice.url);
    bench.again = MANY;
    for (size_t i = 0; i < MANY; i++)
        trial_start(&trials[i], &bench, "slowly");
    bench_run(&bench);
    assert_int_equal(bench.again, 0);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(trials[i].ends, 1);
        assert_true(
            view_is(buf_view(&trials[i].text),
                    "one two three four five six seven eight nine ten"));
        trial_finish(&trials[i]);
    }
    bench_finish(&bench);
}

/* The first request to a host must not make the others wait for its answer. */
static void test_a_slow_answer_holds_up_nobody(void **state)
{
    struct bench bench;
    struct trial slow, other;

    (void)state;
    bench_init(&bench, practice.url);
    trial_start(&slow, &bench, "never");
    trial_start(&other, &bench, "stream");
    while (other.ends == 0 && !bench.late)
        uv_run(&bench.loop, UV_RUN_ONCE);
    assert_int_equal(other.ends, 1);
    assert_int_equal(slow.ends, 0);
    trial_end_call(&slow);
    trial_finish(&slow);
    trial_finish(&other);
    bench_finish(&bench);
}

static void test_given_up_from_inside_its_own_callback(void **state)
{
    struct bench bench;
    struct trial given_up, other;

    (void)state;
    bench_init(&bench, practice.url);
    trial_start(&given_up, &bench, "slowly");
    trial_start(&other, &bench, "slowly");
    given_up.free_at_text = true;
    bench_run(&bench);
    assert_int_equal(given_up.ends, 0);
    assert_true(view_is(buf_view(&given_up.text), "one two thre"));
    assert_int_equal(other.ends, 1);
    trial_finish(&given_up);
    trial_finish(&other);
    bench_finish(&bench);
}

static void test_given_up_at_any_time(void **state)
{
    struct bench bench;
    struct trial trial;

    (void)state;
    bench_init(&bench, practice.url);
    for (unsigned turns = 0; turns < 8; turns++) {
        trial_start(&trial, &bench, "slowly");
        for (unsigned i = 0; i < turns; i++)
            uv_run(&bench.loop, UV_RUN_ONCE);
        trial_end_call(&trial);
        uv_run(&bench.loop, UV_RUN_NOWAIT);
        assert_int_equal(trial.ends, 0);
        trial_finish(&trial);
    }
    model_call_free(NULL);
    bench_finish(&bench);
}

/* Calls of every kind start and are given up in any order: each ends once, or
 * was given up and never ends. */
static void test_any_order_of_events(void **state)
{
    enum { MANY = 64, ROUNDS = 1500 };
    static struct trial trials[MANY];
    bool alive[MANY] = { false };
    struct bench bench;
    unsigned seed = 7;

    (void)state;
    bench_init(&bench, practice.url);
    bench.endpoint->first_byte_ms = bench.endpoint->idle_ms = 100;
    for (unsigned round = 0; round < ROUNDS; round++) {
        size_t i = (size_t)rand_r(&seed) % MANY;
        size_t row = (size_t)rand_r(&seed) % (sizeof(rows) / sizeof(*rows));

        if (alive[i] && trials[i].call)
            trial_end_call(&trials[i]);
        if (alive[i]) {
            assert_true(trials[i].ends <= 1);
            trial_finish(&trials[i]);
        }
        trial_start(&trials[i], &bench, rows[row].question);
        trials[i].free_at_text = rand_r(&seed) % 4 == 0;
        alive[i] = true;
        uv_run(&bench.loop, UV_RUN_NOWAIT);
    }
    bench_run(&bench);
    for (size_t i = 0; i < MANY; i++)
        if (alive[i])
            trial_finish(&trials[i]);
    bench_finish(&bench);
}

static void test_http_ends_under_running_calls(void **state)
{
    struct bench bench;
    struct trial trial;

    (void)state;
    bench_init(&bench, practice.url);
    trial_start(&trial, &bench, "slowly");
    for (unsigned i = 0; i < 5; i++)
        uv_run(&bench.loop, UV_RUN_ONCE);
    trial_end_call(&trial);
    trial_finish(&trial);
    bench_finish(&bench);
}

static int start(void **state)
{
    (void)state;
    practice_start(&practice, SOURCE_DIR "/tests/unit/model/script.json");
    return 0;
}

static int stop(void **state)
{
    (void)state;
    practice_stop(&practice);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_limits_begin_anew_by_the_clock_of_who_says_so),
        cmocka_unit_test(test_text_comes_as_it_is_written),
        cmocka_unit_test(test_what_was_learned_stays),
        cmocka_unit_test(test_a_refused_connection_was_not_sent),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_a_slow_answer_holds_up_nobody),
        cmocka_unit_test(test_given_up_from_inside_its_own_callback),
        cmocka_unit_test(test_given_up_at_any_time),
        cmocka_unit_test(test_any_order_of_events),
        cmocka_unit_test(test_http_ends_under_running_calls),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
