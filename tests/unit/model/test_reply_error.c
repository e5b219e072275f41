/* test_reply_error.c - what a refusal means: again, or never. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "consumer/model/reply_error.h"

static const struct row {
    const char *name;
    const char *body;
    unsigned status;
    int should_retry;
    const char *code;
    enum err_kind kind;
    const char *text;
} rows[] = {
    { "a rate limit",
      "{\"error\":{\"message\":\"Rate limit reached\",\"type\":\"tokens\","
      "\"param\":null,\"code\":\"rate_limit_exceeded\"}}",
      429, 0, "model_unavailable", ERR_RETRY, "Rate limit reached" },
    { "a quota that is used up",
      "{\"error\":{\"message\":\"You exceeded your current quota\",\"code\":"
      "\"insufficient_quota\"}}",
      429, 0, "model_rejected", ERR_REJECT, "You exceeded your current quota" },
    { "a spend limit",
      "{\"error\":{\"type\":\"enforced_spend_limit_reached\",\"message\":"
      "\"Limit.\"}}",
      429, 0, "model_rejected", ERR_REJECT, "Limit." },
    { "a wrong key", "{\"error\":{\"message\":\"Incorrect API key\"}}", 401, 0,
      "model_rejected", ERR_REJECT, "Incorrect API key" },
    { "an unknown model",
      "{\"error\":{\"code\":\"model_not_found\","
      "\"message\":\"No such model\"}}",
      404, 0, "model_rejected", ERR_REJECT, "No such model" },
    { "a time-out", "", 408, 0, "model_unavailable", ERR_RETRY,
      "no reason given" },
    { "a conflict", "", 409, 0, "model_unavailable", ERR_RETRY,
      "no reason given" },
    { "a server's failure", "upstream connect error", 503, 0,
      "model_unavailable", ERR_RETRY, "upstream connect error" },
    { "an overload of its own number",
      "{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\","
      "\"message\":\"Overloaded\"}}",
      529, 0, "model_unavailable", ERR_RETRY, "Overloaded" },
    { "an errand of too many bytes",
      "{\"type\":\"error\",\"error\":{\"type\":\"request_too_large\","
      "\"message\":\"Request exceeds the maximum size\"}}",
      413, 0, "model_context", ERR_REJECT, "Request exceeds the maximum size" },
    { "inside a 200, a key that is wrong",
      "{\"type\":\"error\",\"error\":{\"type\":\"authentication_error\","
      "\"message\":\"no\"}}",
      200, 0, "model_rejected", ERR_REJECT, "no" },
    { "the endpoint says: again", "{\"error\":\"busy\"}", 400, 1,
      "model_unavailable", ERR_RETRY, "busy" },
    { "the endpoint says: never", "{\"error\":\"no\"}", 503, -1,
      "model_rejected", ERR_REJECT, "no" },
    { "too many tokens for now is throttling",
      "{\"message\":\"Too many tokens, please wait\"}", 400, 0,
      "model_unavailable", ERR_RETRY, "Too many tokens, please wait" },
    { "too many tokens at all is not",
      "{\"error\":{\"code\":\"context_length_exceeded\",\"message\":"
      "\"maximum context length is 8192 tokens\"}}",
      400, 0, "model_context", ERR_REJECT,
      "maximum context length is 8192 tokens" },
    { "a content filter",
      "{\"error\":{\"code\":\"content_filter\",\"message\":\"Filtered\"}}", 400,
      0, "model_refused", ERR_REJECT, "Filtered" },
    { "a call that the model wrote wrongly",
      "{\"error\":{\"code\":\"tool_use_failed\",\"message\":\"Failed\"}}", 400,
      0, "model_garbage", ERR_RETRY, "Failed" },
    { "detail", "{\"detail\":\"Not Found\"}", 404, 0, "model_rejected",
      ERR_REJECT, "Not Found" },
    { "a list around it", "[{\"error\":{\"code\":400,\"message\":\"bad\"}}]",
      400, 0, "model_rejected", ERR_REJECT, "bad" },
    { "a page", "<html>Bad Gateway</html>", 502, 0, "model_unavailable",
      ERR_RETRY, "<html>Bad Gateway</html>" },
    { "a redirect", "", 302, 0, "model_rejected", ERR_REJECT,
      "a redirect, which is not followed" },
    { "inside a 200, with a number",
      "{\"error\":{\"code\":502,\"message\":\"Provider returned error\"}}", 200,
      0, "model_unavailable", ERR_RETRY, "Provider returned error" },
    { "inside a 200, with a number of ours",
      "{\"error\":{\"code\":\"401\",\"message\":\"No auth\"}}", 200, 0,
      "model_rejected", ERR_REJECT, "No auth" },
    { "inside a 200, a bad request",
      "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"bad\"}}",
      200, 0, "model_rejected", ERR_REJECT, "bad" },
    { "inside a 200, anything else", "{\"error\":{\"message\":\"hm\"}}", 200, 0,
      "model_unavailable", ERR_RETRY, "hm" },
    { "a body of strange types",
      "{\"error\":{\"message\":[1],\"code\":{},\"type\":7}}", 500, 0,
      "model_unavailable", ERR_RETRY,
      "{\"error\":{\"message\":[1],\"code\":{},\"type\":7}}" },
};

static void test_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *row = &rows[i];
        struct reply_error error;
        struct err err = { 0 };

        reply_error_parse(&error, view_of(row->body));
        assert_false(
            reply_error_judge(&error, row->status, row->should_retry, &err));
        if (strcmp(err.code, row->code) != 0 || err.kind != row->kind ||
            strcmp(err.text, row->text) != 0)
            fail_msg("%s: %s (%d): %s", row->name, err.code, err.kind,
                     err.text);
    }
}

static void test_members(void **state)
{
    struct reply_error error;

    (void)state;
    reply_error_parse(&error, VIEW("{\"error\":{\"message\":\"m\",\"type\":"
                                   "\"t\",\"param\":\"p\",\"code\":12}}"));
    assert_string_equal(error.message, "m");
    assert_string_equal(error.type, "t");
    assert_string_equal(error.param, "p");
    assert_string_equal(error.code, "12");
}

static void test_long_sentences_are_cut_between_characters(void **state)
{
    struct reply_error error;
    char body[600] = "";

    (void)state;
    for (size_t i = 0; i < 150; i++)
        strcat(body, "\xE2\x82\xAC");
    reply_error_parse(&error, view_of(body));
    assert_int_equal(strlen(error.message), 255);
    assert_true(view_is_utf8(view_of(error.message)));
}

/* As endpoints word it: agents of all kinds have met these. */
static void test_a_conversation_that_is_too_long(void **state)
{
    (void)state;
    static const struct {
        const char *sentence;
        uint64_t window; /* as far as it names one */
    } cases[] = {
        { "This model's maximum context length is 8192 tokens. However, ...",
          8192 },
        { "prompt is too long: 210000 tokens > 200000 maximum", 0 },
        { "input length and `max_tokens` exceed context limit: 9 + 9 > 16", 0 },
        { "the request exceeds the available context size, try increasing it",
          0 },
        { "request (2701 tokens) exceeds the available context size (2048 "
          "tokens), try increasing it",
          2048 },
        { "Input length 9 exceeds the maximum allowed input length of 8 "
          "tokens.",
          0 },
        { "The input token count (9) exceeds the maximum number of tokens (8).",
          0 },
        { "Please reduce the length of the messages.", 0 },
        { "Token limit reached", 0 },
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct reply_error error;
        struct err err = { 0 };

        reply_error_parse(&error, view_of(cases[i].sentence));
        reply_error_judge(&error, 400, 0, &err);
        print_message("%s\n", cases[i].sentence);
        assert_string_equal(err.code, "model_context");
        assert_int_equal(reply_error_window(&error), cases[i].window);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_a_conversation_that_is_too_long),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_long_sentences_are_cut_between_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
