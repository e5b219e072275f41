/* test_conversation.c - what a journal says was done, and is to be done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "consumer/conversation/approval.h"
#include "consumer/conversation/ask.h"
#include "tests/unit/consumer/records.h"

static const struct job question = { .prompt = { "How many?", 9 } };

#define CALL(id, arguments)                                                    \
    "{\"id\": \"" id "\", \"type\": \"function\", \"function\": {\"name\": "   \
    "\"execute_python_code\", \"arguments\": \"" arguments "\"}}"
#define CODE "{\\\"code\\\": \\\"1\\\"}"
#define REPLY(calls)                                                           \
    "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [" calls "]" \
    "}"
#define TEXT(text) "{\"role\": \"assistant\", \"content\": \"" text "\"}"

static struct conversation begin(const struct job *job)
{
    struct conversation conversation;
    struct err err;
    if (!conversation_init(&conversation, job, VIEW(""), &err))
        fail_msg("%s", err.text);
    return conversation;
}

static const char *text_of(const json_t *messages, size_t index,
                           const char *member)
{
    return json_string_value(
        json_object_get(json_array_get(messages, index), member));
}

static const char *call_text(const json_t *message, size_t index,
                             const char *member)
{
    const json_t *call =
        json_array_get(json_object_get(message, "tool_calls"), index);
    const json_t *value = json_object_get(call, member);
    if (value == NULL)
        value = json_object_get(json_object_get(call, "function"), member);
    return json_string_value(value);
}

/* -------------------------------------------- going on from another job */

static void keep(const struct conversation *conversation, struct buf *bytes)
{
    struct err err;
    if (!conversation_keep(conversation, bytes, &err))
        fail_msg("%s", err.text);
}

/* Its own instructions, the earlier messages without theirs, its own. */
static void test_it_goes_on_from_another(void **state)
{
    (void)state;
    const struct job first = { .prompt = VIEW_INIT("How many?"),
                               .system = VIEW_INIT("Be brief.") };
    const struct job next = { .prompt = VIEW_INIT("And then?"),
                              .system = VIEW_INIT("Be long.") };
    struct conversation before = begin(&first), all;
    struct buf bytes;
    struct err err;
    asks(&before);
    answers(&before, TEXT("Two."));
    keep(&before, &bytes);
    assert_true(conversation_init(&all, &next, buf_view(&bytes), &err));
    assert_int_equal(json_array_size(all.messages), 4);
    assert_int_equal(all.given, 4);
    assert_string_equal(text_of(all.messages, 0, "content"), "Be long.");
    assert_string_equal(text_of(all.messages, 1, "content"), "How many?");
    assert_string_equal(text_of(all.messages, 2, "content"), "Two.");
    assert_string_equal(text_of(all.messages, 3, "content"), "And then?");
    conversation_finish(&all);
    assert_false(conversation_init(&all, &next, VIEW("\x81\xa1v\x01"), &err));
    assert_string_equal(err.code, "missing_field");
    conversation_finish(&all);
    buf_finish(&bytes);
    conversation_finish(&before);
}

/* Nobody could answer the calls that a job was stopped in. */
static void test_a_turn_that_was_stopped_is_not_kept(void **state)
{
    (void)state;
    struct conversation before = begin(&question), all;
    struct buf bytes;
    struct err err;
    asks(&before);
    answers(&before, REPLY(CALL("a", CODE) ", " CALL("b", CODE)));
    keep(&before, &bytes);
    assert_true(conversation_init(&all, &question, buf_view(&bytes), &err));
    assert_int_equal(json_array_size(all.messages), 2);
    conversation_finish(&all);
    buf_finish(&bytes);
    conversation_finish(&before);
}

static void test_an_answer_ends_it(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    assert_int_equal(conversation_next(&all), NEXT_ASK);
    asks(&all);
    assert_int_equal(conversation_next(&all), NEXT_ASK);
    answers(&all, TEXT("Two."));
    assert_int_equal(conversation_next(&all), NEXT_END);
    assert_true(view_is(conversation_answer(&all), "Two."));
    assert_int_equal(all.spending.usage.model_calls, 1);
    assert_int_equal(all.spending.usage.repeated_calls, 0);
    assert_int_equal(all.records, 2);
    conversation_finish(&all);
}

static void test_calls_are_answered_in_order(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    struct cell cell = { .code = VIEW("1"), .result = VIEW("1") };
    asks(&all);
    answers(&all, REPLY(CALL("a", CODE) "," CALL("b", CODE)));
    assert_int_equal(conversation_next(&all), NEXT_CALL);
    assert_string_equal(conversation_call(&all)->id, "1.0");
    calls(&all);
    assert_true(conversation_call(&all)->intended);
    assert_true(all.files_there);
    observes(&all, &cell, "one");
    assert_string_equal(conversation_call(&all)->id, "1.1");
    assert_false(conversation_call(&all)->intended);
    observes(&all, NULL, "two");
    assert_int_equal(conversation_next(&all), NEXT_ASK);
    assert_string_equal(text_of(all.messages, 2, "role"), "tool");
    assert_string_equal(text_of(all.messages, 2, "tool_call_id"), "a");
    assert_string_equal(text_of(all.messages, 3, "tool_call_id"), "b");
    assert_string_equal(text_of(all.messages, 3, "content"), "two");
    conversation_finish(&all);
}

/* Endpoints refuse a history with these. */
static void test_ids_are_made_unique(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    answers(&all,
            REPLY(CALL("x", CODE) "," CALL("x", CODE) "," CALL("", CODE)));
    for (int i = 0; i < 3; i++)
        observes(&all, NULL, "done");
    answers(&all, REPLY(CALL("x", CODE)));
    observes(&all, NULL, "done");
    static const char *const ids[] = { "x", "x_1_1", "call_1_2", "x_2_0" };
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(call_text(json_array_get(all.messages, 1), i, "id"),
                            ids[i]);
        assert_string_equal(text_of(all.messages, 2 + i, "tool_call_id"),
                            ids[i]);
    }
    assert_string_equal(call_text(json_array_get(all.messages, 5), 0, "id"),
                        ids[3]);
    assert_string_equal(text_of(all.messages, 6, "tool_call_id"), ids[3]);
    conversation_finish(&all);
}

static void test_arguments_in_the_history(void **state)
{
    static const struct {
        const char *what, *arguments, *history;
    } rows[] = {
        { "good ones keep their bytes", "{ \\\"code\\\" :\\\"1\\\" }",
          "{ \"code\" :\"1\" }" },
        { "raw code becomes an object", "print(1)", "{\"code\":\"print(1)\"}" },
        { "what nobody understands becomes nothing", "{\\\"code", "{}" },
        { "none stay none", "{}", "{}" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct conversation all = begin(&question);
        char reply[400];
        snprintf(reply, sizeof(reply), REPLY(CALL("a", "%s")),
                 rows[i].arguments);
        answers(&all, reply);
        const char *got =
            call_text(json_array_get(all.messages, 1), 0, "arguments");
        if (strcmp(got, rows[i].history) != 0)
            fail_msg("%s: got %s", rows[i].what, got);
        conversation_finish(&all);
    }
}

static void test_a_second_intent_is_counted(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    asks(&all);
    asks(&all);
    answers(&all, TEXT("Two."));
    assert_int_equal(all.spending.usage.repeated_calls, 1);
    conversation_finish(&all);
}

static void is_sent(struct conversation *all, const char *id)
{
    apply(all, &(struct record){ .kind = RECORD_MODEL_SENT,
                                 .turn = all->turn + 1,
                                 .reply_id = view_of(id) });
}

/* Until it has come, or is asked for anew. */
static void test_a_reply_is_known_by_its_id(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    asks(&all);
    is_sent(&all, "resp_1");
    assert_true(view_is(all.reply_id, "resp_1"));
    assert_int_equal(conversation_next(&all), NEXT_ASK);
    asks(&all);
    assert_int_equal(all.reply_id.len, 0);
    is_sent(&all, "resp_2");
    apply(&all, &(struct record){
                    .kind = RECORD_MODEL_INTENT, .turn = 1, .failed = true });
    assert_int_equal(all.reply_id.len, 0);
    asks(&all);
    is_sent(&all, "resp_3");
    answers(&all, TEXT("Two."));
    assert_int_equal(all.reply_id.len, 0);
    assert_int_equal(all.spending.usage.repeated_calls, 1);
    assert_int_equal(all.spending.usage.model_calls, 1);
    conversation_finish(&all);
}

static void test_a_cut_call_is_told(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    apply(&all, &(struct record){ .kind = RECORD_MODEL_REPLY,
                                  .turn = 1,
                                  .message = VIEW(TEXT("I will")),
                                  .finish_reason = VIEW("length"),
                                  .observation = VIEW("[it was cut]") });
    assert_int_equal(conversation_next(&all), NEXT_ASK);
    assert_string_equal(text_of(all.messages, 2, "role"), "user");
    assert_string_equal(text_of(all.messages, 2, "content"), "[it was cut]");
    conversation_finish(&all);
}

static void test_a_cut_answer_is_known(void **state)
{
    (void)state;
    static const char *const reasons[] = { "length", "model_length",
                                           "MAX_TOKENS" };
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        struct conversation all = begin(&question);
        apply(&all, &(struct record){ .kind = RECORD_MODEL_REPLY,
                                      .turn = 1,
                                      .message = VIEW(TEXT("I will")),
                                      .finish_reason = view_of(reasons[i]) });
        assert_int_equal(conversation_next(&all), NEXT_END);
        assert_true(all.cut);
        conversation_finish(&all);
    }
}

/* What a cell leaves of the cells "a" and "b" before it, and of itself, "c". */
static void test_what_is_to_be_run_again(void **state)
{
    static const struct {
        const char *what;
        int status, state;
        bool emptied;
        const char *again;
        size_t killed;
    } rows[] = {
        { "a good one", CELL_OK, CELL_KEPT, false, "abc", 0 },
        { "one that raised", CELL_ERROR, CELL_KEPT, false, "abc", 0 },
        { "one that was stopped in time", CELL_TIMEOUT, CELL_KEPT, false, "abc",
          0 },
        { "one in a restored session", CELL_OK, CELL_RESTORED, false, "abc",
          0 },
        { "one that was killed", CELL_TIMEOUT, CELL_ROLLED_BACK, false, "ab",
          1 },
        { "one that crashed", CELL_CRASHED, CELL_ROLLED_BACK, false, "ab", 1 },
        { "one before which others were rolled back", CELL_OK, CELL_ROLLED_BACK,
          false, "abc", 0 },
        { "one killed without a snapshot", CELL_MEMORY, CELL_LOST, false, "",
          1 },
        { "one killed with its box", CELL_CRASHED, CELL_LOST, true, "", 0 },
        { "one after the session was lost", CELL_OK, CELL_LOST, true, "c", 0 },
        { "one of which nothing is known", CELL_UNKNOWN, CELL_LOST, true, "",
          0 },
    };
    static const struct cell before[] = { { .code = VIEW_INIT("a") },
                                          { .code = VIEW_INIT("b") } };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct conversation all = begin(&question);
        struct record last = { .kind = RECORD_TOOL_RESULT,
                               .turn = 1,
                               .cell = { .code = VIEW("c"),
                                         .status = rows[i].status,
                                         .state = rows[i].state },
                               .emptied = rows[i].emptied };
        char again[8] = "";
        answers(&all, REPLY(CALL("a", CODE) "," CALL("b", CODE) "," CALL(
                          "c", CODE) "," CALL("d", CODE)));
        calls(&all);
        observes(&all, &before[0], "");
        observes(&all, NULL, "was not run");
        observes(&all, &before[1], "");
        last.call = view_of(conversation_call(&all)->id);
        apply(&all, &last);
        struct earlier_cells past = conversation_earlier_cells(&all);
        for (size_t j = 0; j < past.count; j++)
            strncat(again, past.cells[j].code.data, past.cells[j].code.len);
        if (strcmp(again, rows[i].again) != 0 ||
            past.killed != rows[i].killed || all.files_there == rows[i].emptied)
            fail_msg("%s: \"%s\" and %zu killed, files %s", rows[i].what, again,
                     past.killed, all.files_there ? "there" : "gone");
        conversation_finish(&all);
    }
}

static void test_cells_are_one_turn(void **state)
{
    (void)state;
    struct view code[] = { VIEW("x = 1"), VIEW("x / 0"), VIEW("x") };
    struct job job = { .kind = JOB_CODE, .cells = { code, 3 } };
    struct conversation all = begin(&job);
    struct cell good = { .code = code[0], .result = VIEW("7") };
    struct cell bad = { .code = code[1], .status = CELL_ERROR };
    assert_int_equal(conversation_next(&all), NEXT_CALL);
    assert_true(view_is(conversation_call(&all)->arguments, "x = 1"));
    observes(&all, &good, "");
    assert_int_equal(conversation_next(&all), NEXT_CALL);
    assert_true(view_is(conversation_answer(&all), "7"));
    observes(&all, &bad, "");
    assert_int_equal(conversation_next(&all), NEXT_END);
    assert_non_null(conversation_failure(&all));
    conversation_finish(&all);
}

static void test_an_empty_cell_runs_where_it_may_matter(void **state)
{
    (void)state;
    struct view empty[] = { VIEW(""), VIEW("") };
    struct view among[] = { VIEW(""), VIEW("x"), VIEW("") };
    const struct {
        const char *what;
        struct job job;
        enum next_action next;
        const char *call; /* its id: a journal of any version names it so */
    } rows[] = {
        { "nothing but empty cells",
          { .cells = { empty, 2 } },
          NEXT_END,
          NULL },
        { "one among them", { .cells = { among, 3 } }, NEXT_CALL, "1.1" },
        { "a session that others use",
          { .cells = { empty, 2 }, .session = VIEW("lab") },
          NEXT_CALL,
          "1.0" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job job = rows[i].job;
        job.kind = JOB_CODE;
        struct conversation all = begin(&job);
        print_message("%s\n", rows[i].what);
        assert_int_equal(conversation_next(&all), rows[i].next);
        if (rows[i].call != NULL)
            assert_string_equal(conversation_call(&all)->id, rows[i].call);
        assert_null(conversation_failure(&all));
        assert_int_equal(conversation_answer(&all).len, 0);
        conversation_finish(&all);
    }
}

static void test_the_request(void **state)
{
    (void)state;
    struct file_ref file = { .name = VIEW("data.csv"), .bytes = 12 };
    struct job job = { .prompt = VIEW("How many?"),
                       .system = VIEW("Be brief."),
                       .files = { &file, 1 } };
    struct conversation all = begin(&job);
    const struct prompts ours = { 0 };
    json_t *python =
        json_pack("[{s:{s:s}}]", "function", "name", "execute_python_code");
    const struct ask ask = { .prompts = &ours, .tools = python };
    struct request_messages asked;
    assert_true(ask_write(&all, &ask, &asked, NULL));
    json_t *request = asked.messages;
    const char *system = text_of(request, 0, "content");
    assert_int_equal(json_array_size(request), 2);
    assert_non_null(strstr(system, "execute_python_code"));
    assert_non_null(strstr(system, "data.csv (12 bytes)"));
    assert_non_null(strstr(system, "Be brief."));
    assert_string_equal(text_of(request, 1, "content"), "How many?");
    json_decref(request);
    json_decref(python);
    conversation_finish(&all);
}

/* What was left out stays out, and a refused request was not paid. */
static void test_a_refusal_changes_nothing_that_is_sent(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    apply(&all, &(struct record){ .kind = RECORD_MODEL_INTENT,
                                  .turn = 1,
                                  .kept = 6,
                                  .tokens = 100,
                                  .last = VIEW("turn_limit") });
    apply(&all, &(struct record){
                    .kind = RECORD_MODEL_INTENT, .turn = 1, .failed = true });
    assert_int_equal(all.kept, 6);
    assert_int_equal(all.sent, 100);
    assert_true(view_is(all.last, "turn_limit"));
    asks(&all);
    assert_int_equal(all.spending.usage.repeated_calls, 0);
    conversation_finish(&all);
}

#define ONE "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define TWO "0123456789abcdef0123456789abcdefffffffffffffffffffffffffffffffff"

static size_t sent(const struct conversation *all, size_t *kept)
{
    const struct prompts ours = { 0 };
    const struct ask ask = { .prompts = &ours };
    struct request_messages asked;
    assert_true(ask_write(all, &ask, &asked, NULL));
    size_t count = json_array_size(asked.messages);
    json_decref(asked.messages);
    *kept = asked.kept;
    return count;
}

static json_t *exchange(void)
{
    return json_pack("[{s:s, s:s}, {s:s, s:s}]", "role", "user", "content", "q",
                     "role", "assistant", "content", "a");
}

/* A place behind it means nothing when that has gone, or is another. */
static void test_what_was_left_out_is_of_what_was_said_then(void **state)
{
    (void)state;
    static const struct {
        const char *asked, *then; /* what was said before, by its blob */
        size_t before, sent, kept;
    } rows[] = {
        { ONE, ONE, 6, 6, 6 }, /* with two notes */
        { ONE, "", 6, 6, 2 },
        { ONE, TWO, 6, 8, 1 },
        { "", "", 4, 5, 4 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job job = { .prompt = VIEW("How many?") };
        struct conversation all = begin(&job);
        size_t kept;
        conversation_recall(&all, exchange(), view_of(rows[i].asked));
        for (int turn = 0; turn < 2; turn++) {
            answers(&all, REPLY(CALL("a", CODE)));
            observes(&all, NULL, "done");
        }
        apply(&all, &(struct record){ .kind = RECORD_MODEL_INTENT,
                                      .turn = 3,
                                      .kept = rows[i].before,
                                      .history = view_of(rows[i].asked) });
        conversation_recall(&all, *rows[i].then == '\0' ? NULL : exchange(),
                            view_of(rows[i].then));
        assert_int_equal(sent(&all, &kept), rows[i].sent);
        assert_int_equal(kept, rows[i].kept);
        conversation_finish(&all);
    }
}

/* Who counts to the window and no further has not counted less. */
static void test_a_refusal_may_count_what_was_sent(void **state)
{
    (void)state;
    static const struct {
        uint64_t replied, counted;    /* 0: no reply, no count */
        uint64_t estimated, is_known; /* then */
    } rows[] = {
        { 0, 0, 0, 0 },    { 0, 3900, 1000, 3900 },  { 0, 900, 0, 0 },
        { 40, 0, 20, 40 }, { 40, 3900, 1000, 3900 }, { 40, 1900, 20, 40 },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct conversation all = begin(&question);
        struct record intent = { .kind = RECORD_MODEL_INTENT, .turn = 1 };
        struct record reply = { .kind = RECORD_MODEL_REPLY,
                                .turn = 1,
                                .message = VIEW("{\"content\": \"a\"}"),
                                .usage = { .input_tokens = rows[i].replied } };
        print_message("%zu\n", i);
        intent.tokens = 20;
        apply(&all, &intent);
        if (rows[i].replied > 0)
            apply(&all, &reply);
        intent.tokens = 1000;
        apply(&all, &intent);
        intent.failed = true;
        intent.counted = rows[i].counted;
        apply(&all, &intent);
        assert_int_equal(all.estimated, rows[i].estimated);
        assert_int_equal(all.counted, rows[i].is_known);
        conversation_finish(&all);
    }
}

static void test_a_history_is_not_an_answer(void **state)
{
    (void)state;
    struct err err;
    struct arena arena = { 0 };
    const msgpack_object *messages;
    /* [{"role": "assistant", "content": "old"}] */
    assert_true(value_decode(VIEW("\x91\x82\xa4role\xa9"
                                  "assistant\xa7"
                                  "content\xa3old"),
                             &messages, &arena, &err));
    struct job job = { .messages = messages };
    struct conversation all = begin(&job);
    asks(&all);
    assert_int_equal(conversation_answer(&all).len, 0);
    answers(&all, TEXT("new"));
    assert_true(view_is(conversation_answer(&all), "new"));
    conversation_finish(&all);
    arena_finish(&arena);
}

static void approves(struct conversation *conversation, const char *call,
                     int verdict, const char *text)
{
    apply(conversation, &(struct record){ .kind = RECORD_APPROVAL,
                                          .turn = conversation->turn,
                                          .call = view_of(call),
                                          .verdict = verdict,
                                          .arguments = view_of(text),
                                          .observation = VIEW("so") });
}

#define TWO_CALLS REPLY(CALL("a", CODE) ", " CALL("b", CODE))

static void test_a_reply_is_thrown_away(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    asks(&all);
    answers(&all, TWO_CALLS);
    approves(&all, "1.1", VERDICT_REGENERATE, "");
    assert_int_equal(conversation_next(&all), NEXT_ASK);
    assert_int_equal(json_array_size(all.messages), 2);
    assert_string_equal(text_of(all.messages, 1, "role"), "user");
    assert_non_null(strstr(text_of(all.messages, 1, "content"), "says: so"));
    asks(&all);
    answers(&all, TEXT("Two."));
    assert_int_equal(all.turn, 2);
    assert_int_equal(conversation_next(&all), NEXT_END);
    conversation_finish(&all);
}

/* By a consumer that had to ask nobody: what was done stays. */
static void test_a_reply_that_was_begun_is_not_thrown_away(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    CLEANUP(buf_finish) struct buf told;
    buf_init(&told, 1000);
    asks(&all);
    answers(&all, TWO_CALLS);
    calls(&all);
    observes(&all, NULL, "1");
    approves(&all, "1.1", VERDICT_REGENERATE, "");
    assert_int_equal(json_array_size(all.messages), 3);
    assert_int_equal(conversation_next(&all), NEXT_CALL);
    assert_true(approval_refuses(conversation_call(&all), &told));
    conversation_finish(&all);
}

static void test_the_last_verdict_counts(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    asks(&all);
    answers(&all, TWO_CALLS);
    approves(&all, "1.0", VERDICT_EDIT, "2");
    const struct call *call = conversation_call(&all);
    assert_true(view_is(call_arguments(call), "2"));
    assert_true(approval_is_given(call));
    approves(&all, "1.0", VERDICT_APPROVE, "");
    assert_true(view_is(call_arguments(call), "{\"code\": \"1\"}"));
    approves(&all, "1.1", VERDICT_ABORT, "");
    assert_int_equal(conversation_next(&all), NEXT_END);
    conversation_finish(&all);
}

static void test_a_strange_journal_is_refused(void **state)
{
    (void)state;
    struct conversation all = begin(&question);
    struct err err;
    struct buf bytes;
    struct record record = { .kind = RECORD_TOOL_RESULT,
                             .turn = 1,
                             .call = VIEW("9.9") };
    buf_init(&bytes, 1000);
    assert_true(message_encode(&schema_record, &record, &bytes, &err));
    assert_false(conversation_apply(&all, buf_view(&bytes), &err));
    assert_string_equal(err.code, "internal");
    record.kind = RECORD_APPROVAL;
    buf_clear(&bytes);
    assert_true(message_encode(&schema_record, &record, &bytes, &err));
    assert_false(conversation_apply(&all, buf_view(&bytes), &err));
    assert_string_equal(err.code, "internal");
    assert_false(conversation_apply(&all, VIEW("\xc1"), &err));
    buf_finish(&bytes);
    conversation_finish(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_goes_on_from_another),
        cmocka_unit_test(test_a_turn_that_was_stopped_is_not_kept),
        cmocka_unit_test(test_an_answer_ends_it),
        cmocka_unit_test(test_calls_are_answered_in_order),
        cmocka_unit_test(test_ids_are_made_unique),
        cmocka_unit_test(test_arguments_in_the_history),
        cmocka_unit_test(test_a_second_intent_is_counted),
        cmocka_unit_test(test_a_reply_is_known_by_its_id),
        cmocka_unit_test(test_a_cut_call_is_told),
        cmocka_unit_test(test_a_cut_answer_is_known),
        cmocka_unit_test(test_what_is_to_be_run_again),
        cmocka_unit_test(test_cells_are_one_turn),
        cmocka_unit_test(test_an_empty_cell_runs_where_it_may_matter),
        cmocka_unit_test(test_the_request),
        cmocka_unit_test(test_a_refusal_changes_nothing_that_is_sent),
        cmocka_unit_test(test_what_was_left_out_is_of_what_was_said_then),
        cmocka_unit_test(test_a_refusal_may_count_what_was_sent),
        cmocka_unit_test(test_a_history_is_not_an_answer),
        cmocka_unit_test(test_a_reply_is_thrown_away),
        cmocka_unit_test(test_a_reply_that_was_begun_is_not_thrown_away),
        cmocka_unit_test(test_the_last_verdict_counts),
        cmocka_unit_test(test_a_strange_journal_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
