/* test_replies.c - what a reply asks to be done, and what the model is told of
 * one of which nothing can be done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "consumer/conversation/ask.h"
#include "tests/unit/consumer/records.h"

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

static void pauses(struct conversation *conversation, const char *message)
{
    asks(conversation);
    apply(conversation,
          &(struct record){ .kind = RECORD_MODEL_REPLY,
                            .turn = conversation->turn + 1,
                            .message = view_of(message),
                            .finish_reason = VIEW("pause_turn") });
}

/* It is asked to go on, and its parts are one answer. */
static void test_an_answer_may_pause(void **state)
{
    static const struct job jobs[] = {
        { .prompt = { "How many?", 9 } },
        { .prompt = { "How many?", 9 }, .mode = MODE_CODEACT },
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct conversation all = begin(&jobs[i]);
        pauses(&all, TEXT("Two, "));
        assert_int_equal(conversation_next(&all), NEXT_ASK);
        assert_string_equal(text_of(all.messages, 2, "content"), prompt_pause);
        pauses(&all, TEXT("or "));
        asks(&all);
        answers(&all, TEXT("three."));
        assert_int_equal(conversation_next(&all), NEXT_END);
        assert_true(view_is(conversation_answer(&all), "Two, or three."));
        assert_int_equal(json_array_size(all.messages), 6);
        conversation_finish(&all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_answer_may_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
