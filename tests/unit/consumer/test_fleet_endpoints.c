/* test_fleet_endpoints.c - what consumers share about endpoints: when they read
 * and write it, with a link, timers and a clock that are those below. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs those before it. */
#include <cmocka.h>

#include "consumer/queue/fleet_endpoints.h"
#include "consumer/queue/jobs.h"
#include "schemas/service/alarm.h"
#include "schemas/service/log.h"

enum { MOST = 64, REDIS_AHEAD_MS = 1000000, MINUTE_MS = 60000 };

struct alarm {
    alarm_ring *ring;
    void *owner;
    bool set;
};

static struct {
    uint64_t now;
    bool ready;      /* the link is */
    char sent[1024]; /* names of commands, since they were looked at last */
    link_done *done[MOST];
    void *owner[MOST];
    size_t first, count;    /* of commands without an answer */
    struct alarm alarms[2]; /* what a request waits for, counting */
    size_t alarm_count;
    unsigned went_on, refused, bad_waits;
    struct consumer consumer;
    struct fleet_endpoints *shared;
    struct model_endpoint endpoint;
} world;

/* ------------------------------------------------- what the product calls */

uint64_t uv_now(const uv_loop_t *loop)
{
    (void)loop;
    return world.now;
}

struct alarm *alarm_new(uv_loop_t *loop, alarm_ring *ring, void *owner)
{
    struct alarm *alarm = &world.alarms[world.alarm_count++];
    (void)loop;
    *alarm = (struct alarm){ .ring = ring, .owner = owner };
    return alarm;
}

void alarm_set(struct alarm *alarm, uint64_t ms)
{
    (void)ms;
    alarm->set = true;
}

void alarm_stop(struct alarm *alarm)
{
    alarm->set = false;
}

bool alarm_is_set(const struct alarm *alarm)
{
    return alarm->set;
}

void alarm_free(struct alarm *alarm)
{
    (void)alarm;
}

void log_line(const char *what, const char *format, ...)
{
    (void)format;
    world.refused += strcmp(what, "endpoints.refused") == 0;
    world.bad_waits += strcmp(what, "endpoints.bad_wait") == 0;
}

void log_gather(uv_loop_t *loop, uv_prepare_t *turn)
{
    (void)loop;
    (void)turn;
}

struct link *link_new(uv_loop_t *loop, const struct address *address,
                      unsigned int slot, const char *role,
                      struct link_events events, void *owner)
{
    (void)loop;
    (void)address;
    (void)slot;
    (void)role;
    (void)events;
    (void)owner;
    return NULL;
}

void link_open(struct link *link)
{
    (void)link;
}

bool link_is_ready(const struct link *link)
{
    (void)link;
    return world.ready;
}

bool link_send(struct link *link, const struct command *command,
               uint64_t deadline_ms, link_done *done, void *owner)
{
    size_t len = strlen(world.sent);
    (void)link;
    (void)deadline_ms;
    if (!world.ready)
        return false;
    assert_true(world.count < MOST);
    snprintf(world.sent + len, sizeof(world.sent) - len, "%s ",
             command->argv[0]);
    world.done[world.count] = done;
    world.owner[world.count++] = owner;
    return true;
}

redisReply *link_keep_reply(struct link *link)
{
    (void)link;
    return NULL;
}

void link_subscribe(struct link *link, struct view channel)
{
    (void)link;
    (void)channel;
}

void link_switch(struct link *link, const struct node *master)
{
    (void)link;
    (void)master;
}

void link_free(struct link *link, void (*closed)(void *owner), void *owner)
{
    (void)link;
    (void)closed;
    (void)owner;
}

static void on_waits_read(struct consumer *consumer)
{
    (void)consumer;
    world.went_on++;
}

/* ------------------------------------------------------------------ Redis */

/* What has been sent since the last time. */
static void has_sent(const char *wanted)
{
    assert_string_equal(world.sent, wanted);
    world.sent[0] = '\0';
}

static void answer(const redisReply *reply)
{
    assert_true(world.first < world.count);
    size_t at = world.first++;
    if (world.first == world.count)
        world.first = world.count = 0;
    if (world.done[at])
        world.done[at](world.owner[at], reply, NULL);
}

static void answer_all(const redisReply *reply)
{
    while (world.count > 0)
        answer(reply);
}

static redisReply text_reply(char *text)
{
    return (redisReply){ .type = REDIS_REPLY_STRING,
                         .str = text,
                         .len = strlen(text) };
}

static void answer_pair(char *one, char *other)
{
    redisReply parts[] = { text_reply(one), text_reply(other) };
    redisReply *elements[] = { &parts[0], &parts[1] };
    redisReply pair = { .type = REDIS_REPLY_ARRAY,
                        .elements = 2,
                        .element = elements };
    answer(&pair);
}

static void answer_time(void)
{
    char s[24], us[24];
    uint64_t now = world.now + REDIS_AHEAD_MS;
    snprintf(s, sizeof(s), "%u", (unsigned)(now / 1000));
    snprintf(us, sizeof(us), "%u", (unsigned)(now % 1000 * 1000));
    answer_pair(s, us);
}

static const redisReply none = { .type = REDIS_REPLY_ARRAY };
static const redisReply fine = { .type = REDIS_REPLY_INTEGER };

static redisReply refusal(void)
{
    static char text[] = "NOPERM no permissions";
    return (redisReply){ .type = REDIS_REPLY_ERROR,
                         .str = text,
                         .len = strlen(text) };
}

/* One reading, of a Redis that knows no wait. */
static void reads(void)
{
    fleet_endpoints_read(world.shared);
    has_sent("TIME ZRANGE ");
    answer_time();
    answer(&none);
}

static int begin(void **state)
{
    static const struct dialect dialect = { .name = "chat" };
    static const struct jobs jobs = { .on_waits_read = on_waits_read };
    static char name[] = "m", url[] = "https://me@host:8443/v1", model[] = "x";
    (void)state;
    memset(&world, 0, sizeof(world));
    world.now = MINUTE_MS;
    world.ready = true;
    world.endpoint = (struct model_endpoint){
        .name = name, .url = url, .model = model, .dialect = &dialect
    };
    world.consumer.jobs = &jobs;
    world.consumer.endpoints.items[0] = &world.endpoint;
    world.consumer.endpoints.count = 1;
    if (!names_init(&world.consumer.names, "quern:", NULL))
        return -1;
    world.shared = fleet_endpoints_new(&world.consumer, NULL);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fleet_endpoints_free(world.shared);
    return 0;
}

/* ------------------------------------------------------------------ tests */

static void is_asked_to_wait(uint64_t ms)
{
    breaker_wait(&world.endpoint.breaker, world.now, ms);
    fleet_endpoints_tell_wait(world.shared, &world.endpoint);
}

#define WAIT_WRITTEN "MULTI ZADD ZREMRANGEBYSCORE PEXPIRE EXEC "

static void a_wait_is_written_once(void **state)
{
    (void)state;
    reads();
    is_asked_to_wait(500);
    has_sent("");
    is_asked_to_wait(MINUTE_MS);
    has_sent(WAIT_WRITTEN);
    answer_all(&fine);
    is_asked_to_wait(MINUTE_MS + 500);
    reads();
    has_sent("");
    is_asked_to_wait(2 * MINUTE_MS);
    has_sent(WAIT_WRITTEN);
}

static void a_wait_is_written_when_the_clock_is_known(void **state)
{
    (void)state;
    is_asked_to_wait(MINUTE_MS);
    has_sent("");
    reads();
    has_sent(WAIT_WRITTEN);
}

static void a_wait_is_written_again_on_another_connection(void **state)
{
    (void)state;
    reads();
    is_asked_to_wait(MINUTE_MS);
    has_sent(WAIT_WRITTEN);
    answer_all(NULL);
    world.ready = false;
    fleet_endpoints_read(world.shared);
    has_sent("");
    world.ready = true;
    fleet_endpoints_ready(world.shared);
    has_sent("TIME ZRANGE ");
    answer_time();
    answer(&none);
    has_sent(WAIT_WRITTEN);
}

static void a_refused_wait_is_written_again_later(void **state)
{
    redisReply no = refusal();
    (void)state;
    reads();
    is_asked_to_wait(MINUTE_MS);
    has_sent(WAIT_WRITTEN);
    answer_all(&no);
    reads();
    has_sent(WAIT_WRITTEN);
    answer_all(&no);
    world.now += 4000;
    reads();
    has_sent("");
    world.now += 2000;
    reads();
    has_sent(WAIT_WRITTEN);
    answer_all(&fine);
    world.now += 10000;
    reads();
    has_sent("");
    assert_int_equal(world.refused, 1);
}

/* A reading that finds the time of our endpoint: printf
 * 'm\\0https://me@host:8443/v1\\0x\\0chat\\0' | sha256sum. */
static void takes(char *until)
{
    char id[] = "m#b7f75e75f101cd6b";
    fleet_endpoints_read(world.shared);
    has_sent("TIME ZRANGE ");
    answer_time();
    answer_pair(id, until);
}

static void a_wait_of_another_consumer_counts(void **state)
{
    char until[24];
    const struct breaker *breaker = &world.endpoint.breaker;
    (void)state;
    snprintf(until, sizeof(until), "%u",
             (unsigned)(world.now + REDIS_AHEAD_MS + MINUTE_MS));
    takes(until);
    assert_int_equal(breaker_waits(breaker, world.now), MINUTE_MS);
    assert_int_equal(world.went_on, 1);
    has_sent(""); /* the fleet knows it */
    fleet_endpoints_tell_wait(world.shared, &world.endpoint);
    has_sent("");
}

static void a_time_that_is_none_is_removed(void **state)
{
    char far[] = "1e300", nan[] = "nan", over[] = "5";
    (void)state;
    takes(far);
    has_sent("ZREM ");
    answer(&fine);
    takes(nan);
    has_sent("ZREM ");
    answer(&fine);
    takes(over);
    has_sent("");
    assert_int_equal(world.bad_waits, 1);
    assert_int_equal(breaker_waits(&world.endpoint.breaker, world.now), 0);
}

/* None of them is read as a wait, and one log line says so. */
static void answers_of_another_form_are_not_read(void **state)
{
    char id[] = "m";
    redisReply text = text_reply(id), number = { .type = REDIS_REPLY_INTEGER };
    redisReply *first[] = { &number, &text }, *second[] = { &text, &number };
    const redisReply odd[] = {
        { .type = REDIS_REPLY_ARRAY, .elements = 2, .element = first },
        { .type = REDIS_REPLY_ARRAY, .elements = 2, .element = second },
        { .type = REDIS_REPLY_NIL },
        { .type = REDIS_REPLY_INTEGER },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        fleet_endpoints_read(world.shared);
        has_sent("TIME ZRANGE ");
        answer_time();
        answer(&odd[i]);
        fleet_endpoints_read(world.shared);
        has_sent("TIME ZRANGE ");
        answer(&odd[i]);
        answer(&none);
    }
    assert_int_equal(world.refused, 1);
    assert_int_equal(breaker_waits(&world.endpoint.breaker, world.now), 0);
}

static void requests_wait_for_a_reading(void **state)
{
    redisReply no = refusal();
    (void)state;
    fleet_endpoints_look(world.shared);
    has_sent("TIME ZRANGE ");
    assert_true(fleet_endpoints_are_awaited(world.shared));
    fleet_endpoints_look(world.shared);
    has_sent(""); /* one is on its way */
    answer_time();
    assert_int_equal(world.went_on, 0);
    answer(&no);
    assert_int_equal(world.went_on, 1);
    assert_false(fleet_endpoints_are_awaited(world.shared));
    world.now += 99;
    fleet_endpoints_look(world.shared);
    has_sent("");
    world.now += 1;
    fleet_endpoints_look(world.shared);
    has_sent("TIME ZRANGE ");
    world.alarms[0].set = false;
    world.alarms[0].ring(world.alarms[0].owner);
    assert_int_equal(world.went_on, 2);
    answer_all(NULL);
    assert_int_equal(world.went_on, 2);
}

static void nothing_is_read_without_endpoints(void **state)
{
    (void)state;
    world.consumer.endpoints.count = 0;
    fleet_endpoints_read(world.shared);
    has_sent("");
    assert_false(fleet_endpoints_are_awaited(world.shared));
}

static void counts_are_written_together(void **state)
{
    struct alarm *counting = &world.alarms[1];
    struct err why = { 0 };
    (void)state;
    err_set(&why, ERR_RETRY, "model_unavailable", "HTTP 503");
    fleet_endpoints_count(world.shared, &world.endpoint, COUNT_CALLS);
    fleet_endpoints_count(world.shared, &world.endpoint, COUNT_CALLS);
    fleet_endpoints_count_end(world.shared, &world.endpoint, NULL);
    fleet_endpoints_count_end(world.shared, &world.endpoint, &why);
    has_sent("");
    assert_true(counting->set);
    counting->set = world.ready = false;
    counting->ring(counting->owner);
    has_sent("");
    assert_true(counting->set);
    counting->set = false;
    world.ready = true;
    counting->ring(counting->owner);
    has_sent("MULTI HINCRBY HINCRBY HSET PEXPIRE EXEC ");
    answer_all(&fine);
    assert_false(counting->set);
    fleet_endpoints_count(world.shared, &world.endpoint, COUNT_RECOVERED);
    assert_true(counting->set);
    counting->ring(counting->owner);
    has_sent("MULTI HINCRBY PEXPIRE EXEC ");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_wait_is_written_once),
        TEST(a_wait_is_written_when_the_clock_is_known),
        TEST(a_wait_is_written_again_on_another_connection),
        TEST(a_refused_wait_is_written_again_later),
        TEST(a_wait_of_another_consumer_counts),
        TEST(a_time_that_is_none_is_removed),
        TEST(answers_of_another_form_are_not_read),
        TEST(requests_wait_for_a_reading),
        TEST(nothing_is_read_without_endpoints),
        TEST(counts_are_written_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
