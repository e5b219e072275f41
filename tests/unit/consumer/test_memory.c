/* test_memory.c - what is kept of a conversation for the session's next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/conversation/memory.h"
#include "tests/unit/consumer/records.h"

static const char call[] =
    "{\"role\": \"assistant\", \"content\": null, \"tool_calls\": [{\"id\": "
    "\"a\", \"type\": \"function\", \"function\": {\"name\": "
    "\"execute_python_code\", \"arguments\": \"{\\\"code\\\": \\\"1 + 1\\\"}\"}"
    "}]}";
static const char says[] =
    "{\"role\": \"assistant\", \"content\": \"So: {\\\"n\\\": 2}\"}";

/* The only one that is kept of it. */
static struct exchange kept_of(const struct conversation *conversation,
                               struct arena *arena)
{
    CLEANUP(buf_finish) struct buf bytes;
    const struct history none = { { 0 } };
    struct history history;
    struct err err;
    assert_true(memory_is_due(conversation));
    assert_int_equal(memory_write(&bytes, &none, conversation, 4096), 1);
    assert_true(message_decode(&schema_history,
                               arena_copy(arena, buf_view(&bytes)), &history,
                               arena, &err));
    assert_int_equal(history.exchanges.count, 1);
    return *(const struct exchange *)history.exchanges.items;
}

/* Of a form or not: the same was said. */
static void test_the_answer(void **state)
{
    (void)state;
    static const struct {
        bool form;
        const char *kept;
    } rows[] = { { false, "So: {\"n\": 2}" }, { true, "{\"n\":2}" } };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        const msgpack_object form = { .type = MSGPACK_OBJECT_MAP };
        const struct job job = { .id = VIEW(
                                     "000-00000000-0000-7000-8000-00000000"),
                                 .prompt = VIEW("How many?"),
                                 .output_schema = rows[i].form ? &form : NULL };
        struct conversation all;
        assert_true(conversation_init(&all, &job, VIEW(""), NULL));
        asks(&all);
        answers(&all, says);
        const struct exchange kept = kept_of(&all, &arena);
        assert_true(view_is(kept.question, "How many?"));
        assert_true(view_is(kept.answer, rows[i].kept));
        conversation_finish(&all);
    }
}

/* A call that nobody has approved was not made. */
static void test_the_work(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        bool failed;
        const char *note;
    } rows[] = {
        { "1 + 1", false, "\n```python\n1 + 1\n```" },
        { "", true, "\nexecute_python_code did not come to anything." },
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        CLEANUP(arena_finish) struct arena arena = { 0 };
        const struct job job = { .id = VIEW(
                                     "000-00000000-0000-7000-8000-00000000"),
                                 .prompt = VIEW("How many?") };
        struct conversation all;
        assert_true(conversation_init(&all, &job, VIEW(""), NULL));
        asks(&all);
        answers(&all, call);
        const struct call *next = conversation_call(&all);
        const struct record result = { .kind = RECORD_TOOL_RESULT,
                                       .turn = 1,
                                       .call = view_of(next->id),
                                       .tool = view_of(next->tool),
                                       .failed = rows[i].failed,
                                       .cell.code = view_of(rows[i].code) };
        apply(&all, &result);
        asks(&all);
        answers(&all, says);
        assert_true(view_is(kept_of(&all, &arena).work, rows[i].note));
        conversation_finish(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_answer),
        cmocka_unit_test(test_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
