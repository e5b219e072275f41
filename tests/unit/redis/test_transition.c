/* test_transition.c - builders and readers, with the library in a real server.
 * What the library does in every case is for tests/scenario to find out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka.h needs those before it. */
#include <string.h>

#include <cmocka.h>

#include "schemas/message/result.h"
#include "schemas/redis/operate.h"
#include "schemas/redis/session.h"
#include "schemas/redis/upkeep.h"
#include "tests/unit/redis/library.h"

#define STREAM "quern:{000}:work:default:normal"

static void refused(struct command *command, const char *code)
{
    struct err err;

    assert_null(conn_call(conn, command, 5000, &err));
    assert_string_equal(err.code, code);
    command_finish(command);
}

#define BODY                                                                   \
    "\x84\xa1v\x01\xa6tenant\xa4"                                              \
    "acme\xa7session\xa2s1\xa6limits\x81\xab"                                  \
    "deadline_ms\xcd\xea\x60"

static void submit_job(const char *expected)
{
    struct submit submit = { .id = VIEW(ID),
                             .body = VIEW(BODY),
                             .tenant = VIEW("acme"),
                             .session = VIEW("s1"),
                             .idempotency_key = VIEW("k"),
                             .idempotency_ttl_ms = 1000,
                             .deadline_ms = 60000,
                             .max_depth = 5 };
    struct command command;
    struct view id;
    bool existed;

    transition_submit(&command, &names, &submit);
    redisReply *reply = call(&command);
    assert_true(transition_submitted(reply, &id, &existed, NULL));
    assert_true(view_is(id, ID));
    assert_int_equal(existed, strcmp(expected, "exists") == 0);
    freeReplyObject(reply);
}

/* The entry that consumer c now holds, in text. */
static void take_entry(char *text, size_t size)
{
    struct command command;

    command_init(&command, "XREADGROUP");
    command_add_text(&command, "GROUP");
    command_add_text(&command, NAMES_GROUP);
    command_add_text(&command, "c");
    command_add_text(&command, "STREAMS");
    command_add_text(&command, STREAM);
    command_add_text(&command, ">");
    redisReply *reply = call(&command);
    redisReply *entry = reply->element[0]->element[1]->element[0];
    assert_true(entry->element[0]->len < size);
    memcpy(text, entry->element[0]->str, entry->element[0]->len + 1);
    freeReplyObject(reply);
}

static redisReply *start_entry(const char *entry, struct take_reply *start)
{
    struct stream_entry claim = { .stream = VIEW(STREAM),
                                  .entry = view_of(entry) };
    struct take take = { .consumer = VIEW("c"),
                         .lease_ms = 30000,
                         .max_crashes = 3,
                         .count = 1,
                         .entries = &claim,
                         .entry_count = 1 };
    struct command command;
    size_t count;

    transition_take(&command, &names, 0, &take);
    redisReply *reply = call(&command);
    assert_true(transition_taken(reply, &count, NULL));
    assert_int_equal(count, 1);
    assert_true(transition_take_reply(reply->element[0], start, NULL));
    return reply;
}

static void the_library_loads_and_tells_its_build(void **state)
{
    (void)state;
    struct command command;

    transition_load_command(&command);
    drop(&command);
    transition_build_command(&command);
    redisReply *reply = call(&command);
    assert_int_equal(reply->type, REDIS_REPLY_INTEGER);
    assert_int_equal(reply->integer, transition_build);
    freeReplyObject(reply);
}

static uint64_t epoch; /* of the first start */

static void a_consumer_is_told_all_at_start(void **state)
{
    (void)state;
    struct take_reply start;
    char entry[64];

    submit_job("created");
    submit_job("exists");
    take_entry(entry, sizeof(entry));
    redisReply *reply = start_entry(entry, &start);
    assert_true(start.run);
    assert_true(view_is(start.id, ID));
    assert_int_equal(start.epoch, start.now);
    epoch = start.epoch;
    assert_int_equal(start.attempt, 1);
    assert_int_equal(start.crashes, 0);
    assert_false(start.cancel);
    assert_int_equal(start.deadline_at - start.submitted_at, 60000);
    assert_true(start.now >= start.submitted_at);
    assert_true(view_is(start.body, BODY));
    assert_int_equal(start.records, 0);
    freeReplyObject(reply);
}

static void what_it_does_is_fenced(void **state)
{
    (void)state;
    struct command command;
    struct job_lease mine[] = { { VIEW(ID), epoch }, { VIEW(ID), epoch + 1 } };
    struct event_text events[] = { { "turn.started", VIEW("\x81\xa4turn\x01") },
                                   { "message.delta", EMPTY } };
    struct beat_reply beat[2];

    transition_beat(&command, &names, 0, VIEW("c"), mine, 2);
    redisReply *reply = call(&command);
    assert_true(transition_beaten(reply, beat, 2, NULL));
    assert_true(beat[0].held && !beat[0].cancel && !beat[1].held);
    freeReplyObject(reply);

    transition_journal(&command, &names, mine[0], 0, VIEW("record"), events, 2);
    drop(&command);
    transition_event(&command, &names, mine[0], 1, events, 2);
    drop(&command);
    transition_journal(&command, &names, mine[0], 7, VIEW("record"), NULL, 0);
    refused(&command, "misplaced");
    transition_event(&command, &names, mine[1], 1, events, 2);
    refused(&command, "stale");
    transition_release(&command, &names, mine[0], VIEW("drain"));
    drop(&command);
}

static void its_session_is_claimed_and_saved(void **state)
{
    (void)state;
    struct command command;
    struct session_claim_reply claim;
    struct session_file files[] = { { .name = VIEW("a") } };
    struct session_save save = { .lease = { VIEW(ID), epoch },
                                 .session = { VIEW("acme"), VIEW("s1") },
                                 .ttl_ms = 60000,
                                 .record = VIEW("record"),
                                 .files = { files, 1 } };

    for (int times = 0; times < 2; times++) {
        transition_session_claim(&command, &names, save.lease, save.session,
                                 60000);
        redisReply *reply = call(&command);
        assert_true(transition_session_claimed(reply, &claim, NULL));
        assert_true(claim.mine);
        assert_true(view_is(claim.record, times == 0 ? "" : "record"));
        freeReplyObject(reply);
        transition_session_save(&command, &names, &save);
        drop(&command);
    }
    save.record = VIEW("another");
    transition_session_save(&command, &names, &save);
    refused(&command, "misplaced");
    save.lease.epoch = 7;
    transition_session_save(&command, &names, &save);
    refused(&command, "stale");
}

static struct finish finish_of_it;

static void another_goes_on_and_ends_it(void **state)
{
    (void)state;
    struct command command;
    struct take_reply start;
    char entry[64];

    take_entry(entry, sizeof(entry));
    redisReply *reply = start_entry(entry, &start);
    assert_int_equal(start.attempt, 1);
    assert_int_equal(start.records, 1);
    assert_string_equal(start.journal->element[0]->str, "record");
    finish_of_it = (struct finish){ .lease = { VIEW(ID), start.epoch },
                                    .state = STATE_COMPLETED,
                                    .result = VIEW("result"),
                                    .event_data = EMPTY };
    transition_finish_many(&command, &names, 0, &finish_of_it, 1);
    drop(&command);
    freeReplyObject(reply);

    reply = start_entry(entry, &start);
    assert_false(start.run);
    assert_true(view_is(start.reason, "taken"));
    freeReplyObject(reply);
}

static void many_end_in_one_step(void **state)
{
    (void)state;
    const struct finish again = { .lease = { VIEW(ID), epoch },
                                  .state = STATE_COMPLETED,
                                  .result = VIEW("result"),
                                  .event_data = EMPTY };
    const struct finish finishes[] = { finish_of_it, again };
    struct command command;
    struct err err;

    transition_finish_many(&command, &names, 0, finishes, 2);
    redisReply *reply = call(&command);
    assert_true(transition_finished_many(reply, 2, NULL));
    assert_true(reply_ok(reply->element[0], NULL));
    assert_false(reply_ok(reply->element[1], &err));
    assert_string_equal(err.code, "stale");
    assert_false(transition_finished_many(reply, 3, &err));
    freeReplyObject(reply);
}

static void reclaim_and_cancel(void **state)
{
    (void)state;
    struct command command;
    struct view cursor;
    uint64_t jobs;
    enum cancel_outcome outcome;

    struct reclaim walk = {
        .stream = VIEW(STREAM), .lease_ms = 1, .count = 100, .cursor = VIEW("-")
    };
    transition_reclaim(&command, &names, 0, &walk);
    redisReply *reply = call(&command);
    assert_true(transition_reclaimed(reply, &cursor, &jobs, NULL));
    assert_true(view_is(cursor, "-"));
    assert_int_equal(jobs, 0);
    freeReplyObject(reply);

    transition_cancel(&command, &names, VIEW(ID), VIEW("why"));
    reply = call(&command);
    assert_true(transition_cancelled(reply, &outcome, NULL));
    assert_int_equal(outcome, CANCEL_TOO_LATE);
    freeReplyObject(reply);

    transition_cancel(&command, &names, VIEW("no id"), EMPTY);
    refused(&command, "bad_argument");
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
    struct take_reply start;
    struct view view;
    struct err err;
    bool existed;
    uint64_t jobs;
    enum cancel_outcome outcome;
    struct beat_reply beat[1];

    assert_false(transition_submitted(&array, &view, &existed, &err));
    assert_false(transition_submitted(&number, &view, &existed, &err));
    assert_false(transition_take_reply(&array, &start, &err));
    assert_false(transition_reclaimed(&array, &view, &jobs, &err));
    assert_false(transition_beaten(&array, beat, 1, &err));
    assert_false(transition_finished_many(&number, 1, &err));
    assert_false(transition_cancelled(&number, &outcome, &err));
    assert_string_equal(err.code, "internal");
    assert_false(transition_cancelled(NULL, &outcome, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_loads_and_tells_its_build),
        cmocka_unit_test(a_consumer_is_told_all_at_start),
        cmocka_unit_test(its_session_is_claimed_and_saved),
        cmocka_unit_test(what_it_does_is_fenced),
        cmocka_unit_test(another_goes_on_and_ends_it),
        cmocka_unit_test(many_end_in_one_step),
        cmocka_unit_test(reclaim_and_cancel),
        cmocka_unit_test(readers_refuse_what_they_do_not_know),
    };
    return cmocka_run_group_tests(tests, library_start, library_stop);
}
