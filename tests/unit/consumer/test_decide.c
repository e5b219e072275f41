/* test_decide.c - what is done next, from a conversation and its terms alone;
 * and the terms, as a journal has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/decide.h"
#include "tests/unit/consumer/records.h"

static const struct job question = { .prompt = { "How many?", 9 } };

struct world {
    struct conversation conversation;
    struct prompts prompts;
    struct catalog catalog;
    struct model_endpoint endpoint;
    struct terms terms;
};

static struct world *begin(const struct job *job)
{
    struct world *world = calloc(1, sizeof(*world));
    assert_non_null(world);
    assert_true(conversation_init(&world->conversation, job, NULL));
    world->endpoint.dialect = &dialect_chat;
    world->endpoint.name = world->endpoint.model = (char[]){ "m" };
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
        struct decided decided;
        assert_true(decide_request(&world->conversation, &world->terms,
                                   ASK_NEXT, &decided, NULL));
        assert_string_equal(decided.last, rows[i].last);
        json_decref(decided.asked.messages);
        end(world);
    }
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_last_turn),
        cmocka_unit_test(test_code_of_a_call),
        cmocka_unit_test(test_circles),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_terms_hold_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
