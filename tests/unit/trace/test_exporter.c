/* The exporter in a world of its own: a clock, chance and a collector that does
 * what a seed says. Whatever that is, no span is counted twice or lost without
 * being counted, and never more are held than the ring and one batch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/trace/exporter.h"

#define HEAD "{\"spans\":["
#define TAIL "]}"
#define NEVER UINT64_MAX

enum { SEEDS = 400, STEPS = 300 };

static struct {
    uint64_t now_ms, random;
    uint64_t alarm_ms;  /* when it rings */
    uint64_t answer_ms; /* when the collector answers; NEVER: it hangs */
    struct export_answer answer;
    bool sending, left;
    size_t sends, given_up, tells;
    uint64_t told_ms, told_dropped, told_refused;
    uint64_t added;
    size_t batch; /* spans in what was sent last */
    char why[256];
    char body[4096]; /* of what was sent last, as far as it fits */
    struct exporter exporter;
} world;

/* ------------------------------------------------------------------- world */

static uint64_t draw(uint64_t below)
{
    uint64_t x = world.random += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (x ^ (x >> 31)) % below;
}

static uint64_t world_now(void *owner)
{
    (void)owner;
    return world.now_ms;
}

static uint32_t world_chance(void *owner)
{
    (void)owner;
    return (uint32_t)draw(UINT32_MAX);
}

static void world_set_alarm(void *owner, uint64_t ms)
{
    (void)owner;
    world.alarm_ms = world.now_ms + ms;
}

static size_t commas(struct view body)
{
    size_t count = 0;
    for (size_t i = 0; i < body.len; i++)
        count += body.data[i] == ',';
    return count;
}

static void world_send(void *owner, struct view body)
{
    (void)owner;
    assert_false(world.sending);
    assert_false(world.left);
    assert_true(view_starts(body, HEAD));
    assert_memory_equal(body.data + body.len - strlen(TAIL), TAIL,
                        strlen(TAIL));
    assert_true(body.len > strlen(HEAD TAIL)); /* no empty envelope */
    world.sending = true;
    world.sends++;
    world.batch = commas(body) + 1;
    assert_in_range(world.batch, 1, EXPORT_BATCH);
    snprintf(world.body, sizeof(world.body), "%.*s",
             VIEW_ARG(view_head(body, sizeof(world.body) - 1)));
}

static void world_give_up(void *owner)
{
    (void)owner;
    world.given_up++;
    world.sending = false;
    world.answer_ms = NEVER;
}

static void world_tell(void *owner, const struct export_counts *since,
                       const char *why)
{
    (void)owner;
    bool first = world.tells++ == 0;
    bool last = world.exporter.machine.state == EXPORT_LEFT;
    assert_true(first || last ||
                world.now_ms - world.told_ms >= EXPORT_TELL_MS);
    assert_true(since->dropped + since->refused > 0 || *why != '\0');
    world.told_ms = world.now_ms;
    world.told_dropped += since->dropped;
    world.told_refused += since->refused;
    snprintf(world.why, sizeof(world.why), "%s", why);
}

static void world_left(void *owner)
{
    (void)owner;
    assert_false(world.left);
    world.left = true;
}

static const struct export_ports ports = {
    world_now,     world_chance, world_set_alarm, world_send,
    world_give_up, world_tell,   world_left,
};

static void world_begin(uint64_t seed)
{
    memset(&world, 0, sizeof(world));
    world.now_ms = 1000;
    world.random = seed;
    world.alarm_ms = world.answer_ms = NEVER;
    exporter_init(&world.exporter, &ports, NULL, VIEW(HEAD), VIEW(TAIL));
}

/* Nothing is lost or counted twice. */
static void judge(void)
{
    const struct exporter *exporter = &world.exporter;
    const struct export_counts *counts = &exporter->counts;
    uint64_t held = exporter->ring.count + exporter->batched;
    assert_int_equal(counts->sent + counts->dropped + counts->refused + held,
                     world.added);
    assert_true(exporter->ring.count <= RING_SPANS);
    assert_true(exporter->ring.bytes <= RING_BYTES);
    assert_int_equal(world.sending, exporter->machine.state == EXPORT_SENDING);
    /* It never rests for good with something to send. */
    if (held > 0 && !world.left)
        assert_true(world.sending || world.alarm_ms != NEVER);
}

static void add(size_t count)
{
    for (; count > 0; count--) {
        world.added++;
        exporter_add(&world.exporter, VIEW("{}"));
    }
}

static void answer(enum export_verdict verdict, uint64_t refused,
                   uint64_t retry_after_ms, const char *why)
{
    struct export_answer said = { verdict, refused, retry_after_ms, "" };
    snprintf(said.why, sizeof(said.why), "%s", why);
    assert_true(world.sending);
    world.sending = false;
    exporter_answered(&world.exporter, &said);
    judge();
}

/* Until the alarm, if it is set. */
static void ring(void)
{
    assert_true(world.alarm_ms != NEVER);
    if (world.alarm_ms > world.now_ms)
        world.now_ms = world.alarm_ms;
    world.alarm_ms = NEVER;
    exporter_rang(&world.exporter);
    judge();
}

static void finish(void)
{
    exporter_finish(&world.exporter);
}

/* ---------------------------------------------------------------- machine */

static void spans_go_after_five_seconds(void **state)
{
    (void)state;
    world_begin(1);
    assert_true(world.alarm_ms == NEVER); /* nothing rings for nothing */
    add(2);
    assert_int_equal(world.alarm_ms, world.now_ms + EXPORT_EVERY_MS);
    assert_int_equal(world.sends, 0);
    ring();
    assert_string_equal(world.body, HEAD "{},{}" TAIL);
    answer(EXPORT_TAKEN, 0, 0, "");
    assert_int_equal(world.exporter.counts.sent, 2);
    assert_true(world.alarm_ms == NEVER);
    assert_int_equal(world.tells, 0);
    finish();
}

static void a_full_batch_goes_at_once(void **state)
{
    (void)state;
    world_begin(1);
    add(EXPORT_BATCH + 1);
    assert_int_equal(world.alarm_ms, world.now_ms);
    ring();
    assert_int_equal(world.batch, EXPORT_BATCH);
    answer(EXPORT_TAKEN, 0, 0, "");
    assert_int_equal(world.alarm_ms, world.now_ms + EXPORT_EVERY_MS);
    finish();
}

static void a_batch_is_tried_five_times(void **state)
{
    (void)state;
    world_begin(7);
    add(3);
    ring();
    for (uint64_t i = 1; i < EXPORT_TRIES; i++) {
        uint64_t most = (uint64_t)EXPORT_BACKOFF_MS << (i - 1);
        answer(EXPORT_AGAIN, 0, 0, "it answered 503");
        assert_in_range(world.alarm_ms - world.now_ms, most / 2, most);
        add(1); /* does not cut the rest short */
        ring();
        assert_int_equal(world.batch, 3); /* the same batch */
    }
    answer(EXPORT_AGAIN, 0, 0, "it answered 503");
    assert_int_equal(world.exporter.counts.dropped, 3);
    assert_int_equal(world.tells, 1);
    assert_string_equal(world.why, "it answered 503");
    ring();
    assert_int_equal(world.batch, EXPORT_TRIES - 1); /* what came meanwhile */
    finish();
}

static void the_collector_names_the_time(void **state)
{
    (void)state;
    world_begin(7);
    add(1);
    ring();
    answer(EXPORT_AGAIN, 0, 17000, "later");
    assert_int_equal(world.alarm_ms, world.now_ms + 17000);
    ring();
    answer(EXPORT_AGAIN, 0, UINT64_C(7) * 24 * 3600 * 1000, "next week");
    assert_int_equal(world.alarm_ms, world.now_ms + EXPORT_MOST_BACKOFF_MS);
    finish();
}

static void what_is_refused_is_not_sent_again(void **state)
{
    (void)state;
    world_begin(7);
    add(5);
    ring();
    answer(EXPORT_REFUSED, 0, 0, "it answered 400");
    assert_int_equal(world.exporter.counts.refused, 5);
    assert_true(world.alarm_ms == NEVER);
    add(5);
    ring();
    answer(EXPORT_TAKEN, 2, 0, "two were too old");
    assert_int_equal(world.exporter.counts.refused, 7);
    assert_int_equal(world.exporter.counts.sent, 3);
    add(1);
    ring();
    answer(EXPORT_TAKEN, 9999, 0, "more than there were");
    assert_int_equal(world.exporter.counts.refused, 8);
    assert_int_equal(world.tells, 1); /* within a minute */
    exporter_leave(&world.exporter);
    assert_true(world.left);
    assert_int_equal(world.tells, 2); /* ... and the rest at the end */
    assert_int_equal(world.told_refused, 8);
    finish();
}

static void the_oldest_go_first(void **state)
{
    (void)state;
    world_begin(7);
    add(RING_SPANS + 10);
    assert_int_equal(world.exporter.counts.dropped, 10);
    assert_int_equal(world.tells, 1);
    world.added++;
    exporter_add(&world.exporter, (struct view){ 0 }); /* was too long */
    judge();
    assert_int_equal(world.exporter.counts.dropped, 11);
    finish();
}

static void it_leaves_when_all_is_sent(void **state)
{
    (void)state;
    world_begin(7);
    add(EXPORT_BATCH + 5);
    exporter_leave(&world.exporter);
    assert_int_equal(world.batch, EXPORT_BATCH); /* at once */
    answer(EXPORT_TAKEN, 0, 0, "");
    assert_int_equal(world.batch, 5);
    assert_false(world.left);
    answer(EXPORT_TAKEN, 0, 0, "");
    assert_true(world.left);
    assert_int_equal(world.exporter.counts.sent, EXPORT_BATCH + 5);
    finish();
}

static void it_leaves_a_collector_that_hangs(void **state)
{
    (void)state;
    world_begin(7);
    add(3);
    ring();
    add(4);
    uint64_t begun_ms = world.now_ms;
    exporter_leave(&world.exporter);
    assert_false(world.left);
    ring();
    assert_true(world.left);
    assert_int_equal(world.now_ms, begun_ms + EXPORT_LEAVE_MS);
    assert_int_equal(world.given_up, 1);
    assert_int_equal(world.exporter.counts.dropped, 7);
    assert_int_equal(world.told_dropped, 7);
    finish();
}

static void it_leaves_a_collector_that_refuses_connections(void **state)
{
    (void)state;
    world_begin(7);
    add(EXPORT_BATCH + 3);
    ring();
    answer(EXPORT_AGAIN, 0, 0, "nobody is there");
    size_t sends = world.sends;
    exporter_leave(&world.exporter); /* in the middle of a rest */
    assert_int_equal(world.sends, sends + 1);
    answer(EXPORT_AGAIN, 0, 0, "nobody is there");
    assert_true(world.left);
    assert_int_equal(world.sends,
                     sends + 1); /* the second batch is not tried */
    finish();
}

/* ------------------------------------------------------------------- lives */

static void collector_answers(void)
{
    static const char *const whys[] = { "", "a sentence" };
    enum export_verdict verdict = (enum export_verdict)draw(3);
    if (!world.sending)
        return;
    answer(verdict, draw(4) == 0 ? draw(600) : 0,
           draw(4) == 0 ? draw(1000000) : 0, whys[draw(2)]);
}

static void live_step(void)
{
    switch (draw(5)) {
    case 0:
        add(draw(3) == 0 ? draw(3000) : draw(10));
        break;
    case 1:
        world.now_ms += draw(20000);
        break;
    case 2:
        if (world.alarm_ms != NEVER)
            ring();
        break;
    default:
        collector_answers();
        break;
    }
    judge();
}

static void live(uint64_t seed)
{
    world_begin(seed);
    for (uint64_t i = draw(STEPS); i > 0; i--)
        live_step();
    uint64_t begun_ms = world.now_ms;
    exporter_leave(&world.exporter);
    judge();
    while (!world.left) {
        if (world.sending && draw(3) > 0)
            collector_answers();
        else
            ring();
    }
    assert_true(world.now_ms <= begun_ms + EXPORT_LEAVE_MS);
    judge();
    const struct export_counts *counts = &world.exporter.counts;
    assert_int_equal(world.told_dropped, counts->dropped);
    assert_int_equal(world.told_refused, counts->refused);
    assert_int_equal(counts->sent + counts->dropped + counts->refused,
                     world.added);
    finish();
}

static void nothing_is_lost_in_any_life(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        live(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_go_after_five_seconds),
        cmocka_unit_test(a_full_batch_goes_at_once),
        cmocka_unit_test(a_batch_is_tried_five_times),
        cmocka_unit_test(the_collector_names_the_time),
        cmocka_unit_test(what_is_refused_is_not_sent_again),
        cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(it_leaves_when_all_is_sent),
        cmocka_unit_test(it_leaves_a_collector_that_hangs),
        cmocka_unit_test(it_leaves_a_collector_that_refuses_connections),
        cmocka_unit_test(nothing_is_lost_in_any_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
