/* test_steps.c - the steps of upkeep.h and operate.h, and those of transition.h
 * that wait: builders and readers, with the library in a real server. What the
 * library does in every case is for tests/scenario to find out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <string.h>

#include <cmocka.h>

#include "schemas/message/result.h"
#include "schemas/redis/operate.h"
#include "schemas/redis/upkeep.h"
#include "tests/unit/redis/library.h"

#define OTHER "019aa5c8-1b2c-7000-8abc-0123456789ac"
#define FIRED "019aa5c8-1b2c-7000-8abc-0123456789ad"

static const struct view queue = { "default", 7 };

static void submit_job(struct submit submit)
{
    struct command command;

    submit.body = VIEW("\x81\xa1v\x01");
    transition_submit(&command, &names, &submit);
    drop(&command);
}

/* One job of the queue, by take; its answer stays in the reply. */
static redisReply *take_job(uint64_t lease_ms, struct take_reply *start)
{
    static uint64_t ticket;
    struct take take = { .consumer = VIEW("c"),
                         .lease_ms = lease_ms,
                         .max_crashes = 3,
                         .count = 1,
                         .ticket = ++ticket,
                         .queues = &queue,
                         .queue_count = 1 };
    struct command command;
    size_t count;

    transition_take(&command, &names, 0, &take);
    redisReply *reply = call(&command);
    assert_true(transition_taken(reply, &count, NULL));
    assert_int_equal(count, 1);
    assert_true(transition_take_reply(reply->element[0], start, NULL));
    assert_true(start->run);
    return reply;
}

static void set_paused(const char *value)
{
    struct queue_setting settings[] = { { VIEW("paused"), view_of(value) },
                                        { VIEW("tenant_running:acme"),
                                          VIEW("5") } };
    struct command command;

    transition_queue_set(&command, &names, 0, queue, settings, 2);
    drop(&command);
}

static struct promote_reply promote(struct due_schedule *due)
{
    struct command command;
    struct promote_reply promoted;

    transition_promote(&command, &names, 0, 100);
    redisReply *reply = call(&command);
    assert_true(transition_promoted(reply, &promoted, due, NULL));
    for (size_t i = 0; i < promoted.due_count; i++) {
        assert_true(view_is(due[i].name, "nightly"));
        assert_true(view_is(due[i].spec, "0 3 * * *"));
        assert_true(view_is(due[i].zone, "UTC"));
    }
    freeReplyObject(reply);
    return promoted;
}

static void an_empty_queue_gives_nothing(void **state)
{
    (void)state;
    struct take take = { .consumer = VIEW("c"),
                         .lease_ms = 1000,
                         .count = 1,
                         .queues = &queue,
                         .queue_count = 1 };
    struct command command;
    size_t count = 9;

    transition_take(&command, &names, 0, &take);
    redisReply *reply = call(&command);
    assert_true(transition_taken(reply, &count, NULL));
    assert_int_equal(count, 0);
    freeReplyObject(reply);
}

static void approval_is_waited_for_and_told(void **state)
{
    (void)state;
    struct due_schedule due[PROMOTED_MAX_DUE];
    struct command command;
    struct take_reply start;
    bool late;

    submit_job((struct submit){ .id = VIEW(ID), .unique_key = VIEW("u") });
    redisReply *reply = take_job(60000, &start);
    assert_true(view_is(start.id, ID));
    struct wait wait = { .lease = { VIEW(ID), start.epoch },
                         .reason = VIEW("approval") };
    freeReplyObject(reply);
    for (int times = 0; times < 2; times++) {
        transition_wait(&command, &names, &wait);
        reply = call(&command);
        assert_string_equal(reply->str, "waiting");
        freeReplyObject(reply);
    }
    struct promote_reply promoted = promote(due);
    assert_true(promoted.more && promoted.wait_ms > 0);
    assert_int_equal(promoted.moved, 0);
    assert_true(promoted.mend);
    assert_false(promote(due).mend);

    struct approval approval = { .id = VIEW(ID),
                                 .verdict = VERDICT_APPROVE,
                                 .note = VIEW("fine") };
    transition_approve(&command, &names, &approval);
    reply = call(&command);
    assert_true(transition_approved(reply, &late, NULL) && !late);
    freeReplyObject(reply);
    approval = (struct approval){ .id = VIEW(ID), .verdict = VERDICT_REJECT };
    transition_approve(&command, &names, &approval);
    reply = call(&command);
    assert_true(transition_approved(reply, &late, NULL) && late);
    freeReplyObject(reply);
}

static void a_lease_lapses(void **state)
{
    (void)state;
    struct command command;
    struct take_reply start;
    struct view cursor;
    uint64_t jobs;
    bool more;

    redisReply *reply = take_job(0, &start);
    assert_true(view_is(start.approval, "approve"));
    assert_true(view_is(start.approval_note, "fine"));
    assert_int_equal(start.errors, 0);
    freeReplyObject(reply);
    transition_lapse(&command, &names, 0, 0, 100);
    reply = call(&command);
    assert_true(transition_lapsed(reply, &jobs, &more, NULL));
    assert_int_equal(jobs, 1);
    assert_false(more);
    freeReplyObject(reply);

    transition_mend(&command, &names, 0, 100, VIEW("0"));
    reply = call(&command);
    assert_true(transition_mended(reply, &cursor, &jobs, NULL));
    assert_int_equal(jobs, 0);
    freeReplyObject(reply);
}

static struct queue_stats stats(void)
{
    struct command command;
    struct queue_stats stats;

    transition_stats(&command, &names, 0, queue);
    redisReply *reply = call(&command);
    assert_true(transition_stated(reply, &stats, NULL));
    freeReplyObject(reply);
    return stats;
}

static void the_dead_come_back_or_go(void **state)
{
    (void)state;
    struct command command;
    bool late;

    assert_int_equal(stats().dead, 1);
    for (int times = 0; times < 2; times++) {
        transition_requeue(&command, &names, VIEW(ID), true, VIEW("t"));
        redisReply *reply = call(&command);
        assert_true(transition_requeued(reply, &late, NULL) && !late);
        freeReplyObject(reply);
    }
    assert_int_equal(stats().ready, 1);
    transition_forget(&command, &names, 0, queue, VIEW(ID));
    redisReply *reply = call(&command);
    assert_true(transition_forgotten(reply, &late, NULL) && late);
    freeReplyObject(reply);
}

static void a_queue_is_paused_and_purged(void **state)
{
    (void)state;
    struct command command;
    uint64_t jobs;
    bool more;

    set_paused("1");
    submit_job((struct submit){ .id = VIEW(OTHER),
                                .tenant = VIEW("acme"),
                                .delay_ms = 60000,
                                .max_depth = 5,
                                .tenant_depth = 5 });
    struct queue_stats now = stats();
    assert_true(now.paused);
    assert_int_equal(now.scheduled, 1);
    set_paused("");
    for (int dry = 1; dry >= 0; dry--) {
        transition_purge(&command, &names, 0, queue, 100, dry);
        redisReply *reply = call(&command);
        assert_true(transition_purged(reply, &jobs, &more, NULL));
        assert_int_equal(jobs, 2);
        assert_false(more);
        freeReplyObject(reply);
    }
}

static enum fire_outcome fire(uint64_t at, const char *id)
{
    struct fire fire = {
        .name = VIEW("nightly"), .at = at, .next_at = at + 1, .id = view_of(id)
    };
    struct command command;
    enum fire_outcome fired;
    struct view what;

    transition_fire(&command, &names, 0, &fire);
    redisReply *reply = call(&command);
    assert_true(transition_fired(reply, &fired, &what, NULL));
    if (fired == FIRE_DONE)
        assert_true(view_is(what, FIRED));
    freeReplyObject(reply);
    return fired;
}

static void a_schedule_fires_once(void **state)
{
    (void)state;
    struct due_schedule due[PROMOTED_MAX_DUE];
    struct command command;
    bool was;

    struct submit job = { .tenant = VIEW("acme"), .body = VIEW("\x80") };
    struct schedule schedule = { .name = VIEW("nightly"),
                                 .spec = VIEW("0 3 * * *"),
                                 .zone = VIEW("UTC"),
                                 .next_at = 1000,
                                 .job = &job };
    transition_schedule_set(&command, &names, 0, &schedule);
    drop(&command);
    assert_int_equal(promote(due).due_count, 1);
    assert_int_equal(due[0].at, 1000);
    assert_int_equal(fire(1000, FIRED), FIRE_DONE);
    assert_int_equal(fire(1000, OTHER), FIRE_LATE);
    for (int times = 0; times < 2; times++) {
        transition_schedule_rm(&command, &names, 0, VIEW("nightly"));
        redisReply *reply = call(&command);
        assert_true(transition_schedule_removed(reply, &was, NULL));
        assert_int_equal(was, times == 0);
        freeReplyObject(reply);
    }
}

static void a_worker_reports_and_is_asked_to_drain(void **state)
{
    (void)state;
    struct report_field about[] = { { "host", VIEW("h") },
                                    { "queues", VIEW("default") } };
    struct command command;
    bool draining = true;

    for (int drain = 0; drain < 2; drain++) {
        transition_report(&command, &names, 0, VIEW("c"), 60000, about, 2);
        redisReply *reply = call(&command);
        assert_true(transition_reported(reply, &draining, NULL));
        assert_int_equal(draining, drain);
        assert_int_equal(reply->element[1]->elements, 0);
        freeReplyObject(reply);
        transition_drain(&command, &names, 0, VIEW("c"), true);
        drop(&command);
    }
}

/* Readers are handed what a newer or broken library might say. */
static void readers_refuse_what_they_do_not_know(void **state)
{
    (void)state;
    redisReply number = { .type = REDIS_REPLY_INTEGER, .integer = 1 };
    redisReply *one[] = { &number };
    redisReply array = { .type = REDIS_REPLY_ARRAY,
                         .elements = 1,
                         .element = one };
    redisReply *parts[] = { &number, &number, &array, &number };
    redisReply odd = { .type = REDIS_REPLY_ARRAY,
                       .elements = 3,
                       .element = parts };
    redisReply half_due = odd;
    half_due.elements = 4;
    struct due_schedule due[PROMOTED_MAX_DUE];
    struct promote_reply promoted;
    struct queue_stats figures;
    struct err err;
    struct view view;
    enum fire_outcome fired;
    size_t count;
    uint64_t jobs;
    bool flag;

    const bool verdicts[] = {
        transition_taken(&number, &count, &err),
        transition_approved(&number, &flag, &err),
        transition_promoted(&array, &promoted, due, &err),
        transition_promoted(&half_due, &promoted, due, &err),
        transition_fired(&odd, &fired, &view, &err),
        transition_lapsed(&array, &jobs, &flag, &err),
        transition_mended(&odd, &view, &jobs, &err),
        transition_reported(&odd, &flag, &err),
        transition_requeued(&number, &flag, &err),
        transition_forgotten(&number, &flag, &err),
        transition_purged(&array, &jobs, &flag, &err),
        transition_stated(&odd, &figures, &err),
    };
    for (size_t i = 0; i < sizeof(verdicts) / sizeof(verdicts[0]); i++)
        if (verdicts[i])
            fail_msg("reader %zu took it", i);
    assert_string_equal(err.code, "internal");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_gives_nothing),
        cmocka_unit_test(approval_is_waited_for_and_told),
        cmocka_unit_test(a_lease_lapses),
        cmocka_unit_test(the_dead_come_back_or_go),
        cmocka_unit_test(a_queue_is_paused_and_purged),
        cmocka_unit_test(a_schedule_fires_once),
        cmocka_unit_test(a_worker_reports_and_is_asked_to_drain),
        cmocka_unit_test(readers_refuse_what_they_do_not_know),
    };
    return cmocka_run_group_tests(tests, library_start, library_stop);
}
