/* test_reply_bounds.c - how much a reply was: tokens, and bytes beyond measure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/model/dialect.h"
#include "consumer/model/reply.h"
#include "schemas/message/buf.h"
#include "tests/unit/model/replies.h"

static const struct usage_row {
    const char *name;
    const char *bytes;
    uint64_t input, output, cached;
} usage_rows[] = {
    { "in a chunk of its own",
      FINISH("stop") "data: {'choices':[],'usage':{'prompt_tokens':3,"
                     "'completion_tokens':4}}\n\n" DONE,
      3, 4, 0 },
    { "in several chunks the last one counts",
      "data: {'choices':[{'delta':{'content':'a'}}],'usage':{"
      "'prompt_tokens':3,'completion_tokens':1}}\n\n"
      "data: {'choices':[{'delta':{},'finish_reason':'stop'}],'usage':{"
      "'prompt_tokens':3,'completion_tokens':4}}\n\n",
      3, 4, 0 },
    { "null is none",
      "data: {'choices':[{'delta':{},'finish_reason':'stop'}],"
      "'usage':null}\n\n",
      0, 0, 0 },
    { "cached tokens in details",
      "{'choices':[{'message':{'content':'a'}}],'usage':{'prompt_tokens':9,"
      "'completion_tokens':1,'prompt_tokens_details':{'cached_tokens':5}}}",
      9, 1, 5 },
    { "cached tokens of DeepSeek",
      "{'choices':[{'message':{'content':'a'}}],'usage':{'prompt_tokens':9,"
      "'completion_tokens':1,'prompt_cache_hit_tokens':5}}",
      9, 1, 5 },
    { "inside the choice",
      "data: {'choices':[{'delta':{},'finish_reason':'stop','usage':{"
      "'prompt_tokens':2,'completion_tokens':1}}]}\n\n",
      2, 1, 0 },
    { "inside x_groq",
      "data: {'choices':[{'delta':{},'finish_reason':'stop'}],'x_groq':{"
      "'usage':{'prompt_tokens':2,'completion_tokens':1}}}\n\n",
      2, 1, 0 },
    { "nonsense counts as nothing",
      "{'choices':[{'message':{'content':'a'}}],'usage':{'prompt_tokens':-9,"
      "'completion_tokens':'x'}}",
      0, 0, 0 },
};

static void test_usage(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(usage_rows) / sizeof(*usage_rows); i++) {
        const struct usage_row *row = &usage_rows[i];
        CLEANUP(cleanup_free) char *bytes = json_of(row->bytes);
        struct reply *reply =
            reply_new(&dialect_chat, (struct reply_events){ 0 }, NULL);
        struct model_reply result;
        struct err err = { 0 };

        reply_feed(reply, view_of(bytes));
        if (!reply_end(reply, true, &result, &err))
            fail_msg("%s: %s", row->name, err.text);
        if (result.usage.input_tokens != row->input ||
            result.usage.output_tokens != row->output ||
            result.usage.cached_tokens != row->cached)
            fail_msg("usage %s", row->name);
        assert_int_equal(result.usage.model_calls, 1);
        reply_free(reply);
    }
}

/* Some endpoints say tool_calls whatever happened, or close the brackets. */
static void test_a_reply_that_used_up_its_tokens(void **state)
{
    static const struct {
        const char *bytes;
        uint64_t max_tokens;
        size_t calls, dropped;
    } spent[] = {
        { CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'}")
              FINISH("tool_calls") "data: {'choices':[],'usage':{"
                                   "'completion_tokens':9}}\n\n" DONE,
          9, 0, 1 },
        { CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'}")
              FINISH("tool_calls") "data: {'choices':[],'usage':{"
                                   "'completion_tokens':9}}\n\n" DONE,
          10, 1, 0 },
        { CALL("'index':0,'id':'a','function':{'name':'f','arguments':'{}'}")
              FINISH("tool_calls") DONE,
          9, 1, 0 },
        { DELTA("'content':'a'") FINISH("stop") "data: {'choices':[],'usage':{"
                                                "'completion_tokens':9}}\n\n",
          9, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(spent) / sizeof(*spent); i++) {
        CLEANUP(cleanup_free) char *bytes = json_of(spent[i].bytes);
        struct reply *reply =
            reply_new(&dialect_chat, (struct reply_events){ 0 }, NULL);
        struct model_reply result;
        struct err err = { 0 };

        reply_limit(reply, spent[i].max_tokens);
        reply_feed(reply, view_of(bytes));
        assert_true(reply_end(reply, true, &result, &err));
        assert_int_equal(
            json_array_size(json_object_get(result.message, "tool_calls")),
            spent[i].calls);
        assert_int_equal(result.dropped_calls, spent[i].dropped);
        assert_int_equal(result.truncated, spent[i].dropped > 0);
        reply_free(reply);
    }
}

/* Feeds the event again and again; gives the code of the error. */
static void flood(const char *text, size_t times, char code[32])
{
    CLEANUP(cleanup_free) char *event = json_of(text);
    CLEANUP(cleanup_free) char *finish = json_of(FINISH("stop"));
    struct reply *reply =
        reply_new(&dialect_chat, (struct reply_events){ 0 }, NULL);
    struct model_reply result;
    struct err err = { 0 };

    for (size_t i = 0; i < times && !reply_is_over(reply); i++)
        reply_feed(reply, view_of(event));
    reply_feed(reply, view_of(finish));
    reply_end(reply, true, &result, &err);
    memcpy(code, err.code, 32);
    reply_free(reply);
}

static void test_endless_replies_are_given_up(void **state)
{
    static const char *const floods[] = {
        DELTA("'content':'0123456789012345678901234567890123456789'"),
        DELTA("'reasoning':'0123456789012345678901234567890123456789'"),
        CALL("'index':0,'id':'a','function':{'name':'f','arguments':"
             "'0123456789012345678901234567890123456789'}"),
        /* 256 KiB of text, six times that as JSON */
        DELTA("'content':'\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001"
              "\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001\\u0001'"),
        DELTA("'reasoning_details':[{'type':'reasoning.text','index':0,'text':"
              "'0123456789012345678901234567890123456789'}]"),
        DELTA("'reasoning_details':[{'index':0,'signature':"
              "'0123456789012345678901234567890123456789'},{'index':0,"
              "'signature':'9876543210987654321098765432109876543210'}]"),
        DELTA("'reasoning_details':[{}]"),
    };
    static const size_t times[] = {
        14000, 14000, 14000, 17500, 14000, 7000, 257
    };
    char code[32];

    (void)state;
    for (size_t i = 0; i < sizeof(floods) / sizeof(*floods); i++) {
        flood(floods[i], times[i], code);
        assert_string_equal(code, "model_too_long");
    }
    flood(floods[0], 10000, code);
    assert_string_equal(code, "");
    flood(CALL("'function':{'name':'f','arguments':'{}'}"), 65, code);
    assert_string_equal(code, "model_too_long");
    flood(CALL("'function':{'name':'f','arguments':'{}'}"), 64, code);
    assert_string_equal(code, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_a_reply_that_used_up_its_tokens),
        cmocka_unit_test(test_endless_replies_are_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
