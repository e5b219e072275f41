/* test_decide.c - what is done next, from a conversation and its terms alone;
 * and the terms, as a journal has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/approval.h"
#include "consumer/conversation/decide.h"
#include "consumer/model/dialect.h"
#include "tests/unit/consumer/records.h"

static const struct job question = { .prompt = { "How many?", 9 } };

struct world {
    struct conversation conversation;
    struct prompts prompts;
    struct catalog catalog;
    struct model_endpoint endpoint;
    char name[2];
    struct terms terms;
};

static struct world *begin(const struct job *job)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    assert_true(conversation_init(&world->conversation, job, VIEW(""), NULL));
    world->name[0] = 'm';
    world->endpoint.dialect = &dialect_chat;
    world->endpoint.name = world->endpoint.model = world->name;
    world->terms = (struct terms){ .prompts = &world->prompts,
                                   .catalog = &world->catalog,
                                   .endpoint = &world->endpoint,
                                   .max_turns = 3,
                                   .repeats = 3 };
    return world;
}

static void end(struct world *world)
{
    conversation_finish(&world->conversation);
    free(world);
}

static const char call[] =
    "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": "
    "\"a\", \"type\": \"function\", \"function\": {\"name\": "
    "\"execute_python_code\", \"arguments\": \"%s\"}}]}";

static void turn(struct world *world, const char *arguments)
{
    CLEANUP(buf_finish) struct buf message = { .max = 4096 };
    struct conversation *conversation = &world->conversation;
    buf_printf(&message, call, arguments);
    buf_append(&message, "", 1);
    asks(conversation);
    answers(conversation, message.data);
}

static bool request(const struct world *world, enum ask_kind kind,
                    struct model_plan *plan, struct err *err)
{
    const struct request_context context = { .kind = kind };
    return decide_request(&world->conversation, &world->terms, &context, plan,
                          err);
}

static void test_the_last_turn(void **state)
{
    (void)state;
    static const struct {
        uint64_t wish, most, turns;
        const char *last;
    } rows[] = {
        { 0, 3, 2, "" },           { 0, 3, 3, "turn_limit" },
        { 1, 3, 1, "turn_limit" }, { 9, 3, 3, "turn_limit" },
        { 2, 3, 1, "" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job job = question;
        job.limits.max_turns = rows[i].wish;
        struct world *world = begin(&job);
        world->terms.max_turns = rows[i].most;
        world->conversation.turn = rows[i].turns;
        struct model_plan plan;
        assert_true(request(world, ASK_NEXT, &plan, NULL));
        assert_string_equal(plan.last, rows[i].last);
        json_decref(plan.content.messages);
        end(world);
    }
}

/* What is left decides whether an answer is asked for, how long it may be, and
 * whether anything is asked at all. */
static void test_what_is_left(void **state)
{
    (void)state;
    static const struct {
        uint64_t wish, most;
        const char *last;
        bool fits;
    } rows[] = {
        { 0, 0, "", true },
        { 90000, 0, "", true },
        { 1000, 90000, "token_limit", true },
        { 90000, 1000, "token_limit", true },
        { 50, 0, "token_limit", false },
        { 0, 50, "token_limit", false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model_plan plan;
        struct err err;
        struct job job = question;
        job.limits.max_total_tokens = rows[i].wish;
        struct world *world = begin(&job);
        world->terms.max_total_tokens = rows[i].most;
        print_message("%zu\n", i);
        assert_int_equal(request(world, ASK_NEXT, &plan, &err), rows[i].fits);
        assert_int_equal(plan.bounds.fits, rows[i].fits);
        if (rows[i].fits)
            assert_string_equal(plan.last, rows[i].last);
        else
            assert_string_equal(err.code, rows[i].last);
        assert_int_equal(plan.request.max_tokens > 0,
                         rows[i].fits && *rows[i].last != '\0');
        json_decref(plan.content.messages);
        end(world);
    }
}

/* Pictures are of what a request may take, brought or not. */
static void test_pictures_of_what_is_left(void **state)
{
    (void)state;
    static const struct {
        size_t pictures;
        const char *last;
        bool fits;
    } rows[] = {
        { 0, "", true },
        { 2, "token_limit", true },
        { 4, "token_limit", false },
    };
    struct job job = question;
    job.limits.max_total_tokens = 4000;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world *world = begin(&job);
        struct request_image images[MAX_SHOWN] = { 0 };
        const struct request_context context = { .images = images,
                                                 .image_count =
                                                     rows[i].pictures };
        struct model_plan plan;
        struct err err;
        print_message("%zu\n", i);
        assert_int_equal(decide_request(&world->conversation, &world->terms,
                                        &context, &plan, &err),
                         rows[i].fits);
        assert_true(plan.content.tokens > 1000 * rows[i].pictures);
        if (rows[i].fits)
            assert_string_equal(plan.last, rows[i].last);
        else
            assert_string_equal(err.code, rows[i].last);
        json_decref(plan.content.messages);
        end(world);
    }
}

/* Of one that nobody knows the outcome of, all that was reserved is gone; the
 * same one again finds as much as it did. */
static void test_what_is_under_way_counts(void **state)
{
    (void)state;
    struct model_plan plan;
    struct err err = { 0 };
    struct job job = question;
    job.limits.max_total_tokens = 5000;
    struct world *world = begin(&job);
    const struct record intent = { .kind = RECORD_MODEL_INTENT,
                                   .turn = 1,
                                   .reserved = 4950 };
    apply(&world->conversation, &intent);
    assert_true(request(world, ASK_AGAIN, &plan, &err));
    assert_string_equal(plan.last, "");
    json_decref(plan.content.messages);
    assert_false(request(world, ASK_NEXT, &plan, &err));
    json_decref(plan.content.messages);
    assert_non_null(strstr(err.text, "4950 of 5000 tokens"));
    const struct record limit = { .kind = RECORD_MODEL_INTENT,
                                  .turn = 1,
                                  .last = view_of(plan.bounds.limit),
                                  .failed = true };
    apply(&world->conversation, &limit);
    assert_int_equal(conversation_next(&world->conversation), NEXT_END);
    assert_int_equal(decide_end(&world->conversation, &world->terms, &err),
                     STATE_INCOMPLETE);
    assert_string_equal(err.code, "token_limit");
    assert_non_null(strstr(err.text, "4950 of 5000 tokens"));
    struct usage usage = spending_total(&world->conversation.spending);
    assert_int_equal(usage_tokens(&usage), 4950);
    end(world);
}

static void test_code_of_a_call(void **state)
{
    (void)state;
    static const struct {
        const char *arguments; /* inside of JSON */
        enum ruling ruling;
        const char *code; /* or why */
    } rows[] = {
        { "{\\\"code\\\": \\\"1 + 1\\\"}", RULING_RUN, "1 + 1" },
        { "print(1)", RULING_RUN, "print(1)" },
        { "{\\\"code\\\": \\\"\\\"}", RULING_REFUSE, "\"code\" is empty" },
        { "{\\\"kode\\\": 1}", RULING_REFUSE, "code" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(buf_finish) struct buf code;
        struct world *world = begin(&question);
        struct err why = { 0 };
        turn(world, rows[i].arguments);
        print_message("%s\n", rows[i].arguments);
        assert_int_equal(decide_code(&world->conversation, &world->terms,
                                     conversation_call(&world->conversation),
                                     &code, &why),
                         rows[i].ruling);
        if (rows[i].ruling == RULING_RUN)
            assert_true(view_is(buf_view(&code), rows[i].code));
        else
            assert_non_null(strstr(why.text, rows[i].code));
        end(world);
    }
}

/* An error that comes again is enough, the second time. */
static void test_circles(void **state)
{
    (void)state;
    const struct cell failed = { .code = VIEW("f()"), .status = CELL_ERROR };
    struct world *world = begin(&question);
    world->terms.max_turns = 30;
    for (int i = 0; i < 3; i++) {
        CLEANUP(buf_finish) struct buf code;
        const struct call *next;
        struct err why;
        turn(world, "f()");
        next = conversation_call(&world->conversation);
        enum ruling ruling =
            decide_code(&world->conversation, &world->terms, next, &code, &why);
        assert_int_equal(ruling, i < 2 ? RULING_RUN : RULING_FORBID);
        const struct record result = { .kind = RECORD_TOOL_RESULT,
                                       .tool = view_of(next->tool),
                                       .observation = VIEW("NameError"),
                                       .cell = failed };
        if (i < 2)
            assert_int_equal(decide_hint(&world->conversation,
                                         world->conversation.result_count,
                                         &world->terms, failed.code, &result),
                             i == 1);
        observes(&world->conversation, &failed, "NameError");
    }
    end(world);
}

static struct err verdict(struct world *world, const char *code, bool large)
{
    CLEANUP(buf_finish) struct buf text;
    CLEANUP(buf_finish) struct buf many = { .max = MAX_CODE_BYTES };
    struct err why = { 0 };
    turn(world, code);
    struct call *next = world->conversation.calls;
    for (int i = 0; large && i <= MAX_VERDICT_BYTES; i++)
        buf_add(&many, VIEW("#"));
    next->edited = buf_view(&many);
    const struct call *asked =
        decide_approval(&world->conversation, &world->terms, &why);
    enum ruling ruling =
        decide_code(&world->conversation, &world->terms, next, &text, &why);
    err_set(&why, ERR_REJECT, "", "%s, %d",
            asked == NULL ? "not asked" : "asked", (int)ruling);
    return why;
}

/* Of what is not approved nothing is run, whatever was asked. */
static void test_what_a_person_is_asked(void **state)
{
    (void)state;
    struct view pay = VIEW("pay-out"), other = VIEW("x");
    const struct job asks = { .prompt = question.prompt,
                              .approve = { &pay, 1 } };
    const struct job may = { .prompt = question.prompt,
                             .approve = { &pay, 1 },
                             .tools = { &pay, 1 } };
    const struct job may_not = { .prompt = question.prompt,
                                 .approve = { &pay, 1 },
                                 .tools = { &other, 1 } };
    struct tool tool = { .name = (char[]){ "pay-out" }, .holders = 1 };
    const struct {
        const struct job *job;
        bool all; /* the operator wants all code to be approved */
        const char *code;
        bool large;
        const char *outcome;
    } rows[] = {
        { &question, false, "f()", false, "not asked, 0" },
        { &question, true, "f()", false, "asked, 3" },
        { &question, true, "f()", true, "not asked, 3" },
        { &question, true, "", false, "not asked, 1" },
        { &question, false, "pay_out(1)", false, "not asked, 0" },
        { &asks, false, "pay_out(1)", false, "asked, 3" },
        { &asks, false, "no_pay_out(1)", false, "not asked, 0" },
        { &may, false, "pay_out(1)", false, "asked, 3" },
        { &may_not, false, "pay_out(1)", false, "not asked, 0" },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world *world = begin(rows[i].job);
        world->terms.approves_code = rows[i].all;
        world->catalog.items[world->catalog.count++] = &tool;
        print_message("%zu: %s\n", i, rows[i].code);
        assert_string_equal(verdict(world, rows[i].code, rows[i].large).text,
                            rows[i].outcome);
        end(world);
    }
}

static void test_how_long_a_person_is_waited_for(void **state)
{
    (void)state;
    struct terms terms = { .approval_ms = 9, .approval_default = "skip" };
    struct job job = { .approval_ms = 3 };
    assert_int_equal(approval_rule_ms(&terms, &job), 3);
    assert_true(view_is(approval_rule_default(&terms, &job), "skip"));
    job.approval_ms = 99;
    job.approval_default = APPROVAL_ABORT;
    assert_int_equal(approval_rule_ms(&terms, &job), 9);
    assert_true(view_is(approval_rule_default(&terms, &job), "abort"));
}

/* How often another answer is asked for is the operator's to say. */
static void test_answers_of_another_form(void **state)
{
    (void)state;
    struct err why = { 0 };
    struct world *world = begin(&question);
    for (uint64_t misfits = 0; misfits < 4; misfits++) {
        world->conversation.misfits = misfits;
        world->terms.output_repairs = 2;
        assert_int_equal(decide_next(&world->conversation, &world->terms),
                         misfits < 3 ? NEXT_ASK : NEXT_END);
    }
    err_set(&world->conversation.misfit, ERR_REJECT, "bad_output", "so");
    assert_int_equal(decide_end(&world->conversation, &world->terms, &why),
                     STATE_INCOMPLETE);
    assert_string_equal(why.code, "bad_output");
    end(world);
}

static void test_ends(void **state)
{
    (void)state;
    struct world *world = begin(&question);
    struct err why = { 0 };
    asks(&world->conversation);
    answers(&world->conversation,
            "{\"role\": \"assistant\", \"content\": \"Two.\"}");
    assert_int_equal(decide_end(&world->conversation, &world->terms, &why),
                     STATE_COMPLETED);
    assert_int_equal(why.kind, ERR_NONE);
    world->conversation.last = VIEW("loop");
    assert_int_equal(decide_end(&world->conversation, &world->terms, &why),
                     STATE_INCOMPLETE);
    assert_string_equal(why.code, "loop");
    end(world);
}

/* ---------------------------------------------------------------- summaries
 */

/* Six cells in a window that holds four of them. */
static struct world *begin_full(const struct job *job)
{
    char code[1501];
    struct world *world = begin(job);
    memset(code, 'x', sizeof(code) - 1);
    code[sizeof(code) - 1] = '\0';
    world->endpoint.window = 4000;
    world->endpoint.summarises = true;
    world->terms.max_turns = 20;
    for (size_t i = 0; i < 6; i++) {
        turn(world, code);
        calls(&world->conversation);
        observes(&world->conversation, NULL, code);
    }
    return world;
}

static enum record_purpose purpose(const struct world *world, size_t *kept)
{
    struct model_plan plan;
    assert_true(request(world, ASK_NEXT, &plan, NULL));
    *kept = plan.content.kept;
    assert_int_equal(plan.request.tools != NULL, false);
    json_decref(plan.content.messages);
    return plan.purpose;
}

static void intends(struct world *world, const char *why, size_t kept)
{
    apply(&world->conversation,
          &(struct record){ .kind = RECORD_MODEL_INTENT,
                            .turn = 7,
                            .purpose = PURPOSE_SUMMARY,
                            .failed = why != NULL,
                            .last = why == NULL ? VIEW("") : view_of(why),
                            .kept = kept,
                            .tokens = 100 });
}

static void test_a_summary_is_asked_for_once(void **state)
{
    (void)state;
    static const struct {
        const char *reply; /* NULL: it is done without */
        bool made;
    } rows[] = {
        { "{\"role\": \"assistant\", \"content\": \"It was so.\"}", true },
        { "{\"role\": \"assistant\", \"content\": \" \\n\"}", false },
        { "{\"role\": \"assistant\", \"content\": null}", false },
        { "{\"role\": \"assistant\", \"content\": \"I act.\", "
          "\"tool_calls\": [{\"id\": \"a\"}]}",
          false },
        { NULL, false },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world *world = begin_full(&question);
        struct conversation *talk = &world->conversation;
        size_t kept, again;
        print_message("%s\n", rows[i].reply == NULL ? "" : rows[i].reply);
        assert_int_equal(purpose(world, &kept), PURPOSE_SUMMARY);
        intends(world, NULL, kept);
        assert_true(talk->summary.due);
        assert_int_equal(purpose(world, &again), PURPOSE_SUMMARY);
        assert_int_equal(again, kept);
        if (rows[i].reply == NULL)
            intends(world, "model_refused", kept);
        else
            apply(talk, &(struct record){ .kind = RECORD_MODEL_REPLY,
                                          .turn = 7,
                                          .purpose = PURPOSE_SUMMARY,
                                          .message = view_of(rows[i].reply) });
        assert_int_equal(purpose(world, &again), PURPOSE_TURN);
        assert_int_equal(again, kept);
        assert_int_equal(talk->turn, 6);
        assert_int_equal(talk->summary.made, rows[i].made);
        assert_int_equal(talk->summary.failed, !rows[i].made);
        assert_int_equal(talk->last.len, 0);
        assert_int_equal(conversation_next(talk), NEXT_ASK);
        end(world);
    }
}

/* What is due was asked for of a model that is asked no more. */
static void test_a_summary_of_another_endpoint(void **state)
{
    (void)state;
    struct world *world = begin_full(&question);
    size_t kept, dropped;
    assert_int_equal(purpose(world, &kept), PURPOSE_SUMMARY);
    intends(world, NULL, kept);
    world->endpoint.summarises = false;
    assert_int_equal(purpose(world, &dropped), PURPOSE_TURN);
    assert_int_equal(dropped, kept);
    end(world);
}

static void test_a_summary_is_not_for_the_last_tokens(void **state)
{
    (void)state;
    static const struct {
        uint64_t most;
        enum record_purpose purpose;
    } rows[] = {
        { 0, PURPOSE_SUMMARY },
        { 90000, PURPOSE_SUMMARY },
        { 9000, PURPOSE_TURN },
        { 5000, PURPOSE_TURN },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct job job = question;
        size_t kept;
        job.limits.max_total_tokens = rows[i].most;
        struct world *world = begin_full(&job);
        print_message("%zu\n", i);
        assert_int_equal(purpose(world, &kept), rows[i].purpose);
        end(world);
    }
}

static void test_terms_hold_no_secret(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf text;
    struct world *world = begin(&question);
    world->endpoint.url = (char[]){ "https://me:pass@host/v1" };
    world->endpoint.key = (char[]){ "sk-hidden" };
    world->endpoint.parameters =
        json_pack("{s:i, s:s, s:{s:s, s:[{s:s}]}}", "max_tokens", 7, "api_key",
                  "sk-deep", "extra", "Session_Token", "sk-deeper", "list",
                  "password", "sk-deepest");
    terms_write(&world->terms, &world->conversation, &text);
    buf_append(&text, "", 1);
    assert_null(strstr(text.data, "sk-"));
    assert_null(strstr(text.data, "pass@"));
    assert_non_null(strstr(text.data, "\"max_tokens\":7"));
    assert_non_null(strstr(text.data, "\"hidden\":true"));
    assert_non_null(json_object_get(world->endpoint.parameters, "extra"));
    json_decref(world->endpoint.parameters);
    end(world);
}

static const char both[] =
    "{\"role\": \"assistant\", \"content\": \"I look.\", \"tool_calls\": ["
    "{\"id\": \"a\", \"function\": {\"name\": \"ask\", \"arguments\": "
    "\"x\"}}, {\"id\": \"b\", \"function\": {\"name\": "
    "\"execute_python_code\", \"arguments\": \"{\\\"code\\\": "
    "\\\"1\\\"}\"}}]}";

/* What is ours is run first; then the job ends, as it is. */
static void test_functions_of_the_caller(void **state)
{
    (void)state;
    struct job_function function = { .name = VIEW("ask") };
    struct job job = question;
    const struct cell cell = { .code = VIEW("1"), .status = CELL_OK };
    struct err why;
    job.functions = (struct list){ &function, 1 };
    struct world *world = begin(&job);
    struct conversation *conversation = &world->conversation;
    asks(conversation);
    answers(conversation, both);
    assert_int_equal(decide_next(conversation, &world->terms), NEXT_CALL);
    assert_string_equal(conversation_call(conversation)->call_id, "b");
    assert_false(conversation_hands_over(conversation));
    calls(conversation);
    observes(conversation, &cell, "1");
    assert_int_equal(decide_next(conversation, &world->terms), NEXT_END);
    assert_true(conversation_hands_over(conversation));
    assert_int_equal(decide_end(conversation, &world->terms, &why),
                     STATE_COMPLETED);
    assert_true(view_is(conversation_answer(conversation), "I look."));
    assert_true(view_is(conversation->calls[0].arguments, "x"));
    end(world);
}

/* Those beyond the limit are not run, whatever became of the others. */
static void test_a_limit_of_calls(void **state)
{
    (void)state;
    CLEANUP(buf_finish) struct buf code = { 0 };
    struct err why;
    struct world *world = begin(&question);
    struct conversation *conversation = &world->conversation;
    world->terms.max_tool_calls = 1;
    for (int i = 0; i < 2; i++) {
        turn(world, "{\\\"code\\\": \\\"1\\\"}");
        buf_finish(&code);
        assert_int_equal(decide_code(conversation, &world->terms,
                                     conversation_call(conversation), &code,
                                     &why),
                         i == 0 ? RULING_RUN : RULING_REFUSE);
        calls(conversation);
        observes(conversation, NULL, "1");
    }
    assert_non_null(strstr(why.text, "1, the most of this job"));
    end(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_turn),
        cmocka_unit_test(test_what_is_left),
        cmocka_unit_test(test_pictures_of_what_is_left),
        cmocka_unit_test(test_what_is_under_way_counts),
        cmocka_unit_test(test_code_of_a_call),
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_what_a_person_is_asked),
        cmocka_unit_test(test_how_long_a_person_is_waited_for),
        cmocka_unit_test(test_answers_of_another_form),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_a_summary_is_asked_for_once),
        cmocka_unit_test(test_a_summary_of_another_endpoint),
        cmocka_unit_test(test_a_summary_is_not_for_the_last_tokens),
        cmocka_unit_test(test_terms_hold_no_secret),
        cmocka_unit_test(test_functions_of_the_caller),
        cmocka_unit_test(test_a_limit_of_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
